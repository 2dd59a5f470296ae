"""Workspaces: where the platform can go, and how well conditioned it is there.

On a grid over one to three coordinates of the pose (a line, a slice or a volume), or along rays from a
centre, where the boundary is found by bisection.

Where the orientation is free (x holds a quaternion), the coordinates rx, ry, rz of a grid are the components
of a rotation vector r in base axes that turns the platform from the pose in which the grid is centred:

    R = exp(r) R_at,   r = [rx, ry, rz], zero where a component does not vary.

So a grid over rx and ry tilts the platform about horizontal axes at the torsion of that pose, as the chart of
robots with two rotations does. Where angles are plain numbers in x, they are these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.capacity import require_memory
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.flags import Flag, Flagged, has_failed
from nacelle.kinematics.jacobian import conditioning, scaled_inverse
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose_input import check_poses, is_angle, reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.tools import tool_coordinates, tool_to_pose
from nacelle.model.platform import AXES
from nacelle.model.reduced import ROTATIONS, layout_of
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.results import Plottable
from nacelle.spatial.rotation import quat_exp, quat_multiply
from nacelle.spatial.scalar import Array

# Poses of a grid that are solved at a time: keeps memory bounded.
_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False, repr=False)
class Workspace(Flagged, Plottable):
    """A grid of poses and what is known there.

    Attributes:
        robot: the robot.
        names: the coordinates that vary; rx, ry, rz of a free orientation turn it from that of `at`.
        values: the values of each, ascending.
        at: the pose that gives the others.
        flags: for every point of the grid what was found (`Flag`), one axis for each name.
        conditioning: inverse condition number of the scaled Jacobian; NaN out of reach.
        tool: name of the tool whose coordinates vary; those of the platform if None.
    """

    robot: Robot
    names: tuple[str, ...]
    values: tuple[Array, ...]
    at: Array
    flags: Array
    conditioning: Array
    tool: str | None = None

    @property
    def reachable(self) -> Array:
        """Which points of the grid can be reached, limits left aside: one axis for each name."""
        return np.asarray(~has_failed(self.flags))

    @property
    def inside_limits(self) -> Array:
        """Which points are reached within all limits, on the branch of the reference pose."""
        return np.asarray(self.reachable & ((self.flags & int(Flag.OUT_OF_LIMITS | Flag.OTHER_BRANCH)) == 0))

    @property
    def other_branch(self) -> Array:
        """Which points are reached only on a branch that is not connected with the reference pose."""
        return np.asarray(self.reachable & ((self.flags & int(Flag.OTHER_BRANCH)) != 0))

    @property
    def rotation_names(self) -> tuple[str, ...]:
        """The components of the rotation vector that vary, where the orientation is free."""
        return _rotation_names(self.robot, self.names)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of each coordinate that varies: "m" or "rad"."""
        return tuple("rad" if is_angle(self.robot, name) else "m" for name in self.names)

    @property
    def unit(self) -> str:
        """Unit of `volume`: "m", "m^2", "rad^3", "m^2 rad"."""
        counts = ((unit, self.units.count(unit)) for unit in ("m", "rad"))
        return " ".join(unit if n == 1 else f"{unit}^{n}" for unit, n in counts if n)

    @property
    def cell(self) -> float:
        """Size of a cell of the grid: m, rad, or their products."""
        return float(np.prod([(v[-1] - v[0]) / (len(v) - 1) for v in self.values]))

    @property
    def volume(self) -> float:
        """Length, area or volume of what is reached within limits, counted in cells; `unit` says its unit."""
        return float(np.count_nonzero(self.inside_limits)) * self.cell

    @property
    def extent(self) -> tuple[tuple[float, float], ...] | None:
        """For each coordinate the lowest and highest value reached within limits; None if nothing is."""
        inside = np.nonzero(self.inside_limits)
        if not inside[0].size:
            return None
        return tuple((float(v[k.min()]), float(v[k.max()])) for v, k in zip(self.values, inside, strict=True))

    @cached_property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """Ranges of a single coordinate reached within limits.

        Ends between two points of the grid are found by bisection, to 1e-9 of the range.

        Raises:
            KinematicsError: if the grid has more than one coordinate.
        """
        if len(self.names) != 1:
            raise KinematicsError(f"intervals belong to one coordinate, this grid has {len(self.names)}")
        values, inside = self.values[0], self.inside_limits
        change = np.flatnonzero(inside[1:] != inside[:-1])
        good = np.where(inside[change], values[change], values[change + 1])
        bad = np.where(inside[change], values[change + 1], values[change])
        for _ in range(int(np.ceil(np.log2(1e9 / (len(values) - 1)))) if change.size else 0):
            middle = 0.5 * (good + bad)
            fine = inverse_kinematics(
                self.robot, grid_poses(self.robot, self.names, (middle,), self.at, self.tool)
            ).ok
            good, bad = np.where(fine, middle, good), np.where(fine, bad, middle)
        ends = [*values[:1][inside[:1]], *good, *values[-1:][inside[-1:]]]
        return tuple((float(a), float(b)) for a, b in zip(ends[::2], ends[1::2], strict=True))

    @property
    def title(self) -> str:
        """Title of the result: the robot and its coordinates."""
        return f"{self.robot.name}: workspace over {', '.join(self.names)}"

    @cached_property
    def x(self) -> Array:
        """The reduced poses (..., nx) of the grid, m and rad or quat_xyzw, base axes."""
        return grid_poses(
            self.robot, self.names, np.meshgrid(*self.values, indexing="ij"), self.at, self.tool
        )


def workspace(
    robot: Robot,
    over: Mapping[str, tuple[float, float] | tuple[float, float, int]],
    *,
    at: Any = None,
    conditioned: bool = True,
    tool: str | None = None,
) -> Workspace:
    """Map reach, limits and conditioning over a grid.

    Args:
        robot: the robot.
        over: for one, two or three coordinates of the motion (lowest, highest) or (lowest, highest, points),
            m or rad; 61 points for one or two coordinates, 31 for three, if not said. Of a free orientation
            rx, ry, rz are components of a rotation vector in base axes that turns it from that of `at`.
        at: the pose (nx,) that gives the other coordinates; the reference pose if None.
        conditioned: whether to compute the conditioning too.
        tool: name of a tool: the coordinates that vary are then its own (see `nacelle.pose`), the others stay
            as they are for the tool in the pose `at`.

    Raises:
        KinematicsError: if a coordinate is not one of the robot, or a range is empty.
    """
    layout = layout_of(robot.motion)
    start = check_poses(robot, reference_pose(robot) if at is None else at)[0]
    free = robot.motion.coordinates
    if not 1 <= len(over) <= 3:
        raise KinematicsError(f"a workspace has one to three coordinates, got {len(over)}")
    values = []
    for name, interval in over.items():
        if name not in free:
            raise KinematicsError(
                f"{robot.name} has no coordinate {name!r} to vary; {did_you_mean(name, free)}"
            )
        if len(interval) not in (2, 3):
            raise KinematicsError(f"the range of {name} is (lowest, highest) or (lowest, highest, points)")
        low, high = float(interval[0]), float(interval[1])
        count = int(interval[2]) if len(interval) > 2 else (31 if len(over) == 3 else 61)
        if not (np.isfinite(low) and np.isfinite(high) and low < high) or count < 2:
            raise KinematicsError(
                f"the range of {name} is empty: lowest {low:g}, highest {high:g}, {count} points; it takes "
                "lowest < highest and at least 2 points"
            )
        require_memory(f"points of {name}", count, 8, "take fewer points")
        values.append(np.linspace(low, high, count))
    names = tuple(over)
    # A pose, its flag and its conditioning, and the copies that a grid of poses is made from.
    each = 8 * (2 * layout.nx + 2 + len(names))
    points = math.prod(len(axis) for axis in values)
    require_memory("points of the grid", points, each, "take fewer points for each coordinate")
    poses = grid_poses(robot, names, np.meshgrid(*values, indexing="ij"), start, tool)
    shape = poses.shape[:-1]
    rows = poses.reshape(-1, layout.nx)
    flags = np.empty(len(rows), dtype=np.int64)
    figure = np.full(len(rows), np.nan)
    with task(f"{len(rows)} poses of {robot.name}") as report:
        for first in range(0, len(rows), _BLOCK):
            part = slice(first, first + _BLOCK)
            solution = inverse_kinematics(robot, rows[part])
            flags[part] = solution.flags
            if conditioned:
                J = compile_native(kinematic_model.inverse_jacobian, robot)(solution.x, solution.y)["J"]
                figure[part] = np.where(
                    has_failed(solution.flags), np.nan, conditioning(scaled_inverse(robot, J))
                )
            report((first + len(solution.flags)) / len(rows))
    return Workspace(robot, names, tuple(values), start, flags.reshape(shape), figure.reshape(shape), tool)


def _rotation_names(robot: Robot, names: tuple[str, ...]) -> tuple[str, ...]:
    """The rotations among coordinates, where the orientation is free."""
    free = layout_of(robot.motion).quaternion is not None
    return tuple(name for name in names if free and name in ROTATIONS)


def grid_poses(
    robot: Robot, names: tuple[str, ...], values: Sequence[Array], at: Array, tool: str | None
) -> Array:
    """Poses (..., nx) where named coordinates have values (...), the others those of a pose (nx,)."""
    layout = layout_of(robot.motion)
    if tool is not None:
        at = tool_coordinates(robot, at, tool)
    rotations = _rotation_names(robot, names)
    poses = np.broadcast_to(at, (*values[0].shape, layout.nx)).copy()
    rotation = np.zeros((*values[0].shape, 3))
    for name, coordinate in zip(names, values, strict=True):
        if name in rotations:
            rotation[..., ROTATIONS.index(name)] = coordinate
        else:
            poses[..., layout.x_names.index(name)] = coordinate
    if rotations:
        poses[..., layout.quaternion] = quat_multiply(quat_exp(rotation), poses[..., layout.quaternion])
    return poses if tool is None else tool_to_pose(robot, poses, tool)


@dataclass(frozen=True, eq=False, repr=False)
class WorkspaceBoundary(Plottable):
    """How far the platform reaches from a centre.

    Attributes:
        robot: the robot.
        names: the translations that span the directions.
        centre: the pose from which the rays start (nx,).
        directions: unit vectors (rays, 2 or 3).
        distance: how far each ray goes before the first pose that cannot be taken (rays,), m.
        furthest: how far rays were walked, m; a ray that goes as far has met no boundary.
    """

    robot: Robot
    names: tuple[str, ...]
    centre: Array
    directions: Array
    distance: Array
    furthest: float = math.inf

    @property
    def is_unbounded(self) -> Array:
        """Which rays (...) met no boundary: the robot has no limit there, or more steps are needed."""
        return np.asarray(self.distance >= self.furthest)

    @property
    def volume(self) -> float:
        """Area (two directions) or volume (three) of what is seen from the centre; rays share it equally."""
        if len(self.names) == 2:
            return float(np.pi * np.mean(self.distance**2))
        return float(4.0 / 3.0 * np.pi * np.mean(self.distance**3))


def workspace_boundary(
    robot: Robot,
    *,
    at: Any = None,
    names: tuple[str, ...] | None = None,
    rays: int = 2000,
    steps: int = 200,
    tool: str | None = None,
) -> WorkspaceBoundary:
    """Find the boundary of the workspace along rays from a pose, limits kept.

    Each ray is walked in steps to the first pose that cannot be taken, and the boundary is then found by
    bisection to 1e-9 of the robot's size.

    Args:
        robot: the robot.
        at: the pose (nx,) from which the rays start; the reference pose if None.
        names: the translations that span the directions; all that the motion has if None.
        rays: how many rays, spread evenly over the circle or (spiral of Fibonacci) the sphere.
        steps: how many steps a ray may take, each a fiftieth of the robot's size.
        tool: name of a tool that moves along the rays; the platform if None.
    """
    layout = layout_of(robot.motion)
    spanned = names or tuple(name for name in layout.x_names if name in AXES[:3])
    translations = [name for name in layout.x_names if name in AXES[:3]]
    if len(spanned) not in (2, 3) or any(name not in translations for name in spanned):
        raise KinematicsError(
            f"rays take two or three of the translations of {robot.name}: {', '.join(translations) or 'none'}"
        )
    if rays < 1 or steps < 1:
        raise KinematicsError(f"rays = {rays} and steps = {steps} must be above zero")
    # Poses with all joints, solved together.
    each = 8 * (4 * layout.nx + 12 * len(robot.joints))
    require_memory("rays", rays, each, "2000 give the volume to about 1 %")
    start = check_poses(robot, reference_pose(robot) if at is None else at)[0]
    directions = _ray_directions(rays, len(spanned))
    indices = [layout.x_names.index(name) for name in spanned]

    centre = start if tool is None else tool_coordinates(robot, start, tool)

    def good(distance: Array, chosen: Array) -> Array:
        poses = np.broadcast_to(centre, (len(chosen), layout.nx)).copy()
        poses[:, indices] += distance[:, None] * directions[chosen]
        if tool is not None:
            poses = tool_to_pose(robot, poses, tool)
        return inverse_kinematics(robot, poses).ok

    if not good(np.zeros(1), np.zeros(1, dtype=int))[0]:
        raise KinematicsError(f"{robot.name} cannot take the pose from which the rays start")
    step = robot.size / 50.0
    low = np.zeros(rays)
    left = np.arange(rays)
    with task(f"tracing {rays} rays") as report:
        for k in range(1, steps + 1):
            fine = good(np.full(left.size, k * step), left)
            left = left[fine]
            low[left] = k * step
            report(1.0 - left.size / rays)
            if not left.size:
                break
    high = low + step
    everyone = np.arange(rays)
    halvings = math.ceil(math.log2(step / (1e-9 * robot.size)))
    with task(f"bisecting the boundary on {rays} rays") as report:
        for k in range(halvings):
            report(k / halvings)
            middle = 0.5 * (low + high)
            fine = good(middle, everyone)
            low, high = np.where(fine, middle, low), np.where(fine, high, middle)
    return WorkspaceBoundary(robot, spanned, start, directions, low, steps * step)


def _ray_directions(count: int, size: int) -> Array:
    position = np.arange(count) + 0.5
    if size == 2:
        angle = 2.0 * np.pi * position / count
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    height = 1.0 - 2.0 * position / count
    angle = np.pi * (1.0 + np.sqrt(5.0)) * position
    radius = np.sqrt(1.0 - height**2)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)

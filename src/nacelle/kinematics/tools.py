"""Tools, named frames on the platform: their pose, the way back to that of the platform, trajectories.

The frame of a tool is fixed to a body b of the platform at F = (R_F, p_F), constant in the body's frame. In
the base, with (R_b, p_b) the pose of the body,

    R_t = R_b R_F,      p_t = p_b + R_b p_F                    R (3, 3), p (3,) in m

Coordinates of a tool are those of the robot's motion, read for the tool: x, y, z are its origin's, a free
orientation (quat_xyzw) is that of its frame; plain angles and joints of the platform keep their meaning, as
the tool turns with them. Where the tool is on the platform's own body and all other numbers of the platform's
pose are constant, the way back is one subtraction, p_b = p_t - R_b p_F. With parasitic motion, on bodies that
the platform's own joints move, and where rotations put the origin at a place (a tilting table, a spherical
robot), Newton's iteration finds the pose: with the exact Jacobian J_t of the tool by the coordinates c,

    c <- c + J_t^+ (s - s(c)),

s what is given of the tool, the step halved until it comes nearer. Along a trajectory s(t), with b (n,) what
is left of s'' where c'' = 0,

    s' = J_t c',      s'' = J_t c'' + b          so          c' = J_t^-1 s',      c'' = J_t^-1 (s'' - b)

and c itself is solved for at every time. Angular rates are angular velocities in base axes, rad/s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import KinematicsError, UnreachableError, did_you_mean
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import body_motion, twist_from_rates
from nacelle.kinematics.pose_input import SHORTEST_QUATERNION, check_poses, displace_pose, reference_pose
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.leg import PLATFORM
from nacelle.model.platform import Motion, Tool
from nacelle.model.reduced import QUATERNION, ROTATIONS, layout_of
from nacelle.model.robot import Robot
from nacelle.results import Plot, html
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.rotation import (
    quat_conjugate,
    quat_from_matrices,
    quat_from_rotation,
    quat_log,
    quat_multiply,
)
from nacelle.spatial.scalar import Array

TRANSLATIONS = ("x", "y", "z")


class ToolPose(NamedTuple):
    """Where a tool is: orientation R (..., 3, 3) and origin p (..., 3) of its frame in the base, m."""

    R: Array
    p: Array

    @property
    def plot(self) -> Callable[..., Any]:
        """The function that draws it, as of what is `Plottable`: a tuple has no other parents."""
        return Plot().__get__(self, type(self))

    def _repr_html_(self) -> str:
        """The table for notebooks."""
        return html(self)

    @property
    def quat_xyzw(self) -> Array:
        """The orientation as quaternions (..., 4), scalar last, w >= 0."""
        return quat_from_matrices(self.R)


def find_tool(robot: Robot, name: str) -> Tool:
    """A tool by its name.

    Raises:
        KinematicsError: if the robot has no such tool.
    """
    tools = {tool.name: tool for tool in robot.tools}
    if name not in tools:
        hint = did_you_mean(name, tools) or "the robot has no tools (the key `tools` of its description)"
        raise KinematicsError(f"{robot.name} has no tool {name!r}; {hint}")
    return tools[name]


def tool_pose(robot: Robot, x: Any, tool: str) -> ToolPose:
    """Find where a tool is at poses of the platform: R_t = R_b R_F, p_t = p_b + R_b p_F in the base.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame.
        tool: name of the tool.

    Returns:
        Position (..., 3), m, and orientation (..., 4), quat_xyzw, of the tool in the base frame.

    Raises:
        KinematicsError: if the robot has no such tool, or x has the wrong shape.
        UnreachableError: if a single pose is out of reach; in a batch its numbers are NaN.
    """
    frame = find_tool(robot, tool)
    solution = inverse_kinematics(robot, x, limits=False)
    R, p = solution.bodies.R[..., frame.body, :, :], solution.bodies.p[..., frame.body, :]
    R = np.where(solution.reachable[..., None, None], R, np.nan)
    p = np.where(solution.reachable[..., None], p, np.nan)
    return ToolPose(R @ frame.frame.R, p + R @ frame.frame.p)


def tool_coordinates(robot: Robot, x: Any, tool: str, motion: Motion | None = None) -> Array:
    """Coordinates of a tool (..., nx of the motion) at poses x of the platform: inverse of `tool_to_pose`.

    Args:
        robot: the robot.
        x: reduced poses (..., nx).
        tool: name of the tool.
        motion: which coordinates; those of the robot's motion if None.
    """
    poses, _ = check_poses(robot, x)
    at = tool_pose(robot, poses, tool)
    x_layout, layout = layout_of(robot.motion), layout_of(motion or robot.motion)
    result = np.empty((*poses.shape[:-1], layout.nx))
    for k, name in enumerate(layout.x_names):
        if name in TRANSLATIONS:
            result[..., k] = at.p[..., TRANSLATIONS.index(name)]
        elif name not in QUATERNION or layout.quaternion is None:
            result[..., k] = poses[..., x_layout.x_index(name)]
    if layout.quaternion is not None:
        result[..., layout.quaternion] = at.quat_xyzw
    return result


# ---- where the platform must be for a tool to be somewhere


_ITERATIONS = 60
_HALVINGS = 12
# The longest step of an iteration: rad, or parts of the robot's size.
_LONGEST = 0.3
# What may be left open where a pose is given out: rad, or parts of the robot's size.
_CLOSED = 1e-10
# Singular values below this part of the largest are directions in which the tool does not move.
_RANK = 1e-9


def tool_to_pose(robot: Robot, coordinates: Any, tool: str, motion: Motion | None = None) -> Array:
    """Poses (..., nx) of the platform that give a tool its coordinates (..., nx of the motion).

    Args:
        robot: the robot.
        coordinates: of the tool: x, y, z of its origin, quat_xyzw of its frame; angles and joints of the
            platform as they are.
        tool: name of the tool.
        motion: which coordinates are given; those of the robot's motion if None. Others stay as in the
            reference pose, or follow where they are needed to reach the place (see `nacelle.pose`).

    Raises:
        KinematicsError: if shapes or names are wrong.
        UnreachableError: if a single target cannot be met; in a batch its pose is NaN.
    """
    target = ToolTarget.of(robot, tool, motion or robot.motion)
    values = np.asarray(coordinates, dtype=float)
    layout = layout_of(target.motion)
    if values.shape[-1:] != (layout.nx,):
        raise KinematicsError(
            f"a pose of the tool {tool} has {layout.nx} numbers ({', '.join(layout.x_names)}), so its shape "
            f"is (..., {layout.nx}), got {values.shape}"
        )
    x, error = target.solve(values)
    if values.ndim == 1 and not error <= _CLOSED:
        raise target.unreachable_error(values, float(error))
    return x


@dataclass(frozen=True, eq=False)
class ToolTarget:
    """Which coordinates of a tool are given, and which coordinates of the platform follow.

    Attributes:
        robot: the robot.
        tool: the tool.
        motion: the coordinates that are given.
        free: coordinates of the robot's motion that are solved for; the others are given, or those of the
            reference pose.
        held: translations of the tool that stay as in the reference pose.
    """

    robot: Robot
    tool: Tool
    motion: Motion
    free: tuple[str, ...]
    held: tuple[str, ...]

    @classmethod
    def of(cls, robot: Robot, tool: str, motion: Motion) -> ToolTarget:
        """Choose what follows from what is given.

        Translations of the motion follow always. Angles and joints that are not given follow where an
        orientation is given, or a translation that is not one of the motion's and that they change.
        """
        frame = find_tool(robot, tool)
        axes = robot.motion.coordinates
        for name in motion.coordinates:
            if name not in axes and name not in TRANSLATIONS and not _has_free_orientation(motion):
                raise KinematicsError(
                    f"{robot.name} has no coordinate {name!r}; {did_you_mean(name, [*TRANSLATIONS, *axes])}"
                )
        beyond = [name for name in motion.coordinates if name in TRANSLATIONS and name not in axes]
        rotations = [name for name in axes if name in ROTATIONS and _has_free_orientation(motion)]
        left = [
            n for n in axes if n not in TRANSLATIONS and n not in motion.coordinates and n not in rotations
        ]
        if beyond and not _has_free_orientation(motion):
            left = _moving_coordinates(robot, frame, beyond, left)
        elif not _has_free_orientation(motion):
            left = []
        free = [name for name in axes if name in TRANSLATIONS or name in rotations or name in left]
        held = [name for name in axes if name in TRANSLATIONS and name not in motion.coordinates]
        return cls(robot, frame, motion, tuple(free), tuple(held))

    @property
    def rows(self) -> tuple[str, ...]:
        """What the tool must meet: translations, given and held, then rx, ry, rz of an orientation."""
        translations = [n for n in TRANSLATIONS if n in self.motion.coordinates or n in self.held]
        return (*translations, *(ROTATIONS if _has_free_orientation(self.motion) else ()))

    @property
    def determined(self) -> bool:
        """Whether there are at least as many conditions as coordinates to solve for."""
        return len(self.rows) >= len(self.free)

    # -------------------------------------------------------------------------- values

    def targets(self, values: Array) -> tuple[Array, Array | None, Array]:
        """Place (..., 3) of the origin, orientation (..., 4) if it is given, and poses to start from.

        In the poses the given angles and joints are set. Translations that are not given are those of the
        tool in the reference pose.
        """
        layout, x_layout = layout_of(self.motion), layout_of(self.robot.motion)
        reference = reference_pose(self.robot)
        position = np.broadcast_to(self.at(reference).p, (*values.shape[:-1], 3)).copy()
        start = np.broadcast_to(reference, (*values.shape[:-1], x_layout.nx)).copy()
        quat = None
        for k, name in enumerate(layout.x_names):
            if name in TRANSLATIONS:
                position[..., TRANSLATIONS.index(name)] = values[..., k]
            elif name not in QUATERNION or layout.quaternion is None:
                start[..., x_layout.x_index(name)] = values[..., k]
        if layout.quaternion is not None:
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                quat = values[..., layout.quaternion]
                length = np.linalg.norm(quat, axis=-1, keepdims=True)
                quat = quat / np.where((length > SHORTEST_QUATERNION) & (length < np.inf), length, np.nan)
        return position, quat, start

    def at(self, x: Array) -> ToolPose:
        """Pose of the tool at poses x (..., nx) of the platform, in the base."""
        return tool_pose(self.robot, x, self.tool.name)

    # -------------------------------------------------------------------------- solution

    def solve(self, values: Array) -> tuple[Array, Array]:
        """Poses (..., nx) of the platform, NaN where none was found, and what they leave open (...,)."""
        layout = layout_of(self.motion)
        rows = values.reshape(-1, layout.nx)
        x, error = self._solve_directly(rows) if self._is_direct else self._iterate(rows)
        x[~(error <= _CLOSED)] = np.nan
        x_layout = layout_of(self.robot.motion)
        return x.reshape(*values.shape[:-1], x_layout.nx), error.reshape(values.shape[:-1])

    @property
    def _is_direct(self) -> bool:
        """Whether the tool is at a constant place of a platform whose orientation is given."""
        axes = self.robot.motion.coordinates
        return (
            self.tool.body == PLATFORM
            and not mechanism_of(self.robot).parasitic
            and set(self.motion.coordinates) <= {*axes}
            and (_has_free_orientation(self.robot.motion) or not _has_free_orientation(self.motion))
            and all(name in TRANSLATIONS or name in ROTATIONS for name in self.free)
        )

    def _solve_directly(self, values: Array) -> tuple[Array, Array]:
        """R_b = R_t R_F^T, then p_b = p_t - R_b p_F along the translations of the motion."""
        position, quat, x = self.targets(values)
        x_layout = layout_of(self.robot.motion)
        if quat is not None:
            x[:, x_layout.quaternion] = quat_multiply(
                quat, quat_conjugate(quat_from_rotation(self.tool.frame.R))
            )
        R = to_samples(mechanism_of(self.robot).chart.pose(from_samples(x, 1)).R)
        offset = R @ self.tool.frame.p
        for k, name in enumerate(TRANSLATIONS):
            if name in self.robot.motion.coordinates:
                x[:, x_layout.x_index(name)] = position[:, k] - offset[..., k]
        return x, np.where(np.all(np.isfinite(x), axis=1), 0.0, np.nan)

    def _iterate(self, values: Array) -> tuple[Array, Array]:
        """Newton's iteration (least squares, shortest steps) from the reference pose."""
        position, quat, start = self.targets(values)
        x = self._start_poses(position, start)
        gap = self._error(x, position, quat)
        units = self._units
        for _ in range(_ITERATIONS):
            size = np.max(np.abs(gap), axis=1, initial=0.0)
            todo = np.flatnonzero(np.isfinite(size) & (size > 0.0))
            if not todo.size:
                break
            J = self._jacobian(x[todo])
            with np.errstate(invalid="ignore"):
                usable = np.all(np.isfinite(J), axis=(1, 2))
            todo, J = todo[usable], J[usable]
            step = np.einsum("nij,nj->ni", np.linalg.pinv(J, rcond=_RANK), gap[todo])
            longest = np.max(np.abs(step), axis=1, initial=0.0)
            part = np.minimum(1.0, _LONGEST / np.maximum(longest, 1e-300))
            before = np.linalg.norm(gap[todo], axis=1)
            left = np.arange(len(todo))
            for _ in range(_HALVINGS):
                rows = todo[left]
                trial = self._integrate(x[rows], (part[left, None] * step[left]) * units)
                left_to_go = self._error(trial, position[rows], None if quat is None else quat[rows])
                after = np.linalg.norm(left_to_go, axis=1)
                with np.errstate(invalid="ignore"):
                    better = after < before[left]
                x[rows[better]], gap[rows[better]] = trial[better], left_to_go[better]
                left = left[~better]
                if not left.size:
                    break
                part[left] *= 0.5
            if left.size == len(todo) or np.max(longest) < 1e-15:
                break
        return x, np.max(np.abs(gap), axis=1, initial=0.0)

    def _start_poses(self, position: Array, start: Array) -> Array:
        """Poses to start from: moved along with the tool, as far as poses are reached."""
        x_layout = layout_of(self.robot.motion)
        away = position - self.at(reference_pose(self.robot)).p
        result = start.copy()
        for part in (0.0, 0.5, 1.0):
            trial = start.copy()
            for k, name in enumerate(TRANSLATIONS):
                if name in self.robot.motion.coordinates:
                    trial[:, x_layout.x_index(name)] += part * away[:, k]
            good = inverse_kinematics(self.robot, trial, limits=False).reachable
            result[good] = trial[good]
        return result

    @property
    def _units(self) -> Array:
        """Units of the coordinates to solve for: the robot's size for lengths, 1 rad for angles."""
        return np.array([twist_scales(self.robot)[k] for k in self._free_indices])

    @property
    def _free_indices(self) -> list[int]:
        """Indices in the reduced twist of the coordinates to solve for."""
        return [self.robot.motion.coordinates.index(name) for name in self.free]

    def _error(self, x: Array, position: Array, quat: Array | None) -> Array:
        """What is left to go (N, rows): parts of the size, and a rotation vector."""
        at = self.at(x)
        columns = [
            (position - at.p)[:, TRANSLATIONS.index(n)] / self.robot.size for n in self.rows if n in "xyz"
        ]
        gap = np.stack(columns, axis=1) if columns else np.zeros((len(x), 0))
        if quat is None:
            return gap
        with np.errstate(invalid="ignore"):
            rotation = quat_log(quat_multiply(quat, quat_conjugate(at.quat_xyzw)))
        return np.concatenate([gap, rotation], axis=1)

    def _jacobian(self, x: Array) -> Array:
        """Change (N, rows, free) of what is met, in the units of both."""
        unit = np.eye(self.robot.motion.n)[self._free_indices]
        twist, _ = self.rates(x[:, None, :], unit, np.zeros_like(unit))
        scale = np.array([self.robot.size if name in TRANSLATIONS else 1.0 for name in self.rows])
        return np.asarray(np.swapaxes(twist[..., self._twist_rows], 1, 2) / scale[:, None] * self._units)

    @property
    def _twist_rows(self) -> list[int]:
        return [(*TRANSLATIONS, *ROTATIONS).index(name) for name in self.rows]

    def _integrate(self, x: Array, step: Array) -> Array:
        """Poses after steps (N, free) of the coordinates to solve for, m or rad."""
        whole = np.zeros((len(x), self.robot.motion.n))
        whole[:, self._free_indices] = step
        return displace_pose(self.robot, x, whole)

    # -------------------------------------------------------------------------- rates

    def rates(self, x: Array, dx: Array, ddx: Array) -> tuple[Array, Array]:
        """Twist [v; w] (..., 6) of the tool at its origin and its derivative, from rates of the coordinates.

        Args:
            x: poses (..., nx) of the platform.
            dx: rates (..., n) of its coordinates; of a quaternion the angular velocity.
            ddx: their derivatives (..., n).
        """
        batch = np.broadcast_shapes(x.shape[:-1], dx.shape[:-1])
        x = np.broadcast_to(x, (*batch, x.shape[-1]))
        dx, ddx = (np.broadcast_to(rate, (*batch, rate.shape[-1])) for rate in (dx, ddx))
        v, a = twist_from_rates(self.robot, x, dx, ddx)
        moving = body_motion(self.robot, x, v, a)
        V, A = moving.twist[..., self.tool.body, :], moving.acceleration[..., self.tool.body, :]
        R_F = self.tool.frame.R
        arm = self.at(x).R @ R_F.T @ self.tool.frame.p
        w, dw = V[..., 3:], A[..., 3:]
        turning = np.cross(w, arm)
        twist = np.concatenate([V[..., :3] + turning, w], axis=-1)
        change = np.concatenate([A[..., :3] + np.cross(dw, arm) + np.cross(w, turning), dw], axis=-1)
        return twist, change

    def coordinate_rates(self, x: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Rates (N, n) of the platform's coordinates and their derivatives from those of the tool.

        Args:
            x: poses (N, nx) of the platform.
            v: rates (N, n of the motion) of the given coordinates; of a quaternion the angular velocity.
            a: their derivatives.
        """
        names, axes = self.motion.coordinates, self.robot.motion.coordinates
        fixed = [name for name in axes if name not in self.free and name in names]
        dx, ddx = np.zeros((2, len(x), len(axes)))
        for name in fixed:
            dx[:, axes.index(name)] = v[:, names.index(name)]
            ddx[:, axes.index(name)] = a[:, names.index(name)]
        row_sources = [names.index(name) if name in names else -1 for name in self.rows]
        scale = np.array([self.robot.size if name in TRANSLATIONS else 1.0 for name in self.rows])
        inverse = np.linalg.pinv(np.nan_to_num(self._jacobian(x)), rcond=_RANK)
        for rates, tool_rates in ((dx, v), (ddx, a)):
            target = np.where(np.array(row_sources) >= 0, tool_rates[:, row_sources], 0.0)
            # What the given coordinates (and, for the second derivative, the rates) bring along.
            twist, change = self.rates(x, dx, ddx)
            brought = (twist if rates is dx else change)[:, self._twist_rows]
            step = np.einsum("nij,nj->ni", inverse, (target - brought) / scale) * self._units
            rates[:, self._free_indices] += step
        bad = ~np.all(np.isfinite(x), axis=1)
        dx[bad], ddx[bad] = np.nan, np.nan
        return dx, ddx

    # -------------------------------------------------------------------------- words

    def unreachable_error(self, values: Array, error: float) -> UnreachableError:
        """The error for a single target that is not met."""
        position, quat, start = self.targets(values)
        targets = [
            f"{name} = {position[TRANSLATIONS.index(name)]:.6g} m"
            for name in TRANSLATIONS
            if name in self.motion.coordinates
        ]
        if quat is not None:
            targets.append(f"quat_xyzw = [{', '.join(f'{value:.4g}' for value in quat)}]")
        text = f"{self.robot.name} cannot bring the tool {self.tool.name!r} to {', '.join(targets)}"
        if not np.isfinite(error):
            return UnreachableError(text)
        x_layout = layout_of(self.robot.motion)
        x = self._iterate(values[None])[0] if not self._is_direct else start[None]
        gap = self._error(x, position[None], None if quat is None else quat[None])[0]
        rows = self.rows
        off = float(np.linalg.norm([g for g, n in zip(gap, rows, strict=True) if n in TRANSLATIONS]))
        angle = float(np.linalg.norm([g for g, n in zip(gap, rows, strict=True) if n in ROTATIONS]))
        parts = [f"{1e3 * off * self.robot.size:.4g} mm"] if off > _CLOSED else []
        parts += [f"{np.degrees(angle):.4g} deg"] if angle > _CLOSED else []
        nearest = ", ".join(f"{n} = {v:.6g}" for n, v in zip(x_layout.x_names, x[0], strict=True))
        return UnreachableError(
            f"{text}: its motion {self.robot.motion.name} leaves {' and '.join(parts)} at the nearest pose "
            f"that was found, {nearest}"
        )


def _has_free_orientation(motion: Motion) -> bool:
    """Whether a motion has a free orientation, a quaternion."""
    return layout_of(motion).quaternion is not None


def _moving_coordinates(robot: Robot, tool: Tool, axes: list[str], names: list[str]) -> list[str]:
    """Those of some coordinates that move a tool along some axes, in a pose near the reference."""
    if not names:
        return []
    probe = ToolTarget(robot, tool, Motion(tuple(axes)), tuple(names), ())
    steps = np.array([[0.05, -0.03, 0.04][k % 3] for k in range(len(names))])
    x = reference_pose(robot)[None]
    J = probe._jacobian(np.concatenate([x, probe._integrate(x, steps[None] * probe._units)]))
    size = np.max(np.abs(np.nan_to_num(J)), axis=(0, 1))
    return [name for name, moves in zip(names, size, strict=True) if moves > _RANK]

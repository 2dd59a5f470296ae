"""Slices of the workspace in space: where the nacelle can go over two coordinates, coloured by conditioning.

Each point of the grid is a small rectangle. Two translations lie where they are, in base axes; an angle has
no place in space, so it is drawn as a length along a base axis that is free: 45 deg are a quarter of the
robot's extent, zero at the pose through which the slice goes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.pose_input import is_angle
from nacelle.kinematics.workspace import Workspace, workspace
from nacelle.model.platform import AXES
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.view.coordinates import pose_coordinates

# Upper ends of the bands of the inverse condition number, and their colours (cividis, for all eyes).
BANDS = (
    (0.01, "#E69F00"),
    (0.05, "#00224e"),
    (0.1, "#35456c"),
    (0.2, "#666970"),
    (0.4, "#948e77"),
    (0.6, "#c8b866"),
    (1.0, "#fee838"),
)
BEYOND_COLOUR = "#9aa0a8"
_COARSE, _FINE = 25, 61
# Length of an angle of 45 deg, as a part of the robot's extent.
_ANGLE = 0.25


@dataclass(frozen=True, eq=False)
class ColouredPoints:
    """Points of a slice of one colour.

    Attributes:
        label: what they are, for the legend.
        colour: their colour.
        vertices: corners of rectangles (4 N, 3), m, base axes.
        faces: triangles (2 N, 3) of them.
        faint: whether it is drawn faintly: poses that are reached beyond limits only.
    """

    label: str
    colour: str
    vertices: Array
    faces: Array
    faint: bool = False


@dataclass(frozen=True, eq=False)
class Slice:
    """A slice of the workspace: the patches to draw, and what it says in words."""

    grid: Workspace
    patches: tuple[ColouredPoints, ...]
    words: str


def workspace_slice(robot: Robot, names: tuple[str, str], at: Array, origin: Array, extent: float) -> Slice:
    """Compute a slice over two coordinates through a pose.

    The range is sought on a coarse grid over the robot's size, or half a turn, first.

    Args:
        robot: the robot.
        names: the two coordinates that vary.
        at: the pose (nx,) that gives the others.
        origin: of the platform at that pose (3,), m, base axes.
        extent: of the robot, m.

    Raises:
        NacelleError: if the grid cannot be computed.
    """
    coarse = workspace(robot, _wide(robot, names, at), at=at, conditioned=False)
    inside = coarse.extent
    if inside is None:
        return Slice(coarse, (), "nothing of this slice is reached within limits")
    over = {}
    for name, values, (low, high) in zip(names, coarse.values, inside, strict=True):
        step = float(values[1] - values[0])
        over[name] = (low - step, high + step, _FINE)
    grid = workspace(robot, over, at=at)
    axes = _axes(robot, names)
    vectors, steps = [], []
    current = pose_coordinates(robot, at)
    for name, values, axis in zip(names, grid.values, axes, strict=True):
        angle = is_angle(robot, name)
        scale = _ANGLE * extent / np.radians(45.0) if angle else 1.0
        here = 0.0 if name in grid.turned else float(current[robot.motion.coordinates.index(name)])
        vectors.append(scale * (values - here)[:, None] * np.eye(3)[axis])
        steps.append(scale * float(values[1] - values[0]) * np.eye(3)[axis])
    centres = origin + vectors[0][:, None, :] + vectors[1][None, :, :]
    return Slice(grid, tuple(_patches(grid, centres, steps)), _words(grid, robot, extent))


def _wide(robot: Robot, names: tuple[str, str], at: Array) -> Mapping[str, tuple[float, float, int]]:
    """Ranges of the coarse grid: the robot's size to either side, or half a turn."""
    values = pose_coordinates(robot, at)
    over = {}
    for name in names:
        angle = is_angle(robot, name)
        turned = angle and "rx" in robot.motion.coordinates and set(AXES[3:]) <= set(robot.motion.coordinates)
        middle = 0.0 if turned and name in AXES else float(values[robot.motion.coordinates.index(name)])
        reach = np.pi if angle else 1.5 * robot.size
        over[name] = (middle - reach, middle + reach, 2 * _COARSE + 1)
    return over


def _axes(robot: Robot, names: tuple[str, str]) -> tuple[int, int]:
    """The base axis along which each coordinate is drawn."""
    taken: list[int | None] = [AXES.index(name) if name in AXES[:3] else None for name in names]
    for k, name in enumerate(names):
        if taken[k] is None:
            wanted = AXES.index(name) - 3 if name in AXES else 0
            free = [axis for axis in (wanted, 0, 1, 2) if axis not in taken]
            taken[k] = free[0]
    return int(taken[0] or 0), int(taken[1] or 0)


def _patches(grid: Workspace, centres: Array, steps: list[Array]) -> list[ColouredPoints]:
    """Rectangles around the points of a grid, by bands."""
    corners = [0.5 * (a * steps[0] + b * steps[1]) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    inside, figure = grid.inside_limits, grid.conditioning
    found = []
    lower = 0.0
    for upper, colour in BANDS:
        chosen = inside & (figure >= lower) & ((figure < upper) | ((upper == 1.0) & (figure >= lower)))
        label = f"{lower:g} to {upper:g}" + (", near singular" if lower == 0.0 else "")
        found.append(_patch(label, colour, centres[chosen], corners))
        lower = upper
    beyond = grid.reachable & ~inside
    found.append(
        _patch("beyond limits, or another branch", BEYOND_COLOUR, centres[beyond], corners, faint=True)
    )
    return [patch for patch in found if len(patch.vertices)]


def _patch(
    label: str, colour: str, centres: Array, corners: list[Array], *, faint: bool = False
) -> ColouredPoints:
    vertices = (centres[:, None, :] + np.array(corners)[None]).reshape(-1, 3)
    first = 4 * np.arange(len(centres))[:, None]
    faces = np.concatenate([first + np.array([0, 1, 2]), first + np.array([0, 2, 3])])
    return ColouredPoints(label, colour, vertices, faces, faint)


def _words(grid: Workspace, robot: Robot, extent: float) -> str:
    """What a slice says: its size, its range, and how angles are drawn."""
    spans = []
    for name, (low, high), unit in zip(grid.names, grid.extent or (), grid.units, strict=False):
        factor, shown = (180.0 / np.pi, "deg") if unit == "rad" else (1e3, "mm")
        spans.append(f"{name} {factor * low:.4g} to {factor * high:.4g} {shown}")
    words = f"within limits: {grid.volume:.4g} {grid.unit}; " + ", ".join(spans)
    if any(is_angle(robot, name) for name in grid.names):
        words += f"; angles are drawn as lengths, 45 deg as {1e3 * _ANGLE * extent:.3g} mm"
    return words


def slice_choices(robot: Robot) -> list[tuple[str, str]]:
    """Pairs of coordinates over which a slice can be taken, translations first."""
    names = sorted(robot.motion.coordinates, key=lambda name: name not in AXES[:3])
    return list(itertools.combinations(names, 2))

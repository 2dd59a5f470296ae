"""Slices of the workspace in space: where the platform can go over two coordinates, coloured by conditioning.

Each point of the grid is a small rectangle. Two translations lie where they are, in base axes; an angle has
no place in space, so it is drawn as a length along a base axis that is free: 45 deg are a quarter of the
robot's extent, zero at the pose through which the slice goes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.errors import UnreachableError
from nacelle.kinematics.pose_input import is_angle
from nacelle.kinematics.workspace import Workspace, workspace
from nacelle.model.platform import AXES
from nacelle.model.robot import Robot
from nacelle.scene.slices import conditioning_bands, grid_axes, pose_coordinate, slice_ranges
from nacelle.spatial.scalar import Array

BEYOND_COLOUR = "#9aa0a8"
_POINTS = 61
# Length of an angle of 45 deg, as a part of the robot's extent.
_ANGLE_LENGTH = 0.25


@dataclass(frozen=True, eq=False)
class ColouredPoints:
    """Points of a slice of one colour.

    Attributes:
        label: what they are, for the legend.
        colour: their colour.
        vertices: corners of rectangles (4 N, 3), m, base axes.
        faces: triangles (2 N, 3) of them.
        is_faint: whether it is drawn faintly: poses that are reached beyond limits only.
    """

    label: str
    colour: str
    vertices: Array
    faces: Array
    is_faint: bool = False


@dataclass(frozen=True, eq=False)
class Slice:
    """A slice of the workspace: its grid, None if nothing is reached, the patches to draw, and words."""

    grid: Workspace | None
    patches: tuple[ColouredPoints, ...]
    message: str


class SliceCoordinates(NamedTuple):
    """The two coordinates that vary over a slice, by name."""

    first: str
    second: str


def workspace_slice(robot: Robot, names: SliceCoordinates, at: Array, origin: Array, extent: float) -> Slice:
    """Compute a slice over two coordinates through a pose.

    Args:
        robot: the robot.
        names: the two coordinates that vary.
        at: the pose (nx,) that gives the others.
        origin: of the platform at that pose (3,), m, base axes.
        extent: of the robot, m.

    Raises:
        NacelleError: if the grid cannot be computed.
    """
    try:
        over = slice_ranges(robot, names, at, points=_POINTS).ranges
    except UnreachableError:
        return Slice(None, (), "nothing of this slice is reached within limits")
    grid = workspace(robot, over, at=at)
    axes = _drawing_axes(names)
    vectors, steps = [], []
    for name, values, axis in zip(names, grid.values, axes, strict=True):
        angle = is_angle(robot, name)
        scale = _ANGLE_LENGTH * extent / np.radians(45.0) if angle else 1.0
        origin_value = pose_coordinate(robot, at, name)
        vectors.append(scale * (values - origin_value)[:, None] * np.eye(3)[axis])
        steps.append(scale * float(values[1] - values[0]) * np.eye(3)[axis])
    centres = origin + vectors[0][:, None, :] + vectors[1][None, :, :]
    return Slice(grid, tuple(_patches(grid, centres, steps)), _slice_message(grid, robot, extent))


def _drawing_axes(names: SliceCoordinates) -> tuple[int, int]:
    """The base axis along which each coordinate is drawn."""
    taken: list[int | None] = [AXES.index(name) if name in AXES[:3] else None for name in names]
    for k, name in enumerate(names):
        if taken[k] is None:
            preferred = AXES.index(name) - 3 if name in AXES else 0
            free = [axis for axis in (preferred, 0, 1, 2) if axis not in taken]
            taken[k] = free[0]
    return int(taken[0] or 0), int(taken[1] or 0)


def _patches(grid: Workspace, centres: Array, steps: list[Array]) -> list[ColouredPoints]:
    """Rectangles around the points of a grid, by bands."""
    corners = [0.5 * (a * steps[0] + b * steps[1]) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    patches = [
        _patch(band.label, band.colour, centres[band.cells], corners) for band in conditioning_bands(grid)
    ]
    beyond = grid.reachable & ~grid.inside_limits
    patches.append(
        _patch("beyond limits, or another branch", BEYOND_COLOUR, centres[beyond], corners, faint=True)
    )
    return [patch for patch in patches if len(patch.vertices)]


def _patch(
    label: str, colour: str, centres: Array, corners: list[Array], *, faint: bool = False
) -> ColouredPoints:
    vertices = (centres[:, None, :] + np.array(corners)[None]).reshape(-1, 3)
    first = 4 * np.arange(len(centres))[:, None]
    faces = np.concatenate([first + np.array([0, 1, 2]), first + np.array([0, 2, 3])])
    return ColouredPoints(label, colour, vertices, faces, faint)


def _slice_message(grid: Workspace, robot: Robot, extent: float) -> str:
    """What a slice says: its size, its range, and how angles are drawn."""
    spans = [
        f"{axis.label} {axis.scale * low:.4g} to {axis.scale * high:.4g}"
        for axis, (low, high) in zip(grid_axes(grid), grid.extent or (), strict=False)
    ]
    text = f"within limits: {grid.volume:.4g} {grid.unit}; " + ", ".join(spans)
    if any(is_angle(robot, name) for name in grid.names):
        text += f"; angles are drawn as lengths, 45 deg as {1e3 * _ANGLE_LENGTH * extent:.3g} mm"
    return text


def slice_choices(robot: Robot) -> list[SliceCoordinates]:
    """Pairs of coordinates over which a slice can be taken, translations first."""
    names = sorted(robot.motion.coordinates, key=lambda name: name not in AXES[:3])
    return [SliceCoordinates(*pair) for pair in itertools.combinations(names, 2)]

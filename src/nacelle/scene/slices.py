"""Slices through a workspace: over which coordinates, their ranges, and the bands by which they are coloured.

Slices are chosen for any robot by one rule. Coordinates are taken in pairs of one unit: the first two
lengths, the first and the third, the first two angles; one that is left without a partner is a line. The
range of each is sought on coarse grids around a pose, which double until nothing within limits touches their
border, or they are four times the robot's size (half a turn) wide to each side; it is then a cell wider than
what was reached, in round numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.errors import UnreachableError
from nacelle.kinematics.pose_input import is_angle, reference_pose
from nacelle.kinematics.workspace import Workspace, workspace
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.model.units import QUANTITIES, parse_quantity
from nacelle.spatial.scalar import Array

# Points of coarse grids on each side of the reference pose, and of the final ones along an axis.
_COARSE_POINTS = 7
_PLANE_POINTS, _LINE_POINTS = 41, 201
# Half widths of the first grid over the robot's size, or a radian, and of the widest.
_FIRST_REACH, _WIDEST_REACH = 0.125, 4.0
_MAX_DOUBLINGS = 9


@dataclass(frozen=True)
class SliceRanges:
    """Ranges of one or two coordinates.

    Attributes:
        settings: for each coordinate its range as `nacelle workspace --over` takes it, "x=-0.3:0.3:41".
        ranges: the same as numbers: lowest, highest, points; m or rad.
        open: whether poses within limits reach the end of what was searched.
    """

    settings: tuple[str, ...]
    ranges: dict[str, tuple[float, float, int]]
    open: bool

    @property
    def arguments(self) -> tuple[str, ...]:
        """Arguments of `nacelle workspace`."""
        return tuple(word for setting in self.settings for word in ("--over", setting))


def standard_slices(robot: Robot) -> tuple[SliceRanges, ...]:
    """Slices of a robot through its reference pose.

    Raises:
        UnreachableError: if no pose near the reference is reached within limits.
    """
    return tuple(
        slice_ranges(robot, names, points=_PLANE_POINTS if len(names) > 1 else _LINE_POINTS)
        for names in slice_coordinates(robot)
    )


def slice_coordinates(robot: Robot) -> list[tuple[str, ...]]:
    """The coordinates of each slice."""
    names = robot.motion.coordinates
    angles = [name for name in names if is_angle(robot, name)]
    lengths = [name for name in names if name not in angles]
    slices_chosen: list[tuple[str, ...]] = []
    if len(lengths) == 1 and len(angles) == 1:
        return [(lengths[0], angles[0])]
    for group in (lengths, angles):
        if len(group) == 1:
            slices_chosen.append((group[0],))
        slices_chosen += [(group[0], partner) for partner in group[1 : 3 if group is lengths else 2]]
    return slices_chosen


def slice_ranges(
    robot: Robot, names: tuple[str, ...], x: Array | None = None, *, points: int = _PLANE_POINTS
) -> SliceRanges:
    """Ranges of coordinates that hold all poses within limits that are connected with a pose.

    Args:
        robot: the robot.
        names: the coordinates that vary.
        x: the pose (nx,) that gives the others; the reference pose if None.
        points: of the grid along an axis.

    Raises:
        UnreachableError: if no pose near it is reached within limits.
    """
    x = reference_pose(robot) if x is None else x
    units = np.array([1.0 if is_angle(robot, name) else robot.size for name in names])
    widest = np.where([is_angle(robot, name) for name in names], math.pi, _WIDEST_REACH * units)
    centre = np.array([pose_coordinate(robot, x, name) for name in names])
    half = _FIRST_REACH * units
    low, high, touches = centre, centre, np.zeros(len(names), dtype=bool)
    for _ in range(_MAX_DOUBLINGS):
        step = half / _COARSE_POINTS
        over = {
            n: (float(c - h), float(c + h), 2 * _COARSE_POINTS + 1)
            for n, c, h in zip(names, centre, half, strict=True)
        }
        grid = workspace(robot, over, at=x, conditioned=False)
        if grid.extent is None:
            half = half / 8.0
            continue
        low, high = (np.array(ends) for ends in zip(*grid.extent, strict=True))
        touches = (low <= centre - half + 0.5 * step) | (high >= centre + half - 0.5 * step)
        if not np.any(touches & (half < widest)):
            low, high = low - step, high + step
            break
        half = np.where(touches, np.minimum(2.0 * half, widest), half)
    else:
        if not touches.any():
            raise UnreachableError("no pose near this one is reached within the limits of all joints")
    low, high = np.maximum(low, centre - widest), np.minimum(high, centre + widest)
    settings, ranges = [], {}
    for name, a, b in zip(names, low.tolist(), high.tolist(), strict=True):
        texts, numbers = round_limits(a, b, is_angle(robot, name))
        settings.append(f"{name}={texts}:{points}")
        ranges[name] = (*numbers, points)
    return SliceRanges(tuple(settings), ranges, bool(touches.any()))


def pose_coordinate(robot: Robot, x: Array, name: str) -> float:
    """A coordinate of a pose (nx,), m or rad; zero for turns of a free orientation, which count from it."""
    names = layout_of(robot.motion).x_names
    return float(x[names.index(name)]) if name in names else 0.0


def round_limits(low: float, high: float, angle: bool) -> tuple[str, tuple[float, float]]:
    """A range in round numbers, as a command takes it and as numbers; degrees for angles.

    Outwards, but within half a turn to each side of zero.
    """
    ends = [math.degrees(low), math.degrees(high)] if angle else [low, high]
    power = 10.0 ** (math.floor(math.log10(max(ends[1] - ends[0], 1e-9))) - 1)
    rounded = [math.floor(ends[0] / power) * power, math.ceil(ends[1] / power) * power]
    if angle:
        rounded = [max(rounded[0], min(ends[0], -180.0)), min(rounded[1], max(ends[1], 180.0))]
    texts = [f"{value + 0.0:.10g}" + ("deg" if angle else "") for value in rounded]
    kind = QUANTITIES["angle" if angle else "length"]
    a, b = (parse_quantity(word, kind, {"*": "SI"}) for word in texts)
    return ":".join(texts), (a, b)


# ---- how a slice is drawn


# Light to dark, so that the order remains in black and white (viridis, reversed).
_BAND_COLOURS = ("#fde725", "#90d743", "#35b779", "#21918c", "#31688e", "#443983")
# Inverse condition numbers at which the colour changes.
_BAND_LIMITS = (0.02, 0.05, 0.1, 0.2, 0.4)


class Band(NamedTuple):
    """Poses within limits whose inverse condition numbers are in one range.

    Attributes:
        label: the range.
        colour: #rrggbb.
        cells: which points of the grid are in it.
    """

    label: str
    colour: str
    cells: Array


def conditioning_bands(grid: Workspace) -> list[Band]:
    """Points of a grid within limits by their inverse condition numbers, from the lowest band up."""
    level = np.digitize(np.nan_to_num(grid.conditioning), _BAND_LIMITS)
    ends = (0.0, *_BAND_LIMITS, 1.0)
    return [
        Band(f"{ends[k]:g} to {ends[k + 1]:g}", colour, grid.inside_limits & (level == k))
        for k, colour in enumerate(_BAND_COLOURS)
    ]


class GridAxis(NamedTuple):
    """An axis of a grid as people read it: label with its unit, "rx (deg)", and values in this unit."""

    label: str
    values: Array
    scale: float


def grid_axes(grid: Workspace) -> list[GridAxis]:
    """The axes of a grid: metres and degrees."""
    axes = []
    for name, values, unit in zip(grid.names, grid.values, grid.units, strict=True):
        unit_shown, scale = ("deg", math.degrees(1.0)) if unit == "rad" else ("m", 1.0)
        axes.append(GridAxis(f"{name} ({unit_shown})", scale * np.asarray(values, dtype=float), scale))
    return axes

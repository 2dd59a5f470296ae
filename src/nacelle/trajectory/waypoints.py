"""Waypoints from a table, and the trajectories through them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nacelle.errors import did_you_mean
from nacelle.kinematics.pose_input import SHORTEST_QUATERNION
from nacelle.model.platform import Motion
from nacelle.model.reduced import QUATERNION, ROTATIONS, ReducedLayout
from nacelle.progress import Progress, ignore_progress
from nacelle.results import Plottable
from nacelle.spatial.rotation import quat_exp, quat_multiply
from nacelle.spatial.scalar import Array
from nacelle.tables.csv import ANGLE, LENGTH, TIME, Columns, Dimension, Table, read_table
from nacelle.trajectory.base import nearest_signs, read_layout, read_points
from nacelle.trajectory.bspline import BSpline
from nacelle.trajectory.polyline import Polyline

_RPY = ("roll", "pitch", "yaw")


@dataclass(frozen=True, eq=False, repr=False)
class Waypoints(Plottable):
    """Poses that a platform is to pass.

    Attributes:
        motion: motion type of the platform.
        points: reduced poses (N, nx), unit quaternions of continuous sign.
        times: times (N,) of the points, s; None if they have none.
    """

    motion: Motion
    points: Array
    times: Array | None = None

    def bspline(
        self,
        *,
        duration: float | None = None,
        speed: ArrayLike | None = None,
        degree: int = 5,
        rest: bool = True,
    ) -> BSpline:
        """The B-spline through the points, at their times unless a duration or a speed is given."""
        timing = self._timing(duration, speed)
        return BSpline(self.points, motion=self.motion, degree=degree, rest=rest, **timing)

    def polyline(
        self,
        *,
        duration: float | None = None,
        speed: ArrayLike | None = None,
        blend: float | None = None,
        acceleration: ArrayLike | None = None,
    ) -> Polyline:
        """The polyline along the points, at their times unless a duration or a speed is given."""
        timing = self._timing(duration, speed)
        return Polyline(self.points, motion=self.motion, blend=blend, acceleration=acceleration, **timing)

    def _timing(self, duration: float | None, speed: ArrayLike | None) -> dict[str, Any]:
        """Options of a trajectory for when its points are passed."""
        times = self.times if duration is None and speed is None else None
        return {"times": times, "duration": duration, "speed": speed}


def read_waypoints(source: str | Path, motion: Motion | str | list[str]) -> Waypoints:
    """Read waypoints from a CSV file, or from its text if that has more than one line.

    The header names the columns: t (optional) and the entries of the reduced pose, each with a unit in
    brackets if it is not SI, such as "x [mm]" or "rz [deg]". In the place of qx, qy, qz, qw there may be
    rx, ry, rz (a rotation vector) or roll, pitch, yaw (about fixed axes: R = Rz Ry Rx). Columns of rates as
    `Trajectory.to_csv` writes them are read over.

    Raises:
        TableError: with all problems, each with file, line and column, and what would be right.
    """
    layout = read_layout(motion)
    reader = _Reader(layout, read_table(source))
    reader.check()
    points, times = reader.poses(2)
    return Waypoints(layout.motion, read_points(layout, points), None if times is None else times - times[0])


def read_poses(
    source: str | Path, motion: Motion | str | list[str], report: Progress = ignore_progress
) -> Waypoints:
    """Read poses, one or more, from a CSV file or its text, in the forms of `read_waypoints`.

    They need not be a path: an entry may be empty, "nan" or infinite, and a quaternion may have no length;
    such a pose keeps its place, with NaN. Times are kept as they are.

    Args:
        source: the file, or its text.
        motion: motion type of the platform.
        report: is given the part that is read.

    Raises:
        TableError: with all problems, each with file, line and column, and what would be right.
    """
    layout = read_layout(motion)
    reader = _Reader(layout, read_table(source))
    reader.check()
    points, times = reader.poses(1, gaps=True, report=report)
    if layout.quaternion is not None:
        with np.errstate(all="ignore"):
            length = np.linalg.norm(points[:, layout.quaternion], axis=1, keepdims=True)
            usable = (length > SHORTEST_QUATERNION) & (length < np.inf)
            points[:, layout.quaternion] /= np.where(usable, length, np.nan)
    return Waypoints(layout.motion, nearest_signs(layout, points), times)


class _Reader(Columns):
    """A table on its way to waypoints, with the problems found."""

    def __init__(self, layout: ReducedLayout, table: Table) -> None:
        dimensions: dict[str, tuple[Dimension, ...]] = {"t": (TIME,)}
        dimensions.update(dict.fromkeys("xyz", (LENGTH,)))
        dimensions.update(dict.fromkeys((*ROTATIONS, *_RPY), (ANGLE,)))
        dimensions.update(dict.fromkeys(QUATERNION, ()))
        super().__init__(table, dimensions)
        self.layout = layout
        self.rotation: tuple[str, ...] = ()

    def check(self) -> None:
        """Find the columns and their units."""
        layout, table = self.layout, self.table
        named = {"t": "t", "time": "t"}
        required = [layout.x_names[k] for k in layout.linear_x]
        forms = (QUATERNION, ROTATIONS, _RPY) if layout.quaternion is not None else ()
        columns = ["t", *required, *(name for form in forms for name in form)]
        ignored = {*layout.v_names, *layout.a_names}
        for k, name in enumerate(table.names):
            name = named.get(name, name)
            # Columns that the commands add: flags, and figures of joints and actuators by their full names.
            if name in ignored or name in ("flags", "phase") or "." in name:
                continue
            if name not in columns:
                hint = did_you_mean(name, columns)
                self.add(table.header, k, "", f"unknown column {name!r}", hint)
            else:
                self.take(name, k)
        if forms:
            self._choose_rotation(forms)
        self.require(required)
        self.stop("poses")

    def _choose_rotation(self, forms: tuple[tuple[str, ...], ...]) -> None:
        """Find in which form orientations are given."""
        header = self.table.header
        begun = [form for form in forms if any(name in self.columns for name in form)]
        choices = "qx, qy, qz, qw, or rx, ry, rz, or roll, pitch, yaw"
        if len(begun) > 1:
            k = self.columns[next(name for name in begun[1] if name in self.columns)]
            self.add(header, k, "", "orientations are given twice", f"one of {choices}")
            return
        if not begun:
            self.add(header, 0, "", "columns of the orientation are missing", choices)
            return
        self.rotation = begun[0]
        self.require(list(self.rotation))

    def poses(
        self, least: int, *, gaps: bool = False, report: Progress = ignore_progress
    ) -> tuple[Array, Array | None]:
        """Read the rows, `least` or more: poses (N, nx) and times, if there are any."""
        entries = self.values(gaps=gaps, report=report)
        times = entries.get("t")
        if times is not None:
            self._check_times(times)
        count = len(self.table)
        if count < least:
            row = self.table.row(count - 1) if count else self.table.header
            self.add(row, 0, "", f"{count} pose(s) are too few", f"write {least} or more, one per line")
        with np.errstate(invalid="ignore"):
            quats = self._quats(entries, gaps) if self.rotation else None
        self.stop("poses")
        linear = [entries[self.layout.x_names[k]] for k in self.layout.linear_x]
        return self.layout.join_x(_stack_columns(linear, count), quats), times

    def _check_times(self, times: Array) -> None:
        """Times must rise."""
        for i in self.first((np.flatnonzero(times[1:] <= times[:-1]) + 1).tolist()):
            mistake = f"time {times[i]:g} s is not after {times[i - 1]:g} s of the point before"
            self.add(self.table.row(i), self.columns["t"], "t", mistake, "times rise from line to line")

    def _quats(self, entries: dict[str, Array], gaps: bool) -> Array:
        """Orientations as quaternions (N, 4), from whatever form they have."""
        parts = [entries[name] for name in self.rotation]
        if self.rotation == QUATERNION:
            quats = np.stack(parts, axis=-1)
            with np.errstate(over="ignore"):
                lengths = np.linalg.norm(quats, axis=-1)
            wrong = np.flatnonzero(~((lengths >= 1e-9) & (lengths < np.inf))).tolist()
            for i in [] if gaps else self.first(wrong):
                message = f"the quaternion (qx, qy, qz, qw) has length {lengths[i]:g}"
                self.add(self.table.row(i), self.columns["qx"], "qx", message, "no rotation is 0, 0, 0, 1")
            return quats
        if self.rotation == ROTATIONS:
            return quat_exp(np.stack(parts, axis=-1))
        roll, pitch, yaw = (
            quat_exp(angle[:, None] * axis) for angle, axis in zip(parts, np.eye(3), strict=True)
        )
        return quat_multiply(yaw, quat_multiply(pitch, roll))


def _stack_columns(columns: list[Array], count: int) -> Array:
    """Columns side by side (count, columns), none of them too."""
    return np.stack(columns, axis=-1) if columns else np.zeros((count, 0))

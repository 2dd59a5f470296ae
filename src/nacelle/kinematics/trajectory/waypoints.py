"""Waypoints from a table, and the trajectories through them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from nacelle.errors import Problem, did_you_mean
from nacelle.kinematics.trajectory.arguments import read_layout, read_points
from nacelle.kinematics.trajectory.bspline import BSpline
from nacelle.kinematics.trajectory.error import TrajectoryError
from nacelle.kinematics.trajectory.polyline import Polyline
from nacelle.kinematics.trajectory.table import Row, Table, read_table
from nacelle.model.platform import Motion
from nacelle.model.reduced import QUATERNION, ROTATIONS, Layout
from nacelle.model.units import QUANTITIES, Unit, UnitError, parse_number, parse_unit
from nacelle.spatial.rotation_path import quat_exp, quat_multiply
from nacelle.spatial.scalar import Array

_RPY = ("roll", "pitch", "yaw")
_TIME = (0, 0, 1, 0, 0)
_MOST = 20  # more problems tell nothing new


@dataclass(frozen=True, eq=False)
class Waypoints:
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
        times = self.times if duration is None and speed is None else None
        return BSpline(
            self.points,
            motion=self.motion,
            degree=degree,
            times=times,
            duration=duration,
            speed=speed,
            rest=rest,
        )

    def polyline(
        self,
        *,
        duration: float | None = None,
        speed: ArrayLike | None = None,
        blend: float | None = None,
        acceleration: ArrayLike | None = None,
    ) -> Polyline:
        """The polyline along the points, at their times unless a duration or a speed is given."""
        times = self.times if duration is None and speed is None else None
        return Polyline(
            self.points,
            motion=self.motion,
            times=times,
            duration=duration,
            speed=speed,
            blend=blend,
            acceleration=acceleration,
        )


def read_waypoints(source: str | Path, motion: Motion | str | list[str]) -> Waypoints:
    """Read waypoints from a CSV file, or from its text if that has more than one line.

    The header names the columns: t (optional) and the entries of the reduced pose, each with a unit in
    brackets if it is not SI, such as "x [mm]" or "rz [deg]". In the place of qx, qy, qz, qw there may stand
    rx, ry, rz (a rotation vector) or roll, pitch, yaw (about fixed axes: R = Rz Ry Rx). Columns of rates as
    `Trajectory.to_csv` writes them are read over.

    Raises:
        TrajectoryError: with all problems, each with file, line and column, and what would be right.
    """
    layout = read_layout(motion)
    table = read_table(source)
    reader = _Reader(layout, table)
    reader.check()
    points, times = reader.values()
    return Waypoints(layout.motion, read_points(layout, points), times)


class _Reader:
    """A table on its way to waypoints, with the problems found."""

    def __init__(self, layout: Layout, table: Table) -> None:
        self.layout = layout
        self.table = table
        self.problems: list[Problem] = []
        self.columns: dict[str, int] = {}
        self.units: dict[str, Unit] = {}
        self.rotation: tuple[str, ...] = ()

    def add(self, row: Row, k: int, path: str, message: str, hint: str) -> None:
        """Keep a problem at entry k of a row."""
        column = row.cells[k].column if k < len(row.cells) else row.cells[-1].column
        self.problems.append(Problem(self.table.file, row.line, column, path, message, hint))

    def check(self) -> None:
        """Find the columns and their units."""
        layout, table = self.layout, self.table
        named = {"t": "t", "time": "t"}
        wanted = [layout.x_names[k] for k in layout.linear_x]
        forms = (QUATERNION, ROTATIONS, _RPY) if layout.quaternion is not None else ()
        known = ["t", *wanted, *(name for form in forms for name in form)]
        ignored = {*layout.v_names, *layout.a_names}
        for k, name in enumerate(table.names):
            name = named.get(name, name)
            if name in ignored:
                continue
            if name not in known:
                hint = did_you_mean(name, known)
                self.add(table.header, k, "", f"unknown column {name!r}", hint)
            elif name in self.columns:
                self.add(table.header, k, name, "the column stands twice", "leave one out")
            else:
                self.columns[name] = k
                self._unit(name, k)
        if forms:
            self._choose_rotation(forms)
        for name in wanted:
            if name not in self.columns:
                self.add(table.header, 0, name, "the column is missing", f"columns: {', '.join(wanted)}")
        self.stop()

    def _choose_rotation(self, forms: tuple[tuple[str, ...], ...]) -> None:
        """Find in which form orientations are given."""
        header = self.table.header
        begun = [form for form in forms if any(name in self.columns for name in form)]
        told = "qx, qy, qz, qw, or rx, ry, rz, or roll, pitch, yaw"
        if len(begun) > 1:
            k = self.columns[next(name for name in begun[1] if name in self.columns)]
            self.add(header, k, "", "orientations are given twice", f"one of {told}")
            return
        if not begun:
            self.add(header, 0, "", "columns of the orientation are missing", told)
            return
        self.rotation = begun[0]
        for name in self.rotation:
            if name not in self.columns:
                self.add(header, 0, name, "the column is missing", f"columns: {', '.join(self.rotation)}")

    def _unit(self, name: str, k: int) -> None:
        """Read the unit of a column."""
        text = self.table.units[k]
        if not text:
            return
        length, angle = QUANTITIES["length"], QUANTITIES["angle"]
        allowed = {"t": [_TIME]} | {axis: [length.dimension] for axis in "xyz"}
        allowed |= {axis: [angle.dimension] for axis in (*ROTATIONS, *_RPY)} | {q: [] for q in QUATERNION}
        dimensions = allowed.get(name, [length.dimension, angle.dimension])
        example = {"t": "s or ms"} | dict.fromkeys("xyz", "m or mm") | dict.fromkeys(QUATERNION, "no unit")
        try:
            unit = parse_unit(text)
        except UnitError as fault:
            self.add(self.table.header, k, name, str(fault), fault.hint)
            return
        if unit.dimension not in dimensions:
            hint = f"write {example.get(name, 'rad or deg')}"
            self.add(self.table.header, k, name, f"{text!r} is not a unit of this column", hint)
            return
        self.units[name] = unit

    def values(self) -> tuple[Array, Array | None]:
        """Read the rows: poses (N, nx) and times, if there are any."""
        rows = [row for row in self.table.rows if self._whole(row)]
        entries = {name: self._column(rows, name) for name in self.columns}
        times = entries.get("t")
        if times is not None:
            self._check_times(rows, times)
        if len(self.table.rows) < 2:
            row = self.table.rows[-1] if self.table.rows else self.table.header
            count = len(self.table.rows)
            self.add(row, 0, "", f"{count} waypoint(s) make no way", "write 2 or more, one a line")
        quats = self._quats(rows, entries) if self.rotation else None
        self.stop()
        linear = np.stack([entries[self.layout.x_names[k]] for k in self.layout.linear_x], axis=-1)
        return self.layout.join_x(linear, quats), None if times is None else times - times[0]

    def _whole(self, row: Row) -> bool:
        """Whether a row has as many entries as the header."""
        have, want = len(row.cells), len(self.table.names)
        if have != want:
            self.add(row, have - 1, "", f"{have} entries in the line", f"the header names {want} columns")
        return have == want

    def _column(self, rows: list[Row], name: str) -> Array:
        """Read the numbers of a column in SI units; NaN where there is none."""
        k = self.columns[name]
        convert = _conversion(self.units.get(name))
        values = np.full(len(rows), np.nan)
        for i, row in enumerate(rows):
            text = row.cells[k].text
            number = parse_number(text)
            value = math.nan if number is None else convert(number)
            if math.isfinite(value):
                values[i] = value
            elif len(self.problems) < _MOST:
                told = repr(text if len(text) <= 40 else text[:37] + "...") if text else "nothing"
                self.add(row, k, name, f"{told} is not a finite number", "write a number such as 0.25")
        return values

    def _check_times(self, rows: list[Row], times: Array) -> None:
        """Times must rise."""
        for i in range(1, len(rows)):
            if times[i] <= times[i - 1]:
                told = f"time {times[i]:g} s is not after {times[i - 1]:g} s of the point before"
                self.add(rows[i], self.columns["t"], "t", told, "times rise from line to line")

    def _quats(self, rows: list[Row], entries: dict[str, Array]) -> Array:
        """Orientations as quaternions (N, 4), from whatever form they have."""
        parts = [entries[name] for name in self.rotation]
        if self.rotation == QUATERNION:
            quats = np.stack(parts, axis=-1)
            for row, length in zip(rows, np.linalg.norm(quats, axis=-1), strict=True):
                if length < 1e-9:
                    message = f"the quaternion (qx, qy, qz, qw) has length {length:g}"
                    self.add(row, self.columns["qx"], "qx", message, "no rotation is 0, 0, 0, 1")
            return quats
        if self.rotation == ROTATIONS:
            return quat_exp(np.stack(parts, axis=-1))
        roll, pitch, yaw = (
            quat_exp(angle[:, None] * axis) for angle, axis in zip(parts, np.eye(3), strict=True)
        )
        return quat_multiply(yaw, quat_multiply(pitch, roll))

    def stop(self) -> None:
        """Raise what has been found, in the order of the file."""
        if self.problems:
            found = sorted(self.problems)
            count = len(found)
            head = "1 problem" if count == 1 else f"{count} problems"
            raise TrajectoryError(f"{head} in the waypoints:", found[:_MOST])


def _conversion(unit: Unit | None) -> Callable[[float], float]:
    """The function that takes numbers of a unit to SI; decimal factors are exact."""
    if unit is None:
        return float
    if unit.exact == 1:
        return lambda number: number * unit.irrational
    return lambda number: (
        float(Fraction(repr(number)) * unit.exact) * unit.irrational if math.isfinite(number) else number
    )

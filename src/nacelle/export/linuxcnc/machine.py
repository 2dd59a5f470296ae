"""A simulated machine around the kinematics module: INI, HAL, tool table, a program in G-code.

Its limits come from the description: those of the drives, and along each axis alone from the reference pose
how far the inverse kinematics reaches. Speeds of axes are those at which no drive is too fast at the
reference pose, q' = J_r^-1 v. The program moves along lines and arcs, about all angles, and on all axes at
once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nacelle.dynamics.jacobian import jacobian
from nacelle.emit.names import comment_text
from nacelle.errors import ExportError
from nacelle.export.linuxcnc.axes import MachineAxis, machine_axes, unit_name, unit_of
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Where the description has no limit of a drive's speed: robot sizes or rad per second.
_SPEED = 0.5
# Time to full speed, s.
_RAMP = 0.2
# How far an axis is searched, robot sizes or rad, and in how many steps.
_FAR = {False: 2.0, True: 1.4}
_STEPS = 100
# The program's moves, in parts of the axes' ways; how often they are made smaller until all of them can be
# reached.
_MOVE, _TRIALS = 0.4, 8
_ARC_POINTS = 24


def pose_of_axes(robot: Robot, values: Array) -> Array:
    """Reduced poses x (..., nx), m and rad, at values of the machine's axes (..., n), mm and degrees."""
    layout, axes = layout_of(robot.motion), machine_axes(robot)
    by_letter = {axis.letter: values[..., k] / axis.unit for k, axis in enumerate(axes)}
    x = np.zeros((*values.shape[:-1], layout.nx))
    for axis in axes:
        if layout.quaternion is None or axis.letter not in "ABC":
            x[..., layout.x_index(axis.coordinate)] = by_letter[axis.letter]
    if layout.quaternion is not None:
        (sa, ca), (sb, cb), (sc, cc) = (
            (np.sin(0.5 * by_letter[letter]), np.cos(0.5 * by_letter[letter])) for letter in "ABC"
        )
        x[..., layout.quaternion] = np.stack(
            [
                sa * cb * cc - ca * sb * sc,
                ca * sb * cc + sa * cb * sc,
                ca * cb * sc - sa * sb * cc,
                ca * cb * cc + sa * sb * sc,
            ],
            axis=-1,
        )
    return x


def axes_of_pose(robot: Robot, x: Array) -> Array:
    """Values of the machine's axes (..., n), mm and degrees, at reduced poses x (..., nx), m and rad."""
    layout = layout_of(robot.motion)
    angles = {}
    if layout.quaternion is not None:
        e = np.moveaxis(x[..., layout.quaternion], -1, 0)
        r11 = 1.0 - 2.0 * (e[1] ** 2 + e[2] ** 2)
        r21 = 2.0 * (e[0] * e[1] + e[2] * e[3])
        r31 = 2.0 * (e[0] * e[2] - e[1] * e[3])
        r32 = 2.0 * (e[1] * e[2] + e[0] * e[3])
        r33 = 1.0 - 2.0 * (e[0] ** 2 + e[1] ** 2)
        angles = {
            "A": np.arctan2(r32, r33),
            "B": np.arctan2(-r31, np.hypot(r11, r21)),
            "C": np.arctan2(r21, r11),
        }
    columns = [
        (angles[axis.letter] if axis.letter in angles else x[..., layout.x_index(axis.coordinate)])
        * axis.unit
        for axis in machine_axes(robot)
    ]
    return np.stack(columns, axis=-1)


@dataclass(frozen=True)
class Machine:
    """A simulated machine.

    Attributes:
        robot: the robot.
        module: name of the kinematics module.
        name: name of the files.
    """

    robot: Robot
    module: str
    name: str

    @cached_property
    def axes(self) -> tuple[MachineAxis, ...]:
        """The axes, in LinuxCNC's order."""
        return machine_axes(self.robot)

    @cached_property
    def home(self) -> Array:
        """The axes at the reference pose (n,), mm and degrees."""
        return axes_of_pose(self.robot, mechanism_of(self.robot).reference[0])

    @cached_property
    def joint_home(self) -> Array:
        """The joints at the reference pose (m,), mm and degrees."""
        units = [unit_of(turns) for turns in self.robot.revolute_actuators]
        q = inverse_kinematics(self.robot, mechanism_of(self.robot).reference[0]).q
        return np.asarray(q * units)

    def reaches(self, values: Array) -> Array:
        """Whether (...) the robot reaches values of the axes (..., n) within its limits."""
        return np.asarray(inverse_kinematics(self.robot, pose_of_axes(self.robot, values)).ok)

    @cached_property
    def ranges(self) -> Array:
        """How far each axis alone moves from the reference pose (n, 2), mm and degrees."""
        result = np.zeros((len(self.axes), 2))
        for k, axis in enumerate(self.axes):
            far = _FAR[axis.angle] * (1.0 if axis.angle else self.robot.size) * axis.unit
            for side, sign in enumerate((-1.0, 1.0)):
                ways = sign * far * np.arange(1, _STEPS + 1) / _STEPS
                values = np.repeat(self.home[None], _STEPS, axis=0)
                values[:, k] += ways
                ok = self.reaches(values)
                reached = _STEPS if ok.all() else int(np.argmin(ok))
                result[k, side] = ways[reached - 1] if reached else 0.0
        return result

    @cached_property
    def joint_speeds(self) -> Array:
        """Largest rates of the joints (m,), rad/s and m/s."""
        default = np.where(self.robot.revolute_actuators, _SPEED, _SPEED * self.robot.size)
        speeds = np.array([actuator.speed for actuator in self.robot.actuators])
        return np.where(np.isfinite(speeds), speeds, default)

    @cached_property
    def axis_speeds(self) -> Array:
        """Rates of the axes (n,) at which no joint is too fast at the reference pose, mm/s and degrees/s."""
        inverse = np.abs(jacobian(self.robot, mechanism_of(self.robot).reference[0]).inverse)
        with np.errstate(divide="ignore"):
            most = np.min(self.joint_speeds[:, None] / inverse, axis=0)
        speeds = [
            min(most[axis.index], 1.0 if axis.angle else self.robot.size) * axis.unit for axis in self.axes
        ]
        return np.array(speeds)

    # ---- files

    def ini(self) -> str:
        """The INI file."""
        linear = [speed for axis, speed in zip(self.axes, self.axis_speeds, strict=True) if not axis.angle]
        angular = [speed for axis, speed in zip(self.axes, self.axis_speeds, strict=True) if axis.angle]
        sections: dict[str, list[str]] = {
            "EMC": ["VERSION = 1.1", f"MACHINE = {self.name}", "DEBUG = 0"],
            "DISPLAY": [
                "DISPLAY = axis",
                f"GEOMETRY = {''.join(axis.letter for axis in self.axes)}",
                "CYCLE_TIME = 0.1",
                "PROGRAM_PREFIX = .",
            ],
            "RS274NGC": [f"PARAMETER_FILE = {self.name}.var", "RS274NGC_STARTUP_CODE = G21 G90 G94"],
            "EMCMOT": ["EMCMOT = motmod", "COMM_TIMEOUT = 1.0", "SERVO_PERIOD = 1000000"],
            "TASK": ["TASK = milltask", "CYCLE_TIME = 0.001"],
            "EMCIO": ["EMCIO = io", "CYCLE_TIME = 0.1", f"TOOL_TABLE = {self.name}.tbl"],
            "HAL": [f"HALFILE = {self.name}.hal"],
            "KINS": [f"KINEMATICS = {self.module}", f"JOINTS = {len(self.robot.actuators)}"],
            "TRAJ": [
                f"COORDINATES = {' '.join(axis.letter for axis in self.axes)}",
                "LINEAR_UNITS = mm",
                "ANGULAR_UNITS = degree",
                *(_speeds("LINEAR_", min(linear)) if linear else []),
                *(_speeds("ANGULAR_", min(angular)) if angular else []),
            ],
        }
        for axis, home, way, speed in zip(self.axes, self.home, self.ranges, self.axis_speeds, strict=True):
            sections[f"AXIS_{axis.letter}"] = [
                f"# {_label(axis.coordinate)}, {axis.unit_name}",
                f"MIN_LIMIT = {home + way[0]:.4f}",
                f"MAX_LIMIT = {home + way[1]:.4f}",
                *_rates(speed),
            ]
        turns, joint_home = self.robot.revolute_actuators, self.joint_home
        for k, actuator in enumerate(self.robot.actuators):
            unit = unit_of(turns[k])
            limits = zip(("MIN_LIMIT", "MAX_LIMIT"), actuator.position, strict=True)
            sections[f"JOINT_{k}"] = [
                f"# {_label(actuator.name)}, {unit_name(turns[k])}",
                f"TYPE = {'ANGULAR' if turns[k] else 'LINEAR'}",
                *(f"{what} = {limit * unit!r}" for what, limit in limits if math.isfinite(limit)),
                *_rates(self.joint_speeds[k] * unit),
                "FERROR = 0.001",
                "MIN_FERROR = 0.0001",
                "# Homed where it stands: at the reference pose.",
                f"HOME_OFFSET = {float(joint_home[k])!r}",
                f"HOME = {float(joint_home[k])!r}",
                "HOME_SEQUENCE = 0",
            ]
        return "\n".join("\n".join([f"[{name}]", *lines, ""]) for name, lines in sections.items())

    def hal(self, pins: str) -> str:
        """The HAL file; `pins` is what HAL calls the module."""
        m = len(self.robot.actuators)
        lines = [
            f"# {self.name}: a simulated machine; what is commanded is measured.",
            "loadrt [KINS]KINEMATICS",
            "loadrt [EMCMOT]EMCMOT servo_period_nsec=[EMCMOT]SERVO_PERIOD num_joints=[KINS]JOINTS",
            "addf motion-command-handler servo-thread",
            "addf motion-controller servo-thread",
            *(f"net joint{k} joint.{k}.motor-pos-cmd => joint.{k}.motor-pos-fb" for k in range(m)),
            "net estop iocontrol.0.user-enable-out => iocontrol.0.emc-enable-in",
            "net tool-prepare iocontrol.0.tool-prepare => iocontrol.0.tool-prepared",
            "net tool-change iocontrol.0.tool-change => iocontrol.0.tool-changed",
            "# Why a pose was refused; to be shown, or to stop more than the program.",
            f"net kinematics-refused {pins}.refused",
            f"net kinematics-reason {pins}.reason",
        ]
        return "\n".join(lines) + "\n"

    def program(self) -> str:
        """A program in G-code around the reference pose.

        Raises:
            ExportError: if there is no room for it.
        """
        moves = self._moves()
        linear = [k for k, axis in enumerate(self.axes) if axis.letter in "XYZ"]
        feed = 60.0 * 0.5 * float(min(self.axis_speeds[linear or slice(None)]))
        lines = [f"; {self.name}: lines, arcs and rotations around the reference pose", "G21 G90 G64 P0.01"]
        for move in moves:
            target = " ".join(
                f"{axis.letter}{value:.4f}" for axis, value in zip(self.axes, move.values, strict=True)
            )
            lines.append(f"{move.code} {target}{move.center} F{feed:.1f}")
        return "\n".join([*lines, "M2", ""])

    def _moves(self) -> list[_Move]:
        """The moves of the program, made smaller until all of them can be reached."""
        ways = np.min(np.abs(self.ranges), axis=1)
        for trial in range(_TRIALS):
            moves = self._moves_of(_MOVE * 0.6**trial * ways)
            if np.all(self.reaches(_points_on(moves, self.home))):
                return moves
        raise ExportError("no program fits around the reference pose: its axes have no room to move")

    def _moves_of(self, ways: Array) -> list[_Move]:
        """Moves whose lines are as long as ways (n,) of the axes."""
        home, moves = self.home, [_Move("G0", self.home)]
        unit = np.eye(len(home))
        for k in range(len(home)):
            moves += [_Move("G1", home + sign * ways[k] * unit[k]) for sign in (1, -1, 0)]
        by_letter = {axis.letter: k for k, axis in enumerate(self.axes)}
        for plane, (first, second), (i, j) in (
            ("G17", "XY", "IJ"),
            ("G18", "ZX", "KI"),
            ("G19", "YZ", "JK"),
        ):
            if first in by_letter and second in by_letter:
                r = 0.5 * min(ways[by_letter[first]], ways[by_letter[second]])
                start = np.round(home + r * unit[by_letter[first]], 4)
                circle = (by_letter[first], by_letter[second])
                moves.append(_Move("G1", start))
                for code in ("G2", "G3"):
                    center = f" {i}{-np.round(r, 4):.4f} {j}0"
                    moves.append(_Move(f"{plane} {code}", start, center, circle, float(np.round(r, 4))))
                moves.append(_Move("G1", home))
        moves += [_Move("G1", home + sign * 0.5 * ways) for sign in (1, -1, 0)]
        return moves

    def files(self, pins: str) -> dict[str, str]:
        """All files of the machine."""
        return {
            f"{self.name}.ini": self.ini(),
            f"{self.name}.hal": self.hal(pins),
            f"{self.name}.tbl": "T1 P1 D0.0 Z0.0\n",
            f"{self.name}.ngc": self.program(),
        }


@dataclass(frozen=True, eq=False)
class _Move:
    """A block of G-code: where it ends, and of a full circle its axes and radius."""

    code: str
    values: Array
    center: str = ""
    circle: tuple[int, int] = (0, 0)
    radius: float = 0.0


def _points_on(moves: Sequence[_Move], start: Array) -> Array:
    """Points (k, n) on the way of moves."""
    points = []
    for move in moves:
        if move.radius:
            angles = np.linspace(0.0, 2.0 * np.pi, _ARC_POINTS)
            way = np.repeat(move.values[None], _ARC_POINTS, axis=0)
            way[:, move.circle[0]] += move.radius * (np.cos(angles) - 1.0)
            way[:, move.circle[1]] += move.radius * np.sin(angles)
        else:
            s = np.linspace(0.0, 1.0, _ARC_POINTS)[:, None]
            way = (1.0 - s) * start + s * move.values
        points.append(way)
        start = move.values
    return np.concatenate(points)


def _label(name: str) -> str:
    """A name in a comment of an INI file, whose lines have at most 255 characters."""
    return comment_text(name)[:80]


def _rates(speed: float) -> list[str]:
    return [f"MAX_VELOCITY = {speed:.6g}", f"MAX_ACCELERATION = {speed / _RAMP:.6g}"]


def _speeds(what: str, speed: float) -> list[str]:
    return [
        f"DEFAULT_{what}VELOCITY = {0.5 * speed:.6g}",
        f"MAX_{what}VELOCITY = {speed:.6g}",
        f"MAX_{what}ACCELERATION = {speed / _RAMP:.6g}",
    ]

"""Numbers for controllers whose geometric models have few: what fits them best, and what error remains.

A model gives what each drive reads for a position p of the platform, with a zero e_i of its own:

    delta, lineardeltakins           z + sqrt(L_i^2 - (x - X_i)^2 - (y - Y_i)^2) + e_i
    rotary_delta, rotarydeltakins    phi_i + e_i of |elbow_i(phi_i) - p| = l_i, the elbow r + a_i cos phi_i
                                     out in the shoulder's direction and h + a_i sin phi_i high
    genhexkins                       |b_i - (p + R a_i)| + e_i

with arms alike and legs 120 degrees apart for LinuxCNC. Its numbers minimise the error of the platform at
poses of the workspace, J (model - machine), J the Jacobian of the drives, by least squares from the robot's
own anchors: that of the position, and of the orientation, as far as points of the platform feel it. What is
left is the model's fault. The numbers of a parametric model (`numbers`) are
those of the description: they are fitted as a calibration fits them, to a machine measured without noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from nacelle.calibration.devices import Tracker
from nacelle.calibration.fit import Campaign, System, minimise
from nacelle.calibration.parameters import AXES, Parameter, encoders_of, known_parameters
from nacelle.calibration.poses import drawn_poses, opening_parameters
from nacelle.dynamics.jacobian import jacobian
from nacelle.errors import CalibrationError, did_you_mean
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_conjugate, quat_from_matrices, quat_log, quat_multiply
from nacelle.spatial.scalar import Array

# Number of poses of the workspace; error over the robot's size above which a firmware's model does not fit
# the robot; distance of the platform's test points from its middle, over the robot's size.
_POSES, _UNFIT, _ARM = 300, 0.02, 0.1
# Directions of axes that are vertical or horizontal within this.
_UPRIGHT = 0.02


@dataclass(frozen=True)
class FirmwareSettings:
    """Settings for a firmware.

    Attributes:
        text: as its configuration has them.
        error: of the platform's position that remains because the model has no more numbers: rms, m.
        largest: the largest, m.
        rotation: of its orientation: rms, rad.
    """

    text: str
    error: float
    largest: float
    rotation: float


class _Model(NamedTuple):
    """A firmware's model: its numbers to start from, what drives read (S, k) for R and p, its lines."""

    name: str
    start: Array
    readings: Callable[[Array, Array, Array], Array]
    lines: Callable[[Array], Sequence[str]]


def firmware_settings(robot: Robot, firmware: str, nominal: Robot | None = None) -> FirmwareSettings:
    """Settings of a firmware for a robot, such as a calibrated one.

    Args:
        robot: the robot.
        firmware: "klipper" or "linuxcnc", whose models are of linear and rotary Deltas, and of hexapods; or
            "numbers", those of a parametric model of the description.
        nominal: the description, whose numbers "numbers" fits; the robot itself if None.

    Raises:
        CalibrationError: if the firmware has no model of such a robot.
    """
    if firmware == "numbers":
        return _description_numbers(nominal or robot, robot)
    models = {"klipper": _klipper, "linuxcnc": _linuxcnc}
    if firmware not in models:
        raise CalibrationError(
            f"no firmware is called {firmware!r}; {did_you_mean(firmware, (*models, 'numbers'))}"
        )
    return _fit(robot, models[firmware](robot))


def _fit(robot: Robot, model: _Model) -> FirmwareSettings:
    """The numbers of a model that fit a robot best."""
    from scipy.optimize import least_squares

    x = drawn_poses(robot, _POSES, seed=5)
    inverse = inverse_kinematics(robot, x, limits=False)
    R, p = (part[:, PLATFORM] for part in inverse.bodies)
    J = jacobian(robot, x).direct
    readings = inverse.q - _encoder_zeros(robot)

    def error(numbers: Array) -> Array:
        return np.asarray((J @ (model.readings(numbers, R, p) - readings)[:, :, None])[:, :, 0])

    weigh = np.array([1.0] * 3 + [_ARM * robot.size] * 3)[: robot.motion.n]
    scale = np.maximum(np.abs(model.start), 0.05 * robot.size)
    best = least_squares(
        lambda n: (weigh * error(n)).ravel(), model.start, x_scale=scale, method="trf", max_nfev=200
    )
    off = error(best.x)
    settings = _settings(model.lines(best.x), off[:, :3], off[:, 3:])
    if not settings.error < _UNFIT * robot.size:
        raise CalibrationError(
            f"{robot.name} is no robot of {model.name}: it would be {settings.error * 1e3:.3g} mm off"
        )
    return settings


def _settings(lines: Sequence[str], off: Array, angles: Array) -> FirmwareSettings:
    """Settings with the errors (S, k) of position, m, and orientation, rad, that remain."""
    lengths = np.linalg.norm(off, axis=1)
    rms, rotation = (float(np.sqrt(np.mean(np.sum(part**2, axis=1)))) for part in (off, angles))
    largest = float(np.max(lengths))
    head = f"# error of the position that remains: {rms * 1e3:.4g} mm rms, {largest * 1e3:.4g} mm at most"
    if angles.shape[1]:
        head += f"; of the orientation {np.degrees(rotation):.4g} deg rms"
    return FirmwareSettings("\n".join([head, *lines]) + "\n", rms, largest, rotation)


def _encoder_zeros(robot: Robot) -> Array:
    return np.array([actuator.encoder_zero for actuator in robot.actuators])


def _ends(robot: Robot) -> list[tuple[Array, Array]]:
    """For each drive's leg its joint on the base, and the mean of those on the platform, (3,) each, m."""
    ends = []
    for actuator in robot.actuators:
        leg = next((item for item in robot.legs if actuator.joint in (*item.joints, *item.closures)), None)
        joints = [] if leg is None else [robot.joints[j] for j in (*leg.joints, *leg.closures)]
        first = [joint.frame_predecessor.p for joint in joints if joint.predecessor == BASE]
        first += [joint.frame_successor.p for joint in joints if joint.successor == BASE]
        last = [joint.frame_successor.p for joint in joints if joint.successor == PLATFORM]
        last += [joint.frame_predecessor.p for joint in joints if joint.predecessor == PLATFORM]
        if not first or not last:
            raise CalibrationError(
                f"{robot.name}: the drive {actuator.name!r} has no leg from base to platform"
            )
        ends.append((np.asarray(first[0], dtype=float), np.mean(last, axis=0)))
    return ends


# ---- Deltas


class _Delta(NamedTuple):
    """A Delta whose legs stand around z.

    Attributes:
        is_rotary: whether its drives rotate.
        angles: directions of the legs (3,), rad.
        radius: mean distance from the platform's joints to those on the base, along these.
        foot: mean distance of the platform's joints from its middle.
        height: mean height of the shoulders.
        upper: mean lengths of the upper arms (rotary).
        lower: mean lengths of the rods.
        order: of the drives, around z from the first.
    """

    is_rotary: bool
    angles: Array
    radius: float
    foot: float
    height: float
    upper: float
    lower: float
    order: tuple[int, int, int]


def _delta_of(robot: Robot, name: str) -> _Delta:
    joints = [robot.joints[actuator.joint] for actuator in robot.actuators]
    rotary = {bool(value) for value in robot.revolute_actuators}
    if len(joints) != 3 or robot.motion.name != "xyz" or len(rotary) != 1:
        raise CalibrationError(
            f"{robot.name}: the Delta of {name} has three vertical slides, or three arms on horizontal axes, "
            "and moves in x, y, z"
        )
    upright = [abs(joint.frame_predecessor.R[2, 2]) for joint in joints]
    if any(value > _UPRIGHT if True in rotary else value < 1.0 - _UPRIGHT for value in upright):
        raise CalibrationError(
            f"{robot.name}: the slides of {name} are vertical, the axes of arms horizontal"
        )
    ends = _ends(robot)
    bodies = inverse_kinematics(robot, drawn_poses(robot, 1), limits=False).bodies
    upper, lower = [], []
    for joint, (_, last) in zip(joints, ends, strict=True):
        carried = joint.successor if joint.predecessor == BASE else joint.predecessor
        elbows = [
            frame.p
            for item in robot.joints
            if item is not joint
            for body, frame in (
                (item.predecessor, item.frame_predecessor),
                (item.successor, item.frame_successor),
            )
            if body == carried
        ]
        pivot = joint.frame_successor if joint.predecessor == BASE else joint.frame_predecessor
        elbow = np.mean(elbows, axis=0)
        upper.append(np.linalg.norm(np.delete((elbow - pivot.p) @ pivot.R, 2)))
        at = bodies.R[0, carried] @ elbow + bodies.p[0, carried]
        foot = bodies.R[0, PLATFORM] @ last + bodies.p[0, PLATFORM]
        lower.append(np.linalg.norm(at - foot))
    offsets = [np.asarray(first - last)[:2] for first, last in ends]
    # Slides at the middle of a printer's towers have their rods beside it: carriages may carry an offset.
    angles = np.array([np.arctan2(offset[1], offset[0]) for offset in offsets])
    turns = np.argsort((angles - angles[0]) % (2.0 * np.pi))
    return _Delta(
        True in rotary,
        angles,
        float(np.mean([np.linalg.norm(offset) for offset in offsets])),
        float(np.mean([np.linalg.norm(last[:2]) for _, last in ends])),
        float(np.mean([first[2] for first, _ in ends])),
        float(np.mean(upper)),
        float(np.mean(lower)),
        (int(turns[0]), int(turns[1]), int(turns[2])),
    )


def _slides(p: Array, radius: float, angles: Array, rods: Array) -> Array:
    """Heights (S, 3) of the carriages of a linear Delta."""
    across = (p[:, :1] - radius * np.cos(angles)) ** 2 + (p[:, 1:2] - radius * np.sin(angles)) ** 2
    return np.asarray(p[:, 2:] + np.sqrt(np.maximum(rods**2 - across, 1e-12)))


def _arms(p: Array, radius: float, height: float, angles: Array, uppers: Array, lowers: Array) -> Array:
    """Angles (S, 3) of the arms of a rotary Delta, upwards from the horizontal, knees outside."""
    outwards = p[:, :1] * np.cos(angles) + p[:, 1:2] * np.sin(angles) - radius
    across = p[:, 1:2] * np.cos(angles) - p[:, :1] * np.sin(angles)
    up = p[:, 2:] - height
    square = outwards**2 + up**2
    k = (uppers**2 + square + across**2 - lowers**2) / (2.0 * uppers)
    return np.asarray(
        np.arctan2(up, outwards) + np.arccos(np.clip(k / np.sqrt(square), -1.0, 1.0)) * np.sign(-up)
    )


def _signs_and_zeros(
    robot: Robot, start: Sequence[float] | Array, model: Callable[[Array, Array, Array], Array]
) -> Array:
    """Signs of the drives, and the zeros that fit the numbers to start from (2, drives)."""
    x = drawn_poses(robot, _POSES, seed=5)
    inverse = inverse_kinematics(robot, x, limits=False)
    R, p = (part[:, PLATFORM] for part in inverse.bodies)
    heights, readings = model(np.asarray(start, dtype=float), R, p), inverse.q - _encoder_zeros(robot)
    off = [part - part.mean(axis=0) for part in (heights, readings)]
    signs = np.sign(np.sum(off[0] * off[1], axis=0))
    return np.stack([signs, np.mean(signs * readings - heights, axis=0)])


def _signed_model(
    robot: Robot,
    name: str,
    start: Sequence[float] | Array,
    model: Callable[[Array, Array, Array], Array],
    lines: Callable[[Array, Array, Array], Sequence[str]],
) -> _Model:
    """A model with signs and zeros of the drives behind its numbers; lines of numbers, signs and zeros."""
    signs, zeros = _signs_and_zeros(robot, start, model)
    count = len(signs)

    def readings(numbers: Array, R: Array, p: Array) -> Array:
        return np.asarray(signs * (model(numbers[:-count], R, p) + numbers[-count:]))

    return _Model(name, np.array([*start, *zeros]), readings, lambda n: lines(n[:-count], signs, n[-count:]))


def _klipper(robot: Robot) -> _Model:
    delta = _delta_of(robot, "Klipper")
    arms = [delta.lower] * 3

    def head(kind: str, numbers: dict[str, float]) -> list[str]:
        values = [f"{key}: {value * 1e3:.6f}" for key, value in numbers.items()]
        return ["[printer]", f"kinematics: {kind}", *values]

    def steppers(angles: Array, lengths: dict[str, Array], signs: Array, zeros: Array) -> list[str]:
        lines = []
        for k, (letter, actuator) in enumerate(zip("abc", robot.actuators, strict=True)):
            lines += [f"[stepper_{letter}]  # {actuator.name}"]
            lines += [f"{key}: {values[k] * 1e3:.6f}" for key, values in lengths.items()]
            lines += [f"angle: {np.degrees(angles[k]) % 360.0:.6f}"]
            what, zero = (
                (
                    f"angle of the arm, upwards, is {_sign(signs[k])}the reading less",
                    f"{round(zeros[k], 9) + 0.0:.9f} rad",
                )
                if delta.is_rotary
                else (
                    f"height of the carriage is {_sign(signs[k])}the reading less",
                    f"{round(zeros[k] * 1e3, 6) + 0.0:.6f} mm",
                )
            )
            lines += [f"# the {what} {zero}"]
        return lines

    if delta.is_rotary:
        start = [delta.radius, delta.height, *delta.angles, *[delta.upper] * 3, *arms]
        return _signed_model(
            robot,
            "Klipper's rotary_delta",
            start,
            lambda n, R, p: _arms(p, n[0], n[1], n[2:5], n[5:8], n[8:11]),
            lambda n, signs, zeros: [
                *head("rotary_delta", {"shoulder_radius": n[0], "shoulder_height": n[1]}),
                *steppers(n[2:5], {"upper_arm_length": n[5:8], "lower_arm_length": n[8:11]}, signs, zeros),
            ],
        )
    return _signed_model(
        robot,
        "Klipper's delta",
        [delta.radius, *delta.angles, *arms],
        lambda n, R, p: _slides(p, n[0], n[1:4], n[4:7]),
        lambda n, signs, zeros: [
            *head("delta", {"delta_radius": n[0]}),
            *steppers(n[1:4], {"arm_length": n[4:7]}, signs, zeros),
        ],
    )


def _sign(sign: float) -> str:
    return "" if sign > 0.0 else "minus "


def _joint_line(number: int, drive: str, sign: float, zero: float, unit: str) -> str:
    """What a joint of LinuxCNC is: the reading of a drive, or minus that, less its zero."""
    return f"# JOINT_{number} is {_sign(sign)}{drive} {0.0 - round(zero, 6):+.6f} {unit}"


def _linuxcnc(robot: Robot) -> _Model:
    if len(robot.actuators) == 6 and robot.motion.name == "se3" and not any(robot.revolute_actuators):
        return _genhexkins(robot)
    if len(robot.actuators) != 3 or robot.motion.name != "xyz":
        raise CalibrationError(
            f"{robot.name}: LinuxCNC has models of hexapods and Deltas; nacelle's own module holds any robot "
            "(`nacelle export ... --target linuxcnc`), its numbers are those of --settings numbers"
        )
    delta = _delta_of(robot, "LinuxCNC")
    order = list(delta.order)
    third = np.empty(3)
    third[order] = np.arange(3) * 2.0 * np.pi / 3.0
    # Joint 0 of the modules is at -y (rotary) or y (linear).
    first = delta.angles[order[0]]
    direction = -90.0 if delta.is_rotary else 90.0

    def lines(setp: dict[str, float], yaw: float, signs: Array, zeros: Array, height: float) -> list[str]:
        unit, factor = ("deg", 180.0 / np.pi) if delta.is_rotary else ("mm", 1e3)
        module = "rotarydeltakins" if delta.is_rotary else "lineardeltakins"
        down = -1.0 if delta.is_rotary else 1.0
        rotation = (direction - np.degrees(yaw) + 180.0) % 360.0 - 180.0
        return [
            *(f"setp {module}.{key} {value * 1e3:.6f}" for key, value in setp.items()),
            f"# coordinates of the module are those of the robot, rotated by {rotation:.6f} deg about z"
            + (f", less {height * 1e3:.6f} mm in z" if delta.is_rotary else ""),
            *(
                _joint_line(number, robot.actuators[k].name, down * signs[k], down * zeros[k] * factor, unit)
                for number, k in enumerate(order)
            ),
        ]

    if delta.is_rotary:
        return _signed_model(
            robot,
            "rotarydeltakins",
            [delta.radius, delta.height, delta.upper, delta.lower, first],
            lambda n, R, p: _arms(p, n[0], n[1], n[4] + third, np.full(3, n[2]), np.full(3, n[3])),
            lambda n, signs, zeros: lines(
                {
                    "platformradius": n[0] + delta.foot,
                    "thighlength": n[2],
                    "shinlength": n[3],
                    "footradius": delta.foot,
                },
                n[4],
                signs,
                zeros,
                n[1],
            ),
        )
    return _signed_model(
        robot,
        "lineardeltakins",
        [delta.radius, delta.lower, first],
        lambda n, R, p: _slides(p, n[0], n[2] + third, np.full(3, n[1])),
        lambda n, signs, zeros: lines({"R": n[0], "L": n[1]}, n[2], signs, zeros, 0.0),
    )


# ---- hexapods


def _genhexkins(robot: Robot) -> _Model:
    start = np.concatenate([[*base, *platform] for base, platform in _ends(robot)])

    def lengths(numbers: Array, R: Array, p: Array) -> Array:
        base, platform = np.moveaxis(numbers.reshape(6, 2, 3), 1, 0)
        there = p[:, None] + np.einsum("sij,kj->ski", R, platform)
        return np.asarray(np.linalg.norm(there - base, axis=2))

    def lines(numbers: Array, signs: Array, zeros: Array) -> list[str]:
        result = []
        for k, actuator in enumerate(robot.actuators):
            for label, point in zip(("base", "platform"), numbers.reshape(6, 2, 3)[k], strict=True):
                result += [
                    f"setp genhexkins.{label}.{k}.{axis} {value * 1e3:.6f}"
                    for axis, value in zip("xyz", point, strict=True)
                ]
            result.append(_joint_line(k, actuator.name, signs[k], zeros[k] * 1e3, "mm"))
        return result

    return _signed_model(robot, "genhexkins", start, lengths, lines)


# ---- numbers of the description


def _description_numbers(nominal: Robot, machine: Robot) -> FirmwareSettings:
    """The free numbers of a description, and zeros, with which it is a machine as nearly as can be."""
    known = known_parameters(nominal)
    opening = opening_parameters(nominal, [item for item in known if item.kind == "number"])
    free: list[Parameter] = [
        replace(item, tolerance=(nominal.size if item.unit == "m" else 1.0))
        for item in known
        if item.kind in ("number", "zero") and item.name not in opening
    ]
    x = drawn_poses(nominal, _POSES, seed=5)
    inverse = inverse_kinematics(machine, x, limits=False)
    good = np.asarray(inverse.reachable)
    seen = inverse.bodies
    axes = AXES if nominal.platform_nv == 6 else AXES[:3]
    columns = np.concatenate(
        [seen.p[good, PLATFORM], quat_log(quat_from_matrices(seen.R[good, PLATFORM]))], axis=1
    )[:, : len(axes)]
    tight = 1e-6 * nominal.size
    noise = np.array([tight] * 3 + [1e-6] * 3)[: len(axes)]
    encoders = encoders_of(nominal, 1e-9 * nominal.size)
    tracker = Tracker(columns, noise, axes, tolerance=(0.0,) * 6)
    readings = inverse.q[good] - (_encoder_zeros(machine) - _encoder_zeros(nominal))
    system = System(Campaign(nominal, readings, encoders, (tracker,), guess=x[good]), free)
    optimum = minimise(system, system.start(), np.ones(system.present.shape))
    values = optimum.point.values
    q, _ = system.geometry.coordinates(readings, values)
    held = [item.axis for item in encoders]
    states, reached = system.loops.hold(system.geometry.vector(values), held, q, optimum.point.states)
    off = (states.platform[:, :3] - seen.p[good, PLATFORM])[reached]
    angles = np.zeros((len(off), 0))
    if nominal.platform_nv == 6:
        quats = quat_multiply(
            states.platform[:, 3:], quat_conjugate(quat_from_matrices(seen.R[good, PLATFORM]))
        )
        angles = quat_log(quats[reached])
    believed = system.geometry.machine(values)
    names, vector = nominal.numbers.names("geometry"), nominal.numbers.vector("geometry")
    for item, value in zip(free, values, strict=True):
        if item.kind == "number":
            vector[item.target[0]] += value
    width = max((len(name) for name in names), default=0)
    lines = [f"# {name:<{width}} {value:.12g}" for name, value in zip(names, vector.tolist(), strict=True)]
    lines += [f"# zero of {actuator.name}: {actuator.encoder_zero:.9g}" for actuator in believed.actuators]
    entries = ", ".join(f"{value:.17g}" for value in vector.tolist())
    lines.append(f"static const double geometry[{len(vector)}] = {{{entries}}};")
    return _settings(lines, off, angles)

"""Settings of firmware whose geometric models have few numbers: what fits them best, and what error remains.

A model gives the coordinate of each drive for a position of the platform, with a zero e_i of its own:

    klipper    linear Delta      z + sqrt(L_i^2 - (x - X_i)^2 - (y - Y_i)^2) + e_i, towers at one radius
    linuxcnc   genhexkins        |b_i - (p + R a_i)| + e_i, anchors b_i on the base, a_i on the platform

Its numbers minimise the error of the platform's position at poses of the workspace, J (model - machine), J
the Jacobian of the drives, by least squares from the robot's own anchors; what is left is the model's fault.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nacelle.calibration.poses import drawn_poses
from nacelle.dynamics.jacobian import jacobian
from nacelle.errors import CalibrationError, did_you_mean
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Poses of the workspace; a model that leaves more of the robot's size is none of this robot.
_POSES, _UNFIT = 300, 0.02
Model = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True)
class FirmwareSettings:
    """Settings for a firmware.

    Attributes:
        text: as its configuration has them.
        error: of the platform's position that remains because the model has no more numbers: rms, m.
        largest: the largest, m.
    """

    text: str
    error: float
    largest: float


def firmware_settings(robot: Robot, firmware: str) -> FirmwareSettings:
    """Settings of a firmware for a robot, such as a calibrated one.

    Args:
        robot: the robot.
        firmware: "klipper" (linear Delta) or "linuxcnc" (genhexkins).

    Raises:
        CalibrationError: if the firmware has no model of such a robot.
    """
    writers = {"klipper": _klipper, "linuxcnc": _linuxcnc}
    if firmware not in writers:
        raise CalibrationError(f"no firmware is called {firmware!r}; {did_you_mean(firmware, writers)}")
    return writers[firmware](robot)


def _fit(robot: Robot, model: Model, start: Array, name: str) -> tuple[Array, float, float]:
    """Numbers of a model, and the error that it leaves: rms and largest, m."""
    from scipy.optimize import least_squares

    x = drawn_poses(robot, _POSES, seed=5)
    inverse = inverse_kinematics(robot, x, limits=False)
    R, p = (part[:, PLATFORM] for part in inverse.bodies)
    J = jacobian(robot, x).direct[:, : min(3, robot.motion.n)]

    def error(numbers: Array) -> Array:
        return np.asarray((J @ (model(numbers, R, p) - inverse.q)[:, :, None])[:, :, 0])

    scale = np.maximum(np.abs(start), 0.05 * robot.size)
    best = least_squares(lambda n: error(n).ravel(), start, x_scale=scale, method="trf", max_nfev=200)
    lengths = np.linalg.norm(error(best.x), axis=1)
    rms = float(np.sqrt(np.mean(lengths**2)))
    if not rms < _UNFIT * robot.size:
        raise CalibrationError(
            f"{robot.name} is no robot of {name}: {rms * 1e3:.3g} mm of its position would remain"
        )
    return best.x, rms, float(np.max(lengths))


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


def _klipper(robot: Robot) -> FirmwareSettings:
    joints = [robot.joints[actuator.joint] for actuator in robot.actuators]
    if len(joints) != 3 or robot.motion.name != "xyz" or any(robot.revolute_actuators):
        raise CalibrationError(
            f"{robot.name}: Klipper's linear Delta has three vertical slides and moves in x, y, z"
        )
    signs = np.array([np.sign(joint.frame_predecessor.R[2, 2]) for joint in joints])
    if any(abs(abs(joint.frame_predecessor.R[2, 2]) - 1.0) > 0.02 for joint in joints):
        raise CalibrationError(
            f"{robot.name}: the slides of Klipper's linear Delta are vertical, along z of the base"
        )
    offsets = [np.asarray(first - last)[:2] for first, last in _ends(robot)]
    radius = float(np.mean([np.linalg.norm(offset) for offset in offsets]))
    angles = [float(np.arctan2(offset[1], offset[0])) for offset in offsets]
    x = drawn_poses(robot, _POSES, seed=5)
    q, z = inverse_kinematics(robot, x, limits=False).q, x[:, 2]
    arm = 2.0 * radius
    zeros = [float(np.mean(signs[k] * q[:, k] - z) - np.sqrt(arm**2 - radius**2)) for k in range(3)]

    def model(numbers: Array, R: Array, p: Array) -> Array:
        r, towers, arms, e = numbers[0], numbers[1:4], numbers[4:7], numbers[7:]
        across = (p[:, :1] - r * np.cos(towers)) ** 2 + (p[:, 1:2] - r * np.sin(towers)) ** 2
        return np.asarray(signs * (p[:, 2:] + np.sqrt(np.maximum(arms**2 - across, 1e-12)) + e))

    numbers, rms, largest = _fit(
        robot, model, np.array([radius, *angles, arm, arm, arm, *zeros]), "Klipper's linear Delta"
    )
    r, towers, arms, e = numbers[0], np.degrees(numbers[1:4]) % 360.0, numbers[4:7], numbers[7:]
    lines = [f"# error of the position that remains: {rms * 1e3:.4g} mm rms, {largest * 1e3:.4g} mm at most"]
    lines += ["[printer]", "kinematics: delta", f"delta_radius: {r * 1e3:.6f}"]
    for letter, angle, length, zero, actuator in zip("abc", towers, arms, e, robot.actuators, strict=True):
        lines += [
            f"[stepper_{letter}]  # {actuator.name}",
            f"arm_length: {length * 1e3:.6f}",
            f"angle: {angle:.6f}",
            f"# the carriage's height is that of the drive's coordinate less {zero * 1e3:.6f} mm",
        ]
    return FirmwareSettings("\n".join(lines) + "\n", rms, largest)


def _linuxcnc(robot: Robot) -> FirmwareSettings:
    if len(robot.actuators) != 6 or robot.motion.name != "se3" or any(robot.revolute_actuators):
        raise CalibrationError(f"{robot.name}: genhexkins has six struts that change their lengths")
    ends = _ends(robot)
    start = np.concatenate([[*b, *a] for b, a in ends] + [np.zeros(6)])
    x = drawn_poses(robot, _POSES, seed=5)
    inverse = inverse_kinematics(robot, x, limits=False)

    def model(numbers: Array, R: Array, p: Array) -> Array:
        b, a = numbers[:36].reshape(6, 2, 3)[:, 0], numbers[:36].reshape(6, 2, 3)[:, 1]
        there = p[:, None] + np.einsum("sij,kj->ski", R, a)
        return np.asarray(np.linalg.norm(there - b, axis=2) + numbers[36:])

    R, p = (part[:, PLATFORM] for part in inverse.bodies)
    start[36:] = np.mean(inverse.q - model(start, R, p), axis=0)
    numbers, rms, largest = _fit(robot, model, start, "genhexkins")
    lines = [f"# error of the position that remains: {rms * 1e3:.4g} mm rms, {largest * 1e3:.4g} mm at most"]
    for k, actuator in enumerate(robot.actuators):
        for label, point in zip(("base", "platform"), numbers[:36].reshape(6, 2, 3)[k], strict=True):
            lines += [
                f"setp genhexkins.{label}.{k}.{axis} {value * 1e3:.6f}"
                for axis, value in zip("xyz", point, strict=True)
            ]
        lines.append(f"# JOINT_{k} ({actuator.name}): length = coordinate + {-numbers[36 + k] * 1e3:.6f} mm")
    return FirmwareSettings("\n".join(lines) + "\n", rms, largest)

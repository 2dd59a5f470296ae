"""Campaigns on machines that are robots of their own: poses by their closures, nothing of the wing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nacelle.calibration.checks import best_frame
from nacelle.calibration.devices import Tracker
from nacelle.calibration.fit import Campaign
from nacelle.calibration.parameters import AXES, Encoder, Geometry, Parameter, encoders_of
from nacelle.calibration.poses import default_parameters, drawn_poses
from nacelle.kinematics.mechanism.assembly import solve_closures
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import log_rotation, rotation_vector

Array = np.ndarray
NOISE = 1e-5
TILT_NOISE = 2e-5
FRAME = Pose(rotation_vector(np.array([0.3, -0.2, 1.0])), np.array([1.0, 0.5, -2.0]))


@dataclass(frozen=True, eq=False)
class Bench:
    """A machine with true deviations, and what a tracker saw of it."""

    robot: Robot
    machine: Robot
    encoders: tuple[Encoder, ...]
    parameters: tuple[Parameter, ...]
    truth: Array
    x: Array
    campaign: Campaign

    def with_tracker(self, values: Array, **changes: object) -> Campaign:
        device = self.campaign.devices[0]
        assert isinstance(device, Tracker)
        return replace(self.campaign, devices=(replace(device, values=values, **changes),))

    @property
    def seen(self) -> Array:
        return self.campaign.devices[0].measured


def platform_poses(machine: Robot, q: Array, nominal: Robot, x: Array) -> tuple[Array, Array, Array]:
    """Orientations, positions, and which are reached, of a machine's platform with drives at q (S, k).

    By damped Gauss-Newton over closures of plain numbers, drives held, from the description's joints at x.
    """
    start = inverse_kinematics(nominal, x, limits=False)
    held = np.zeros(machine.platform_nv + machine.nv, dtype=bool)
    for actuator in machine.actuators:
        held[machine.platform_nv + machine.v_slices[actuator.joint].start] = True
    R, p, good = np.zeros((len(x), 3, 3)), np.zeros((len(x), 3)), np.zeros(len(x), dtype=bool)
    for k in range(len(x)):
        joints = start.q_tree[k].copy()
        for actuator, value in zip(machine.actuators, q[k], strict=True):
            joints[machine.q_slices[actuator.joint].start] = value
        pose = Pose(start.bodies.R[k, 1], start.bodies.p[k, 1])
        pose, _, _, state = solve_closures(machine, pose, joints, held)
        R[k], p[k] = pose.R, pose.p
        good[k] = (
            np.max(np.abs(state.residual)) < 1e-10
            and np.linalg.norm(p[k] - start.bodies.p[k, 1]) < 0.05 * nominal.size
        )
    return R, p, good


def bench(
    robot: Robot,
    count: int,
    *,
    seed: int = 1,
    parameters: Sequence[Parameter] | None = None,
    coordinates: Sequence[str] | None = None,
) -> Bench:
    """A machine within tolerances, measured by a tracker whose frame nobody knows."""
    rng = np.random.default_rng(seed)
    encoders = encoders_of(robot)
    chosen = tuple(default_parameters(robot, encoders) if parameters is None else parameters)
    truth = rng.normal(size=len(chosen)) * [one.tolerance for one in chosen]
    machine = Geometry(robot, chosen, encoders).machine(truth)
    x = drawn_poses(robot, count, seed)
    readings = inverse_kinematics(robot, x, limits=False).q
    q = readings + zeros_at(chosen, truth, readings.shape[1])
    R, p, good = platform_poses(machine, q, robot, x)
    R, p, x, readings = R[good], p[good], x[good], readings[good]
    axes = tuple(coordinates or (AXES if robot.platform_nv == 6 else AXES[:3]))
    measured = np.zeros((len(p), 6))
    measured[:, :3] = (p - FRAME.p) @ FRAME.R + NOISE * rng.normal(size=p.shape)
    for k in range(len(p)):
        tremor = rotation_vector(TILT_NOISE * rng.normal(size=3))
        measured[k, 3:] = log_rotation(tremor @ FRAME.R.T @ R[k])
    columns = [AXES.index(axis) for axis in axes]
    deviations = np.array([NOISE] * 3 + [TILT_NOISE] * 3)[columns]
    tracker = Tracker(measured[:, columns], deviations, axes)
    shaken = readings + rng.normal(size=readings.shape) * [one.noise for one in encoders]
    campaign = Campaign(robot, shaken, encoders, (tracker,), guess=x)
    return Bench(robot, machine, encoders, chosen, truth, x, campaign)


def position_error(
    machine: Robot, believed: Robot, nominal: Robot, zeros: tuple[Array, Array], x: Array
) -> float:
    """Root mean square distance of two machines at the same readings, in the frame that fits best, m.

    Readings are those of the description at poses x; `zeros` are those of the two.
    """
    q = inverse_kinematics(nominal, x, limits=False).q
    ends = [
        platform_poses(robot, q + zero, nominal, x)
        for robot, zero in zip((machine, believed), zeros, strict=True)
    ]
    good = ends[0][2] & ends[1][2]
    first, second = ends[0][1][good], ends[1][1][good]
    frame, _ = best_frame(first, second)
    return float(np.sqrt(np.mean(np.sum(((first - frame.p) @ frame.R - second) ** 2, axis=1))))


def zeros_at(parameters: Sequence[Parameter], values: Array, count: int) -> Array:
    """Zeros of the drives (count,) among values of parameters."""
    zeros = np.zeros(count)
    for one, value in zip(parameters, values, strict=True):
        if one.kind == "zero":
            zeros[one.target[0]] = value
    return zeros

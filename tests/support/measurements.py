"""Measurements made by computation, and faults put into them.

A Fourier motion about the reference pose, small enough that the robot stays on its branch and away from
singularities; forces by inverse dynamics of a robot whose inertial parameters all differ from the
description's, with friction that the description does not have (viscous, Coulomb, Stribeck, cogging, a constant), noise on
the forces and quantised encoders.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import nacelle
from nacelle.identification.data.measurement import Measurement, Source
from nacelle.kinematics.along import along
from nacelle.kinematics.jacobian import NEAR
from nacelle.kinematics.trajectory import Fourier
from nacelle.model.robot import Robot

Array = np.ndarray


@dataclass(frozen=True)
class Truth:
    """What a measurement is made with.

    Attributes:
        rate: samples a second.
        duration: s.
        frequency: of the first harmonic, Hz.
        wrong: how much the true inertial parameters differ from the description's, at most, as a part.
        friction: rms of the friction beyond the model over that of the forces.
        noise: standard deviation of the forces' noise over their rms.
        resolution: of the encoders, in parts of the range of each coordinate.
    """

    rate: float = 500.0
    duration: float = 6.0
    frequency: float = 0.5
    wrong: float = 0.5
    friction: float = 0.3
    noise: float = 0.02
    resolution: float = 2e-5


def motion_of(
    robot: Robot, rng: np.random.Generator, truth: Truth
) -> tuple[Array, nacelle.kinematics.trajectory.Sample, Array]:
    """Times, the motion and the coordinates of the actuators."""
    t = np.arange(int(truth.duration * truth.rate)) / truth.rate
    n = robot.motion.n
    x0 = nacelle.reference_pose(robot)
    units = np.array(nacelle.kinematics.jacobian.twist_units(robot))
    a, b = rng.normal(size=(2, 5, n)) / np.arange(1, 6)[None, :, None]
    start = nacelle.jacobian(robot, x0).conditioning
    for size in 0.15 * 0.7 ** np.arange(12):
        scale = size / np.sqrt(5) * units
        path = Fourier(
            x0, a * scale, b * scale, motion=robot.motion, frequency=truth.frequency, duration=truth.duration
        )
        motion = along(robot, path, t)
        sparse = motion.x[::25]
        solution = nacelle.inverse_kinematics(robot, sparse)
        if not np.all(solution.ok):
            continue
        conditioning = nacelle.jacobian(robot, sparse).conditioning
        if np.min(conditioning) > max(0.4 * start, 3 * NEAR) and np.all(
            nacelle.forward_kinematics(robot, solution.actuators, follow=True).ok
        ):
            q = nacelle.inverse_kinematics(robot, motion.x).actuators
            q = nacelle.kinematics.forward.actuator_path.unwound_path(robot, q, q[0])
            return t, motion, q
    raise ValueError(f"{robot.name}: no motion about the reference pose")


def measured(robot: Robot, seed: int = 0, truth: Truth | None = None) -> Measurement:
    """A measurement without faults."""
    truth = truth or Truth()
    rng = np.random.default_rng(seed)
    t, motion, q = motion_of(robot, rng, truth)
    found = nacelle.regressor(robot, motion.x, motion.v, motion.a)
    values = found.parameters.values * (1.0 + truth.wrong * rng.uniform(-1, 1, len(found.parameters.values)))
    force = found.Y @ values
    rates = nacelle.joint_motion(robot, motion.x, motion.v).actuators[1]
    rms = np.sqrt(np.mean((force - force.mean(axis=0)) ** 2, axis=0)) + 0.1 * np.sqrt(np.mean(force**2))
    speed = np.sqrt(np.mean(rates**2, axis=0))
    stribeck = 1.0 + 0.5 * np.exp(-((rates / (0.1 * speed)) ** 2))
    beyond = (
        rng.uniform(0.3, 1, len(rms)) * np.sign(rates) * stribeck
        + rng.uniform(0.3, 1, len(rms)) * rates / speed
    )
    beyond = beyond + rng.uniform(-0.3, 0.3, len(rms)) + 0.1 * np.sin(40 * q / np.ptp(q, axis=0))
    force = force + truth.friction * rms * beyond + truth.noise * rms * rng.normal(size=force.shape)
    step = truth.resolution * np.ptp(q, axis=0)
    q = np.where(step > 0.0, np.round(q / np.where(step > 0, step, 1.0)) * step, q)
    names = [actuator.name for actuator in robot.actuators]
    columns = {"time": "t"}
    columns |= {f"q.{name}": f"enc{k}" for k, name in enumerate(names)}
    columns |= {f"force.{name}": f"i{k}" for k, name in enumerate(names)}
    return Measurement(robot, t, q, force, source=Source("run.csv", 2, columns))


def changed(measurement: Measurement, **arrays: Array) -> Measurement:
    """The measurement with other arrays."""
    return replace(measurement, **arrays)

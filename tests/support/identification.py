"""Measurements, regressions and experiments for tests of identification, with truths of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

import nacelle
from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.estimation.regression import Regression
from nacelle.identification.experiment import perturb_parameters
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.robot import Robot
from nacelle.trajectory.base import Trajectory
from nacelle.trajectory.sampling import sample_trajectory
from nacelle.tree.actuation import unwrap_angles
from support.library import library_robot

Array = np.ndarray


def fourier(
    robot: Robot, size: float, *, seed: int = 0, frequency: float = 0.2, duration: float | None = None
) -> Trajectory:
    """Five harmonics about the reference pose, `size` in m and rad."""
    rng = np.random.default_rng(seed)
    harmonics = np.arange(1, 6)[:, None]
    a, b = (size * rng.normal(size=(5, robot.motion.n)) / harmonics for _ in range(2))
    center = nacelle.reference_pose(robot)
    return nacelle.trajectory.Fourier(
        center, a, b, motion=robot.motion, frequency=frequency, duration=duration
    )


def without_coulomb(robot: Robot) -> Robot:
    """The same robot with viscous friction alone, so that forces have no jumps."""
    joints = [
        replace(
            joint, friction=tuple(tuple(t for t in axis if t.basis == "viscous") for axis in joint.friction)
        )
        for joint in robot.joints
    ]
    return replace(robot, joints=tuple(joints))


def truth_of(base: BaseParameters, true: Robot) -> Array:
    """Base parameters of a robot with other numbers, whose legs share theirs where those of `base` do."""
    values = linear_parameters(true).values
    return np.asarray(base.K @ values[[group[0] for group in base.choice.groups()]])


@dataclass(frozen=True, eq=False)
class ExactRun:
    """A motion that is followed exactly, and the forces of a robot with other numbers.

    Attributes:
        measurement: without noise.
        true: the robot that moved.
        x: its poses (N, nx).
        v: its twists (N, n).
        a: their derivatives (N, n).
    """

    measurement: Measurement
    true: Robot
    x: Array
    v: Array
    a: Array

    def noisy(self, *, force: float = 0.0, encoder: float = 0.0, seed: int = 0) -> Measurement:
        """The measurement with white noise: `force` over each rms, `encoder` in rad or m."""
        rng = np.random.default_rng(seed)
        data = self.measurement
        size = force * np.sqrt(np.mean(data.tau**2, axis=0))
        return replace(
            data,
            q=data.q + encoder * rng.normal(size=data.q.shape),
            tau=data.tau + size * rng.normal(size=data.tau.shape),
        )


def exact_run(
    robot: Robot, path: Trajectory, *, true: Robot | None = None, rate: float = 500.0, periods: float = 1.0
) -> ExactRun:
    """Follow a path exactly; forces are those of inverse dynamics."""
    true = perturb_parameters(robot) if true is None else true
    t = np.arange(round(periods * path.duration * rate)) / rate
    motion = sample_trajectory(robot, path, t % path.duration)
    q = nacelle.inverse_kinematics(robot, motion.x).q
    q = unwrap_angles(q, robot.revolute_actuators)
    force = nacelle.inverse_dynamics(true, motion.x, motion.v, motion.a).tau
    return ExactRun(Measurement(robot, t, q, force), true, motion.x, motion.v, motion.a)


@cache
def library_run(name: str, size: float, seed: int = 0) -> ExactRun:
    """An exact run of a robot of the library."""
    robot = library_robot(name)
    return exact_run(robot, fourier(robot, size, seed=seed))


@cache
def fivebar_base() -> BaseParameters:
    return base_parameters(library_robot("fivebar"))


def linear_regression(
    base: BaseParameters,
    *,
    beta: Array,
    lengths: tuple[int, ...] = (300,),
    rows: int = 2,
    smooth: int = 1,
    seed: int = 0,
    missing: float = 0.0,
) -> Regression:
    """A regression without noise, Y random and as smooth as a mean of `smooth` samples.

    Args:
        base: gives names and own values; the numbers of Y have nothing to do with its robot.
        beta: true values.
        lengths: of the uninterrupted parts.
        rows: of each sample.
        smooth: over how many samples Y is averaged.
        seed: of Y.
        missing: part of the samples that do not count.
    """
    rng = np.random.default_rng(seed)
    count = sum(lengths)
    Y = rng.normal(size=(count + smooth - 1, rows, len(base)))
    Y = sum(Y[k : k + count] for k in range(smooth)) / np.sqrt(smooth)
    used = rng.uniform(size=count) >= missing
    Y = Y * used[:, None, None]
    force = Y @ beta
    names = tuple(f"row{k}" for k in range(rows))
    return Regression(base, Y, Y, force, used, np.arange(count) * 0.01, lengths, names)


def with_noise(data: Regression, noise: Any) -> Regression:
    """The regression with noise (M, rows) on the forces."""
    return replace(data, force=(data.force + noise) * data.used[:, None])

"""Ordinary estimates of base parameters from noisy forces on a random motion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import nacelle
from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.identification.consistency.roots import information_root_of_regression
from nacelle.kinematics.mechanism.assembly import rate_scale
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.sample_states import closed_sample_states, sample_states
from nacelle.model.robot import Robot

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class NoisyEstimate:
    """Forces of a robot on a random motion, with noise.

    Attributes:
        base: its base parameters, as described.
        x: poses (samples, nx).
        Y: (samples, actuators, base parameters).
        force: with noise (samples, actuators).
        sigma: of the noise (actuators,).
    """

    base: BaseParameters
    x: Array
    Y: Array
    force: Array
    sigma: Array

    @cached_property
    def root(self) -> Array:
        return information_root_of_regression(self.Y, self.sigma)

    @cached_property
    def beta(self) -> Array:
        """Ordinary (weighted) least squares."""
        W, w = self.whitened
        return np.linalg.lstsq(W, w, rcond=None)[0]

    @property
    def whitened(self) -> tuple[Array, Array]:
        W = self.Y / self.sigma[:, None]
        return W.reshape(-1, W.shape[-1]), (self.force / self.sigma).ravel()

    @property
    def covariance(self) -> Array:
        inverse = np.linalg.inv(self.root)
        return inverse @ inverse.T

    def rms(self, beta: Array) -> float:
        """Prediction error over the noise."""
        W, w = self.whitened
        return float(np.sqrt(np.mean((W @ beta - w) ** 2)))


def random_motion_states(
    robot: Robot, count: int, seed: int, *, rate: float = 1.0, span: float = 1.0
) -> tuple[Array, Array, Array]:
    """Poses, reduced twists and their derivatives; inertial forces of the order of rate^2 times weights.

    Poses lie within a part `span` of where the robot's samples lie, if it has no quaternion.
    """
    rng = np.random.default_rng(seed)
    mechanism = mechanism_of(robot)
    x = np.stack([pose for pose, _ in sample_states(mechanism, count, seed)])
    if x.shape[1] == robot.motion.n:
        middle = closed_sample_states(robot)[0][0]
        x = middle + span * (x - middle)
    unit = rate_scale(robot)[list(mechanism.independent)]
    v, a = rng.normal(size=(2, len(x), robot.motion.n)) * unit
    return x, rate * v * np.sqrt(9.81 / robot.size), rate**2 * a * 2.0 * 9.81 / robot.size


def noisy_estimate(
    robot: Robot,
    *,
    truth: Robot | None = None,
    count: int = 50,
    noise: float = 0.05,
    rate: float = 1.0,
    span: float = 1.0,
    seed: int = 1,
    **options: Any,
) -> NoisyEstimate:
    """Forces of `truth` (the robot itself if None) with noise that is a part of their size."""
    base = nacelle.base_parameters(robot, **options)
    x, v, a = random_motion_states(robot, count, seed, rate=rate, span=span)
    Y = nacelle.regressor(robot, x, v, a, parameters=base).Y
    good = np.all(np.isfinite(Y), axis=(1, 2))
    true = base.values if truth is None else nacelle.base_parameters(truth, **options).values
    force = Y[good] @ true
    sigma = noise * np.sqrt(np.mean(force**2, axis=0))
    rng = np.random.default_rng(seed + 1000)
    return NoisyEstimate(base, x[good], Y[good], force + sigma * rng.normal(size=force.shape), sigma)

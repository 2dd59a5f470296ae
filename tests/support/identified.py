"""Identifications of robots from forces of inverse dynamics with noise, made once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

import nacelle
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.identify import Identification, identify
from nacelle.identification.validation import Validation, validate
from nacelle.trajectory.sampling import motion_samples
from support.library import library_robot

REDUNDANT = Path(__file__).parents[1] / "robots" / "redundant.yaml"


@cache
def robot_of(name: str) -> nacelle.Robot:
    return nacelle.load(REDUNDANT) if name == "redundant" else library_robot(name)


@cache
def measured_run(name: str, seed: int = 0, duration: float = 4.0) -> Measurement:
    """Noisy coordinates and forces of a robot along a Fourier series about its reference pose."""
    robot = robot_of(name)
    rng = np.random.default_rng(seed)
    a, b = 0.03 * rng.normal(size=(2, 4, robot.motion.n)) / np.arange(1, 5)[:, None]
    start = nacelle.reference_pose(robot)
    motion = nacelle.trajectory.Fourier(
        start, a, b, motion=robot.motion, frequency=1.0 / duration, duration=duration
    )
    time, states = motion_samples(robot, motion, 500.0)
    q = nacelle.kinematics.joint_motion(robot, states.x, states.v, states.a).actuators[0]
    force = nacelle.inverse_dynamics(robot, states.x, states.v, states.a).tau
    noise = 0.01 * np.max(np.abs(force)) * rng.normal(size=force.shape)
    return Measurement(robot, time, q + 1e-6 * rng.normal(size=q.shape), force + noise)


@cache
def identification_result(name: str, runs: int = 1) -> Identification:
    return identify(robot_of(name), [measured_run(name, seed) for seed in range(runs)])


@cache
def validation_result(name: str) -> Validation:
    return validate(identification_result(name).estimator, measured_run(name, 7))

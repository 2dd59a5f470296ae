"""The reference of a rehearsal: periods, forces between samples, the mass matrix at the actuators."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.rehearsal.reference import Repeated, reference_of
from support.library import library_robot

ROBOT = library_robot("fivebar")
A = 0.02 * np.ones((1, 2))
CIRCLE = nacelle.Fourier(
    nacelle.reference_pose(ROBOT), A, -A, motion=ROBOT.motion, frequency=2.0, duration=0.5
)


def test_reference_is_that_of_the_model() -> None:
    time = np.arange(50) / 100.0
    found = reference_of(ROBOT, Repeated(CIRCLE, 1, 0.0), time, rate=100.0, smooth=None, feedforward=True)
    sample = CIRCLE(time)
    np.testing.assert_allclose(found.q, nacelle.inverse_kinematics(ROBOT, sample.x).actuators, atol=1e-12)
    between = CIRCLE(np.minimum(time + 0.005, 0.5))
    np.testing.assert_allclose(found.force, nacelle.inverse_dynamics(ROBOT, *between).force, rtol=1e-10)
    # Kinetic energy is the same by either mass matrix.
    rates = nacelle.joint_motion(ROBOT, sample.x, sample.v).actuators[1]
    M = nacelle.mass_matrix(ROBOT, sample.x)
    np.testing.assert_allclose(
        np.einsum("ki,kij,kj->k", rates, found.inertia, rates),
        np.einsum("ki,kij,kj->k", sample.v, M, sample.v),
        rtol=1e-10,
    )
    plain = reference_of(ROBOT, Repeated(CIRCLE, 1, 0.0), time, rate=100.0, smooth=None, feedforward=False)
    assert not np.any(plain.force)


def test_periods_repeat() -> None:
    twice = Repeated(CIRCLE, 2, 0.1)
    assert twice.duration == 1.0
    t = np.linspace(0.0, 0.49, 7)
    np.testing.assert_allclose(twice(t + 0.5).x, CIRCLE(t).x, atol=1e-12)


def test_what_cannot_be_repeated() -> None:
    line = nacelle.Line([0.0, 0.2], [0.05, 0.2], motion="xy", duration=1.0)
    Repeated(line, 1, 0.0)
    with pytest.raises(IdentificationError, match="ends as it starts"):
        Repeated(line, 2, 0.0)
    with pytest.raises(IdentificationError, match="0 periods after 0 s"):
        Repeated(line, 0, 0.0)
    other = nacelle.Line([0.0, 0.2, 0.0], [0.05, 0.2, 0.0], motion="xyz", duration=1.0)
    with pytest.raises(IdentificationError, match="motion"):
        reference_of(ROBOT, Repeated(other, 1, 0.0), np.zeros(1), rate=1.0, smooth=None, feedforward=False)

"""One sample of a motion against the public API: rows of the regressor, rates and accelerations, limits."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support import stress_robots
from tests.support.excitation import problem_of, public_rows, public_states, small_motion
from tests.support.library import library_robot

import nacelle
from nacelle.identification.excitation.sample_model import bounded_coordinates, limited_count
from nacelle.kinematics.jacobian import scaled_inverse

QUICK = ("fivebar",)
OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in nacelle.robot_names() if name not in QUICK]
T = np.linspace(0.03, 0.97, 7)


def _redundant() -> nacelle.Robot:
    return stress_robots.STRESS["redundant planar 4-RRR"](0)


@pytest.mark.parametrize("name", [*QUICK, *OTHERS])
def test_rows_say_what_the_regressor_says(name):
    _compare_rows(library_robot(name))


@pytest.mark.slow
def test_rows_of_redundant_actuators_are_those_along_the_twist():
    _compare_rows(_redundant())


def _compare_rows(robot: nacelle.Robot) -> None:
    problem = problem_of(robot)
    z = small_motion(problem, size=0.03)
    R, force = problem.rows(problem.samples(problem.coefficients(z), T))
    whitened = public_rows(problem, z, T)
    gram, truth = (np.einsum("tip,tiq->tpq", rows, rows) for rows in (R, whitened))
    assert np.max(np.abs(gram - truth)) < 1e-9 * np.max(np.abs(truth))
    state = public_states(problem, z, T)
    truth = nacelle.inverse_dynamics(robot, *state, smooth=problem.smooth).force
    assert np.max(np.abs(force - truth)) < 1e-9 * np.max(np.abs(truth))


@pytest.mark.parametrize("name", [*QUICK, *OTHERS])
def test_limited_values_are_those_of_the_kinematics(name):
    robot = library_robot(name)
    problem = problem_of(robot)
    z = small_motion(problem, size=0.03)
    values = problem.limited(problem.samples(problem.coefficients(z), T))
    assert values.shape[-1] == limited_count(robot)
    state = public_states(problem, z, T)
    q, rate, acceleration = nacelle.joint_motion(robot, *state).actuators
    m = len(robot.actuators)
    assert np.allclose(values[:, :m], rate, rtol=1e-9, atol=1e-9 * np.max(np.abs(rate)))
    assert np.allclose(
        values[:, m : 2 * m], acceleration, rtol=1e-9, atol=1e-9 * np.max(np.abs(acceleration))
    )
    for k, limit in enumerate(bounded_coordinates(robot)):
        if limit.place is None and np.all(np.isfinite(limit.pair)):
            low, high = limit.pair
            part = (q[:, limit.joint] - 0.5 * (low + high)) / (0.5 * (high - low))
            assert np.allclose(values[:, 2 * m + k], part, atol=1e-9)
    J = nacelle.jacobian(robot, state.x)
    s = np.linalg.svd(scaled_inverse(robot, J.inverse), compute_uv=False)
    frobenius = 1.0 / np.sqrt(np.sum(s**2, axis=-1) * np.sum(s**-2.0, axis=-1))
    turning = robot.motion.n == 6
    assert np.allclose(values[:, -1 - turning], frobenius, rtol=1e-7)
    assert np.all(frobenius <= J.conditioning * (1 + 1e-12))

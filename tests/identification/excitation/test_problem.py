"""Criterion and limits of a motion, and their gradients against differences."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support import stress_robots
from tests.support.excitation import problem_of, public_rows, small_motion
from tests.support.library import library_robot
from tests.support.pairwise import FAMILIES, pairwise

from nacelle.identification.excitation.problem import scaled_columns

MOTIONS = [
    case if case[0] == "fivebar" else pytest.param(*case, marks=pytest.mark.slow)
    for case in pairwise(name=FAMILIES, kind=["fourier", "bspline"])
]
ORDER = 6.0
SIZE, STEP = 0.1, 3e-5


def _smooth_condition(R: np.ndarray) -> float:
    """The criterion as its definition says it."""
    s = np.linalg.svd(R, compute_uv=False)
    return float(np.log(np.sum(s**ORDER)) + np.log(np.sum(s**-ORDER))) / ORDER


def _stacked(problem, z):
    rows = public_rows(problem, z, problem.times())
    return rows.reshape(-1, rows.shape[-1]) / np.sqrt(len(rows))


def _difference(function, h: float):
    """The derivative at 0 of a function of a step, of order four."""
    one, two = function(h) - function(-h), function(2 * h) - function(-2 * h)
    return (8.0 * one - two) / (12.0 * h)


@pytest.mark.parametrize(("name", "kind"), MOTIONS)
def test_gradient_of_the_criterion(name, kind):
    """Along random directions, against differences of the criterion from the public regressor."""
    _check_criterion(library_robot(name), kind)


@pytest.mark.slow
def test_gradient_of_the_criterion_of_redundant_actuators():
    _check_criterion(stress_robots.STRESS["redundant planar 4-RRR"](0), "fourier")


def _check_criterion(robot, kind):
    # Splines of few control points are so slow that all digits of a derivative are lost to the condition.
    harmonics, size = (5, SIZE) if kind == "fourier" else (8, 2.0 * SIZE)
    problem = problem_of(robot, kind=kind, harmonics=harmonics)
    z = small_motion(problem, size=size)
    problem = scaled_columns(problem, problem.coefficients(z[None]))
    found = problem.evaluate(z, "condition", ORDER)
    assert found.value == pytest.approx(_smooth_condition(_stacked(problem, z)), rel=1e-8)
    gradient = found.gradient()
    for seed in (1, 2):
        d = np.random.default_rng(seed).normal(size=len(z))
        # Short steps lose digits where the condition is large, long ones bend: the closest counts.
        steps = [
            _difference(lambda h, d=d: _smooth_condition(_stacked(problem, z + h * d)), STEP * factor)
            for factor in (1.0, 4.0, 16.0)
        ]
        exact = float(gradient @ d)
        along = min(steps, key=lambda slope, exact=exact: abs(slope - exact))
        assert along == pytest.approx(exact, rel=1e-6, abs=1e-7 * np.linalg.norm(gradient))


@pytest.mark.parametrize(("name", "kind"), MOTIONS)
def test_gradients_of_the_limits(name, kind):
    problem = problem_of(library_robot(name), kind=kind)
    z = small_motion(problem, size=SIZE)
    slopes = problem.evaluate(z, "condition", ORDER).constraint_slopes()
    d = np.random.default_rng(3).normal(size=len(z))
    along = _difference(lambda h: problem.evaluate(z + h * d, "condition", ORDER).constraint(), STEP)
    size = np.linalg.norm(slopes, axis=-1) * np.linalg.norm(d)
    assert np.all(np.abs(along - slopes @ d) < 1e-6 * size + 1e-8)


def test_gradient_of_the_determinant():
    problem = problem_of(library_robot("fivebar"))
    z = small_motion(problem)
    gradient = problem.evaluate(z, "log-det", 0.0).gradient()
    d = np.random.default_rng(4).normal(size=len(z))

    def value(h):
        return -0.5 * np.linalg.slogdet(_stacked(problem, z + h * d).T @ _stacked(problem, z + h * d))[1]

    assert _difference(value, 1e-4) == pytest.approx(float(gradient @ d), rel=1e-6)


def test_the_smooth_use_is_just_above_the_largest():
    problem = problem_of(library_robot("fivebar"))
    found = problem.evaluate(small_motion(problem), "condition", ORDER)
    largest = np.max(np.where(problem.form.symmetric, found.uses**2, found.uses), axis=0)
    assert np.all(found.constraint() >= largest)
    assert np.all(found.constraint() <= largest + np.log(problem.count) / 150.0)


def test_columns_have_length_one_over_the_motions_that_scale_them():
    problem = problem_of(library_robot("fivebar"))
    motions = problem.coefficients(np.stack([small_motion(problem, seed) for seed in range(5)]))
    scaled = scaled_columns(problem, motions)
    R, _ = scaled.rows(scaled.samples(motions))
    assert np.allclose(np.mean(np.sum(R**2, axis=-2), axis=(0, 1)), 1.0)


def test_fixed_rows_count_beside_those_of_the_motion():
    from dataclasses import replace

    problem = problem_of(library_robot("fivebar"))
    z = small_motion(problem)
    rows = np.random.default_rng(0).normal(size=(30, len(problem.base)))
    more = replace(problem, fixed=rows)
    found = more.evaluate(z, "log-det", 0.0)
    stacked = np.concatenate([_stacked(problem, z), rows])
    assert found.value == pytest.approx(-0.5 * np.linalg.slogdet(stacked.T @ stacked)[1], rel=1e-8)
    d = np.random.default_rng(4).normal(size=len(z))
    along = _difference(lambda h: more.evaluate(z + h * d, "log-det", 0.0).value, 1e-4)
    assert along == pytest.approx(float(found.gradient() @ d), rel=1e-6)

"""Excitation: limits, better motions, files, rows of the regressor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support import stress_robots
from tests.support.excitation import problem_of as sample_model_problem_of
from tests.support.excitation import public_rows
from tests.support.excitation import public_states as sample_model_public_states
from tests.support.excitation import small_motion as sample_model_small_motion
from tests.support.library import library_robot as sample_model_library_robot

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.excitation.check import drawn_in
from nacelle.identification.excitation.optimise import (
    improved,
    random_motions,
    values_of,
)
from nacelle.identification.excitation.result import read_motion
from nacelle.identification.excitation.sample_model import bounded_coordinates, limited_count
from nacelle.kinematics.jacobian import scaled_inverse
from support.excitation import problem_of, quick_excitation
from support.library import library_robot

# ---- Random motions that use the limits fully, and what the optimiser starts with

PROBLEM_OF_OPTIMISE = problem_of(library_robot("fivebar"), count=20, harmonics=5)


def test_limits_that_allow_nothing_are_named() -> None:
    weak = replace(
        PROBLEM_OF_OPTIMISE,
        limits=replace(PROBLEM_OF_OPTIMISE.limits, force=1e-9 * PROBLEM_OF_OPTIMISE.limits.force),
    )
    with pytest.raises(IdentificationError, match="no motion about the centre is within the force limit of"):
        random_motions(weak, 2, seed=0)


def test_improved_motions_are_better() -> None:
    z = random_motions(PROBLEM_OF_OPTIMISE, 1, seed=2)
    start = values_of(PROBLEM_OF_OPTIMISE, z, "log-det")
    best = improved(
        PROBLEM_OF_OPTIMISE,
        z,
        "log-det",
        iterations=2,
        check=lambda motion: drawn_in(PROBLEM_OF_OPTIMISE, motion),
    )
    assert best.value < np.min(start)
    assert best.iterations > 0
    assert not best.interrupted


# ---- Excitations as results: saved and read again, tables, periods, words


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"strategy": "separate"}], ids=["combined", "separate"])
def test_saved_motions_are_read_again(tmp_path, options):
    result = quick_excitation(**options)
    path = tmp_path / "motion.yaml"
    result.save(path)
    again = read_motion(path)
    t = np.linspace(0.0, result.trajectory.duration, 57)
    for part, other in zip(again(t), result.trajectory(t), strict=True):
        assert np.array_equal(part, other)
    with pytest.raises(FileExistsError):
        result.save(path)
    path.write_text("something else")
    result.save(path, overwrite=True)
    assert read_motion(path).duration == again.duration


def test_files_that_are_none(tmp_path):
    path = tmp_path / "other.yaml"
    for text in ("name: something\n", "- 1\n", "format: 7\n", "\t\n", "format: nacelle excitation 1\n"):
        path.write_text(text)
        with pytest.raises(IdentificationError, match=r"other\.yaml"):
            read_motion(path)
    with pytest.raises(IdentificationError, match="missing"):
        read_motion(tmp_path / "missing.yaml")


@pytest.mark.slow
def test_tables_have_the_motion(tmp_path):
    result = quick_excitation()
    result.to_csv(tmp_path / "motion.csv", rate=200.0)
    read = nacelle.read_waypoints(tmp_path / "motion.csv", result.robot.motion)
    assert np.allclose(read.points, result.sample(200.0)[1].x)


@pytest.mark.slow
def test_periods_follow_one_another():
    result = quick_excitation()
    t, sample = result.sample(100.0, periods=3)
    assert t[-1] == pytest.approx(3.0 * result.trajectory.duration)
    assert np.allclose(sample.x[:100], sample.x[200:300], atol=1e-12)
    with pytest.raises(IdentificationError, match="has one period"):
        quick_excitation(kind="bspline").repeated(2)
    with pytest.raises(IdentificationError, match="above zero"):
        result.repeated(0)


def test_words_name_the_weakest_combination():
    result = quick_excitation()
    words = result.weakest()
    assert any(name in words for name in result.base.names)
    assert f"1/{result.condition:.3g} of the best" in words
    assert result.data()["weakest"] == words
    assert "fivebar" in repr(result)


# ---- sample model
#
# One sample of a motion against the public API: rows of the regressor, rates and accelerations, limits.

QUICK = ("fivebar",)

OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in nacelle.robot_names() if name not in QUICK]

T = np.linspace(0.03, 0.97, 7)


def _redundant() -> nacelle.Robot:
    return stress_robots.STRESS["redundant planar 4-RRR"](0)


@pytest.mark.parametrize("name", [*QUICK, *OTHERS])
def test_rows_say_what_the_regressor_says(name):
    _compare_rows(sample_model_library_robot(name))


@pytest.mark.slow
def test_rows_of_redundant_actuators_are_those_along_the_twist():
    _compare_rows(_redundant())


def _compare_rows(robot: nacelle.Robot) -> None:
    problem = sample_model_problem_of(robot)
    z = sample_model_small_motion(problem, size=0.03)
    R, force = problem.rows(problem.samples(problem.coefficients(z), T))
    whitened = public_rows(problem, z, T)
    gram, truth = (np.einsum("tip,tiq->tpq", rows, rows) for rows in (R, whitened))
    assert np.max(np.abs(gram - truth)) < 1e-9 * np.max(np.abs(truth))
    state = sample_model_public_states(problem, z, T)
    truth = nacelle.inverse_dynamics(robot, *state, smooth=problem.smooth).force
    assert np.max(np.abs(force - truth)) < 1e-9 * np.max(np.abs(truth))


@pytest.mark.parametrize("name", [*QUICK, *OTHERS])
def test_limited_values_are_those_of_the_kinematics(name):
    robot = sample_model_library_robot(name)
    problem = sample_model_problem_of(robot)
    z = sample_model_small_motion(problem, size=0.03)
    values = problem.limited(problem.samples(problem.coefficients(z), T))
    assert values.shape[-1] == limited_count(robot)
    state = sample_model_public_states(problem, z, T)
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

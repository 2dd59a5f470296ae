"""Excitation: check, criterion, optimise, result, sample model, strokes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import stress_robots
from tests.support.excitation import problem_of as sample_model_problem_of
from tests.support.excitation import public_rows
from tests.support.excitation import public_states as sample_model_public_states
from tests.support.excitation import small_motion as sample_model_small_motion
from tests.support.library import library_robot as sample_model_library_robot

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.excitation.check import drawn_in, largest_uses, motion_uses
from nacelle.identification.excitation.criterion import condition, criterion
from nacelle.identification.excitation.optimise import (
    OptimisationStage,
    has_dry_friction,
    improved,
    random_motions,
    usual_starts,
    values_of,
)
from nacelle.identification.excitation.result import read_motion
from nacelle.identification.excitation.sample_model import bounded_coordinates, limited_count
from nacelle.identification.excitation.strokes import (
    RAMP,
    Stroke,
    chosen_strokes,
    lines,
    records,
    shortest_durations,
    stroke_rows,
    strokes_along,
)
from nacelle.kinematics.jacobian import scaled_inverse
from support.excitation import problem_of, public_states, quick_excitation, small_motion
from support.library import library_robot

# ---- check
#
# The fine check of a motion: uses of limits by other ways, and motions drawn in until they keep them.

PROBLEM = problem_of(library_robot("fivebar"), count=12)


def test_uses_of_speed_and_force_are_those_of_the_motion() -> None:
    z = small_motion(PROBLEM)
    t, uses = motion_uses(PROBLEM, z)
    state = public_states(PROBLEM, z, t)
    force = nacelle.inverse_dynamics(PROBLEM.robot, *state).force
    rate = nacelle.joint_motion(PROBLEM.robot, *state).actuators[1]
    largest = {use.kind: use for use in largest_uses(PROBLEM, t, uses)}
    assert largest["force"].use == pytest.approx(np.max(np.abs(force) / PROBLEM.limits.force), rel=1e-8)
    assert largest["speed"].use == pytest.approx(np.max(np.abs(rate) / PROBLEM.limits.speed), rel=1e-8)
    at = np.argmin(np.abs(t - largest["speed"].time))
    assert np.max(np.abs(rate[at]) / PROBLEM.limits.speed) == pytest.approx(largest["speed"].use)


def test_motions_are_drawn_in() -> None:
    small = small_motion(PROBLEM, size=1e-3)
    assert drawn_in(PROBLEM, small) is small
    large = small_motion(PROBLEM, size=10.0)
    kept = drawn_in(PROBLEM, large)
    scale = kept[0] / large[0]
    assert 0.0 < scale < 1.0
    np.testing.assert_allclose(kept, scale * large)
    assert np.max(motion_uses(PROBLEM, kept)[1]) <= 1.0
    assert np.max(motion_uses(PROBLEM, 1.01 * kept)[1]) > 1.0
    half = drawn_in(PROBLEM, large, lambda z: bool(np.max(np.abs(z)) < 0.5 * np.max(np.abs(kept))))
    assert np.max(np.abs(half)) <= 0.5 * np.max(np.abs(kept))


# ---- Criteria of excitation: what they are, and their derivatives


def _rows(seed: int, rows: int = 12, columns: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)) * rng.uniform(0.1, 3.0, columns)


@given(st.integers(0, 10_000), st.sampled_from([2.0, 8.0, 64.0]))
def test_the_smooth_condition_is_above_the_condition_by_a_known_factor(seed, order):
    R = _rows(seed)
    smooth = np.exp(criterion("condition", R, order).value)
    exact = np.linalg.cond(R)
    assert exact * (1 - 1e-12) <= smooth <= exact * 5 ** (2.0 / order) * (1 + 1e-12)
    assert condition(R) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("name", ["condition", "log-det"])
@given(st.integers(0, 10_000))
def test_derivatives_are_those_of_differences(name, seed):
    R, step = _rows(seed), _rows(seed + 1)
    _, slope = criterion(name, R, 4.0)
    h = 1e-6
    along = (criterion(name, R + h * step, 4.0).value - criterion(name, R - h * step, 4.0).value) / (2 * h)
    assert along == pytest.approx(float(np.sum(slope * step)), rel=1e-5, abs=1e-6)


@given(st.integers(0, 10_000))
def test_units_shift_the_determinant_alone(seed):
    R = _rows(seed)
    units = np.random.default_rng(seed + 5).uniform(0.1, 10.0, 5)
    shift = criterion("log-det", R).value - criterion("log-det", R * units).value
    assert shift == pytest.approx(np.sum(np.log(units)), rel=1e-9)
    sign, value = np.linalg.slogdet(R.T @ R)
    assert sign > 0
    assert criterion("log-det", R).value == pytest.approx(-0.5 * value, rel=1e-9, abs=1e-9)


# ---- Random motions that use the limits fully, and what the optimiser starts with

PROBLEM_OF_OPTIMISE = problem_of(library_robot("fivebar"), count=20, harmonics=5)


def test_random_motions_are_at_a_limit() -> None:
    z = random_motions(PROBLEM_OF_OPTIMISE, 6, seed=3)
    for motion in z:
        samples = PROBLEM_OF_OPTIMISE.samples(PROBLEM_OF_OPTIMISE.coefficients(motion[None]))
        uses = PROBLEM_OF_OPTIMISE.uses(samples, PROBLEM_OF_OPTIMISE.rows(samples)[1])
        assert 0.9 < np.max(uses) <= 1.0
    np.testing.assert_array_equal(z, random_motions(PROBLEM_OF_OPTIMISE, 6, seed=3))


def test_limits_that_allow_nothing_are_named() -> None:
    weak = replace(
        PROBLEM_OF_OPTIMISE,
        limits=replace(PROBLEM_OF_OPTIMISE.limits, force=1e-9 * PROBLEM_OF_OPTIMISE.limits.force),
    )
    with pytest.raises(IdentificationError, match="no motion about the centre is within the force limit of"):
        random_motions(weak, 2, seed=0)


def test_the_criterion_is_the_condition_of_the_rows() -> None:
    z = random_motions(PROBLEM_OF_OPTIMISE, 2, seed=1)
    for motion, value in zip(z, values_of(PROBLEM_OF_OPTIMISE, z, "condition"), strict=True):
        R, _ = PROBLEM_OF_OPTIMISE.rows(
            PROBLEM_OF_OPTIMISE.samples(PROBLEM_OF_OPTIMISE.coefficients(motion[None]))
        )
        assert value == pytest.approx(np.linalg.cond(PROBLEM_OF_OPTIMISE.stacked(R[0])), rel=1e-9)


@pytest.mark.slow
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


def test_stages() -> None:
    assert OptimisationStage(0.25, 64.0, 1.5).motions(32) == 8
    assert OptimisationStage(0.25, 64.0, 1.5).motions(1) == 1
    assert has_dry_friction(library_robot("fivebar"))
    wide = OptimisationStage(1.0, 8.0, 0.6, wide=5.0, skip=2).of(PROBLEM_OF_OPTIMISE)
    assert wide.smooth == 5.0 * PROBLEM_OF_OPTIMISE.smooth
    assert wide.count == -(-PROBLEM_OF_OPTIMISE.count // 2)
    assert 8 <= usual_starts(PROBLEM_OF_OPTIMISE) <= 32


# ---- Excitations as results: saved and read again, tables, periods, words


@pytest.mark.costly
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


def test_tables_have_the_motion(tmp_path):
    result = quick_excitation()
    result.to_csv(tmp_path / "motion.csv", rate=200.0)
    read = nacelle.read_waypoints(tmp_path / "motion.csv", result.robot.motion)
    assert np.allclose(read.points, result.sample(200.0)[1].x)


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


# ---- Strokes of constant speed: as far and as fast as the limits allow, to and fro


def uses(c: np.ndarray, dc: np.ndarray, ddc: np.ndarray) -> float:
    samples = PROBLEM.states(c, dc, ddc)
    return float(np.max(PROBLEM.uses(samples, PROBLEM.rows(samples)[1])))


def test_reach_ends_at_a_limit() -> None:
    direction = 0.4 * np.array([[1.0, 0.0], [0.0, -1.0]])
    for way, part in zip(direction, strokes_along(PROBLEM, direction), strict=True):
        assert 0.0 < part < 1.0
        zero = np.zeros((1, 2))
        assert uses((part * way)[None], zero, zero) <= 1.0
        assert uses(((part + 1.0 / 48.0) * way)[None], zero, zero) > 1.0


def test_shortest_durations_are_at_a_limit() -> None:
    start, end = np.array([[-0.02, 0.0]]), np.array([[0.02, 0.01]])
    T = float(shortest_durations(PROBLEM, start, end)[0])
    # At constant speed in the middle of the stroke: within, and in a tenth of the time not.
    speed = (end - start) / (T * (1.0 - RAMP))
    zero = np.zeros((1, 2))
    assert uses(0.5 * (start + end), speed, zero) <= 1.0
    assert shortest_durations(PROBLEM, 0.5 * start, 0.5 * end)[0] < T


def test_chosen_strokes_go_through_the_centre() -> None:
    strokes = chosen_strokes(PROBLEM, seed=0)
    assert len(strokes) == PROBLEM.robot.motion.n + 2
    for stroke in strokes:
        assert np.linalg.matrix_rank(np.stack([stroke.start, stroke.end]), tol=1e-12) == 1
        assert stroke.start @ stroke.end < 0.0
    R = stroke_rows(PROBLEM, strokes[0])
    assert R.shape[1] == len(PROBLEM.base)


def test_lines_follow_one_another() -> None:
    stroke = Stroke(np.array([-0.02, 0.0]), np.array([0.02, 0.0]), 0.2)
    home = np.array([0.01, 0.0])
    chain = lines(PROBLEM, [stroke], home)
    np.testing.assert_array_equal(chain[0].start, home)
    np.testing.assert_array_equal(chain[-1].end, home)
    for leg, after in pairwise(chain):
        np.testing.assert_array_equal(leg.end, after.start)
    speeds = sorted({round(stroke.fastest / leg.duration, 6) for leg in chain if leg.start @ leg.end < 0.0})
    assert speeds == pytest.approx([0.1, 0.3, 0.8])
    record = records(PROBLEM, chain)[0]
    np.testing.assert_allclose(np.array(record["from"]) - record["to"], home)
    assert record["ramp"] == pytest.approx(RAMP * record["duration"])

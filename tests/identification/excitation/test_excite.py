"""Excitations: well conditioned, within all limits, at rest at the ends, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.excitation import optimise
from nacelle.identification.excitation.excite import excitation_problem
from nacelle.identification.excitation.optimise import MotionDesign, scale_columns
from nacelle.identification.excitation.settings import MotionShape
from nacelle.kinematics.flags import has_failed
from support.excitation import QUICK, excite_fivebar, quick_excitation
from support.library import library_robot


def _within_limits(result: nacelle.identification.Excitation) -> None:
    """All limits, by the public API alone, at times that the optimiser has not seen."""
    robot, made = result.robot, result.limits
    t, _ = result.trajectory.sample(n=1733)
    state = nacelle.trajectory.sample_trajectory(robot, result.trajectory, t)
    dynamics = nacelle.inverse_dynamics(robot, *state)
    assert not np.any(has_failed(dynamics.flags))
    assert not np.any(nacelle.inverse_kinematics(robot, state.x).flags)
    slack = 1.0 + 2e-3
    assert np.all(np.abs(dynamics.tau) <= slack * made.force)
    _, rate, acceleration = nacelle.kinematics.joint_motion(robot, *state).actuators
    assert np.all(np.abs(rate) <= slack * made.speed)
    assert np.all(np.abs(acceleration) <= slack * made.acceleration)
    # The Frobenius norm is above the 2-norm, so its inverse condition is below.
    assert np.all(nacelle.jacobian(robot, state.x).conditioning >= made.conditioning / slack)
    for end in (0, -1):
        assert np.max(np.abs(state.v[end])) < 1e-9
        # Strokes begin with a constant acceleration.
        if result.strategy == "combined":
            assert np.max(np.abs(state.a[end])) < 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fourier", "bspline"])
def test_motions_keep_all_limits(kind):
    result = quick_excitation(kind=kind)
    assert result.ok
    assert max(use.use for use in result.uses) > 0.9
    _within_limits(result)


def test_the_condition_is_that_of_the_regressor():
    """Of the rows that the public regressor gives along the motion, in the units of the parameters."""
    result = quick_excitation()
    t = result.trajectory.duration * (np.arange(192) + 0.5) / 192
    state = nacelle.trajectory.sample_trajectory(result.robot, result.trajectory, t)
    smooth = 0.01 * float(np.min(result.limits.speed))
    Y = nacelle.regressor(result.robot, *state, smooth=smooth, parameters=result.base).Y
    R = (Y / (0.01 * result.limits.force[:, None]) * result.columns).reshape(-1, len(result.base))
    assert np.linalg.cond(R) == pytest.approx(result.condition, rel=1e-8)
    assert np.linalg.slogdet(R.T @ R / 192)[1] == pytest.approx(result.log_det, rel=1e-8)


def _best_of_random(
    result: nacelle.identification.Excitation, count: int, shape: MotionShape | None = None
) -> float:
    """The best condition of random motions of the same kind in the same limits, columns as in the result."""
    problem = excitation_problem(result.robot, result.base, result.limits, shape=shape)
    drawn = optimise.random_motions(problem, count, seed=99)
    from dataclasses import replace

    return float(
        np.min(optimise.criterion_values(replace(problem, columns=result.columns), drawn, "condition"))
    )


def test_fivebar_is_a_third_of_the_best_of_random_motions():
    result = quick_excitation()
    shape = MotionShape(harmonics=8, duration=1.0)
    assert result.condition <= _best_of_random(result, 200, shape) / 3.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "delta",
        *(pytest.param(name, marks=pytest.mark.soak) for name in ("3rps", "3rrr", "palida", "quattro", "h4")),
    ],
)
def test_a_third_of_the_best_of_1000_random_motions(name):
    result = nacelle.identification.excite(library_robot(name))
    assert result.ok
    _within_limits(result)
    assert result.condition <= _best_of_random(result, 1000) / 3.0


@pytest.mark.slow
def test_the_determinant_grows():
    result = quick_excitation(criterion="log-det")
    assert result.value == result.log_det > result.random
    assert result.ok


@pytest.mark.slow
def test_the_same_seed_gives_the_same_motion():
    first = quick_excitation()
    again = excite_fivebar(**QUICK)
    other = quick_excitation(seed=1)
    assert again.parts[0].record == first.parts[0].record
    assert other.parts[0].record != first.parts[0].record


@pytest.mark.slow
def test_separate_motions_have_strokes_of_constant_speed():
    result = quick_excitation(strategy="separate")
    strokes, motion = result.parts
    assert (strokes.name, motion.name) == ("strokes", "motion")
    assert result.ok
    # Half of the time or more the platform moves at constant speed, or rests.
    _, sample = strokes.trajectory.sample(n=4001)
    still = np.max(np.abs(sample.a), axis=-1) < 1e-9
    assert np.mean(still) > 0.5
    assert np.allclose(strokes.trajectory(strokes.trajectory.duration).x, motion.trajectory(0.0).x, atol=1e-9)
    # Every stroke is run both ways at three speeds.
    assert len(strokes.record["strokes"]) >= 14 * 4
    _within_limits(result)


def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    evaluate, calls = MotionDesign.evaluate, []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) > 12:
            raise KeyboardInterrupt
        return evaluate(self, *arguments)

    monkeypatch.setattr(MotionDesign, "evaluate", interrupted)
    result = excite_fivebar(**QUICK)
    assert result.status == "interrupted"
    assert "best motion so far" in result.message
    assert result.ok
    assert result.condition <= result.random * 1.2
    _within_limits(result)


@pytest.mark.slow
def test_tighter_limits_are_kept():
    result = quick_excitation(speed=8.0, acceleration=200.0, force=6.0, margin=0.1)
    assert result.limits.speed.tolist() == [8.0, 8.0]
    _within_limits(result)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strategy": "seperate"}, "did you mean 'separate'"),
        ({"criterion": "trace"}, "no criterion is called 'trace'"),
        ({"kind": "sine"}, "no kind of motion"),
        ({"duration": -1.0}, "duration must be above zero"),
        ({"iterations": 0}, "number of iterations must be above zero"),
        ({"noise": [1.0, -1.0]}, "noise of right.motor must be above zero"),
        ({"noise": [1.0, 1.0, 1.0]}, "one for each of the 2 actuators"),
        ({"force": 1e-3}, "force limit of"),
    ],
)
def test_impossible_options(options, words):
    with pytest.raises(IdentificationError, match=words):
        excite_fivebar(**options)


def test_columns_of_the_result_make_random_motions_of_length_one():
    result = quick_excitation()
    shape = MotionShape(harmonics=8, duration=1.0)
    problem = excitation_problem(result.robot, result.base, result.limits, shape=shape)
    drawn = optimise.random_motions(problem, 300, seed=0)
    assert np.allclose(scale_columns(problem, problem.coefficients(drawn)).columns, result.columns)

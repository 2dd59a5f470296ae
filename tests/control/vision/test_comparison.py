"""Closed loops of a five-bar whose anchors are off: who wins, and where curves cross."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.vision.comparison import (
    Case,
    Circumstances,
    LookingBench,
    LookingComparison,
    compare_looking,
)
from nacelle.errors import KinematicsError
from nacelle.vision.camera import Camera


@pytest.fixture(scope="module")
def bench() -> LookingBench:
    camera = Camera.looking([0.0, 0.14, 0.0], [0.0, 0.14, 0.77], up=(0.0, 1.0, 0.0))
    return LookingBench(nacelle.load("fivebar"), camera=camera, settle=0.1)


@pytest.mark.slow
def test_looking_wins_where_anchors_are_off(bench: LookingBench) -> None:
    case = Circumstances(anchors=3e-4)
    encoders, vision, both = (bench.run(name, case, 1).summary() for name in ("encoders", "vision", "both"))
    # Errors of anchors go to the platform as forward kinematics carries them; vision has them as states.
    assert encoders["rms_error"] > 1e-4
    assert vision["rms_error"] < 0.05 * encoders["rms_error"]
    assert both["rms_error"] < 2e-5


@pytest.mark.slow
def test_looking_loses_where_the_model_is_right(bench: LookingBench) -> None:
    case = Circumstances(anchors=0.0, noise=20.0, rate=100.0)
    encoders, vision = (bench.run(name, case, 1).summary() for name in ("encoders", "vision"))
    assert encoders["rms_error"] < 1e-5
    assert vision["rms_error"] > 2.0 * encoders["rms_error"]


@pytest.mark.slow
def test_equal_seeds_give_equal_runs(bench: LookingBench) -> None:
    one, two = (bench.run("vision", Circumstances(), 3) for _ in range(2))
    np.testing.assert_array_equal(one.x, two.x)
    other = bench.run("vision", Circumstances(), 4)
    assert np.max(np.abs(one.x - other.x)) > 1e-7


@pytest.mark.slow
def test_sweeps_and_crossings(bench: LookingBench) -> None:
    sweeps = {"anchors": (1e-6, 1e-3)}
    result = compare_looking(bench, sweeps=sweeps, seeds=(1,), feedbacks=("encoders", "vision"))
    (crossing,) = result.crossings
    assert crossing.wins
    assert 1e-6 < crossing.value < 1e-3
    assert "vision wins above" in result.verdict("anchors")
    figure = result.plot(shown=False)
    assert len(figure.axes) == 1


def test_crossings_are_where_the_medians_are_equal() -> None:
    def case(value: float, encoders: float, vision: float) -> Case:
        rms = {"encoders": np.array([encoders]), "vision": np.array([vision])}
        return Case("noise", value, rms, rms)

    # Encoders at 1; vision 0.01, 0.1, 10, then lost: it is as good as they are half-way of the logarithms.
    cases = (case(1.0, 1.0, 0.01), case(4.0, 1.0, 0.1), case(16.0, 1.0, 10.0), case(64.0, 1.0, np.nan))
    robot = nacelle.load("fivebar")
    result = LookingComparison(robot, cases, Circumstances(), (1,), "model")
    (crossing,) = result.crossings
    assert crossing.value == pytest.approx(8.0)
    assert not crossing.wins


def test_names_are_checked(bench: LookingBench) -> None:
    with pytest.raises(KinematicsError, match="did you mean 'vision'"):
        bench.run("visoin", Circumstances(), 1)
    with pytest.raises(KinematicsError, match="did you mean 'anchors'"):
        compare_looking(bench, sweeps={"anchor": (1.0,)})

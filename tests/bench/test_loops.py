"""Exported controllers against the plants of the bench: they track, stop in time, and stay within limits."""

import numpy as np
import pytest

from bench.loops import EVENT, GLITCHES, HARMLESS, LAWS, SETPOINTS, T, run, verdict
from bench.plants import PLANTS
from support.cc import COMPILERS

pytestmark = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")
CASES = [(name, law) for name in PLANTS for law in LAWS]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "law"), CASES)
def test_the_tool_errs_ten_times_less_than_with_a_pd(name, law):
    """On a machine that is 5 to 15 % off the description."""
    errors = {}
    for chosen in ("PD", law):
        course = run(name, chosen)
        assert not course.status.any()
        errors[chosen] = np.sqrt(np.mean(course.error[200:] ** 2))
    assert errors[law] < 0.1 * errors["PD"]


@pytest.mark.slow
@pytest.mark.parametrize("what", [*SETPOINTS, *GLITCHES])
@pytest.mark.parametrize(("name", "law"), CASES)
def test_what_is_wrong_is_bridged_or_stops_the_machine(name, law, what):
    """Never more than the limit of a drive, never through a singularity, and a reason for each stop."""
    make = {**SETPOINTS, **GLITCHES}[what]
    course = run(name, law, 0, make())
    result = verdict(course, name)
    assert result.force <= 1.0 + 1e-9
    assert np.isfinite(course.force).all()
    if what in HARMLESS:
        assert result.stopped is None
        assert result.error < 1e-3
        return
    assert result.stopped is not None
    assert result.reason
    # A drive whose encoder is stuck is driven away before that is seen, and is not seen to move from then on.
    until = round(EVENT / T) + result.stopped if what == "one encoder stuck" else len(course.determinant)
    assert np.min(course.determinant[:until]) > 0.0
    assert result.error < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTS)
def test_a_hold_keeps_the_tool_where_it_is(name):
    """Half a second after a setpoint that is not a number, within 30 mm of where it moved, and at rest."""
    course = run(name, LAWS[0], 0, SETPOINTS["NaN"]())
    way = np.linalg.norm(course.tool[-1] - course.tool[round(EVENT / T)])
    assert way < 0.03
    assert verdict(course, name).speed < 0.01

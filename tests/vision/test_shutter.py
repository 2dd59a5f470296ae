"""Times of exposures by hand."""

from __future__ import annotations

import pytest

from nacelle.errors import KinematicsError
from nacelle.vision.shutter import Shutter


def test_sequential_takes_cylinders_in_turn() -> None:
    shutter = Shutter(rate=100.0, exposure=0.004, latency=0.003, clock_offset=0.05)
    taken = list(shutter.exposures(0.0, 0.05, (7, 3, 5)))
    # By the robot's clock exposure k lasts from 0.01 k - 0.05 to 0.004 later: the fifth is the first to end.
    assert [exposure.cylinders for exposure in taken] == [((7, 3, 5)[k % 3],) for k in range(5, 10)]
    assert taken[0].time == pytest.approx(0.052)
    assert taken[0].arrival == pytest.approx(0.002 + 0.002 + 0.003)
    assert shutter.robot_time(taken[0].time) == pytest.approx(0.002)


def test_no_exposure_is_lost_or_twice_between_intervals() -> None:
    shutter = Shutter(rate=500.0, exposure=0.0005, latency=0.0, kind="global", clock_offset=-0.0013)
    parts = [
        e.time for k in range(20) for e in shutter.exposures(0.01 * k + 1e-5, 0.01 * (k + 1) + 1e-5, (0, 1))
    ]
    whole = [e.time for e in shutter.exposures(1e-5, 0.2 + 1e-5, (0, 1))]
    assert parts == whole
    assert len(whole) == 100
    assert all(e.cylinders == (0, 1) for e in shutter.exposures(0.0, 0.1, (0, 1)))
    assert list(shutter.exposures(0.0, 1.0, ())) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": 0.0},
        {"exposure": 0.1},
        {"exposure": -1.0},
        {"latency": -1.0},
        {"kind": "rolling"},
        {"clock_offset": float("nan")},
    ],
)
def test_impossible_shutters(wrong: dict[str, float]) -> None:
    with pytest.raises(KinematicsError):
        Shutter(**wrong)

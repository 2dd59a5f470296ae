"""Runs: steps that fill the time, and go on where an earlier run has ended."""

from __future__ import annotations

import dataclasses

import pytest

from nacelle.errors import KinematicsError
from nacelle.simulation.run import RunSettings, first_grid, next_grid

PLAIN = RunSettings(
    force=None,
    start=0.0,
    until=1.0,
    method="rk4",
    step=0.01,
    max_step=1.0,
    hold=False,
    substeps=1,
    samples=None,
    rtol=1e-8,
    atol=1e-10,
    events=(),
    progress=False,
)


def test_steps_fill_the_time() -> None:
    for until, step, count in ((1.0, 0.01, 100), (0.995, 0.01, 100), (0.001, 0.01, 1)):
        grid = first_grid(PLAIN.changed(until=until, step=step))
        assert grid.last - grid.first == count
        assert grid.origin + grid.h * grid.last == pytest.approx(until)


def test_a_run_goes_on_with_its_own_steps() -> None:
    grid = first_grid(PLAIN)
    further = next_grid(PLAIN.changed(until=1.5), grid, 1.0)
    assert (further.origin, further.h) == (grid.origin, grid.h)
    assert (further.first, further.last) == (100, 150)
    # A time that is on no step of the earlier run begins a new grid, which ends there exactly.
    other = next_grid(PLAIN.changed(until=1.5037), grid, 1.0)
    assert other.origin + other.h * other.last == pytest.approx(1.5037)
    assert other.origin + other.h * other.first == pytest.approx(1.0)


@pytest.mark.parametrize("change", [{"samples": 1}, {"step": 0.0}, {"until": -1.0}, {"method": "euler"}])
def test_mistakes(change: dict[str, object]) -> None:
    with pytest.raises(KinematicsError):
        dataclasses.replace(PLAIN, **change).check()

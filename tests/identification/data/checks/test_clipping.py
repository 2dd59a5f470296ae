"""Clipped forces are found with their rows; natural peaks, quantised ones and steps of friction are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nacelle.identification.data.checks.clipping import check_clipping
from nacelle.identification.data.measurement import Measurement, MeasurementSource
from support.library import library_robot
from support.measurements import Truth, measured

TIME = 0.002 * np.arange(3000)
LIMIT = library_robot("fivebar").actuators[0].force


def with_force(first: np.ndarray, q: np.ndarray | None = None) -> Measurement:
    force = np.stack([first, np.cos(3 * TIME)], axis=-1)
    columns = {f"force.{a.name}": f"i{k}" for k, a in enumerate(library_robot("fivebar").actuators)}
    source = MeasurementSource("run.csv", 2, columns)
    q = np.stack([np.sin(TIME), np.cos(2 * TIME)], axis=-1) if q is None else q
    return Measurement(library_robot("fivebar"), TIME, q, force, source=source)


def wave(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a, p = rng.uniform(0.5, 1, 4), rng.uniform(0, 6, 4)
    return sum(a[k] * np.sin((k + 1) * 3.0 * TIME + p[k]) for k in range(4))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("quantum", [0.0, 1e-3, 0.02, 0.1])
def test_natural_peaks(seed: int, quantum: float) -> None:
    force = wave(seed)
    force = np.round(force / quantum) * quantum if quantum else force
    assert check_clipping(with_force(force)) == []


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("quantum", [0.0, 1e-3])
def test_plateaus(seed: int, noise: float, quantum: float) -> None:
    rng = np.random.default_rng(seed)
    force = wave(seed) + noise * rng.normal(size=len(TIME))
    force = np.round(force / quantum) * quantum if quantum else force
    level = 0.7 * np.max(force)
    (clipped,) = check_clipping(with_force(np.minimum(force, level)))
    assert (clipped.kind, clipped.column) == ("clipped", "i0")
    over = np.flatnonzero(force >= level)
    # A single sample above the level makes no plateau.
    assert over[0] <= clipped.sample <= over[0] + 100
    assert clipped.row == clipped.sample + 2
    assert clipped.count > 0.7 * len(over)


def test_at_the_described_limit() -> None:
    """A drive that is at its limit is clipped, although noise lies on the plateau."""
    rng = np.random.default_rng(0)
    force = np.clip(1.3 * LIMIT * np.sin(3 * TIME), -LIMIT, LIMIT) + 1e-3 * LIMIT * rng.normal(size=len(TIME))
    (clipped,) = check_clipping(with_force(force))
    assert "described limit" in clipped.message


def test_friction_has_steps() -> None:
    rng = np.random.default_rng(0)
    force = np.sign(np.sin(5 * TIME)) + 0.02 * np.sin(15 * TIME) + 0.003 * rng.normal(size=len(TIME))
    assert check_clipping(with_force(force)) == []


def test_rest_at_the_highest_value() -> None:
    force = np.where(TIME < 2.0, 1.0, np.cos(3 * (TIME - 2.0)))
    q = np.stack([np.maximum(TIME - 2.0, 0.0) ** 2] * 2, axis=-1)
    assert check_clipping(with_force(force, q)) == []


@pytest.mark.parametrize("seed", range(5))
def test_clean_measurements(seed: int) -> None:
    assert check_clipping(measured(library_robot("fivebar"), seed)) == []


@pytest.mark.parametrize("seed", range(3))
def test_clipped_measurements(seed: int) -> None:
    clean = measured(library_robot("fivebar"), seed, Truth(noise=0.0))
    level = 0.8 * np.max(np.abs(clean.force[:, 1]))
    force = clean.force.copy()
    force[:, 1] = np.clip(force[:, 1], -level, level)
    (clipped,) = check_clipping(replace(clean, force=force))
    assert clipped.column == "i1"
    assert abs(clipped.sample - np.flatnonzero(np.abs(clean.force[:, 1]) >= level)[0]) < 60

"""Columns of a drive's friction: what they span, and that a shift of an encoder changes nothing of it."""

from __future__ import annotations

import numpy as np

from nacelle.identification.data.checks.zero_record import CYCLES, _friction_columns, _waves

T = np.linspace(0.0, 2.0, 400)


def explained(columns: np.ndarray, signal: np.ndarray) -> float:
    """Part of a signal that columns leave."""
    left = signal - columns @ np.linalg.lstsq(columns, signal, rcond=None)[0]
    return float(np.linalg.norm(left) / np.linalg.norm(signal))


def test_friction_that_drives_have() -> None:
    """A constant, viscous, dry and cubic friction of any size, whatever the unit of the rate."""
    rate = 3.0 * np.sin(5.0 * T) + np.cos(2.0 * T)
    friction = 0.3 + 2.0 * rate + 0.7 * np.sign(rate) - 0.1 * rate**3 + 0.2 * rate * np.abs(rate)
    for unit in (1.0, 1000.0):
        columns = _friction_columns(rate * unit)
        assert columns.shape == (400, 8)
        assert explained(columns, friction) < 1e-12
    # Dry friction that is half as large again at rest (Stribeck), over a tenth of the rate.
    w = rate / np.sqrt(np.mean(rate**2))
    assert explained(columns, np.sign(w) * (1.0 + 0.5 * np.exp(-((w / 0.1) ** 2)))) < 1e-12
    assert explained(columns, np.sin(9.0 * T)) > 0.3


def test_cogging_at_a_shifted_zero() -> None:
    q = np.sin(3.0 * T)
    waves, shifted = _waves(q), _waves(q + 0.17)
    k = int(np.flatnonzero(CYCLES == 8.0)[0])
    pair = waves[:, [k, k + len(CYCLES)]]
    for column in (shifted[:, k], shifted[:, k + len(CYCLES)]):
        assert explained(pair, column) < 1e-12
    # Eight periods over the range of the coordinate.
    assert explained(pair, np.cos(2.0 * np.pi * 8.0 * q / np.ptp(q))) < 1e-12

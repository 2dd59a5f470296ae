"""Corrections of columns: matrices, applied one after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.identification.data.checks.correction import (
    Correction,
    as_read,
    exchanged,
    offset_columns,
    rescaled,
)

M = 2
S = np.random.default_rng(0).normal(size=(7, 2 * M))


def as_matrix(correction: Correction) -> tuple[np.ndarray, np.ndarray]:
    """A (2 m, 2 m) and b (2 m,) with columns = S A + b."""
    A = np.zeros((2 * M, 2 * M))
    for k, place in enumerate(correction.places):
        A[place, k] = correction.factors[k]
    return A, np.array(correction.offsets)


def test_one_after_the_other() -> None:
    steps = [
        exchanged(M, 0, 1),
        rescaled(M, (1, 2), -2.5),
        offset_columns(M, np.array([0.3, -0.1])),
        exchanged(M, 2, 3),
    ]
    total, expected, rates = as_read(M), S, S
    for step in steps:
        A, b = as_matrix(step)
        expected, rates = expected @ A + b, rates @ A
        total = total.then(step)
    np.testing.assert_allclose(total.apply(S), expected, atol=1e-15)
    # Derivatives have no offsets.
    np.testing.assert_allclose(total.apply(S, 1), rates, atol=1e-15)
    assert total.columns == (2, 3)


def test_columns_of_a_file_keep_their_own_units() -> None:
    """Numbers of a file that were converted as an angle and as a force, taken the other way round."""
    numbers = np.random.default_rng(1).normal(size=(5, 2))
    (a, b), (c, d) = (0.02, 0.3), (7.0, -1.0)
    read = np.zeros((5, 4))
    read[:, 0], read[:, 2] = a * numbers[:, 0] + b, c * numbers[:, 1] + d
    meant = exchanged(M, 0, 2, ((a, b), (c, d))).apply(read)
    np.testing.assert_allclose(meant[:, 0], a * numbers[:, 1] + b, atol=1e-14)
    np.testing.assert_allclose(meant[:, 2], c * numbers[:, 0] + d, atol=1e-12)


def test_forces_do_not_change_the_motion() -> None:
    assert rescaled(M, (2,), -1.0).motion_key == as_read(M).motion_key
    assert rescaled(M, (1,), -1.0).motion_key != as_read(M).motion_key


def test_time_in_another_unit_changes_derivatives_alone() -> None:
    """q(t) with t in ms: rates as read are a thousandth, accelerations a millionth."""
    half, other = replace(as_read(M), pace=1e-2), replace(as_read(M), pace=1e-1)
    total = half.then(other)
    for order in range(3):
        np.testing.assert_allclose(total.apply(S, order), S * 1e3**order, rtol=1e-14)
    assert total.motion_key != as_read(M).motion_key

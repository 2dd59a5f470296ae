"""Chains and reversed trajectories."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.trajectory import Chain, Line, TrajectoryError

A, B, C = np.array([0.0, 0, 0]), np.array([1.0, 0, 0]), np.array([1.0, 2, 0])


def line(start: np.ndarray, end: np.ndarray, duration: float = 1.0) -> Line:
    return Line(start, end, motion="xyz", duration=duration)


def test_one_after_another() -> None:
    chain = line(A, B).then(line(B, C, 3.0))
    assert chain.duration == 4.0
    assert len(chain.parts) == 2
    for found, expected in zip(
        chain([0.3, 2.2]), zip(line(A, B)(0.3), line(B, C, 3.0)(1.2), strict=True), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-15)
    np.testing.assert_array_equal(chain([0, 1, 4]).x, [A, B, C])


def test_backwards() -> None:
    chain = line(A, B).then(line(B, C, 3.0))
    back = chain.reversed()
    t = np.linspace(0, 4, 41)
    np.testing.assert_allclose(back(t).x, chain(4 - t).x, atol=1e-14)
    np.testing.assert_allclose(back(t).v, -chain(4 - t).v, atol=1e-14)
    np.testing.assert_allclose(back(t).a, chain(4 - t).a, atol=1e-13)
    there_and_back = chain.then(back)
    np.testing.assert_array_equal(there_and_back(8.0).x, A)


def test_quaternions_of_either_sign_are_joined() -> None:
    q = np.array([0.5, 0.5, 0.5, 0.5])
    first = Line([0, 0, 0, 0, 0, 0, 1], [0, 0, 0, *q], motion="se3", duration=1.0)
    second = Line([0, 0, 0, *-q], [0, 0, 0, 1, 0, 0, 0], motion="se3", duration=1.0)
    third = Line([0, 0, 0, -1, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0], motion="se3", duration=1.0)
    _, (x, _, _) = Chain(first, second, third).sample(600)
    assert np.abs(np.diff(x, axis=0)).max() < 0.02


def test_errors() -> None:
    with pytest.raises(TrajectoryError, match="part 1 does not start where part 0 ends: y jumps by 2"):
        line(A, B).then(line(C, B))
    with pytest.raises(TrajectoryError, match="part 1 has the motion xy, not xyz"):
        line(A, B).then(Line([1, 0], [1, 1], motion="xy", duration=1.0))
    with pytest.raises(TrajectoryError, match="at least one part"):
        Chain()

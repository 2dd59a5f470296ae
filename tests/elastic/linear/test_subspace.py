"""Null spaces against SciPy's, with the gap that decides their rank."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from nacelle.elastic.extended import extended
from nacelle.elastic.linear.subspace import null_spaces, rate_scales
from support.flexible_robots import prrrp


def test_null_spaces_are_scipys() -> None:
    random = np.random.default_rng(0)
    A = random.normal(size=(3, 2, 6))
    A[1] = np.outer([1.0, -2.0], random.normal(size=6))  # rank one
    A[2] = 0.0
    scale = np.exp(random.normal(size=6))
    for matrix, space, rank in zip(A, null_spaces(A, scale), (2, 1, 0), strict=True):
        assert space.basis.shape == (6, 6 - rank)
        expected = scipy.linalg.null_space(matrix)
        # The same subspace: the projection on it leaves the basis as it is.
        np.testing.assert_allclose(expected @ expected.T @ space.basis, space.basis, atol=1e-12)
        scaled = space.basis / scale[:, None]
        np.testing.assert_allclose(scaled.T @ scaled, np.eye(6 - rank), atol=1e-12)
    assert null_spaces(A[1:2], scale)[0].dropped < 1e-14


def test_what_is_kept_and_dropped() -> None:
    (space,) = null_spaces(np.diag([1.0, 1e-3, 1e-12])[None], np.ones(3))
    assert space.basis.shape == (3, 1)
    np.testing.assert_allclose([space.kept, space.dropped], [1e-3, 1e-12], rtol=1e-9)
    (all_,) = null_spaces(np.zeros((1, 0, 2)), np.array([2.0, 3.0]))
    np.testing.assert_array_equal(all_.basis, np.diag([2.0, 3.0]))


def test_shapes_have_unit_size() -> None:
    """An axial coordinate of a bar moves it by u = xi, of size sqrt(int xi^2) = 1/sqrt(3)."""
    robot = prrrp()
    own = extended(robot)
    scale = rate_scales(own)[len(own.rigid_rates) :]
    places = [k for k, name in enumerate(own.names) if name.endswith("axial-1")]
    assert len(places) == 2
    np.testing.assert_allclose(scale[places], np.sqrt(3.0) * robot.size, rtol=1e-12)

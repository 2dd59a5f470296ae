"""Roots of the information, against inverses of covariances."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import IdentificationError
from nacelle.identification.consistency.roots import (
    root_of_covariance,
    root_of_information,
    root_of_regression,
    standard_deviations,
)

rng = np.random.default_rng(4)
Y = rng.normal(size=(30, 2, 5)) * np.array([1.0, 1e-3, 10.0, 1e3, 0.1])
SIGMA = np.array([0.5, 20.0])
W = (Y / SIGMA[:, None]).reshape(-1, 5)
C = np.linalg.inv(W.T @ W)


@pytest.mark.parametrize(
    "root",
    [root_of_regression(Y, SIGMA), root_of_covariance(C), root_of_information(W.T @ W)],
    ids=["regression", "covariance", "information"],
)
def test_roots_of_the_same_estimate(root):
    for _ in range(3):
        d = rng.normal(size=5) * np.sqrt(np.diag(C))
        assert np.sum((root @ d) ** 2) == pytest.approx(d @ W.T @ W @ d, rel=1e-9)
    assert np.allclose(standard_deviations(root), np.sqrt(np.diag(C)), rtol=1e-9)


def test_what_was_not_estimated_has_no_weight():
    larger = np.full((6, 6), 0.0)
    larger[:5, :5] = C
    larger[5, 5] = np.inf
    root = root_of_covariance(larger)
    assert root.shape == (5, 6)
    assert np.all(root[:, 5] == 0.0)
    sigma = standard_deviations(root)
    assert np.isinf(sigma[5])
    assert np.allclose(sigma[:5], np.sqrt(np.diag(C)))


def test_a_combination_that_nothing_determines():
    """Only the sum of the first two is seen."""
    root = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 4.0]])
    assert standard_deviations(root).tolist() == [np.inf, np.inf, 0.25]


def test_one_sigma_for_all_and_more_columns_than_rows():
    assert root_of_regression(Y[..., :1], 2.0).shape == (1, 1)
    assert root_of_regression(Y[:1], SIGMA).shape == (2, 5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: root_of_covariance(np.zeros((2, 3))), "square"),
        (lambda: root_of_covariance(np.diag([1.0, 0.0])), "variance of base parameter 1 is zero"),
        (lambda: root_of_covariance([[1.0, 2.0], [2.0, 1.0]]), "not positive definite"),
        (lambda: root_of_information([[1.0, 2.0], [2.0, 1.0]]), "negative eigenvalues"),
        (lambda: root_of_information([[np.nan]]), "not finite"),
        (lambda: root_of_information(np.zeros(3)), "square"),
        (lambda: root_of_regression([[np.nan]]), "not finite"),
    ],
)
def test_what_is_no_information(call, words):
    with pytest.raises(IdentificationError, match=words):
        call()

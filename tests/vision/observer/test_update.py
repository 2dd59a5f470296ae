"""Kalman's update against the information form and least squares; gates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import nacelle
from nacelle.vision.observer.process import Displacer, ObserverState
from nacelle.vision.observer.update import Rows, quantile, updated


@pytest.fixture
def state():
    robot = nacelle.load("fivebar")
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 4))
    P = 1e-6 * (A @ A.T + np.eye(4))
    x = nacelle.reference_pose(robot)
    return robot, ObserverState(1.0, x, np.zeros(0), np.zeros(2), np.zeros(0), 0.0, P, 0.0, rejected=(3, 2))


def test_an_update_is_that_of_least_squares(state):
    robot, before = state
    rng = np.random.default_rng(1)
    H, r = rng.standard_normal((4, 4)), 1e-3 * rng.standard_normal(4)
    R = np.diag([1e-6, 2e-6, 3e-6, 4e-6])
    rows = Rows(r, H, R, ("a", "b"), np.ones(2, dtype=bool))
    after, said = updated(before, rows, 1e-9, Displacer(robot), kind=0)
    information = np.linalg.inv(before.P) + H.T @ np.linalg.inv(R) @ H
    e = np.linalg.solve(information, H.T @ np.linalg.solve(R, r))
    np.testing.assert_allclose(after.P, np.linalg.inv(information), rtol=1e-9)
    np.testing.assert_allclose(after.x - before.x, e[:2], rtol=1e-8)
    np.testing.assert_allclose(after.v, e[2:], rtol=1e-8)
    assert said.nis == pytest.approx(r @ np.linalg.solve(H @ before.P @ H.T + R, r))
    assert (said.degrees, after.rejected, after.seen) == (4, (0, 2), 1.0)


def test_what_contradicts_is_left_out(state):
    robot, before = state
    H = np.kron(np.ones((2, 1)), np.eye(2, 4))
    R = 1e-8 * np.eye(4)
    good = Rows(np.array([1e-4, 0.0, 0.1, 0.0]), H, R, ("good", "bad"), np.ones(2, dtype=bool))
    alone = Rows(good.r[:2], H[:2], R[:2, :2], ("good",), np.ones(1, dtype=bool))
    after, said = updated(before, good, 1e-5, Displacer(robot), kind=0)
    expected, _ = updated(before, alone, 1e-5, Displacer(robot), kind=0)
    assert [one.accepted for one in said.each] == [True, False]
    np.testing.assert_allclose(after.P, expected.P, rtol=1e-12)
    impossible = good._replace(possible=np.zeros(2, dtype=bool))
    same, _ = updated(before, impossible, 1e-5, Displacer(robot), kind=0)
    assert same.P is before.P
    assert same.rejected == (5, 2)


def test_quantiles():
    assert quantile(6, 0.05) == pytest.approx(chi2.ppf(0.95, 6))

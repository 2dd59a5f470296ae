"""A strut against mass points: inertia at B, the force that its motion requires, and its direction."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.general.bars.strut import strut, strut_inertia
from nacelle.dynamics.general.bars.strut_line import StrutMotion
from nacelle.dynamics.general.required import Counted
from support.compare import assert_same
from support.mass_point_bars import Cloud, axes, cross_axes, form_of, gradient, second_derivative

Array = np.ndarray
R, V, A = np.array([0.3, -0.2, 0.9]), np.array([0.4, 0.7, -0.3]), np.array([-1.1, 0.5, 2.0])
GRAVITY = np.array([1.0, -2.0, -9.0])


class Points:
    """A tube, what slides in it, and a cross."""

    def __init__(self, seed: int, *, axisymmetric: bool) -> None:
        rng = np.random.default_rng(seed)
        self.tube = Cloud.random(rng, axisymmetric=axisymmetric)
        # What slides has its centre of mass on the line: that is what makes it a strut.
        sliding = Cloud.random(rng, axisymmetric=axisymmetric)
        beside = sliding.m @ sliding.p / sliding.m.sum() * [1.0, 1.0, 0.0]
        self.sliding = Cloud(sliding.m, sliding.p - beside)
        # A cross whose centre of mass is on its axis has no weight that counts.
        self.cross = Cloud(np.full(2, 0.4), np.array([[0.1, 0.05, 0.07], [0.1, -0.05, -0.07]]))
        about = float(np.sum(self.cross.m * np.sum(self.cross.p[:, 1:] ** 2, axis=1)))
        rod, tube = self.sliding.parameters, self.tube.parameters
        self.form = form_of("strut", rod=rod, tube=tube, cross=about)
        self.m = np.concatenate([self.tube.m, self.sliding.m, self.cross.m])

    def place(self, r: Array) -> Array:
        """All points (k, 3), from A."""
        Q = axes(r)
        return np.concatenate([self.tube.p @ Q.T, r + self.sliding.p @ Q.T, self.cross.p @ cross_axes(r).T])


@pytest.mark.parametrize("axisymmetric", [True, False])
def test_inertia_and_force_are_those_of_mass_points(axisymmetric: bool) -> None:
    points = Points(2, axisymmetric=axisymmetric)
    J, m = gradient(points.place, R), points.m
    extra = float(points.sliding.m.sum())
    K = np.asarray(strut_inertia(points.form, R), dtype=float)
    # What slides counts at B with its mass, elsewhere.
    assert_same(K + extra * np.eye(3), np.einsum("k,kia,kib->ab", m, J, J), 1e-8)
    expected = np.einsum("k,kia,ki->a", m, J, second_derivative(points.place, R, V, A) - GRAVITY)
    at = StrutMotion(R, V, A, GRAVITY, np.zeros(3))
    demand = strut(points.form, at, 2, Counted())
    assert demand.G[2] == 0.0
    # With no force of the nacelle at B the actuator's force and G do it all: f = 0.
    along = R / np.linalg.norm(R)
    required = np.asarray(demand.G + demand.own * along, dtype=float) + extra * (A - GRAVITY)
    assert_same(required, expected, 1e-6)


@pytest.mark.parametrize("axisymmetric", [True, False])
def test_the_direction_says_the_same(axisymmetric: bool) -> None:
    """From x = r / l and the length with their derivatives; a force in x counts l times itself."""
    points = Points(3, axisymmetric=axisymmetric)
    l = float(np.linalg.norm(R))
    l_dot = R @ V / l
    l_ddot = (V @ V + R @ A - l_dot**2) / l
    x = R / l
    x_dot = (V - l_dot * x) / l
    x_ddot = (A - l_ddot * x - 2.0 * l_dot * x_dot) / l
    plain = strut(points.form, StrutMotion(R, V, A, GRAVITY, np.zeros(3)), 2, Counted())
    length = np.array([l, l_dot, l_ddot])
    given = strut(points.form, StrutMotion(x, x_dot, x_ddot, GRAVITY, np.zeros(3), length), 2, Counted())
    assert_same(np.asarray(given.G, dtype=float), np.asarray(plain.G, dtype=float), 1e-12)
    assert abs(given.own - plain.own) < 1e-12 * (1.0 + abs(plain.own))
    assert_same(np.asarray(given.r, dtype=float), np.asarray(plain.r, dtype=float), 1e-14)

"""A rod on a universal joint against mass points: what its masses and its turning require together."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.general.bars.rod import RodMotion, bar_rate, lean, residual, rod_rotation
from nacelle.dynamics.general.required import Counted
from support.compare import assert_same
from support.mass_point_bars import AXIS, Cloud, axes, cross_axes, form_of, gradient, second_derivative

Array = np.ndarray
START, R = np.array([0.1, 0.4, -0.2]), np.array([0.3, -0.2, 0.9])
L = float(np.linalg.norm(R))
GRAVITY = np.array([1.0, -2.0, -9.0])


def swung(z: Array) -> tuple[Array, Array]:
    """A and r of a rod of length L from A and two coordinates across r."""
    across = axes(R)[:, :2] @ z[3:]
    r = R + across
    return START + z[:3], L * r / np.linalg.norm(r)


@pytest.mark.parametrize("axisymmetric", [True, False])
def test_forces_and_energy_are_those_of_mass_points(axisymmetric: bool) -> None:
    rng = np.random.default_rng(4)
    cloud = Cloud.random(rng, axisymmetric=axisymmetric)
    p = cloud.parameters
    rim = Cloud(np.full(2, 0.4), np.array([[0.0, 0.05, 0.07], [0.0, -0.05, -0.07]]))
    about = float(np.sum(rim.m * np.sum(rim.p[:, 1:] ** 2, axis=1)))
    form = form_of("rod", rod=p, tube=np.zeros(10), cross=about, length=L)
    c1, c2 = p[3] / L, p[4] / L**2
    m_A, m_B, m_AB = p[0] - 2.0 * c1 + c2, c2, c1 - c2

    def place(z: Array) -> Array:
        A, r = swung(z)
        return A + np.concatenate([cloud.p @ axes(r).T, rim.p @ cross_axes(r).T])

    def ends(z: Array) -> Array:
        A, r = swung(z)
        return np.stack([A, A + r])

    z, v, a = np.zeros(5), rng.normal(size=5), rng.normal(size=5)
    m = np.concatenate([cloud.m, rim.m])
    J, J_ends = gradient(place, z), gradient(ends, z)
    force = m[:, None] * (second_derivative(place, z, v, a) - GRAVITY)
    # The cross moves with A, too; its mass is the carrier's.
    force[len(cloud.m) :] -= rim.m[:, None] * (second_derivative(ends, z, v, a)[0] - GRAVITY)
    J[len(cloud.m) :] -= J_ends[0]
    expected = np.einsum("kia,ki->a", J, force)

    a1, a2 = second_derivative(ends, z, v, a) - GRAVITY
    v1, v2 = J_ends @ v
    part = rod_rotation(form, RodMotion(R, v2 - v1, a1, a2, 0.0, 0.0, np.zeros(3)), np.zeros(3), Counted())
    at_A = m_A * a1 + m_AB * a2 + part.force - part.G
    at_B = m_B * a2 + m_AB * a1 + part.G
    found = np.einsum("kia,ki->a", J_ends, np.stack([at_A, at_B]).astype(float))
    assert_same(found, expected, 1e-6)

    # At v_A = q' c the energy of the masses and the residual are that of the points.
    c, rate = np.array([0.2, -0.5, 0.4]), 1.3
    u = np.array([*(rate * c), *v[3:]])
    v_A, v_B = J_ends @ u
    rest = residual(form, R, c)
    assert rest is not None
    s, t = rest.s @ (v_B - v_A), rest.t @ (v_B - v_A)
    energy = 0.5 * m_A * v_A @ v_A + 0.5 * m_B * v_B @ v_B + m_AB * v_A @ v_B
    energy += 0.5 * rest.A * s * s + rest.C * s * t + rate * (rest.F * s + rest.G * t)
    assert abs(energy - 0.5 * np.sum(m * np.sum((J @ u) ** 2, axis=1))) < 1e-8


def test_a_planar_bar_turns_about_its_axis() -> None:
    form = form_of("strut", rod=np.zeros(10), tube=np.zeros(10), cross=0.0)
    r = np.cross(AXIS, [0.0, 1.0, 0.0])
    assert abs(bar_rate(form, r, 0.7 * np.cross(AXIS, r)) - 0.7) < 1e-15
    # The force at B that makes a moment of 1 N m about A.
    moved = RodMotion(r, np.zeros(3), np.zeros(3), np.zeros(3), 0.0, 0.0, np.zeros(3))
    assert_same(np.cross(r, lean(form, moved)), AXIS, 1e-15)

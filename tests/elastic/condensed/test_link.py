"""A link between two points: momentum, power and inertia of a rod, rigid and bending."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.elastic.beam.newton_euler import strain_energy
from nacelle.elastic.condensed.link import (
    LinkRates,
    constants_of,
    corrected,
    end_forces,
    link_at,
    link_end_inertia,
    link_in_motion,
)
from nacelle.elastic.extended import extended
from support.flexible_robots import flexible

Array = np.ndarray
OWN = constants_of(extended(flexible("delta", number=2)).shapes[0])
BEAM = OWN.shapes.beam


def moving(A: Array, P: Array, v_A: Array, v_P: Array, t: Array, t_rate: Array, first: Array):
    """A link from A to P; `first` is the direction of its first plane."""
    span = P - A
    length = float(np.linalg.norm(span))
    e = span / length
    n1 = first - e * (e @ first)
    n1 /= np.linalg.norm(n1)
    n = (n1, np.cross(e, n1))
    v = v_P - v_A
    w = np.array([n_j @ v / length for n_j in n])
    return link_in_motion(OWN, link_at(span, length, n, None), LinkRates(float(e @ v), w, t, t_rate))


def energy(A: Array, P: Array, v_A: Array, v_P: Array, t: Array, t_rate: Array, first: Array) -> float:
    """Kinetic energy of points of the link, rotation of its sections and strain energy, J."""
    link = moving(A, P, v_A, v_P, t, t_rate, first)
    e, n, w = link.at.e, link.at.n, link.now.w
    nodes, weights = np.polynomial.legendre.leggauss(30)
    total = 0.0
    for xi, weight in zip(0.5 * (nodes + 1.0), 0.5 * weights, strict=True):
        d = np.array([c.d.at(xi) for c in OWN.shapes.coordinates[1:]])
        v = v_A + xi * (v_P - v_A)
        for i, j in enumerate(OWN.plane):
            v = v + d[i] * (n[j] * t_rate[i] - w[j] * t[i] * e)
        total += 0.5 * weight * BEAM.mass * float(v @ v)
    coordinates = np.array([link.at.length - BEAM.length, *t])
    for j in range(2):
        total += 0.5 * OWN.rotary[j] * w[j] ** 2
    total += 0.5 * float(t_rate @ OWN.shapes.RR[1:, 1:] @ t_rate)
    return total + float(strain_energy(OWN.shapes, coordinates))


def sample() -> tuple[Array, ...]:
    random = np.random.default_rng(0)
    A = random.normal(size=3)
    e = random.normal(size=3)
    P = A + e / np.linalg.norm(e) * (BEAM.length + 1e-5)
    t, t_rate = 2e-3 * random.normal(size=OWN.n), 0.05 * random.normal(size=OWN.n)
    return A, P, random.normal(size=3), random.normal(size=3), t, t_rate, random.normal(size=3)


def test_power_of_the_end_forces_is_the_change_of_energy() -> None:
    """F_A . v_A + F_P . v_P = d(T + V)/dt, without damping and gravity."""
    A, P, v_A, v_P, t, t_rate, _ = sample()
    a_A, a_P = np.random.default_rng(1).normal(size=(2, 3))
    ends = end_forces(moving(*sample()), a_A, a_P)
    link = moving(*sample())

    def later(h: float) -> float:
        turned = link.at.n[0] - h * link.now.w[0] * link.at.e
        return energy(
            A + h * v_A + h * h / 2 * a_A,
            P + h * v_P + h * h / 2 * a_P,
            v_A + h * a_A,
            v_P + h * a_P,
            t + h * t_rate + h * h / 2 * ends.t,
            t_rate + h * ends.t,
            turned,
        )

    h = 1e-6
    power = (later(h) - later(-h)) / (2.0 * h)
    assert float(ends.start @ v_A + ends.end @ v_P) == pytest.approx(power, rel=1e-5)


def test_a_straight_link_at_rest_is_a_bar() -> None:
    """Along itself it has m/3 at an end and m/6 between; across, at once, less than its mass."""
    A, P = np.zeros(3), np.array([0.0, 0.0, BEAM.length])
    zero, still = np.zeros(3), np.zeros(OWN.n)
    link = moving(A, P, zero, zero, still, still, np.array([1.0, 0.0, 0.0]))
    m, z = BEAM.mass, np.array([0.0, 0.0, 1.0])
    ends = end_forces(link, zero, z)
    np.testing.assert_allclose([ends.start[2], ends.end[2]], [m / 6.0, m / 3.0], rtol=1e-12)
    x = np.array([1.0, 0.0, 0.0])
    held = end_forces(link, x, x)
    # The middle lags behind and bends.
    assert 0.0 < held.start[0] + held.end[0] < m
    np.testing.assert_allclose(held.start, held.end, atol=1e-12 * m)


def test_inertia_is_the_slope_of_the_forces() -> None:
    link = moving(*sample())
    start, end, change = np.random.default_rng(2).normal(size=(3, 3))
    before = end_forces(link, start, end)
    I = link_end_inertia(link)
    for changes, blocks in (
        ((change, np.zeros(3)), (I.start, I.mixed.T)),
        ((np.zeros(3), change), (I.mixed, I.end)),
    ):
        after = end_forces(link, start + changes[0], end + changes[1])
        np.testing.assert_allclose(after.start - before.start, blocks[0] @ change, atol=1e-12)
        np.testing.assert_allclose(after.end - before.end, blocks[1] @ change, atol=1e-12)
        moved = corrected(link, before, (start + changes[0], end + changes[1]), changes)
        for a, b in zip(moved, after, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-11)

"""Joints at the input of an element from its direction: against rotations by their angles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from nacelle.kinematics.elements.leg_points import Hinge, Universal, turned_about
from nacelle.kinematics.tree.spanning_tree import CosSin
from support.compare import assert_same

Array = np.ndarray


def turned(axis: Array, angle: float, u: Array) -> Array:
    return np.asarray(Rotation.from_rotvec(angle * axis).apply(u))


def jet(at: Callable[[float], Array]) -> Array:
    """Value and two derivatives at 0 by central differences."""
    h = 1e-4
    return np.stack([at(0.0), (at(h) - at(-h)) / (2 * h), (at(h) - 2 * at(0.0) + at(-h)) / h**2])


def test_hinges() -> None:
    rng = np.random.default_rng(0)
    z = np.array([0.0, 0.6, 0.8])
    zero = rng.normal(size=3)
    zero /= np.linalg.norm(zero)
    k = zero - z * (z @ zero)
    hinge = Hinge(0, z, k / (k @ k), float(k @ k))
    q, rate, second = 0.7, -1.3, 2.1
    x = jet(lambda t: turned(z, q + rate * t + 0.5 * second * t * t, zero))
    assert_same(np.array(hinge.step(x[0])), np.array([np.cos(q), np.sin(q)]), 1e-12)
    assert_same(np.array(hinge.rates(x)), np.array([rate, second]), 1e-6)


def test_universal_joints() -> None:
    a, b = np.array([0.6, 0.0, 0.8]), np.array([0.0, 1.0, 0.0])
    c = np.cross(a, b)
    x0 = 0.28 * a + 0.96 * c
    angles, rates, seconds = np.array([0.4, -0.3]), np.array([0.9, 1.7]), np.array([-2.0, 0.5])

    def at(t: float) -> Array:
        one, two = angles + rates * t + 0.5 * seconds * t * t
        return turned(a, one, turned(b, two, x0))

    x = jet(at)
    joint = Universal(a, b, x0, float(np.sign(np.cross(a, turned(a, angles[0], b)) @ x[0])), (0,))
    steps = joint.steps(x[0], None, np.zeros(3))
    assert_same(np.array(steps), np.stack([np.cos(angles), np.sin(angles)], axis=1), 1e-12)
    first, second = joint.rates(x)
    assert_same(np.array(first), rates, 1e-6)
    assert_same(np.array(second), seconds, 1e-5)


def test_vectors_turn_about_a_constant_axis() -> None:
    z, u = np.array([0.0, 0.6, 0.8]), np.array([1.0, -2.0, 0.5])
    found = turned_about(z, CosSin(np.cos(0.3), np.sin(0.3)), u)
    assert_same(found, turned(z, 0.3, u), 1e-14)
    assert turned_about(z, None, u) is u

"""Joints as data: coordinates, rates and locks of every kind fit each other."""

from __future__ import annotations

import pytest

from nacelle.model.joint import LETTERS, LOCKS, MOTION, Joint, JointKind, Primitive, Spring, neutral


@pytest.mark.parametrize("kind", [kind for kind in JointKind if kind is not JointKind.COUPLING])
def test_freedoms_and_locks_add_up_to_six(kind: JointKind) -> None:
    """What a joint does not move it locks; a point locks its place alone."""
    joint = Joint("j", kind, 0, 1)
    assert joint.nv + len(joint.locks) == 6
    assert len(neutral(kind)) == joint.nq == joint.nv + sum(p is Primitive.SPHERICAL for p in MOTION[kind])
    assert kind in LETTERS
    assert kind in LOCKS


def test_primitives() -> None:
    assert [p.axis for p in (Primitive.TX, Primitive.RY, Primitive.TZ)] == [0, 1, 2]
    assert [p.is_rotation for p in (Primitive.TX, Primitive.RZ, Primitive.SPHERICAL)] == [False, True, True]
    assert (Primitive.SPHERICAL.nq, Primitive.SPHERICAL.nv) == (4, 3)
    assert neutral(JointKind.SPHERICAL) == (0.0, 0.0, 0.0, 1.0)


def test_a_spring_is_the_slope_of_its_energy() -> None:
    spring, q, h = Spring(stiffness=5.0, rest=0.2), 0.7, 1e-6
    energy = [0.5 * 5.0 * (q + s - 0.2) ** 2 for s in (-h, h)]
    assert spring.held_force(q) == pytest.approx((energy[1] - energy[0]) / (2 * h), rel=1e-8)

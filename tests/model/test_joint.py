"""Joints as data: coordinates, rates and locks of every kind fit each other."""

from __future__ import annotations

import numpy as np
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


@pytest.mark.parametrize(
    ("limits", "spring", "centre", "counts"),
    [
        ((-np.inf, np.inf), None, 0.0, False),
        ((-np.inf, np.inf), Spring(1.0, 4.0), 4.0, True),
        ((0.0, 3.9), None, 1.95, False),
        ((-0.5, 1.5), None, 0.0, False),  # within half a turn of zero, and no force depends on it
        ((-0.5, 1.5), Spring(1.0, 4.0), 0.5, False),
        ((2.0, np.inf), None, 2.0 + np.pi / 2.0, True),
        ((-np.inf, -4.0), None, -4.0 - np.pi / 2.0, True),
        ((-5.0, 7.0), None, 1.0, True),
        ((1.0, 1.0 + 2.0 * np.pi), Spring(1.0, 0.0), 1.0 + np.pi, False),
    ],
)
def test_where_angles_are_read(
    limits: tuple[float, float], spring: Spring | None, centre: float, counts: bool
) -> None:
    joint = Joint("j", JointKind.REVOLUTE, 0, 1, limits=(limits,), springs=(spring,))
    assert joint.centre(0) == pytest.approx(centre, abs=1e-15)
    assert joint.counts_turns(0) is counts
    slide = Joint("s", JointKind.PRISMATIC, 0, 1, springs=(Spring(1.0, 0.0),))
    assert not slide.counts_turns(0)

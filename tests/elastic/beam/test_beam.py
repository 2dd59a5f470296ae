"""What a beam carries at its ends."""

from __future__ import annotations

from fractions import Fraction

import pytest

from nacelle.elastic.beam.ends import MomentsCarried
from nacelle.elastic.beam.functions import Piecewise, Wave, integral_of_product
from nacelle.elastic.extended import extended
from support.flexible_robots import flexible

# ---- Moments at the ends of flexible links follow from the joints there


def test_ends_carry_what_their_joints_lock() -> None:
    free, locked = MomentsCarried(False, False, False), MomentsCarried(True, True, True)
    ends = {shapes.beam.name: shapes.ends for shapes in extended(flexible("delta", ("arm", "rod"))).shapes}
    assert ends["leg1.rod-a"] == (free, free)  # between spherical joints
    # At a motor all; at the end both rods sit on its y axis, about which they give no moment.
    assert ends["leg1.arm"] == (locked, MomentsCarried(True, False, True))
    ends = {shapes.beam.name: shapes.ends for shapes in extended(flexible("orthoglide")).shapes}
    assert ends["x-leg.rod-a"] == (MomentsCarried(True, True, False), MomentsCarried(True, True, False))
    planar = extended(flexible("fivebar")).shapes
    assert [shapes.ends[0].z for shapes in planar if "proximal" in shapes.beam.name] == [True, True]
    assert [shapes.ends[1].z for shapes in planar] == [False] * 4


# ---- Exact integrals of products of shape functions, against quadrature in forty digits

PIECES = Piecewise(
    (Fraction(0), Fraction(1, 2), Fraction(1)),
    ((Fraction(1), Fraction(-2), Fraction(1, 3)), (Fraction(2), Fraction(0), Fraction(0), Fraction(-5))),
)


def test_sines_over_pieces_are_refused() -> None:
    with pytest.raises(ValueError, match="one piece"):
        integral_of_product(Wave(1), PIECES)

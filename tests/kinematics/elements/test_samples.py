"""Samples of element states have as many digits as identities need."""

from __future__ import annotations

from decimal import Decimal, localcontext

from nacelle.kinematics.elements.from_pose import element_shapes
from nacelle.kinematics.elements.samples import element_samples
from nacelle.program.precise import arithmetic
from support.library import library_robot


def test_directions_have_unit_length_to_many_digits() -> None:
    robot = library_robot("fivebar")
    samples = element_samples(robot, element_shapes(robot))
    assert samples is not None
    with localcontext(arithmetic()):
        for row in (*samples.proof, *samples.check):
            for start in range(0, len(row), 6):
                x, y = row[start : start + 2]
                assert abs(x * x + y * y - 1) < Decimal("1e-30")

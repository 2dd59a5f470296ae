"""Joints of a leg at exact places."""

from __future__ import annotations

import pytest

from nacelle.sketch.letters import read_legs
from nacelle.sketch.posture import ALONG, UP, RobotLengths, cross, dot, less, plus, posture

SHAPE = RobotLengths(500, 200, 600, 30.0, ALONG)


@pytest.mark.parametrize("letters", ["UPS", "RRR", "PRRS", "RPPR", "PPS", "PPP", "URU", "SRP", "CPR"])
def test_a_leg_goes_from_base_to_platform(letters: str) -> None:
    leg = posture(read_legs(letters)[0], SHAPE)
    assert leg.points[0] == (500, 0, 0)
    assert leg.points[-1] == plus(SHAPE.origin, SHAPE.anchor)
    assert all(value % 10 == 0 for value in SHAPE.anchor)


def test_a_rail_lies_between_its_neighbours_exactly() -> None:
    leg = posture(read_legs("UPS")[0], SHAPE)
    first, rail, last = leg.points
    assert cross(less(rail, first), less(last, first)) == (0, 0, 0)
    assert 0 < dot(less(rail, first), less(last, first)) < dot(less(last, first), less(last, first))
    assert leg.choices(1, planar=False)[0] == (less(last, rail),)


def test_axes_of_a_universal_joint_are_perpendicular_to_each_other_and_to_the_link() -> None:
    leg = posture(read_legs("UPU")[0], SHAPE)
    for k in (0, 2):
        for a, b in leg.choices(k, planar=False):
            assert dot(a, b) == 0
            assert 0 in (dot(a, leg.links[k]), dot(b, leg.links[k]))
    # Seen from the platform the joint at the end is that at the beginning.
    assert leg.choices(2, planar=False)[0] == leg.choices(0, planar=False)[0][::-1]


def test_in_the_plane_axes_are_upright() -> None:
    flat = posture(read_legs("RRR")[0], RobotLengths(400, 120, 0, 0.0, ALONG))
    assert all(flat.choices(k, planar=True) == [(UP,)] for k in range(3))
    assert {point[2] for point in flat.points} == {0}

"""The way through a leg: groups of joints that act as one, from base to nacelle."""

from __future__ import annotations

import pytest

from nacelle.kinematics.legs.path import is_planar, route
from support.uncompiled import any_robot


@pytest.mark.parametrize(
    ("name", "trunk", "branches", "planar"),
    [
        ("gough-stewart", "UPS", (), False),
        ("fivebar", "RRS", (), True),
        ("3rrr", "RRR", (), True),
        ("palida", "UPS", (), False),
        ("delta", "R", ("SS", "SS"), None),
        ("hexaglide", "PUS", (), False),
    ],
)
def test_letters(name: str, trunk: str, branches: tuple[str, ...], planar: bool | None) -> None:
    robot = any_robot(name)
    for leg in robot.legs:
        found = route(robot, leg)
        assert "".join(group.letter for group in found.trunk) == trunk
        assert tuple("".join(g.letter for g in branch) for branch in found.branches) == branches
        assert found.trunk[0].before == 0
        if not branches:
            assert found.trunk[-1].after in robot.nacelle.bodies
        if planar is not None:
            assert is_planar(found.trunk) is planar

"""Which robots have a small form, and why others have none."""

from __future__ import annotations

import pytest

import nacelle
from nacelle.elastic.condensed.natural import natural_of
from nacelle.elastic.condensed.structure import Structure, structure_of
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from support.flexible_robots import LINKS, flexible, prrrp


@pytest.mark.parametrize(
    ("robot", "links", "left"),
    [
        (prrrp(), 2, 0),
        (flexible("fivebar"), 2, 2),
        (flexible("3rrr"), 3, 3),
        (flexible("3rrr", ("coupler",)), 3, 0),
        (flexible("delta"), 6, 0),
        (flexible("delta", ("arm", "rod")), 6, 3),
    ],
    ids=lambda value: value.name if isinstance(value, Robot) else str(value),
)
def test_links_that_are_taken_out(robot: Robot, links: int, left: int) -> None:
    structure = structure_of(robot)
    assert isinstance(structure, Structure)
    assert len(structure.links) == links
    assert len(structure.stumps.shapes) == left
    assert structure.stumps.robot.tree == len(structure.stumps.robot.joints)  # no closure is left
    assert len(structure.stumps.robot.actuators) == len(robot.actuators)


@pytest.mark.parametrize(
    ("robot", "reason"),
    [
        (flexible("orthoglide", LINKS["orthoglide"]), "no flexible link is free of moments"),
        (flexible("fivebar", ("proximal",)), "no flexible link is free of moments"),
        (prrrp(frame="clamped"), "no flexible link is free of moments"),
        (prrrp(shapes="hermite", number=2), "no flexible link is free of moments"),
        (flexible("fivebar", ("left.distal",)), "closes a loop of rigid links"),
        (flexible("delta", ("rod-a",)), "closes a loop of rigid links"),
        (flexible("delta", section={"rectangle": (0.01, 0.02)}), "no flexible link is free of moments"),
        (flexible(nacelle.load("hexaglide"), ("rod",)), "no flexible link is free of moments"),
    ],
)
def test_reasons(robot: Robot, reason: str) -> None:
    found = structure_of(robot)
    assert isinstance(found, str)
    assert reason in found
    with pytest.raises(KinematicsError, match="the small form does not support"):
        natural_of(robot)

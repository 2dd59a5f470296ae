"""Which robots have a small form, and why others have none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import nacelle
from nacelle.elastic.condensed.natural import natural_of
from nacelle.elastic.condensed.structure import CondensedStructure, structure_of
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from support.flexible_robots import LINKS, flexible, prrrp

MOMENTS = "no flexible link is free of moments"


@pytest.mark.parametrize(
    ("make", "links", "left"),
    [
        (prrrp, 2, 0),
        (lambda: flexible("fivebar"), 2, 2),
        (lambda: flexible("3rrr"), 3, 3),
        (lambda: flexible("3rrr", ("coupler",)), 3, 0),
        (lambda: flexible("delta"), 6, 0),
        (lambda: flexible("delta", ("arm", "rod")), 6, 3),
    ],
)
def test_links_that_are_taken_out(make: Callable[[], Robot], links: int, left: int) -> None:
    robot = make()
    structure = structure_of(robot)
    assert isinstance(structure, CondensedStructure)
    assert len(structure.links) == links
    assert len(structure.stumps.shapes) == left
    assert structure.stumps.robot.tree == len(structure.stumps.robot.joints)  # no closure is left
    assert len(structure.stumps.robot.actuators) == len(robot.actuators)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: flexible("orthoglide", LINKS["orthoglide"]), MOMENTS),
        (lambda: flexible("fivebar", ("proximal",)), MOMENTS),
        (lambda: prrrp(frame="clamped"), MOMENTS),
        (lambda: prrrp(shapes="hermite", number=2), MOMENTS),
        (lambda: flexible("fivebar", ("left.distal",)), "closes a loop of rigid links"),
        (lambda: flexible("delta", ("rod-a",)), "closes a loop of rigid links"),
        (
            lambda: flexible("delta", section={"rectangle": (0.01, 0.02)}),
            MOMENTS,
        ),
        (lambda: flexible(nacelle.load("hexaglide"), ("rod",)), MOMENTS),
    ],
)
def test_reasons(make: Callable[[], Robot], reason: str) -> None:
    robot = make()
    found = structure_of(robot)
    assert isinstance(found, str)
    assert reason in found
    with pytest.raises(KinematicsError, match="the small form does not support"):
        natural_of(robot)

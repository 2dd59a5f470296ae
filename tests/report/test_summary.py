"""A robot at a glance: numbers that fit the robot."""

from __future__ import annotations

import json

import pytest

import nacelle
from nacelle.report.summary import summary, tree_data
from support.library import library_robot


@pytest.mark.parametrize("name", ["fivebar", "delta", "quattro"])
def test_numbers_fit(name: str) -> None:
    robot = library_robot(name)
    data = summary(nacelle.check(name))
    json.dumps(data)
    assert data["name"] == name
    assert len(data["legs"]) == len(robot.legs)
    assert len(data["joints"]) == len(robot.joints)
    tree = tree_data(robot)
    assert sorted(j for joints in tree.values() for j in joints) == list(range(robot.tree))
    for body, joints in tree.items():
        assert all(robot.joints[j].predecessor == body for j in joints)

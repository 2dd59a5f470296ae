"""A robot as data: its hash feels every number and no name; places of coordinates follow each other."""

from __future__ import annotations

import dataclasses

import pytest

from support.described import mechanism
from support.library import NAMES, library_robot


def test_the_hash_feels_numbers_and_no_names() -> None:
    robot = library_robot("fivebar")
    assert dataclasses.replace(robot, name="other", title="t").hash == robot.hash
    assert dataclasses.replace(robot, gravity=(0.0, 0.0, -9.80665)).hash != robot.hash
    body = dataclasses.replace(robot.bodies[2], inertia=(*robot.bodies[2].inertia[:9], 1e-17))
    assert dataclasses.replace(robot, bodies=(*robot.bodies[:2], body, *robot.bodies[3:])).hash != robot.hash


@pytest.mark.parametrize("name", NAMES)
def test_coordinates_follow_each_other(name: str) -> None:
    robot = library_robot(name)
    for slices, total in ((robot.q_slices, robot.nq), (robot.v_slices, robot.nv)):
        places = [k for place in slices for k in range(place.start, place.stop)]
        assert places == list(range(total))
    assert len(robot.tree_joints) == robot.tree
    assert (*robot.tree_joints, *robot.closures) == robot.joints
    for actuator, revolute in zip(robot.actuators, robot.revolute_actuators, strict=True):
        assert (robot.joints[actuator.joint].kind.value == "revolute") is revolute
    assert [robot.joint(joint.name) for joint in robot.joints] == list(range(len(robot.joints)))


def test_a_ground_and_couplings_are_not_written_parts() -> None:
    """Without a nacelle everything stands on a ground that is in no file, and so is its joint."""
    robot = mechanism("digger")
    assert [robot.bodies[b].name for b in robot.written_bodies][:2] == ["arm.post", "arm.boom"]
    assert len(robot.written_bodies) == len(robot.bodies) - 2 == 7
    assert len(robot.written_joints) == len(robot.joints) - 1 == 9
    robot = library_robot("fivebar")
    assert list(robot.written_bodies) == list(range(1, len(robot.bodies)))
    assert list(robot.written_joints) == list(range(len(robot.joints)))

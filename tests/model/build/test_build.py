"""Build: between, declared, joints."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import nacelle
from nacelle.errors import DescriptionError
from nacelle.model.joint import JointKind
from nacelle.model.leg import PLATFORM
from nacelle.model.read import read_data
from nacelle.model.robot import Robot
from support.library import NAMES, library_robot
from support.random_robots.described import any_trees

# ---- Springs and dampers between bodies are placed and mirrored with their leg

TEXT = """\
format: nacelle/2
name: pair
motion: [a.turn, b.turn]
templates:
  leg:
    bodies: {arm: {mass: 1 kg}}
    joints: {turn: {type: revolute, parent: base, child: arm, active: true, axis: z}}
    springs: {s: {between: [arm, base], at: [0 10 0 mm, 50 0 0 mm], stiffness: 1 N/m, length: 0 m}}
    dampers: {d: {between: [arm, base], damping: 1 N*m*s/rad}}
legs:
  - {name: a, template: leg, placement: {translation: 0 0 100 mm, rotation: {rpy: 0 0 90 deg}}}
  - {name: b, template: leg, placement: {mirror: y}}
"""


def test_points_on_the_base_are_placed_with_the_leg() -> None:
    robot = nacelle.loads(TEXT)
    first, second = robot.springs
    np.testing.assert_allclose(first.points, [[0, 0.01, 0], [0, 0.05, 0.1]], atol=1e-15)
    np.testing.assert_allclose(second.points, [[0, -0.01, 0], [0.05, 0, 0]], atol=1e-15)
    assert [damper.name for damper in robot.dampers] == ["a.d", "b.d"]
    assert [robot.bodies[damper.bodies[0]].name for damper in robot.dampers] == ["a.arm", "b.arm"]


# ---- The record of a description's free numbers gives the robot's, whatever sample it was made at

declared = importlib.import_module("nacelle.model.build.declared")


def recorded_again(robot, seed):
    """The same description recorded at another sample: what one of them takes for zero or one, both must."""
    own = robot.declaration
    kept = declared.SEED
    declared.SEED = kept + seed
    try:
        return dataclasses.replace(own).record
    finally:
        declared.SEED = kept


def check_record(robot):
    record = robot.numbers.record
    assert len(set(record.names)) == len(record.names)
    made = np.array(record.program.evaluate(list(record.values)), dtype=float)
    np.testing.assert_allclose(made, robot.parameter_vector(), rtol=1e-12, atol=1e-15)
    again = recorded_again(robot, 77)
    assert again.names == record.names
    values = np.array(record.values) * np.random.default_rng(1).uniform(0.9, 1.1, len(record.values))
    one, two = (np.array(r.program.evaluate(list(values)), dtype=float) for r in (record, again))
    np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_library(name):
    check_record(library_robot(name))


@pytest.mark.slow
@settings(max_examples=25)
@given(any_trees())
def test_random_robots(made):
    check_record(made.robot)


# ---- joints
#
# Joints of a robot: their frames are placed with the leg, a C5 closure has its plane on the predecessor.


def robot(end: dict[str, Any], placement: dict[str, Any] | None = None, **nacelle: Any) -> Robot:
    hip = {"type": "revolute", "parent": "base", "child": "arm", "at": [1.0, 0.0, 0.0], "axis": "y"}
    leg = {
        "name": "a",
        "placement": placement or {},
        "bodies": {"arm": {"mass": 1.0}},
        "joints": {"hip": {**hip, "active": True}},
        "closures": {"end": {"parent": "arm", "child": "plate", **end}},
    }
    data = {"name": "one", "motion": "xyz", "nacelle": {"name": "plate", **nacelle}, "legs": [leg]}
    return read_data(data)[0]


def test_frames_on_base_and_nacelle_are_placed_with_the_leg() -> None:
    made = robot({"type": "spherical", "at": [0.3, 0, 0], "child_at": [0.2, 0, 0]}, {"angle": "90 deg"})
    hip, end = made.joints
    assert (hip.name, end.name) == ("a.hip", "a.end")
    np.testing.assert_allclose(hip.frame_predecessor.p, [0.0, 1.0, 0.0], atol=1e-15)
    # The axis y of the leg is -x of the base; the frame in the arm itself is as written.
    np.testing.assert_array_equal(hip.frame_predecessor.R[:, 2], [-1.0, 0.0, 0.0])
    np.testing.assert_array_equal(hip.frame_successor.R[:, 2], [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(end.frame_predecessor.p, [0.3, 0.0, 0.0])
    np.testing.assert_allclose(end.frame_successor.p, [0.0, 0.2, 0.0], atol=1e-15)


def test_a_c5_closure_is_written_from_its_plane() -> None:
    made = robot({"type": "planar-spherical", "plane": "child", "axis": "x", "child_at": [0.2, 0, 0]})
    end = made.joints[1]
    assert end.kind is JointKind.PLANAR_SPHERICAL
    assert (end.predecessor, end.successor) == (PLATFORM, made.body("a.arm"))
    np.testing.assert_array_equal(end.frame_predecessor.p, [0.2, 0.0, 0.0])


def test_a_joint_on_a_point_locks_its_position() -> None:
    assert robot({"type": "revolute"}, type="point").joints[1].kind is JointKind.POINT


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ({"type": "prismatic"}, "cannot end on a point"),
        ({"type": "revolute", "child_at": [0.1, 0, 0]}, "is at the point"),
        ({"type": "revolute", "friction": {"viscous": 1.0}}, "no drive and no friction"),
    ],
)
def test_what_cannot_be_on_a_point(end: dict[str, Any], words: str) -> None:
    with pytest.raises(DescriptionError, match=words):
        robot(end, type="point")

"""From a checked description to a robot: bodies, actuators in their order, tools, payloads and modes."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.model.build.assemble import build_robot
from nacelle.model.description.description import Description
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot

LEGS = ("a", "b", "c")
DATA: dict[str, Any] = {
    "format": "nacelle/1",
    "name": "three",
    "motion": "xyz",
    "reference": {"position": [0.0, 0.0, 0.5]},
    "nacelle": {"name": "plate", "mass": 1.0},
    "legs": [
        {
            "name": name,
            "bodies": {"arm": {"mass": 1.0}},
            "joints": {"hip": {"type": "revolute", "parent": "base", "child": "arm", "active": True}},
            "closures": {"end": {"type": "spherical", "parent": "arm", "child": "plate"}},
        }
        for name in LEGS
    ],
}


def built(**changes: Any) -> Robot:
    return build_robot(Description.model_validate({**copy.deepcopy(DATA), **changes}))


def test_actuators_come_in_the_order_that_is_given() -> None:
    order = ["c.hip", "a.hip", "b.hip"]
    robot = built(actuators=order)
    assert [robot.joints[actuator.joint].name for actuator in robot.actuators] == order


def test_a_payload_is_moved_to_the_frame_of_its_body() -> None:
    """A point of 2 kg at r = p + R c: m r and m (r.r 1 - r r^T)."""
    at = {"translation": [0.1, 0.2, -0.3], "rotation": {"axis": "z", "angle": 0.5}}
    robot = built(payload={"load": {"mass": 2.0, "com": [0.05, 0.0, 0.0], "at": at}})
    (load,) = robot.payload
    r = np.array([0.1, 0.2, -0.3]) + 0.05 * np.array([np.cos(0.5), np.sin(0.5), 0.0])
    I = 2.0 * (r @ r * np.eye(3) - np.outer(r, r))
    expected = [2.0, *(2.0 * r), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
    np.testing.assert_allclose(load.inertia, expected, rtol=1e-13)
    assert load.body == PLATFORM


def test_modes_have_the_branch_of_their_legs() -> None:
    robot = built(modes={"other": {"branch": {"b": -1}, "guess": {"c.hip": 0.3}}})
    (mode,) = robot.modes
    assert mode.branch == (0, -1, 0)
    assert mode.guess == ((robot.joint("c.hip"), (0.3,)),)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"actuators": ["a.hip", "a.hip", "b.hip"]}, "'a.hip' is given twice"),
        ({"actuators": ["a.hip", "b.hip"]}, "not in the order: c.hip"),
        ({"actuators": ["a.hip", "b.hip", "c.hop"]}, "no actuator is called 'c.hop'"),
        ({"legs": [DATA["legs"][0], DATA["legs"][0]]}, "the name 'a' is taken"),
        ({"motion": ["x", "yy"]}, "'yy' is not a coordinate"),
        ({"modes": {"other": {"branch": {"d": 1}}}}, "no leg is called 'd'"),
        ({"tools": {"tip": {"body": "plat"}}}, "the nacelle has no body 'plat'"),
        (
            {"nacelle": {"name": "plate", "type": "point"}, "motion": ["x", "y", "rz"]},
            "a point does not turn",
        ),
    ],
)
def test_what_is_wrong(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DescriptionError, match=words):
        built(**changes)


@pytest.mark.parametrize("kind", ["point", "rigid"])
def test_the_reference_of_a_point_has_no_orientation(kind: str) -> None:
    robot = built(
        nacelle={"name": "plate", "type": kind},
        reference={"position": [0.0, 0.0, 0.5], "rotation": {"rpy": [0.0, 0.0, 0.1]}},
    )
    assert (np.max(np.abs(robot.reference.R - np.eye(3))) < 1e-12) == (kind == "point")


def test_a_mistake_in_a_coupling_is_told_alone() -> None:
    """It does not make joints of the motion wrong."""
    revolute = {"type": "revolute", "axis": "z", "active": True}
    joints = {
        "one": {**revolute, "parent": "base", "child": "a"},
        "two": {**revolute, "parent": "a", "child": "b", "at": [0.2, 0, 0]},
    }
    leg = {"name": "arm", "bodies": {"a": {"mass": 1}, "b": {"mass": 1}}, "joints": joints}
    wrong = {"belt": {"joint": "two", "follows": "ones"}}
    with pytest.raises(DescriptionError) as caught:
        nacelle.build({"name": "arm", "motion": ["one", "two"], "legs": [{**leg, "couplings": wrong}]})
    assert [problem.path for problem in caught.value.problems] == ["legs[0].couplings.belt"]
    with pytest.raises(DescriptionError) as caught:
        nacelle.build({"name": "arm", "motion": ["one", "tow"], "legs": [{**leg, "couplings": wrong}]})
    assert [problem.path for problem in caught.value.problems] == ["legs[0].couplings.belt", "motion"]


def test_axes_of_a_nacelle_that_is_not_there_are_told_once() -> None:
    joint = {"type": "revolute", "axis": "z", "parent": "base", "child": "a", "active": True}
    leg = {"name": "arm", "bodies": {"a": {"mass": 1}}, "joints": {"one": joint}}
    with pytest.raises(DescriptionError, match="has no coordinates x, y, z, rx, ry, rz") as caught:
        nacelle.build({"format": "nacelle/2", "name": "arm", "units": "SI", "motion": "se3", "legs": [leg]})
    assert len(caught.value.problems) == 1

"""Couplings and screws as they are written: units, names, faults at their places, and back to text."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import pytest

import nacelle
from support.described import COUPLED, mechanism
from support.random_robots import random_robot

ARM: dict[str, Any] = {
    "format": "nacelle/2",
    "name": "arm",
    "motion": ["arm.hip"],
    "legs": [
        {
            "name": "arm",
            "bodies": {"a": {"mass": "1 kg"}, "b": {"mass": "1 kg"}, "c": {"mass": "1 kg"}},
            "joints": {
                "hip": {"type": "revolute", "parent": "base", "child": "a", "active": True},
                "rack": {"type": "prismatic", "parent": "base", "child": "b", "axis": "x"},
                "ball": {"type": "spherical", "parent": "a", "child": "c"},
            },
        }
    ],
}


def _described(**coupling: Any) -> dict[str, Any]:
    leg = {**deepcopy(ARM["legs"][0]), "couplings": {"gear": {"joint": "rack", "follows": "hip", **coupling}}}
    leg["joints"] = {name: joint for name, joint in leg["joints"].items() if name != "ball"}
    leg["bodies"] = {"a": {"mass": "1 kg"}, "b": {"mass": "1 kg"}}
    return {**ARM, "legs": [leg]}


def _factors(robot: nacelle.Robot) -> list[float]:
    return [factor for _, factor in robot.joints[robot.couplings[0]].terms]


@pytest.mark.parametrize(
    ("ratio", "value"), [("30 mm/rad", 0.03), ("10 mm/rev", 0.01 / (2 * math.pi)), ("0.2 m/rad", 0.2)]
)
def test_ratio_with_unit(ratio: str, value: float) -> None:
    assert _factors(nacelle.build(_described(ratio=ratio))) == pytest.approx([1.0, -value], rel=1e-15)


def test_ratio_of_equal_joints_is_a_number_or_a_fraction() -> None:
    described = _described(ratio="1:4")
    described["legs"][0]["joints"]["rack"]["type"] = "revolute"
    assert _factors(nacelle.build(described)) == [1.0, -0.25]


@pytest.mark.parametrize(
    ("coupling", "message"),
    [
        ({"ratio": "3 deg"}, "mm/rev"),
        ({"ratio": "0 mm/rad"}, "ratio is zero"),
        ({"follows": "knee"}, "no joint is called 'knee'"),
        ({"follows": "rack"}, "follows itself"),
        ({"follows": {"hip": "30 mm/rad"}, "ratio": "30 mm/rad"}, "beside a mapping"),
        ({"offset": "5 deg", "ratio": "30 mm/rad"}, "offset"),
        ({"follow": "hip"}, "unknown key"),
    ],
)
def test_faults(coupling: dict[str, Any], message: str) -> None:
    with pytest.raises(nacelle.DescriptionError) as error:
        nacelle.build(_described(**coupling))
    assert message in str(error.value)
    assert "gear" in str(error.value)


def test_joint_of_several_coordinates() -> None:
    described = {
        **ARM,
        "legs": [{**ARM["legs"][0], "couplings": {"gear": {"joint": "ball", "follows": "hip"}}}],
    }
    with pytest.raises(nacelle.DescriptionError, match="has not one coordinate"):
        nacelle.build(described)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "screw"}, "needs its pitch"),
        ({"type": "screw", "pitch": 0}, "without pitch"),
        ({"pitch": "5 mm"}, "has no pitch"),
    ],
)
def test_faults_of_screws(change: dict[str, Any], message: str) -> None:
    described = _described(ratio="30 mm/rad")
    described["legs"][0]["joints"]["hip"] = {**described["legs"][0]["joints"]["hip"], **change}
    with pytest.raises(nacelle.DescriptionError, match=message):
        nacelle.build(described)


def test_screw_is_a_rotation_with_a_travel() -> None:
    robot = nacelle.loads(
        """
format: nacelle/2
name: screw
motion: [a.turn]
legs:
  - name: a
    bodies: {nut: {mass: 1 kg, com: 10 0 0 mm}}
    joints: {turn: {type: screw, pitch: 20 mm, parent: base, child: nut, axis: z, active: true}}
"""
    )
    moved = nacelle.inverse_kinematics(robot, [1.5 * math.pi])
    assert moved.q == pytest.approx([1.5 * math.pi, 0.015])
    # One revolution against the weight: m g pitch = torque 2 pi.
    assert nacelle.inverse_dynamics(robot, [0.3]).force == pytest.approx([9.81 * 0.02 / (2 * math.pi)])


@pytest.mark.parametrize("name", [*COUPLED, 0, 1, 2])
def test_text(name: str | int) -> None:
    robot = random_robot("coupled", name) if isinstance(name, int) else mechanism(name)
    assert nacelle.loads(robot.to_yaml()).hash == robot.hash

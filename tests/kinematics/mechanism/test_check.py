"""Checks of a robot: what a description is refused for, and what is only reported."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

import nacelle
from nacelle.kinematics.mechanism.check import Check, check_robot
from nacelle.kinematics.mechanism.mobility import Mobility
from nacelle.model.read import read_data
from support import mechanisms


def check(description: dict[str, Any]) -> Check:
    robot, source = read_data(copy.deepcopy(description))
    return check_robot(robot, source)


def sentences(found: Mobility) -> str:
    return " ".join(found.sentences())


def messages(description: dict[str, Any]) -> list[str]:
    with pytest.raises(nacelle.DescriptionError) as caught:
        nacelle.build(copy.deepcopy(description))
    return [str(problem) for problem in caught.value.problems]


def test_one_actuator_too_few() -> None:
    checked = check(mechanisms.three_rps((True, True, False)))
    assert not checked.errors
    assert any("2 actuators for" in problem.message for problem in checked.problems)
    found = checked.mobility
    assert found is not None
    assert found.actuation == -1
    assert found.controlled == 2
    assert "The robot is underactuated" in sentences(found)
    assert "With the actuators locked there remains" in sentences(found)
    assert "control every motion" not in sentences(found)


def test_actuators_that_drive_nothing_useful() -> None:
    """As many actuators as motions, but one drives a pendulum on a leg."""
    description = copy.deepcopy(mechanisms.three_rps((True, True, False)))
    leg = description["legs"][2]
    leg["bodies"]["pendulum"] = mechanisms.BODY
    leg["joints"]["swing"] = {
        "type": "revolute",
        "parent": "rod",
        "child": "pendulum",
        "axis": "x",
        "active": True,
    }
    found = check(description).mobility
    assert found is not None
    assert (found.actuators, found.platform, found.controlled, found.idle_count) == (3, 3, 2, 1)
    reported = messages(description)
    assert any("do not control every motion" in line for line in reported)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("motion", "name"),
    [("se3", "se3"), (["x", "y"], "xy"), (["x", "y", "rz"], "xy+rz"), (["rx", "ry", "rz"], "[rx, ry, rz]")],
)
def test_wrong_motion_of_a_delta(motion: Any, name: str) -> None:
    """Too many coordinates, too few, and as many but not those that move."""
    description = {**mechanisms.rod_pairs(), "motion": motion}
    found = check(description).mobility
    assert found is not None
    assert not found.fits
    reported = [line for line in messages(description) if "motion" in line]
    assert any(f"motion {name}" in line or name in line for line in reported)
    assert any("translation along x" in line for line in reported)


def test_wrong_motion_names_the_right_one() -> None:
    description = {**mechanisms.sarrus(), "motion": ["x"]}
    reported = messages(description)
    assert any("[z]" in line for line in reported)


def test_asymmetric_rods_that_spin_are_an_error() -> None:
    reported = messages(mechanisms.rod_pairs(asymmetric=True))
    assert len(reported) == 6
    assert all("spins idly" in line and "universal" in line for line in reported)


def test_struts_on_balls_spin_as_a_whole() -> None:
    """Tube and rod of a strut between two balls spin together; asymmetric inertia is refused."""
    found = check(mechanisms.gough_stewart())
    assert found.errors == ()
    assert found.mobility is not None
    assert found.mobility.idle_count == 6
    assert all("spin together about their axis" in words for words in found.mobility.idle)
    asymmetric = mechanisms.gough_stewart()
    rods = [body for leg in asymmetric["legs"] for body in leg["bodies"].values()]
    rods[1]["com"] = [0.05, 0.0, -0.2]
    assert any("spins idly" in problem.message for problem in check(asymmetric).errors)


def test_singular_reference_is_told() -> None:
    """Distal bars on one line: the point gives way across them although the motors are locked."""
    found = check(mechanisms.five_bar_stretched())
    assert found.errors == ()
    assert found.mobility is not None
    assert found.mobility.singular_reference
    assert found.mobility.true == 2
    assert found.mobility.controlled == 2
    assert "The reference pose is singular." in found.mobility.sentences()
    assert any("singular" in problem.message for problem in found.problems)


def test_out_of_reach_is_told() -> None:
    description = copy.deepcopy(mechanisms.sarrus())
    description["reference"]["position"] = [0.0, 0.0, 0.7]
    reported = messages(description)
    assert any("does not reach" in line for line in reported)


def test_a_joint_that_never_moves() -> None:
    """A leg with a superfluous universal joint in the plane: its axis in the plane stands still."""
    description = copy.deepcopy(mechanisms.planar_three_rrr())
    leg = description["legs"][0]
    leg["bodies"]["sleeve"] = mechanisms.BODY
    leg["joints"]["twist"] = {"type": "revolute", "parent": "bar1", "child": "sleeve", "axis": "x"}
    leg["closures"]["end"]["parent"] = "sleeve"
    found = check(description).require().mobility
    assert found is not None
    assert found.still == ("leg0.twist",)
    assert "Joints that never move: leg0.twist" in sentences(found)
    assert found.true == 3


_ARM = """format: nacelle/2
name: arm
motion: [one]
legs:
  - name: arm
    bodies: {a: {mass: 1 kg}, b: {mass: 1 kg, com: 100 0 0 mm}, c: {mass: 1 kg, com: 100 0 0 mm}}
    joints:
      one: {type: revolute, parent: base, child: a, axis: z, active: true, guess: 40 deg}
      two: {type: revolute, parent: a, child: b, at: 200 0 0 mm, axis: z, guess: -40 deg}
      three: {type: revolute, parent: base, child: c, at: 0 300 0 mm, axis: z}
    closures:
      tip: {type: revolute, parent: b, at: 300 0 0 mm, child: c, child_at: 200 0 0 mm, axis: z}
"""


@pytest.mark.parametrize(
    ("old", "new", "where", "words"),
    [
        ("child_at: 200 0 0 mm", "child_at: 2 0 0 mm", "tip:", "do not close"),
        ("guess: 40 deg", "guess: 40 deg, limits: [-1 deg, 1 deg]", "one:", "outside its limits"),
        ("motion: [one]", "motion: [one]\nreference: {position: 1 0 0 m}", "reference:", "no nacelle"),
    ],
)
def test_without_a_reference_problems_are_told_where_they_are(
    tmp_path: Path, old: str, new: str, where: str, words: str
) -> None:
    """A robot without a nacelle mostly has no key `reference`: the joint is named by its line, not line 1."""
    text = _ARM.replace(old, new)
    path = tmp_path / "arm.yaml"
    path.write_text(text)
    (problem,) = nacelle.check(path).problems
    assert words in problem.message
    assert text.splitlines()[problem.line - 1].strip().startswith(where)

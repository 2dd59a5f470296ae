"""Payloads are bodies fixed to the nacelle, or to any other body; which of them count."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle import robots
from nacelle.dynamics.formulations import reference as tree
from nacelle.dynamics.general import models as general
from nacelle.errors import ParameterError
from nacelle.spatial.inertia import parameters_from_com


@pytest.mark.slow
def test_a_payload_is_a_body_fixed_to_the_nacelle() -> None:
    """Inertia in the tool's frame, moved to the platform's by the parallel axes and the rotation."""
    robot = nacelle.load("gough-stewart")
    (tool,) = robot.tools
    loaded = nacelle.with_payload(robot, "2 kg", com="0 10 50 mm", inertia=[0.01, 0.02, 0.03], on=tool.name)
    (load,) = loaded.payload
    assert (load.name, load.body) == ("payload", tool.body)
    com = tool.frame.R @ [0.0, 0.01, 0.05] + tool.frame.p
    about = tool.frame.R @ np.diag([0.01, 0.02, 0.03]) @ tool.frame.R.T
    np.testing.assert_allclose(load.inertia, parameters_from_com(2.0, com, about), atol=1e-15)
    # Its weight at rest is a wrench on the tool.
    x = nacelle.reference_pose(robot)
    at = nacelle.tool_pose(robot, x, tool.name)
    weight = 2.0 * np.array(robot.gravity)
    pull = np.concatenate([weight, np.cross(at.R @ [0.0, 0.01, 0.05], weight)])
    np.testing.assert_allclose(
        nacelle.equilibrium(loaded, x), nacelle.equilibrium(robot, x, external={tool.name: pull}), rtol=1e-11
    )
    twice = nacelle.with_payload(loaded, 1.0)
    assert [p.name for p in twice.payload] == ["payload", "payload-2"]
    assert nacelle.loads(twice.to_yaml()).hash == twice.hash


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mass": -1.0}, "mass: the mass must not be below 0"),
        ({"mass": "2 mm"}, "mass: 'mm' is not a unit of mass"),
        ({"mass": 1.0, "com": [0, 0]}, "com: expected 3 numbers, got 2"),
        ({"mass": 1.0, "inertia": [1.0, 0.1, 0.1]}, "inertia"),
        ({"mass": 1.0, "on": "spindl"}, "no 'spindl'; did you mean 'spindle'"),
        ({"mass": 1.0, "on": "base"}, "on a tool or a moving body"),
    ],
)
def test_wrong_payloads(options: dict, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        nacelle.with_payload(nacelle.load("gough-stewart"), **options)


_GRIPPERS = """\
payload:
  gripper: {mass: 0.5 kg, com: 0 0 -30 mm}
  motor: {body: leg2.arm, mass: 0.3 kg, at: 100 0 0 mm, inertia: 0.001 0.001 0.001 kg*m^2}
"""


def test_payloads_are_chosen_by_name_or_left_out_and_sit_on_any_body() -> None:
    text = robots.text("delta").replace("format: nacelle/1", "format: nacelle/2") + _GRIPPERS
    robot = nacelle.loads(text)
    assert [load.name for load in robot.payload] == ["gripper", "motor"]
    assert nacelle.carrying(robot).hash == robot.hash
    assert nacelle.carrying(robot, "none").payload == ()
    only = nacelle.carrying(robot, "motor", "mass=2 kg; on=flange; name=part")
    assert [load.name for load in only.payload] == ["motor", "part"]
    assert nacelle.loads(robot.to_yaml()).hash == robot.hash
    # On a body of a leg it counts as that body: the same forces as with one body of both.
    body = robot.payload[1].body
    assert robot.bodies[body].name == "leg2.arm"
    whole = tuple(np.add(robot.bodies[body].inertia, robot.payload[1].inertia).tolist())
    bodies = list(robot.bodies)
    bodies[body] = dataclasses.replace(bodies[body], inertia=whole)
    merged = dataclasses.replace(robot, bodies=tuple(bodies), payload=robot.payload[:1])
    x, v, a = robot.reference.p, np.array([0.3, -0.2, 0.4]), np.array([2.0, 1.0, -3.0])
    none, empty = np.zeros(3), np.zeros(0)
    for model in (general.inverse, tree.inverse):
        forces = [np.asarray(model(own, x, empty, v, a, none)["force"], float) for own in (robot, merged)]
        np.testing.assert_allclose(forces[0], forces[1], rtol=1e-12)
    with pytest.raises(nacelle.DescriptionError, match="payloads on bodies of legs are not in nacelle/1"):
        nacelle.loads(text.replace("nacelle/2", "nacelle/1"))


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (("griper",), "no payload 'griper'; did you mean 'gripper'"),
        (("none", "gripper"), "name those that are wanted"),
        (("mass=1kg; mass=2kg",), "mass is given twice"),
        (("com=0 0 1 mm",), "has no mass"),
    ],
)
def test_wrong_choices_of_payloads(texts: tuple[str, ...], words: str) -> None:
    robot = nacelle.with_payload(nacelle.load("delta"), 1.0, name="gripper")
    with pytest.raises(ParameterError, match=words):
        nacelle.carrying(robot, *texts)

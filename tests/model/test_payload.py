"""Payloads are bodies fixed to the nacelle."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import ParameterError
from nacelle.spatial.inertia import parameters_from_com


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
        ({"mass": 1.0, "on": "spindl"}, "no 'spindl' there; did you mean 'spindle'"),
        ({"mass": 1.0, "on": "leg1.rod"}, "on a tool or a body of the nacelle"),
    ],
)
def test_wrong_payloads(options: dict, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        nacelle.with_payload(nacelle.load("gough-stewart"), **options)

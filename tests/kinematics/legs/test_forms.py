"""Closed forms: which legs of the library have one, and what each needs."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.legs.chain import serial_chain
from nacelle.kinematics.legs.forms import FORMS, askew, chain_form, is_three_prismatic
from nacelle.model.joint import JointKind
from nacelle.model.read import read_text
from nacelle.sketch.sketch import sketch
from support.uncompiled import any_robot


@pytest.mark.parametrize(
    ("name", "kind", "roots"),
    [("gough-stewart", "strut", 2), ("fivebar", "rod", 2), ("hexaglide", "rod", 2)],
)
def test_forms_of_the_library(name: str, kind: str, roots: int) -> None:
    robot = any_robot(name)
    for leg in robot.legs:
        chain = serial_chain(robot, leg)
        assert chain is not None
        form = chain_form(chain, robot.size)
        assert form in FORMS
        assert FORMS[form].kind == kind
        assert FORMS[form].roots <= roots
        assert askew(FORMS[form].centred(chain), FORMS[form], robot.size) == ""
        assert not is_three_prismatic(robot, leg)


def test_a_leg_of_three_slides() -> None:
    robot = any_robot("c5-slides")
    assert any(is_three_prismatic(robot, leg) for leg in robot.legs)


@pytest.mark.parametrize("legs", ["6-SPU", "6-PSU"])
def test_the_spin_of_a_leg_on_a_spherical_joint_comes_from_its_closure(legs: str) -> None:
    """At a universal end: its axes are perpendicular at every pose, not at the reference only."""
    robot = read_text(sketch("robot", legs, motion="se3").text)[0]
    rng = np.random.default_rng(5)
    x = nacelle.reference_pose(robot) + np.pad(rng.normal(size=(6, 3)) * 0.01, ((0, 0), (0, 4)))
    x[:, 3:6] += 0.02 * rng.normal(size=(6, 3))
    joints = nacelle.inverse_kinematics(robot, x, limits=False)
    R = joints.bodies[0]
    for joint in robot.joints:
        if joint.kind is JointKind.UNIVERSAL:
            first = R[:, joint.predecessor] @ joint.frame_predecessor.R[:, 0]
            second = R[:, joint.successor] @ joint.frame_successor.R[:, 1]
            assert np.max(np.abs(np.sum(first * second, axis=1))) < 1e-12

"""Parallelograms read as one rod: energy of all their bodies, moved by the joints, against the rod's."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.bars.form import UnreadError
from nacelle.kinematics.bars.parallel_rods import parallelogram_form, turns_with
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.library import library_robot


def test_the_weight_of_a_parallelogram_is_that_of_its_rod() -> None:
    """Mass and height of the centre of mass at poses, from all bodies of a leg and from slider and rod."""
    robot = library_robot("orthoglide")
    x = nacelle.reference_pose(robot) + 0.02 * np.random.default_rng(0).normal(size=(5, 3))
    solution = nacelle.inverse_kinematics(robot, x)
    for index, leg in enumerate(robot.legs):
        actuator = next(k for k, a in enumerate(robot.actuators) if a.joint in leg.joints)
        form = parallelogram_form(robot, index, actuator)
        q = solution.actuators[:, actuator]
        B = solution.bodies.p[:, form.body] + solution.bodies.R[:, form.body] @ form.B
        A = form.A + q[:, None] * form.axis
        e3 = (B - A) / form.length
        np.testing.assert_allclose(np.linalg.norm(e3, axis=1), 1.0, rtol=1e-10)
        moment = form.rod[0] * A + form.rod[3] * e3
        frame = robot.joints[robot.actuators[actuator].joint].frame_predecessor
        slider = form.carriage.parameters
        moment = moment + (slider[0] * (frame.p + q[:, None] * form.axis) + frame.R @ slider[1:4])
        expected = np.zeros((5, 3))
        for body in leg.bodies:
            ten = np.array(robot.bodies[body].inertia)
            expected += ten[0] * solution.bodies.p[:, body] + solution.bodies.R[:, body] @ ten[1:4]
        change = (moment - moment[0]) - (expected - expected[0])
        np.testing.assert_allclose(change, 0.0, atol=1e-10)


def test_what_turns() -> None:
    assert not turns_with(mechanism_of(library_robot("orthoglide")), 1)
    assert turns_with(mechanism_of(library_robot("gough-stewart")), 1)


def test_other_legs_are_refused() -> None:
    with pytest.raises(UnreadError, match="not driven at the root of its parallelogram"):
        parallelogram_form(library_robot("gough-stewart"), 0, 0)

"""Margins: squares that vanish where a leg is stretched, one a leg and in their order."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.kinematics.margins import closed_form_margin, margin_names
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.uncompiled import any_robot


def test_the_smallest_root_counts() -> None:
    assert closed_form_margin((0.5, 0.25, 0.75)) == 0.25
    assert closed_form_margin(()) == 1.0


def test_names_are_those_of_the_legs() -> None:
    robot = any_robot("fivebar")
    assert margin_names(mechanism_of(robot)) == tuple(f"leg {leg.name!r}" for leg in robot.legs)
    # The nacelle has one of its own where it has dependent coordinates.
    parasitic = mechanism_of(any_robot("3rps"))
    assert len(margin_names(parasitic)) == len(parasitic.robot.legs) + 1


def test_a_margin_vanishes_where_its_leg_is_stretched() -> None:
    """Along a ray from the base joint of a leg the margin falls with the distance to its full length."""
    robot = any_robot("fivebar")
    joints = [robot.joints[j] for j in robot.legs[0].joints]
    foot = joints[0].frame_predecessor.p[:2]
    arms = [np.linalg.norm(joints[1].frame_predecessor.p - joints[0].frame_successor.p)]
    end = robot.joints[robot.legs[0].closures[0]]
    local = end.frame_predecessor if end.predecessor == robot.legs[0].bodies[1] else end.frame_successor
    arms.append(np.linalg.norm(local.p - joints[1].frame_successor.p))
    towards = np.array([0.15, 1.0]) / np.hypot(0.15, 1.0)
    x = np.array([foot + towards * (sum(arms) * part) for part in (0.9, 0.99, 0.999)])
    found = nacelle.inverse_kinematics(robot, x).margins[:, 0]
    assert np.all(np.diff(found) < 0.0)
    assert found[2] < 0.02 * found[0]

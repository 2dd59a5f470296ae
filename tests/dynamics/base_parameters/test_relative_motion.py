"""Points of two bodies that move alike: those of their joint, and those that loops add."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.base_parameters.relative_motion import echelon, neighbours, sampled_twists
from nacelle.model.leg import BASE, PLATFORM
from support.library import library_robot


def test_bodies_on_a_revolute_joint_share_its_axis() -> None:
    robot = library_robot("fivebar")
    motions = sampled_twists(robot)
    for a, b, number in neighbours(robot):
        if number is None or robot.joints[number].kind != "revolute":
            continue
        joint = robot.joints[number]
        sides = {joint.predecessor: joint.frame_predecessor, joint.successor: joint.frame_successor}
        bond = motions.bond(a, b)
        points = np.array([sides[a].p, sides[b].p])
        assert motions.moves_alike(bond, points)
        assert bond.point is not None
        # What differs from the joint's own point lies along the axis, on which all points move alike.
        span = np.concatenate([bond.directions[:, 0], bond.directions[:, 1]], axis=1)
        assert np.linalg.matrix_rank(np.vstack([span, np.ravel(bond.point - points)]), tol=1e-9) == len(span)
        assert not motions.moves_alike(bond, points + np.array([[0.0, 0.0, 0.0], [0.0, 0.01, 0.0]]))


def test_a_platform_that_does_not_turn_moves_in_all_points_alike() -> None:
    """A Delta: the base shares every direction with the platform, but no point."""
    motions = sampled_twists(library_robot("delta"))
    bond = motions.bond(BASE, PLATFORM)
    assert bond.point is None
    assert len(bond.directions) == 6


def test_rates_of_joints_are_relative() -> None:
    robot = library_robot("fivebar")
    motions = sampled_twists(robot)
    joint = robot.joints[robot.actuators[0].joint]
    rate = motions.friction_rate(joint, "rz")
    spin = motions.J[:, joint.successor, 5].ravel()
    np.testing.assert_allclose(rate, spin, atol=1e-12)


def test_echelon_spans_the_same_rows() -> None:
    rows = np.random.default_rng(0).normal(size=(3, 6))
    found = echelon(rows)
    np.testing.assert_allclose(found[:, :3], np.eye(3), atol=1e-12)
    assert np.linalg.matrix_rank(np.vstack([rows, found]), tol=1e-9) == 3
    np.testing.assert_array_equal(echelon(np.array([[2.0, 4.0, 6.0]])), [[1.0, 2.0, 3.0]])

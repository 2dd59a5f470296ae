"""Robots that are not their models: which anchors can be moved, and what parallelograms stay."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.vision.deviation import Deviation, anchor_projectors, deviating_robot
from nacelle.errors import KinematicsError
from nacelle.kinematics.inverse import inverse_kinematics


@pytest.mark.parametrize(
    ("name", "free"), [("fivebar", 2), ("3rrr", 2), ("prrrp", 2), ("delta", 3), ("3rps", 3)]
)
def test_anchors_move_in_the_directions_that_the_loops_allow(name: str, free: int) -> None:
    robot = nacelle.load(name)
    for projector in anchor_projectors(robot):
        assert np.linalg.matrix_rank(projector, tol=1e-6) == free
        np.testing.assert_allclose(projector @ projector, projector, atol=1e-12)


@pytest.mark.parametrize("name", ["fivebar", "delta", "gough-stewart"])
def test_a_moved_robot_is_a_robot_whose_anchors_are_elsewhere(name: str) -> None:
    robot = nacelle.load(name)
    x = nacelle.reference_pose(robot)
    deviation = Deviation.drawn(robot, 3, anchors=1e-4, lengths=1e-4)
    true = inverse_kinematics(deviating_robot(robot, deviation.numbers(robot, 0.0)), x, limits=False)
    assert int(true.flags) == 0
    # Small deviations act on the actuators in proportion.
    half = Deviation(0.5 * deviation.anchors, 0.5 * deviation.lengths, deviation.zeros)
    some = inverse_kinematics(deviating_robot(robot, half.numbers(robot, 0.0)), x, limits=False).actuators
    q = inverse_kinematics(robot, x, limits=False).actuators
    np.testing.assert_allclose(some - q, 0.5 * (true.actuators - q), atol=1e-6)
    assert np.max(np.abs(true.actuators - q)) > 2e-5


def test_fivebar_by_hand() -> None:
    """Both anchors displaced alike carry the whole robot along; a longer leg is a robot with longer bars."""
    robot = nacelle.load("fivebar")
    x, d = nacelle.reference_pose(robot), np.array([2e-3, -1e-3, 0.0])
    g = np.concatenate([d, d, np.zeros(2)])
    there = inverse_kinematics(deviating_robot(robot, g), x + d[:2], limits=False).actuators
    np.testing.assert_allclose(there, inverse_kinematics(robot, x, limits=False).actuators, atol=1e-12)
    longer = deviating_robot(robot, np.concatenate([np.zeros(6), [1e-2, 1e-2]]))
    names = robot.numbers.names("geometry")
    scale = np.array([1.0 if name == "half_base" else 1.01 for name in names])
    other = robot.with_numbers(scale * robot.numbers.vector("geometry"), "geometry")
    one, two = (inverse_kinematics(each, x, limits=False).actuators for each in (longer, other))
    np.testing.assert_allclose(one, two, atol=1e-12)
    assert np.max(np.abs(one - inverse_kinematics(robot, x, limits=False).actuators)) > 1e-3


def test_a_base_that_warms_grows_from_its_middle() -> None:
    robot = nacelle.load("delta")
    growing = Deviation.drawn(robot, 0, growth=1e-4, begin=-1.0)
    assert not np.any(growing.numbers(robot, -1.0))
    d = growing.numbers(robot, 1.0)[:9].reshape(3, 3)
    np.testing.assert_allclose(d.sum(axis=0), 0.0, atol=1e-15)
    anchors = np.array([robot.joint(f"leg{k}.shoulder") for k in (1, 2, 3)])
    places = np.array([robot.joints[j].frame_predecessor.p for j in anchors])
    np.testing.assert_allclose(d, 2e-4 * (places - places.mean(axis=0)), atol=1e-15)


def test_sizes_are_checked() -> None:
    with pytest.raises(KinematicsError, match="anchors is not negative, got -1"):
        Deviation.drawn(nacelle.load("fivebar"), 0, anchors=-1.0)

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.view.side_by_side import joint_box, offsets, row


def test_boxes_in_a_row_do_not_meet() -> None:
    boxes = [
        (np.array([-1.0, 0.0, 0.0]), np.array([2.0, 1.0, 1.0])),
        (np.array([-5.0, 0, 0]), np.array([0.5, 1, 1])),
    ]
    first, second = row(boxes)
    np.testing.assert_array_equal(first, 0.0)
    assert second[0] - 5.0 > 2.0


def test_the_box_holds_all_joints() -> None:
    robot = nacelle.load("fivebar")
    x = nacelle.reference_pose(robot)
    low, high = joint_box(robot, nacelle.inverse_kinematics(robot, x).bodies)
    assert np.all(low[:2] < x)
    assert np.all(high[:2] > x)
    assert offsets([robot, robot], [x, x])[1][0] > high[0] - low[0]

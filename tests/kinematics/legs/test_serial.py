"""Serial legs: points seen from frames, motions of steps, and roots that are taken in order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.kinematics.legs.serial import EndPoint, Roots, axis_motion
from nacelle.kinematics.tree.spanning_tree import CosSin
from nacelle.spatial.pose import Pose


def test_a_point_seen_from_a_frame() -> None:
    R = Rotation.random(random_state=0).as_matrix()
    p, o, offset = np.random.default_rng(0).normal(size=(3, 3))
    expected = R.T @ (p + offset - o)
    np.testing.assert_allclose(EndPoint(p, offset).seen(Pose(R, o)), expected, atol=1e-14)
    np.testing.assert_allclose(EndPoint(p, offset).from_arm(Pose(R, o)), expected, atol=1e-14)
    np.testing.assert_allclose(EndPoint(p + offset, None).seen(Pose(R, o)), expected, atol=1e-14)


def test_motions_of_steps() -> None:
    angle = 0.7
    turned = axis_motion(CosSin(np.cos(angle), np.sin(angle)))
    np.testing.assert_allclose(turned.R, Rotation.from_euler("z", angle).as_matrix(), atol=1e-15)
    assert not np.any(turned.p)
    moved = axis_motion(0.3)
    np.testing.assert_array_equal(moved.R, np.eye(3))
    np.testing.assert_array_equal(moved.p, [0.0, 0.0, 0.3])


def test_roots_are_taken_in_order() -> None:
    roots = Roots((1, -1), {4: (0.0, 0.0, 0.0, 1.0)}, 2.0)
    assert [roots.sign(), roots.sign()] == [1, -1]
    assert roots.take((0.5, 0.25)) == 0.5
    roots.lever(0.04, 4.0)
    assert roots.root_margins == [0.25, pytest.approx(0.01)]
    assert roots.reference(4).tolist() == [0.0, 0.0, 0.0, 1.0]

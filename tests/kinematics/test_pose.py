"""Poses as users write them: the same orientation in every notation, as SciPy has it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.errors import KinematicsError
from nacelle.kinematics.pose import pose
from support.uncompiled import any_robot


def test_one_orientation_in_all_notations() -> None:
    robot = any_robot("gough-stewart")
    R = Rotation.from_rotvec([0.1, -0.2, 0.3])
    p = [0.01, 0.02, 0.6]
    expected = np.concatenate([p, R.as_quat()])
    for given in (
        {"quat_xyzw": R.as_quat()},
        {"rotation_matrix": R.as_matrix()},
        {"rotation_vector": R.as_rotvec()},
    ):
        x = pose(robot, p, **given)
        assert np.sign(x[6]) * x == pytest.approx(np.sign(expected[6]) * expected, abs=1e-14)


def test_coordinates_by_name_and_batches() -> None:
    robot = any_robot("delta")
    x = pose(robot, z=np.array([-0.6, -0.7]), x=0.01)
    assert x.shape == (2, 3)
    np.testing.assert_array_equal(x[:, 2], [-0.6, -0.7])
    np.testing.assert_array_equal(x[:, 0], 0.01)


def test_mistakes() -> None:
    with pytest.raises(KinematicsError):
        pose(any_robot("delta"), rotation_vector=[0.1, 0.0, 0.0])
    with pytest.raises(KinematicsError):
        pose(any_robot("delta"), wz=0.1)

"""Poses as users write them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.errors import KinematicsError
from nacelle.kinematics.flags import failed
from nacelle.kinematics.pose import pose
from nacelle.kinematics.pose_input import checked_poses, reference_pose
from nacelle.spatial.rotation_path import quat_from_matrices
from support.compare import assert_same
from support.uncompiled import any_robot


@given(st.integers(0, 2**32 - 1))
def test_quaternions_of_matrices(seed: int) -> None:
    R = Rotation.random(20, random_state=seed)
    quat = R.as_quat()
    quat *= np.where(quat[:, 3:] < 0, -1.0, 1.0)
    assert_same(quat_from_matrices(R.as_matrix().reshape(4, 5, 3, 3)), quat.reshape(4, 5, 4), 1e-14)


def test_quaternions_of_half_turns() -> None:
    """Each of the four components may be the largest, and w may be zero or nearly so."""
    rng = np.random.default_rng(0)
    axes = np.concatenate([np.eye(3), rng.normal(size=(20, 3))])
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    for angle in (0.0, 1e-9, 1.0, np.pi - 1e-9, np.pi):
        R = Rotation.from_rotvec(angle * axes).as_matrix()
        quat = quat_from_matrices(R)
        assert np.all(quat[:, 3] >= 0.0)
        assert_same(Rotation.from_quat(quat).as_matrix(), R, 1e-15)
    assert np.all(np.isnan(quat_from_matrices(np.full((2, 3, 3), np.nan))))


def test_orientations_of_all_kinds() -> None:
    robot = any_robot("gough-stewart")
    r = np.array([0.1, -0.2, 0.3])
    R = Rotation.from_rotvec(r)
    angles = R.as_euler("XYZ")
    p = [0.01, 0.02, 0.5]
    expected = np.concatenate([p, R.as_quat()])
    for given_as in (
        {"quat_xyzw": R.as_quat()},
        {"rotation_matrix": R.as_matrix()},
        {"rotation_vector": r},
        {"cardan": angles},
    ):
        assert_same(pose(robot, p, **given_as), expected, 1e-15)
    assert_same(pose(robot), reference_pose(robot), 1e-16)


def test_coordinates_by_name_and_batches() -> None:
    robot = any_robot("delta")
    x = pose(robot, z=np.linspace(-0.6, -0.5, 4)[:, None], x=[0.0, 0.1, 0.2])
    assert x.shape == (4, 3, 3)
    assert_same(x[2, 1], [0.1, reference_pose(robot)[1], -0.6 + 0.2 / 3], 1e-15)
    quattro = any_robot("quattro")
    assert pose(quattro, [0.0, 0.0, -0.6], swing=0.2)[-1] == 0.2
    # A planar robot takes what it has of a position.
    assert_same(pose(any_robot("prrrp"), [0.1, 9.0, 0.3]), [0.1, 0.3], 1e-16)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("delta", {"xx": 1.0}, r"delta has no coordinate 'xx'"),
        ("delta", {"rz": 1.0}, r"delta has no coordinate 'rz'; did you mean 'z'"),
        ("palida", {"qw": 1.0}, r"palida has no coordinate 'qw'"),
        ("palida", {"position": [0.0, 1.0]}, r"position has shape \(\.\.\., 3\), got \(2,\)"),
        (
            "palida",
            {"rotation_vector": [0.0] * 3, "cardan": [0.0] * 3},
            "the orientation is given twice: rotation_vector and cardan",
        ),
        ("delta", {"quat_xyzw": [0.0, 0.0, 0.0, 1.0]}, "the motion xyz of delta has no free orientation"),
        ("palida", {"quat_xyzw": [0.0, 0.0, 1.0]}, r"quat_xyzw"),
        ("palida", {"rotation_vector": [0.0, 1.0]}, r"rotation_vector"),
        ("palida", {"rotation_matrix": np.eye(2)}, r"rotation_matrix"),
        ("palida", {"cardan": [0.0, 1.0, 2.0, 3.0]}, r"cardan"),
        ("delta", {"x": [0.0, 1.0], "y": [0.0, 1.0, 2.0]}, r"broadcast"),
    ],
)
def test_wrong_words(name: str, arguments: dict[str, object], words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        pose(any_robot(name), **arguments)


def test_checked_poses() -> None:
    robot = any_robot("palida")
    x = np.stack([reference_pose(robot)] * 3) * [1, 1, 1, 2, 2, 2, 2]
    x[1, 3:] = 0.0
    x[2, 0] = np.nan
    poses, valid = checked_poses(robot, x)
    assert list(valid) == [True, False, False]
    assert_same(poses[0], reference_pose(robot), 1e-16)
    assert np.all(np.isnan(poses[1:]))
    assert np.array_equal(x[0, 3:], 2 * reference_pose(robot)[3:])


@pytest.mark.parametrize("size", [1e155, 1e200, 1e308, 1e-200, 1e-13, 0.0, np.inf, np.nan])
def test_a_quaternion_without_a_usable_length_is_no_orientation(size: float) -> None:
    """Its square overflows or vanishes: an identity in its place would be an invented pose."""
    robot = any_robot("palida")
    x = np.stack([reference_pose(robot)] * 2)
    with np.errstate(all="ignore"):
        x[1, 3:] = np.array([0.5, -0.5, 0.5, 0.5]) * size
    poses, valid = checked_poses(robot, x)
    assert list(valid) == [True, False]
    assert np.all(np.isnan(poses[1]))
    result = nacelle.inverse_dynamics(robot, x)
    assert list(failed(result.flags)) == [False, True]
    assert np.all(np.isnan(result.force[1]))
    with pytest.raises(KinematicsError, match="no pose of palida"):
        nacelle.inverse_dynamics(robot, x[1])


@pytest.mark.parametrize("size", [1e-9, 0.3, 1e100, 1e150])
def test_a_long_quaternion_is_made_unit(size: float) -> None:
    robot = any_robot("palida")
    x = reference_pose(robot)
    quat = np.array([0.1, -0.2, 0.3, 0.9])
    x[3:] = quat * size
    assert_same(checked_poses(robot, x)[0][3:], quat / np.linalg.norm(quat), 1e-15)

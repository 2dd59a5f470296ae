"""What trajectories are made of is checked: poses, signs of quaternions, limits and times."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.kinematics.trajectory.arguments import (
    displacements,
    positive_limit,
    read_layout,
    read_points,
    read_positive,
    read_times,
)
from nacelle.kinematics.trajectory.error import TrajectoryError

SE3 = read_layout("se3")


def poses(count: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.hstack([rng.normal(size=(count, 3)), Rotation.random(count, random_state=1).as_quat()])


def test_quaternions_are_unit_and_continuous() -> None:
    points = poses(6)
    given = points * np.array([1.0, 1.0, 1.0, -3.0, -3.0, -3.0, -3.0])
    found = read_points(SE3, given)
    np.testing.assert_allclose(np.linalg.norm(found[:, 3:], axis=1), 1.0, atol=1e-15)
    assert np.all(np.sum(found[1:, 3:] * found[:-1, 3:], axis=1) >= 0.0)
    same = Rotation.from_quat(found[:, 3:]) * Rotation.from_quat(points[:, 3:]).inv()
    assert same.magnitude().max() < 1e-14


def test_ways_are_differences_and_rotation_vectors() -> None:
    points = read_points(SE3, poses(4))
    found = displacements(SE3, points)
    rotations = Rotation.from_quat(points[:, 3:])
    np.testing.assert_allclose(found[:, :3], np.diff(points[:, :3], axis=0), atol=1e-15)
    np.testing.assert_allclose(found[:, 3:], (rotations[1:] * rotations[:-1].inv()).as_rotvec(), atol=1e-13)


def test_times() -> None:
    layout = read_layout("xyz")
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 3.0, 0.0]])
    assert read_times(layout, points, [0.0, 1.0, 4.0], None, None).tolist() == [0.0, 1.0, 4.0]
    assert read_times(layout, points, None, 4.0, None).tolist() == [0.0, 2.0, 4.0]
    assert read_times(layout, points, None, None, 1.0)[-1] == pytest.approx(4.0)
    for times in ([0.0, 2.0, 1.0], [0.0, 1.0], [0.0, 1.0, np.inf]):
        with pytest.raises(TrajectoryError):
            read_times(layout, points, times, None, None)


def test_limits_are_above_zero() -> None:
    assert positive_limit(read_layout("xyz"), 2.0, "speed").tolist() == [2.0, 2.0, 2.0]
    for value in (0.0, -1.0, np.nan, [1.0, 2.0]):
        with pytest.raises(TrajectoryError, match="speed"):
            positive_limit(read_layout("xyz"), value, "speed")
    with pytest.raises(TrajectoryError, match="duration"):
        read_positive(float("inf"), "duration")

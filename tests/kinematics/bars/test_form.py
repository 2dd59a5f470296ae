"""Pieces of struts and rods: rounding taken off, axes of legs, and where a driven body carries its end."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.kinematics.bars.form import alike_entries, carriage_of, clean, clean_parameters, leg_axes
from nacelle.kinematics.bars.reading import read_leg
from nacelle.spatial.pose import Pose
from support.library import library_robot


def test_rounding_is_taken_off() -> None:
    values = clean(np.array([1.0 + 1e-16, 6e-17, -1.0 - 2e-16, 0.5]))
    np.testing.assert_array_equal(values, [1.0, 0.0, -1.0, 0.5])
    # Small beside their like only: a small inertia beside a large mass stays.
    ten = np.array([1e3, 0.0, 1e-20, 5.0, 1e-6, 0.0, 2e-6, 1e-25, 0.0, 3e-6])
    cleaned = clean_parameters(ten)
    np.testing.assert_array_equal(cleaned, [1e3, 0.0, 0.0, 5.0, 1e-6, 0.0, 2e-6, 0.0, 0.0, 3e-6])


def test_entries_of_equal_size_become_equal() -> None:
    a, b = alike_entries([np.array([0.3, -0.2]), np.array([-0.3 - 1e-17, 0.25])], 1.0)
    np.testing.assert_array_equal(a, [0.3, -0.2])
    assert b[0] == -a[0]
    assert b[1] == 0.25


@pytest.mark.parametrize("revolute", [True, False])
def test_the_end_that_a_drive_carries(revolute: bool) -> None:
    """A + arm R(axis, q) start, or A + q axis, is the end in the drive's frame moved by q."""
    frame = Pose(Rotation.from_rotvec([0.3, -0.4, 0.5]).as_matrix(), np.array([0.1, 0.2, 0.3]))
    elbow, q = np.array([0.3, 0.4, 0.05]), 0.7
    A, carriage = carriage_of(frame, elbow, revolute, lambda R: np.zeros(10))
    if revolute:
        moved = frame.R @ Rotation.from_rotvec([0, 0, q]).as_matrix() @ elbow + frame.p
        turn = Rotation.from_rotvec(q * frame.R[:, 2])
        found = A + carriage.arm * turn.apply(carriage.start)
        assert carriage.arm == pytest.approx(0.5)
    else:
        moved = frame.R @ (elbow + np.array([0.0, 0.0, q])) + frame.p
        found = A + q * frame.R[:, 2]
    np.testing.assert_allclose(found, moved, atol=1e-15)


def test_axes_of_legs_are_rotations() -> None:
    robot = library_robot("hexa")
    for index in range(len(robot.legs)):
        Q = leg_axes(read_leg(robot, index))
        np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-14)
        assert np.linalg.det(Q) == pytest.approx(1.0)

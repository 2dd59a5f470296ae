"""The search for a pose by iteration: unknowns, the way there, and coordinates that no pose has."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import UnreachableError
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.forward.forward import forward_kinematics
from nacelle.kinematics.forward.search import JointSearch, PoseSearch
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.pose_input import reference_pose
from support.uncompiled import any_robot, poses_around


def test_no_such_pose_by_iteration() -> None:
    robot = any_robot("gough-stewart")
    q0 = inverse_kinematics(robot, reference_pose(robot)).actuators
    impossible = q0 * [0.1, 3.0, 0.1, 3.0, 0.1, 3.0]
    found = forward_kinematics(robot, np.stack([q0, impossible]))
    assert list(found.ok) == [True, False]
    assert found.flags[1] == Flag.UNREACHABLE
    with pytest.raises(UnreachableError, match="give a guess nearer to it, or check the coordinates"):
        forward_kinematics(robot, impossible)


@pytest.mark.parametrize("kind", [PoseSearch, JointSearch])
def test_both_searches_find_the_pose(kind: type[PoseSearch]) -> None:
    """On the pose alone and on pose and joints: the poses from which the coordinates were made."""
    robot = any_robot("3rrr")
    x = poses_around(robot, 5)
    q = inverse_kinematics(robot, x).actuators
    search = kind(mechanism_of(robot))
    for follow in (False, True):
        found, steps, flags = search.find(q, None, follow)
        np.testing.assert_allclose(found, x, atol=1e-11)
        assert not np.any(flags)
        assert np.all(steps > 0)
    signs, conditioning = search.signs(x, np.zeros((5, 0)))
    np.testing.assert_array_equal(signs[:, 0], 1.0)
    assert np.all(conditioning > 0.0)
    np.testing.assert_allclose(search.poses(search.start(x))[0], x, atol=1e-12)

"""Wrenches in joints: what the balance leaves open is what mobility counts as overconstraint."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.reactions.solve import balance_structure, determination, in_frames, sample_size
from support.uncompiled import any_robot


@pytest.mark.parametrize(("name", "redundancy"), [("gough-stewart", 0), ("fivebar", 3), ("delta", 0)])
def test_what_is_open(name: str, redundancy: int) -> None:
    """A planar loop is overconstrained three times, a hexapod of UPS legs not at all."""
    robot = any_robot(name)
    found = determination(robot)
    assert found.redundancy == redundancy
    assert bool(np.all(found.determined)) is (redundancy == 0)
    assert found.determined.shape == (len(robot.joints), 6)
    assert sample_size(robot) > 0
    assert balance_structure(robot).lock_scale.shape[0] >= redundancy


def test_frames() -> None:
    """A force f through a point p has no moment there."""
    f, p = np.array([1.0, -2.0, 3.0]), np.array([0.1, 0.2, 0.3])
    wrench = np.concatenate([f, np.cross(p, f)])
    found = in_frames(wrench[None, None], np.eye(3)[None, None], p[None, None], 1.0)[0, 0]
    np.testing.assert_allclose(found, [*f, 0.0, 0.0, 0.0], atol=1e-14)


def test_the_platform_is_in_balance() -> None:
    """At rest the wrenches of the joints at the platform carry its weight."""
    robot = any_robot("gough-stewart")
    x = nacelle.reference_pose(robot)
    found = nacelle.joint_reactions(robot, x)
    total = np.zeros(3)
    bodies = nacelle.inverse_kinematics(robot, x).bodies
    for j, joint in enumerate(robot.joints):
        for side, body in ((1.0, joint.successor), (-1.0, joint.predecessor)):
            if body == 1:
                R = bodies.R[joint.predecessor] @ joint.frame_predecessor.R
                total += side * R @ found.wrench[j, :3]
    np.testing.assert_allclose(total, -robot.bodies[1].mass * np.array(robot.gravity), rtol=1e-9, atol=1e-9)

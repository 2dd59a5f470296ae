"""Positions as one vector: platform and spherical joints turn as SciPy's rotations do."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from nacelle.elastic.dynamics import positions
from nacelle.elastic.extended import extended
from nacelle.model.joint import Primitive
from support.flexible_robots import flexible, prrrp


def test_sizes() -> None:
    point, plate = extended(prrrp()), extended(flexible("delta", number=1))
    assert positions.platform_size(point) == 3
    assert positions.platform_size(plate) == 7
    p = np.arange(positions.size(point), dtype=float)
    platform, q, qe = positions.split_positions(point, p)
    np.testing.assert_array_equal(np.concatenate([platform.p, q, qe]), p)


def test_rates_turn_quaternions() -> None:
    """Angular velocity of the platform in base axes, of spherical joints in the successor's."""
    own = extended(flexible("delta", number=1))
    robot, random = own.robot, np.random.default_rng(0)
    p = positions.normalised(own, random.normal(size=positions.size(own)))
    r = random.normal(size=len(own.rigid_rates) + own.ne)
    h = 1e-5
    after = positions.stepped(own, p, h * r)
    start, turn = Rotation.from_quat(p[3:7]), Rotation.from_rotvec(h * r[3:6])
    assert ((turn * start).inv() * Rotation.from_quat(after[3:7])).magnitude() < h**2
    joint = next(k for k, joint in enumerate(robot.tree_joints) if joint.primitives == (Primitive.SPHERICAL,))
    place = 7 + robot.q_slices[joint].start
    rate = robot.platform_nv + robot.v_slices[joint].start
    start, turn = (
        Rotation.from_quat(p[place : place + 4]),
        Rotation.from_rotvec(h * r[rate : rate + 3]),
    )
    assert ((start * turn).inv() * Rotation.from_quat(after[place : place + 4])).magnitude() < h**2
    # All others change by their rate.
    np.testing.assert_allclose(after[:3] - p[:3], h * r[:3], atol=1e-15)
    np.testing.assert_allclose(after[-own.ne :] - p[-own.ne :], h * r[-own.ne :], atol=1e-15)

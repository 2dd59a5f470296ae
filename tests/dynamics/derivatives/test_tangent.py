"""The tangent of the pose against differences of what iteration finds along a twist."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.derivatives.tangent import tangent
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.spatial.rotation_path import quat_exp, quat_multiply
from support.uncompiled import any_robot, solve_uncompiled


@pytest.mark.parametrize("name", ["3rps", "dymo", "everything"])
def test_unknowns_move_with_the_pose(name: str) -> None:
    robot = any_robot(name)
    mechanism, layout, n = mechanism_of(robot), mechanism_of(robot).layout, robot.motion.n
    x = mechanism.reference[0] + 0.01 * np.random.default_rng(1).uniform(-1.0, 1.0, layout.nx)
    if layout.quaternion is not None:
        x[layout.quaternion] /= np.linalg.norm(x[layout.quaternion])
    found = tangent(robot, x, solve_uncompiled(robot, x[None])[0])
    X, Y = np.asarray(found["x"], dtype=float), np.asarray(found["y"], dtype=float)
    # The pose moved by small translations and rotations about the base's axes, one entry at a time.
    step, parts = 1e-4, np.array([-2.0, -1.0, 1.0, 2.0])
    e = step * parts[:, None, None] * np.eye(n)
    poses = x + e @ X.T
    if layout.quaternion is not None:
        turned = quat_multiply(quat_exp(e[..., layout.angular]), x[layout.quaternion])
        poses[..., layout.quaternion] = turned
    y = solve_uncompiled(robot, poses.reshape(-1, layout.nx)).reshape(4, n, -1)
    for values, expected in ((poses, X), (y, Y)):
        slope = np.tensordot([1.0, -8.0, 8.0, -1.0], values, 1) / (12.0 * step)
        np.testing.assert_allclose(slope.T, expected, rtol=0, atol=1e-9)

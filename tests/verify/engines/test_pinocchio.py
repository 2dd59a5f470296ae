"""The tree of a robot in Pinocchio: mass, energy and weight of its bodies, and Jacobians by differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.spatial.pose import Pose
from nacelle.verify.engine import TreeState
from nacelle.verify.engines.pinocchio import build
from support.library import library_robot


def state_of(robot, seed: int = 0) -> TreeState:
    """A random state of the tree, its loops open."""
    random = np.random.default_rng(seed)
    size = robot.platform_nv + robot.nv
    platform = Pose(Rotation.from_rotvec(random.normal(size=3)).as_matrix(), random.normal(size=3))
    q = np.concatenate([joint.guess for joint in robot.tree_joints]) if robot.nq else np.zeros(0)
    return TreeState(
        platform, q, random.normal(size=size), random.normal(size=size), np.zeros((len(robot.bodies), 6))
    )


@pytest.mark.parametrize("name", ["fivebar", "gough-stewart", "c5"])
def test_bodies_have_their_mass_and_weight(name: str) -> None:
    robot = library_robot(name)
    state = state_of(robot)
    now = build(robot).at(state)
    gravity = np.array(robot.gravity)
    potential, kinetic = 0.0, 0.0
    for k, body in enumerate(robot.bodies):
        ten = np.array(body.inertia)
        potential -= gravity @ (ten[0] * now.p[k] + now.R[k] @ ten[1:4])
        v, w = now.R[k].T @ now.twist[k][:3], now.R[k].T @ now.twist[k][3:]
        xx, xy, yy, xz, yz, zz = ten[4:]
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        kinetic += 0.5 * ten[0] * v @ v + v @ np.cross(w, ten[1:4]) + 0.5 * w @ I @ w
    assert now.potential == pytest.approx(potential, rel=1e-10)
    assert now.kinetic == pytest.approx(kinetic, rel=1e-10)
    assert now.kinetic == pytest.approx(0.5 * state.u @ now.mass_matrix @ state.u, rel=1e-10)
    np.testing.assert_allclose(now.jacobian @ state.u, now.twist, atol=1e-10)
    # What inverse dynamics adds to the bias is the mass matrix times the acceleration.
    np.testing.assert_allclose(now.force - now.bias, now.mass_matrix @ state.u_dot, atol=1e-8)

"""The nacelle: points in motion by differences, wrenches along its rates by equal power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nacelle.dynamics.state import state_at
from nacelle.kinematics.general.nacelle import GivenFrame, GivenPoint, MovingFrame, PoleFrame, nacelle_at
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.configuration import configuration
from nacelle.model.leg import PLATFORM
from nacelle.spatial.pose import Pose
from support.compare import assert_same
from support.general_states import pose_after
from support.uncompiled import any_robot

H = 1e-4
B = np.array([0.2, -0.1, 0.3])


@pytest.mark.parametrize("name", ["gough-stewart", "quattro"])
def test_frames_and_wrenches(name: str) -> None:
    """A rigid body, and a nacelle of several bodies."""
    robot = any_robot(name)
    x, y = mechanism_of(robot).reference
    v, a = np.random.default_rng(0).normal(size=(2, robot.motion.n))
    state = state_at(robot, x, y, v)
    nacelle = nacelle_at(state.now)
    u, u_dot = state.moving.u, state.moving.U @ a + state.moving.bias
    w, w_dot = ({rate: float(values[rate]) for rate in nacelle.moving} for values in (u, u_dot))
    gravity = np.array([1.0, -2.0, -9.0])
    frames = nacelle.frames(w, w_dot, gravity)
    twisted = state.now.motion
    rng = np.random.default_rng(1)
    for body, frame in frames.items():
        twist = np.asarray(twisted.jacobian(body) @ u, dtype=float)
        assert_same(np.concatenate([frame.v, frame.w]), twist, 1e-10)
        force, moment = rng.normal(size=(2, 3))
        point = nacelle.point(body, B)
        power = force @ frame.velocity(B) + moment @ frame.w
        onto = nacelle.onto(body, point, force, moment, B)
        assert abs(sum(float(value) * w[rate] for rate, value in onto.items()) - power) < 1e-10
    if mechanism_of(robot).ny:
        return
    frame = frames[PLATFORM]
    poses = [
        configuration(robot, pose_after(robot, x, v, a, t), y).motion.poses[PLATFORM] for t in (-H, 0, H)
    ]
    behind, now, ahead = (pose.p + pose.R @ B for pose in poses)
    assert_same(frame.acceleration(B), (ahead - 2 * now + behind) / H**2 - gravity, 1e-5)


def test_one_motion_in_several_forms() -> None:
    """By columns, by the matrix T, counted from a pole, and with a point that is given."""
    rng = np.random.default_rng(2)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    p, w, w_dot, v, a = rng.normal(size=(5, 3))
    frame = MovingFrame(Pose(R, p), w, w_dot, v, a)
    by_matrix = replace(frame, spread=True)
    pole = PoleFrame(*(getattr(frame, name) for name in ("pose", "w", "w_dot", "v", "a")), pole=np.ones(3))
    r = R @ B
    velocity, acceleration = v + np.cross(w, r), a + np.cross(w_dot, r) + np.cross(w, np.cross(w, r))
    for form in (frame, by_matrix, pole):
        assert_same(form.velocity(B), velocity, 1e-13)
        assert_same(form.acceleration(B), acceleration, 1e-13)
        assert_same(form.acceleration_at(r), acceleration, 1e-13)
    moved = pole.with_pole_at(np.zeros(3))
    assert_same(moved.acceleration(np.ones(3)), np.zeros(3), 1e-13)
    assert_same(moved.acceleration(B) - moved.acceleration(np.zeros(3)), acceleration - a, 1e-12)
    given = GivenFrame(frame.pose, w, w_dot, v, a, points=(GivenPoint(B, r, 2.0 * v, 3.0 * a),))
    assert_same(given.velocity(B), 2.0 * v, 0.0)
    assert_same(given.against(a).acceleration(B), 2.0 * a, 1e-14)
    assert_same(given.velocity(2.0 * B), frame.velocity(2.0 * B), 0.0)

"""Engines: mujoco, pinocchio."""

from __future__ import annotations

import mujoco as mj
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.spatial.pose import Pose
from nacelle.verify import VerifyError
from nacelle.verify.engine import TreeState
from nacelle.verify.engines.pinocchio import build
from support import mujoco_loops
from support.library import library_robot
from support.sprung import sprung_robot

# ---- Loops and springs in MuJoCo: stepped there, a robot goes where it goes here

STEP = 1e-4

HARD = mujoco_loops.ConstraintSettings((2.0 * STEP, 1.0), (0.9999, 0.9999))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "stiffness", "push"),
    [("gough-stewart", 2e4, [0.8, -0.5, 0.4, 1.0, -1.5, 2.0]), ("delta", 60.0, [1.5, 0.9, 0.6])],
)
def test_hard_bonds_hold_the_loops(name: str, stiffness: float, push: list[float]) -> None:
    robot, x = sprung_robot(name, stiffness)
    engine = mujoco_loops.build_engine(robot, HARD)
    model, data = engine.model, mj.MjData(engine.model)
    model.opt.timestep, model.opt.integrator = STEP, mj.mjtIntegrator.mjINT_RK4
    bodies, joints = (
        nacelle.inverse_kinematics(robot, x).bodies,
        nacelle.kinematics.joint_motion(robot, x, push),
    )
    rates = np.concatenate([nacelle.kinematics.body_motion(robot, x, push).twist[1], joints.rate])
    nothing = np.zeros(0)
    start = TreeState(Pose(bodies.R[1], bodies.p[1]), joints.q_tree, rates, nothing, nothing)
    data.qpos[:], data.qvel[:] = engine.configuration(start), engine.axes(start) @ start.u
    mj.mj_step(model, data, 2000)
    mj.mj_kinematics(model, data)
    for number in range(len(robot.closures)):
        one, two = (data.site(f"closure {number}, end {end}").xpos for end in (1, 2))
        assert np.max(np.abs(two - one)) < 1e-8 * robot.size
    plant = nacelle.simulation.rigid_plant(robot, friction=False)
    ours = nacelle.simulate(plant, x, push, until=0.2, events=[])
    way = np.max(np.ptp(ours.x[:, :3], axis=0))
    assert way > 0.05 * robot.size
    assert np.max(np.abs(data.qpos[:3] - ours.x[-1, :3])) < 1e-7 * way


def test_other_closures_are_refused() -> None:
    with pytest.raises(VerifyError, match=r"fold-2.*is revolute"):
        mujoco_loops.build_engine(library_robot("quattro"), HARD)


# ---- The tree of a robot in Pinocchio: mass, energy and weight of its bodies, and Jacobians by differences


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

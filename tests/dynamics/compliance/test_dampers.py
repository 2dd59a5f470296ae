"""Angular dampers between bodies: alike in all formulations, and the damping of MuJoCo's ball joints."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np

from nacelle.dynamics.compliance.dampers import with_forces_between
from nacelle.dynamics.formulations import reference as tree
from nacelle.dynamics.formulations.choice import FORMULATIONS
from nacelle.dynamics.general import models as general
from nacelle.dynamics.general import regressor as general_regressor
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import state_at
from nacelle.kinematics.general.plan import sample_states
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.damper import Damper
from nacelle.model.linear_parameters import linear_parameters, with_linear_parameters
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from support.uncompiled import any_robot


def damped(name: str) -> Robot:
    """A robot with dampers: nacelle and base, leg and base, leg and nacelle, leg and leg."""
    robot = any_robot(name)
    last = len(robot.bodies) - 1
    pairs = ((1, 0), (0, 2), (last, 1), (2, last))
    return replace(robot, dampers=tuple(Damper(f"d{k}", pair, 0.3 + k) for k, pair in enumerate(pairs)))


def _same(mine: Array, other: Array) -> None:
    mine, other = (np.asarray(value, dtype=float) for value in (mine, other))
    np.testing.assert_allclose(mine, other, rtol=0, atol=1e-11 * np.max(np.abs(other)))


def test_all_formulations_and_the_linear_form_agree() -> None:
    robot = damped("3rrr")
    mechanism, rng = mechanism_of(robot), np.random.default_rng(1)
    x, y = sample_states(mechanism, 1)[0]
    n = robot.motion.n
    v, a, load = rng.normal(size=n), rng.normal(size=n), np.zeros(n)
    tau = rng.normal(size=len(robot.actuators))
    force = tree.inverse(robot, x, y, v, a, load)["force"]
    plain = replace(robot, dampers=())
    without = tree.inverse(plain, x, y, v, a, load)["force"]
    assert np.max(np.abs(np.asarray(force - without, dtype=float))) > 0.1
    smooth, rigid = (tree.inverse(r, x, y, v, a, load, friction=False)["force"] for r in (robot, plain))
    _same(smooth, rigid)
    for formulation, own in FORMULATIONS.items():
        if not own.reason_not(mechanism):
            _same(tree.inverse(robot, x, y, v, a, load, formulation=formulation)["force"], force)
    _same(general.inverse(robot, x, y, v, a, load)["force"], force)
    forward = tree.forward(robot, x, y, v, tau, load)["acceleration"]
    _same(general.forward(robot, x, y, v, tau, load)["acceleration"], forward)
    powers = [float(of.energies(robot, x, y, v)["dissipation"]) for of in (general, tree)]
    np.testing.assert_allclose(powers[0], powers[1], rtol=1e-12)
    p = linear_parameters(robot)
    for regressor in (tree.regressor, general_regressor.regressor):
        _same(np.asarray(regressor(robot, x, y, v, a)["Y"], dtype=float) @ p.values, force)
    _same(tree.inverse(with_linear_parameters(robot, p.values), x, y, v, a, load)["force"], force)


def test_the_torque_is_that_of_a_damped_ball_joint_of_mujoco() -> None:
    robot = any_robot("delta")
    damper = Damper("d", (2, 4), 0.7)
    robot = replace(robot, dampers=(damper,))
    x, y = sample_states(mechanism_of(robot), 1)[0]
    state = state_at(robot, x, y, np.array([0.5, -0.3, 0.2]))
    wrenches = with_forces_between(state, Settings()).external
    R, w = (
        [np.asarray(part, dtype=float) for part in parts]
        for parts in (
            [state.now.motion.poses[b].R for b in damper.bodies],
            [state.moving.velocity.twists[b][3:] for b in damper.bodies],
        )
    )
    text = """<mujoco><option gravity="0 0 0"/><worldbody>
      <body><joint type="ball"/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
        <body><joint type="ball" damping="0.7"/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/></body>
      </body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mju_mat2Quat(data.qpos[:4], R[0].ravel())
    mujoco.mju_mat2Quat(data.qpos[4:], (R[0].T @ R[1]).ravel())
    data.qvel[:3], data.qvel[3:] = R[0].T @ w[0], R[1].T @ (w[1] - w[0])
    mujoco.mj_forward(model, data)
    expected = R[1] @ data.qfrc_passive[3:]
    assert np.linalg.norm(expected) > 1e-3
    for body, sign in zip(damper.bodies, (-1.0, 1.0), strict=True):
        np.testing.assert_allclose(np.asarray(wrenches[body].n, dtype=float), sign * expected, atol=1e-14)
        np.testing.assert_allclose(np.asarray(wrenches[body].f, dtype=float), 0.0, atol=1e-15)

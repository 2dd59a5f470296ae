"""Elements: forces, motion."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacelle.dynamics.formulations import tree
from nacelle.dynamics.formulations.elements.forces import (
    actuator_pair,
    body_forces,
    dynamic_coordinates,
    joint_forces,
    whole_bodies,
)
from nacelle.dynamics.formulations.elements.motion import element_motion
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import State, state_at
from nacelle.kinematics.actuation import actuator_rows
from nacelle.model.joint import Joint
from support.compare import assert_same
from support.element_robots import Array, general, samples
from support.uncompiled import any_robot, poses_around, solve_uncompiled

# ---- Forces on elements: pairs act on both bodies of a joint, and their power is that of the joint


def test_a_unit_force_of_an_actuator_has_the_power_of_its_rate() -> None:
    """Opposite wrenches on two bodies: f . (v_2 - v_1) + n . (w_2 - w_1) = q'."""
    robot = any_robot("delta")
    state, a, _ = samples(robot)[0]
    bodies = whole_bodies(element_motion(state, a))
    rates = actuator_rows(robot, state.now.motion) @ state.moving.u
    for actuator, rate in zip(robot.actuators, rates, strict=True):
        pair = actuator_pair(state, actuator.joint)
        total = np.sum([wrench.f for _, _, wrench in pair], axis=0)
        assert np.max(np.abs(total)) < 1e-14
        power = sum(
            wrench.f @ bodies[body].at(point).now + wrench.n @ bodies[body].w.now
            for body, point, wrench in pair
        )
        assert abs(power - rate) < 1e-11


def test_friction_of_passive_joints_acts_on_both_bodies() -> None:
    """[OAM] (61) leaves the reaction out; with it all joint forces of a robot add up to nothing."""
    robot = general("delta")
    state, a, _ = samples(robot)[0]
    listed = joint_forces(state, whole_bodies(element_motion(state, a)), Settings())
    assert len(listed) > 2 * len(robot.actuators)
    f = np.sum([wrench.f for _, _, wrench in listed], axis=0)
    n = np.sum([wrench.n + np.cross(point, wrench.f) for _, point, wrench in listed], axis=0)
    size = max(np.linalg.norm(wrench.n) + np.linalg.norm(wrench.f) for _, _, wrench in listed)
    assert np.max(np.abs(f)) < 1e-12 * size
    assert np.max(np.abs(n)) < 1e-11 * size


# ---- Motion of elements: virtual work of the basis, and the spin of struts


def test_virtual_work_of_the_motion_basis() -> None:
    """[OAM] (54), (56): F_u . u over all legs is F . v, with the redundant basis or the reduced one."""
    robot = general("delta")
    state, a, _ = samples(robot)[0]
    motion = element_motion(state, a)
    wrenches = body_forces(state, whole_bodies(motion), Settings())
    power = sum(dynamic_coordinates(leg, wrenches) @ leg.u.now for leg in motion.legs)
    v = state.moving.u[list(state.mechanism.independent)]
    bare = dataclasses.replace(robot, joints=tuple(_bare(joint) for joint in robot.joints))
    again = state_at(bare, *_pose(state), v)
    assert_same(power, tree.generalised_force(again, a, Settings()) @ v, 1e-11)


def _bare(joint: Joint) -> Joint:
    none = (None,) * len(joint.springs)
    return dataclasses.replace(joint, friction=((),) * len(joint.friction), springs=none, rotor_inertia=0.0)


def _pose(state: State) -> tuple[Array, Array]:
    x = poses_around(state.robot, 2, 0, 0.02, 0.04)
    return x[0], solve_uncompiled(state.robot, x)[0]


@pytest.mark.parametrize("name", ["gough-stewart", "palida", "space"])
def test_spin_of_a_strut(name: str) -> None:
    """theta' = (a . x) ((a x x) . x') / |a x x|^2, which [OAM] (7) neglects."""
    robot = any_robot(name)
    state, a, _ = samples(robot)[0]
    motion = element_motion(state, a)
    spins = []
    for leg, u, _ in motion.legs:
        x_rate, d_rate, spin = u.now[:3], u.now[3], u.now[4]
        first = robot.joints[leg.rods[0].hold.joints[0]]
        axis = (state.now.motion.poses[first.predecessor] @ first.frame_predecessor).R[:, 2]
        prismatic = robot.joints[leg.prismatic]
        x = leg.flip * (state.now.motion.poses[prismatic.predecessor] @ prismatic.frame_predecessor).R[:, 2]
        across = np.cross(axis, x)
        expected = (axis @ x) * (across @ x_rate) / (across @ across)
        assert abs(spin - expected) < 1e-12
        assert abs(x @ x_rate) < 1e-13
        assert np.isfinite(d_rate)
        spins.append(abs(expected))
    assert max(spins) > 1e-2

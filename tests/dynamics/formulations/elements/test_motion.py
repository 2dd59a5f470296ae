"""Motion of elements: virtual work of the basis, and the spin of struts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacelle.dynamics.formulations import tree
from nacelle.dynamics.formulations.elements.forces import body_forces, dynamic_coordinates, whole_bodies
from nacelle.dynamics.formulations.elements.motion import element_motion
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import State, state_at
from nacelle.model.joint import Joint
from support.compare import assert_same
from support.element_robots import Array, general, samples
from support.uncompiled import any_robot, poses_around, solve_uncompiled


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

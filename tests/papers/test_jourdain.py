"""Jourdain's principle: against the tree, body by body, over several kinds of scalars."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacelle.dynamics import tree_form as tree
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import State, state_at
from nacelle.model.joint import Joint, JointKind
from nacelle.papers import jourdain
from nacelle.papers.registration import FORMULATIONS
from papers.test_legs import (
    cases,
    chain_of_all_joints,
    furnished_robot,
    motions,
    with_external_wrenches,
)
from support.compare import assert_same


def test_every_kind_of_joint() -> None:
    """A chain with all kinds of joints and all rates free: tau is the force of the tree itself."""
    state, a = chain_of_all_joints()
    state, physics = with_external_wrenches(state), Physics()
    assert_same(jourdain.generalised_force(state, a, physics), tree.tree_forces(state, a, physics), 1e-12)


def with_joints(state: State, joints: tuple[Joint, ...]) -> State:
    """The same state of the robot with other joints."""
    robot = dataclasses.replace(state.robot, joints=joints)
    return dataclasses.replace(state, now=dataclasses.replace(state.now, robot=robot))


@pytest.mark.parametrize("name", ["palida", "3rrr", "delta", "fivebar"])
def test_friction_of_every_joint_takes_its_power(name: str) -> None:
    """v^T tau_f = sum over all joints, active and passive, of q'^T Q_f ([AGH2005] (13))."""
    for state, a in cases(name):
        robot = state.robot
        with_it, without = (
            jourdain.generalised_force(state, a, Physics(friction=on)) for on in (True, False)
        )
        v = np.array([state.moving.u[k] for k in state.mechanism.independent])
        total = float((with_it - without) @ v)
        each = []
        for k in range(len(robot.joints)):
            joints = tuple(
                joint if j == k else dataclasses.replace(joint, friction=((),) * len(joint.primitives))
                for j, joint in enumerate(robot.joints)
            )
            alone = with_joints(state, joints)
            each.append(float((jourdain.generalised_force(alone, a, Physics()) - without) @ v))
        assert min(each) >= -1e-9 * total
        if robot.platform.kind != "point":
            assert min(each) > 0.0
        assert_same([sum(each)], [total], 1e-11, name)


def turned_round(joint: Joint) -> Joint:
    """A planar-spherical joint from the other side: its plane is on the successor."""
    order = (2, 0, 1)
    return dataclasses.replace(
        joint,
        kind=JointKind.SPHERICAL_PLANAR,
        predecessor=joint.successor,
        successor=joint.predecessor,
        frame_predecessor=joint.frame_successor,
        frame_successor=joint.frame_predecessor,
        friction=tuple(joint.friction[k] for k in order),
        springs=tuple(joint.springs[k] for k in order),
    )


def test_planes_on_the_successor_of_a_closure() -> None:
    """Friction and springs of slides act along axes of the plane, wherever it is, in every formulation."""
    robot = furnished_robot("c5")
    closures = (turned_round(joint) for joint in robot.closures)
    robot = dataclasses.replace(robot, joints=(*robot.tree_joints, *closures))
    x, y, v, a = (part[0] for part in motions("c5", 1))
    state, physics = with_external_wrenches(state_at(robot, x, y, v)), Physics()
    expected = tree.generalised_force(state, a, physics)
    for name in ("bodies", "legs", "jourdain"):
        assert_same(FORMULATIONS[name].generalised_force(state, a, physics), expected, 1e-12, name)

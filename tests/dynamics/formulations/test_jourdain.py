"""Jourdain's principle: against the tree, body by body, over several kinds of scalars."""

from __future__ import annotations

import dataclasses

import mpmath
import numpy as np
import pytest

from dynamics.formulations.test_legs import (
    ALL,
    any_robot,
    cases,
    chain_of_all_joints,
    everywhere,
    general,
    motions,
)
from nacelle.dynamics.formulations import jourdain, tree
from nacelle.dynamics.formulations.reference import FORMULATIONS
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import State, state_at
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.spanning_tree import point_acceleration
from nacelle.model.joint import FrictionTerm, Joint, JointKind
from nacelle.spatial.batch import from_samples, to_samples
from support.compare import assert_same
from support.forty_digits import AGREE, DIGITS, largest_difference, precise, precise_pose, precise_robot


def test_every_robot_is_served() -> None:
    for name in ALL:
        assert FORMULATIONS["jourdain"].reason_not(mechanism_of(any_robot(name))) == "", name


@pytest.mark.parametrize("name", ALL)
def test_force_is_that_of_the_tree(name: str) -> None:
    for state, a in cases(name):
        for settings in (Settings(friction=False), everywhere(state.robot), everywhere(state.robot, 0.2)):
            expected = tree.generalised_force(state, a, settings)
            assert_same(jourdain.generalised_force(state, a, settings), expected, 1e-12, name)


@pytest.mark.parametrize("name", ["palida", "delta", "quattro", "c5-slides", "dymo"])
def test_motions_in_the_axes_of_the_bodies(name: str) -> None:
    """(5)-(10), turned into base axes, are the twists, accelerations and Jacobians of the kinematics."""
    for state, a in cases(name):
        motion, moving = state.now.motion, state.moving
        u_dot = moving.U @ a + moving.bias
        for k, local in jourdain.carried_motions(state, u_dot).items():
            if k == 0:
                continue
            R, p = motion.poses[k]
            twist = motion.jacobian(k) @ moving.u
            spatial = moving.velocity.twists[k]
            rate = moving.velocity.biases[k] + motion.columns[:, motion.movers[k]] @ u_dot[motion.movers[k]]
            acceleration = point_acceleration(spatial, rate, p) - np.asarray(state.robot.gravity)
            assert_same(np.concatenate([R @ local.v, R @ local.w]), twist, 1e-12, "velocities")
            assert_same(R @ local.dv, acceleration, 1e-12, "accelerations")
            assert_same(np.r_[R @ local.dw, 1.0], np.r_[rate[3:], 1.0], 1e-11, "angular accelerations")
            J = motion.jacobian(k) @ moving.U
            assert_same(np.concatenate([R @ local.JT, R @ local.JR]), J, 1e-12, "J_T, J_R")


def test_every_kind_of_joint() -> None:
    """A chain with all kinds of joints and all rates free: tau is the force of the tree itself."""
    state, a = chain_of_all_joints()
    settings = everywhere(state.robot)
    assert_same(jourdain.generalised_force(state, a, settings), tree.tree_forces(state, a, settings), 1e-12)


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
            jourdain.generalised_force(state, a, Settings(friction=on)) for on in (True, False)
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
            each.append(float((jourdain.generalised_force(alone, a, Settings()) - without) @ v))
        assert min(each) >= -1e-9 * total
        if robot.nacelle.kind != "point":
            assert min(each) > 0.0
        assert_same([sum(each)], [total], 1e-11, name)


def test_friction_is_linear_in_its_coefficients() -> None:
    """The sum of basis functions (24): twice the coefficients, twice the force."""
    (state, a), *_ = cases("hexaglide", 1)
    robot = state.robot
    doubled = tuple(
        dataclasses.replace(
            joint,
            friction=tuple(
                tuple(FrictionTerm(t.basis, 2.0 * t.coefficient, t.scale) for t in axis)
                for axis in joint.friction
            ),
        )
        for joint in robot.joints
    )
    twice = with_joints(state, doubled)
    without = jourdain.generalised_force(state, a, Settings(friction=False))
    once = jourdain.generalised_force(state, a, Settings()) - without
    assert_same(jourdain.generalised_force(twice, a, Settings()) - without, 2.0 * once, 1e-11)


@pytest.mark.parametrize("name", ["palida", "h4", "3rps"])
def test_batches_are_samples(name: str) -> None:
    robot = general(name)
    x, y, v, a = motions(name, 4)
    settings = everywhere(robot)
    state = state_at(robot, *(from_samples(part, 1) for part in (x, y, v)))
    F = to_samples(jourdain.generalised_force(state, from_samples(a, 1), settings))
    for k in range(4):
        one = jourdain.generalised_force(state_at(robot, x[k], y[k], v[k]), a[k], settings)
        assert_same(F[k], one, 1e-13, name)


@pytest.mark.parametrize("name", ["palida", "hexa", "fivebar", "space"])
def test_forty_digits(name: str) -> None:
    """Jourdain and tree agree to the digits that are carried, with frames that are rotations to as many."""
    robot = general(name)
    x, y, v, a = (part[0] for part in motions(name, 1))
    settings = everywhere(robot)
    with mpmath.workdps(DIGITS):
        state = state_at(precise_robot(robot), precise_pose(robot, x), precise(y), precise(v))
        found = jourdain.generalised_force(state, precise(a), settings)
        expected = tree.generalised_force(state, precise(a), settings)
        assert largest_difference(found, expected) < AGREE
    floats = jourdain.generalised_force(state_at(robot, x, y, v), a, settings)
    assert_same(floats, [float(value) for value in found], 1e-12)


@pytest.mark.slow
def test_compiled() -> None:
    robot = any_robot("delta-codourey")
    x, _, v, a = motions("delta-codourey", 3)
    found = inverse_dynamics(robot, x, v, a, formulation="jourdain").force
    assert_same(found, inverse_dynamics(robot, x, v, a).force, 1e-11)


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
    robot = general("c5")
    closures = (turned_round(joint) for joint in robot.closures)
    robot = dataclasses.replace(robot, joints=(*robot.tree_joints, *closures))
    x, y, v, a = (part[0] for part in motions("c5", 1))
    state, settings = state_at(robot, x, y, v), everywhere(robot)
    expected = tree.generalised_force(state, a, settings)
    for name in ("bodies", "legs", "jourdain"):
        assert_same(FORMULATIONS[name].generalised_force(state, a, settings), expected, 1e-12, name)

"""The balance of every body, for the wrenches in the joints.

All wrenches [f; n] here are about the base's origin in base axes, so that they add up as they are. The joint
that places body j transmits what the bodies from there on need, less what closures bring in from elsewhere:

    W_j = sum over bodies b beyond j of w_b  -  sum over closures c of s_jc (L_c lambda_c + E_c)

w_b is inertia less weight less external wrenches and springs between bodies, s_jc is 1 where c's successor
lies beyond j, -1 where its predecessor does, L_c are wrenches of what it locks and E_c its efforts: actuator,
friction, spring, rotor.
Along its free axes a joint transmits its efforts and nothing else, which are the equations for lambda:

    C_j . W_j = e_j,   and 0 for the twist of the platform, which no joint places:   J^T lambda = b

with J the Jacobian of the closures. What J^T does not see (overconstrained closures) is inner stress.
An idle spin is held by one more lock, a moment about its axis, which is zero unless something drives it. A
coupling has no wrench: its lambda adds factor_j lambda to the effort e_j of each coupled joint.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nacelle.dynamics.compliance.dampers import with_forces_between
from nacelle.dynamics.joint_effort import closure_axes, joint_efforts
from nacelle.dynamics.operating_point import POINT_SHAPES, OperatingPoint, at_point
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import State, state_at
from nacelle.dynamics.wrench import Wrench, body_wrenches
from nacelle.kinematics.mechanism.idle import Spin
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.closure import closure_frames
from nacelle.kinematics.tree.spanning_tree import TreeMotion
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, Scalar, cross, pack


@physics(external=lambda robot: (len(robot.bodies), 6), **POINT_SHAPES)
@at_point
def reaction_terms(
    robot: Robot,
    external: Array,
    point: OperatingPoint,
    *,
    friction: bool = True,
    smooth: float | None = None,
) -> dict[str, Array]:
    """What the balance is made of, at a point under external wrenches (bodies, 6).

    Wrenches that the bodies need (bodies, 6), twists of the tree's rates (rates, 6), wrenches of what the
    closures lock (locks, 6), efforts along the tree's rates (rates,), wrenches of the closures' efforts
    (closures, 6), and the joint frames on the predecessors R (joints, 3, 3), p (joints, 3).
    """
    state = state_at(robot, point.x, point.y, point.v)
    motion = state.now.motion
    u_dot = state.moving.U @ point.a + state.moving.bias
    applied = {body: Wrench(external[body, :3], external[body, 3:]) for body in range(1, len(robot.bodies))}
    needs = [np.zeros(6)]
    settings = with_forces_between(state, Settings(friction, smooth, applied))
    for body, (f, n) in body_wrenches(state, u_dot, settings.external).items():
        needs.append(_wrench(f, n, motion.poses[body].p))
    efforts = axis_efforts(state, u_dot, point.tau, settings)
    along: list[Scalar] = [0.0] * robot.platform_nv
    for index, joint in enumerate(robot.tree_joints):
        for number, primitive in enumerate(joint.primitives):
            along += list(efforts.get((index, number), np.zeros(primitive.nv)))
    across = [closure_effort(robot, motion, index, efforts) for index in range(robot.tree, len(robot.joints))]
    locks = lock_wrenches(robot, motion)
    frames = [motion.poses[joint.predecessor] @ joint.frame_predecessor for joint in robot.joints]
    return {
        "needs": np.stack(needs),
        "columns": motion.columns.T,
        "locks": locks,
        "along": pack(along),
        "across": np.stack(across) if across else np.zeros((0, 6)),
        "R": np.stack([frame.R for frame in frames]),
        "p": np.stack([frame.p for frame in frames]),
    }


def _wrench(f: Array, n: Array, point: Array) -> Array:
    """A force through a point, and a moment: the wrench about the base's origin."""
    return pack([*f, *(n + cross(point, f))])


def lock_wrenches(robot: Robot, motion: TreeMotion) -> Array:
    """Wrench (locks, 6) on the successor for one unit of each lock of the closures (`closure_state`).

    The idle spins follow, as moments about their axes.
    """
    wrenches: list[Array] = []
    zero = np.zeros(3)
    for joint in robot.closures:
        if joint.is_coupling:
            wrenches.append(np.zeros(6))
            continue
        first, second = closure_frames(joint, motion)
        for lock in joint.locks:
            e = first.R[:, lock[1]]
            if len(lock) == 2:
                wrenches.append(_wrench(e, zero, second.p))
            else:
                wrenches.append(pack([*zero, *cross(second.R[:, lock[2]], e)]))
    for spin in idle_spins(robot):
        wrenches.append(pack([*zero, *(motion.poses[spin.body].R @ np.array(spin.axis))]))
    return np.stack(wrenches) if wrenches else np.zeros((0, 6))


def idle_spins(robot: Robot) -> list[Spin]:
    """The idle spins that are set to zero."""
    return [spin for spins in mechanism_of(robot).spins for spin in spins]


def axis_efforts(state: State, u_dot: Array, tau: Array, settings: Settings) -> dict[tuple[int, int], Array]:
    """Efforts that act on the successor along axes of joints, by joint and axis: what drives less what holds.

    Actuator less friction, spring and rotor; of a spherical joint three numbers, along the axes of its rates.
    """
    efforts = {(actuator.joint, 0): tau[k : k + 1] for k, actuator in enumerate(state.robot.actuators)}
    for effort in joint_efforts(state, u_dot, settings):
        place = effort.joint, effort.number
        efforts[place] = efforts[place] - effort.values if place in efforts else -effort.values
    return efforts


def closure_effort(
    robot: Robot, motion: TreeMotion, index: int, efforts: Mapping[tuple[int, int], Array]
) -> Array:
    """The efforts along the axes of a closure as a wrench [f; n] (6,) on its successor.

    N and N m about the base's origin, base axes; summed over the axes that have an effort.
    """
    joint = robot.joints[index]
    total: Array = np.zeros(6)
    for number, axis in enumerate(closure_axes(joint, motion)):
        if (index, number) in efforts:
            total = total + _wrench(*axis.wrench(efforts[index, number]), axis.point)
    return np.asarray(total)

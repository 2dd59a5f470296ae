"""Legs and platform ([KI2007]): each leg a serial (or tree) robot, the platform one rigid body.

    F = S^T [ F_p + sum over legs of J_vi^T J_i^-T H_i ]                                    [KI2007] (20)

J_i takes the rates q_i' of a leg's own joints to what its end gives to the platform, J_vi the platform's
twist to the same (18), (19), so q_i' = J_i^-1 J_vi V_p; H_i is the inverse dynamics of the leg alone, F_p the
wrench that the platform requires (12). The last joint of a leg is no part of q_i; its friction, and the
friction of a joint between legs at a point, is added to F_p.

Everything is in base axes, with velocities and accelerations of points, and is computed here from the poses
of the bodies: of the kinematics of velocities only S(x) and dS/dt V_r are taken, as given in [KI2007] (9),
(13) too. J_i has one row an equation of the leg's closures; where there are more equations than rates (they
agree) or a rod with an idle spin (one equation more: no spin), J_i^-1 is the left inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.compliance import add_forces_between_bodies
from nacelle.dynamics.joint_effort import axis_effort, loaded_joints, relative_angular_acceleration
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import State
from nacelle.dynamics.wrench import body_wrench
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.model.joint import Joint, Lock
from nacelle.model.leg import BASE, PLATFORM
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, Scalar, cross, dot, pack
from nacelle.spatial.screw import AngularMotion
from nacelle.spatial.solve import least_squares, solve
from nacelle.tree.actuation import JointAxis, joint_axes
from nacelle.tree.closure import closure_frames


def reason_not(mechanism: Mechanism) -> str:
    """Why the formulation does not support a robot; empty if it does."""
    robot = mechanism.robot
    if robot.platform.joints:
        names = ", ".join(robot.joints[j].name for j in robot.platform.joints)
        return f"its platform has joints of its own ({names}), and F_p of [KI2007] (12) is for one rigid body"
    if robot.couplings:
        names = ", ".join(robot.joints[k].name for k in robot.couplings)
        return f"its joints are coupled ({names}), and J_i of [KI2007] (18) has the closures of a leg alone"
    for leg in robot.legs:
        for j in leg.joints:
            if robot.joints[j].predecessor == PLATFORM:
                body = robot.bodies[robot.joints[j].successor].name
                return f"body {body} hangs on the platform, and the legs of [KI2007] start from the base"
    return ""


# ---------------------------------------------------------------------------- motion


class PointMotion(NamedTuple):
    """How a body moves, at a point of it: v, w, and their time derivatives a, dw; base axes, m, rad, s."""

    v: Array
    w: Array
    a: Array
    dw: Array

    def at(self, arm: Array) -> PointMotion:
        """The motion of the same body at a point that lies at `arm` (3,), base axes, m, from the old one.

        v + w x arm, a + w' x arm + w x (w x arm).
        """
        w, dw = self.w, self.dw
        return PointMotion(self.v + cross(w, arm), w, self.a + cross(dw, arm) + cross(w, cross(w, arm)), dw)

    def after(self, axis: JointAxis, rate: Array, acceleration: Array) -> PointMotion:
        """The motion of the next body at the same point, which lies on the axis if that is revolute.

        With e the axis and r its rate: w + e r, w' + e r' + w x e r; prismatic v + e r, a + e r' + 2 w x e r.
        """
        s_dot, s_ddot = axis.directions @ rate, axis.directions @ acceleration
        if axis.is_rotation:
            return PointMotion(self.v, self.w + s_dot, self.a, self.dw + s_ddot + cross(self.w, s_dot))
        return PointMotion(self.v + s_dot, self.w, self.a + s_ddot + 2.0 * cross(self.w, s_dot), self.dw)


def platform_map(state: State) -> tuple[Array, Array]:
    """S(x) (6 or 3, n) and dS/dt V_r (6 or 3,) ([KI2007] (9), (13))."""
    nv = state.robot.platform_nv
    return state.moving.U[:nv], state.moving.bias[:nv]


def platform_twist(state: State) -> Array:
    """The platform's twist V_p = [v; w] (6,), or v (3,) of a point; base axes, m/s, rad/s."""
    return np.asarray(state.moving.u[: state.robot.platform_nv])


def platform_motion(state: State, dV: Array) -> PointMotion:
    """The platform's motion at its origin, dV the derivative of V_p (6 or 3,); a point does not rotate."""
    V, zero = platform_twist(state), np.zeros(3)
    if len(V) == 3:
        return PointMotion(V, zero, dV, zero)
    return PointMotion(V[:3], V[3:], dV[:3], dV[3:])


def platform_columns(state: State, body: int, point: Array) -> Array:
    """Twist [v; w] (6, 6 or 3) of the platform at a point from V_p: [[1, -r^], [0, 1]] ([KI2007] (49))."""
    nv = state.robot.platform_nv
    if body != PLATFORM:
        return np.zeros((6, nv))
    r = point - state.now.motion.poses[PLATFORM].p
    below = np.concatenate([np.zeros((3, 3)), np.eye(3)], axis=1)
    return np.concatenate([np.concatenate([np.eye(3), -skew(r)], axis=1), below])[:, :nv]


def leg_axes(state: State, leg: int) -> dict[int, list[tuple[JointAxis, slice]]]:
    """For each joint of a leg its axes, each with the place of its rates in q_i'."""
    result: dict[int, list[tuple[JointAxis, slice]]] = {}
    start = 0
    for j in state.robot.legs[leg].joints:
        joint, result[j] = state.robot.joints[j], []
        for axis in joint_axes(joint, *closure_frames(joint, state.now.motion)):
            stop = start + axis.directions.shape[1]
            result[j].append((axis, slice(start, stop)))
            start = stop
    return result


def rate_count(state: State, leg: int) -> int:
    """Number of rates of a leg's own joints."""
    return sum(state.robot.joints[j].nv for j in state.robot.legs[leg].joints)


def leg_columns(state: State, leg: int, body: int, point: Array) -> Array:
    """Twist [v; w] (6, rates of the leg) of a body of a leg at a point, from the leg's own rates.

    A rotation about s through P gives [s x (point - P); s], a slide [s; 0] ([KI2007] (35)); a body outside
    the leg does not move.
    """
    axes = leg_axes(state, leg)
    placed_by = {state.robot.joints[j].successor: j for j in axes}
    columns: list[Array] = [np.zeros(6)] * rate_count(state, leg)
    while body in placed_by:
        for axis, indices in axes[placed_by[body]]:
            for k, s in enumerate(axis.directions.T, indices.start):
                columns[k] = pack(
                    [*cross(s, point - axis.point), *s] if axis.is_rotation else [*s, 0.0, 0.0, 0.0]
                )
        body = state.robot.joints[placed_by[body]].predecessor
    return np.stack(columns, axis=1) if columns else np.zeros((6, 0))


def leg_motions(state: State, leg: int, dq: Array, ddq: Array) -> dict[int, PointMotion]:
    """Motions of the bodies of a leg at their origins, base axes, from rates dq and ddq (leg rates,)."""
    robot, poses = state.robot, state.now.motion.poses
    zero = np.zeros(3)
    result = {BASE: PointMotion(zero, zero, zero, zero)}
    for j, axes in leg_axes(state, leg).items():
        joint = robot.joints[j]
        now, at = result[joint.predecessor], poses[joint.predecessor].p
        for axis, indices in axes:
            now, at = now.at(axis.point - at).after(axis, dq[indices], ddq[indices]), axis.point
        result[joint.successor] = now.at(poses[joint.successor].p - at)
    return result


# ---------------------------------------------------------------------------- kinematics of a leg


def lock_row(lock: Lock, first: Pose, second: Pose, relative: Array) -> Array:
    """Rate of what a joint locks from the relative twists (6, k) at the second origin."""
    e = first.R[:, lock[1]]
    if len(lock) == 2:
        return np.asarray(relative[:3].T @ e)
    return np.asarray(relative[3:].T @ cross(second.R[:, lock[2]], e))


def lock_bias(lock: Lock, first: Pose, second: Pose, near: PointMotion, far: PointMotion) -> Scalar:
    """Second derivative of what a joint locks, from the motions of its bodies at the second origin.

    The second body may slide along the first: hence the term of Coriolis, which [KI2007] (64) lacks.
    """
    e = first.R[:, lock[1]]
    if len(lock) == 2:
        return dot(e, far.a - near.a - 2.0 * cross(near.w, far.v - near.v))
    f = second.R[:, lock[2]]
    normal_rate = cross(cross(far.w, f), e) + cross(f, cross(near.w, e))
    return dot(cross(f, e), far.dw - near.dw) + dot(normal_rate, far.w - near.w)


@dataclass(frozen=True)
class LegState:
    """A leg in motion.

    Attributes:
        leg: its number.
        inverse: J_i^-1 (rates, equations).
        Jv: J_vi (equations, 6 or 3).
        dq: q_i' = J_i^-1 J_vi V_p (rates,).
        bias: dJ_vi/dt V_p - dJ_i/dt q_i' (equations,).
    """

    leg: int
    inverse: Array
    Jv: Array
    dq: Array
    bias: Array

    def accelerations(self, dV: Array) -> Array:
        """q_i'' = J_i^-1 (J_vi dV_p/dt + dJ_vi/dt V_p - dJ_i/dt q_i') ([KI2007] (27))."""
        return np.asarray(self.inverse @ (self.Jv @ dV + self.bias))


def leg_equations(state: State, leg: int) -> list[tuple[Joint, list[Lock]]]:
    """The closures of a leg with those of their locks that are not always kept."""
    robot, rows = state.robot, state.mechanism.legs[leg].rows
    result, start = [], 0
    for index, joint in enumerate(robot.closures, robot.tree):
        if index in robot.legs[leg].closures:
            result.append((joint, [lock for k, lock in enumerate(joint.locks, start) if k in rows]))
        start += len(joint.locks)
    return result


def leg_jacobian(state: State, leg: int) -> tuple[Array, Array]:
    """J_i (equations, rates) and J_vi (equations, 6 or 3) with J_i q_i' = J_vi V_p ([KI2007] (18), (19))."""
    motion = state.now.motion
    J: list[Array] = []
    Jv: list[Array] = []
    for joint, locks in leg_equations(state, leg):
        first, second = closure_frames(joint, motion)
        ends = (joint.successor, joint.predecessor)
        leg_second, leg_first = (leg_columns(state, leg, body, second.p) for body in ends)
        platform_second, platform_first = (platform_columns(state, body, second.p) for body in ends)
        for lock in locks:
            J.append(-lock_row(lock, first, second, leg_second - leg_first))
            Jv.append(lock_row(lock, first, second, platform_second - platform_first))
    for spin in state.mechanism.legs[leg].spins:
        pose = motion.poses[spin.body]
        J.append(leg_columns(state, leg, spin.body, pose.p)[3:].T @ (pose.R @ np.array(spin.axis)))
        Jv.append(np.zeros(state.robot.platform_nv))
    return np.stack(J), np.stack(Jv)


def leg_bias(state: State, leg: int, dq: Array) -> Array:
    """dJ_vi/dt V_p - dJ_i/dt q_i' (equations,) ([KI2007] (25), (26)): one number an equation."""
    motion = state.now.motion
    bodies = leg_motions(state, leg, dq, np.zeros(len(dq)))
    bodies[PLATFORM] = platform_motion(state, np.zeros(state.robot.platform_nv))
    bias: list[Scalar] = []
    for joint, locks in leg_equations(state, leg):
        first, second = closure_frames(joint, motion)
        near, far = (
            bodies[body].at(second.p - motion.poses[body].p) for body in (joint.predecessor, joint.successor)
        )
        bias += [lock_bias(lock, first, second, near, far) for lock in locks]
    for spin in state.mechanism.legs[leg].spins:
        bias.append(-dot(motion.poses[spin.body].R @ np.array(spin.axis), bodies[spin.body].dw))
    return pack(bias)


def leg_states(state: State) -> list[LegState]:
    """All legs at the platform's twist V_p, each on its own."""
    result = []
    for leg in range(len(state.robot.legs)):
        J, Jv = leg_jacobian(state, leg)
        rows = np.eye(len(J))
        inverse = solve(J, rows) if J.shape[0] == J.shape[1] else least_squares(J, rows).X
        dq = inverse @ (Jv @ platform_twist(state))
        result.append(LegState(leg, inverse, Jv, dq, leg_bias(state, leg, dq)))
    return result


# ---------------------------------------------------------------------------- dynamics


def leg_dynamics(state: State, leg: int, dq: Array, ddq: Array, physics: Physics) -> Array:
    """H_i (rates,): inverse dynamics of a leg on its own, out with the motions, back with the wrenches.

    Friction, springs and rotors of its joints are in it; N or N m.
    """
    robot, poses = state.robot, state.now.motion.poses
    motions = leg_motions(state, leg, dq, ddq)
    wrenches = {
        body: body_wrench(state, body, motions[body].a, motions[body].w, motions[body].dw)
        for body in robot.legs[leg].bodies
    }
    H: list[Scalar] = [0.0] * len(dq)
    for j, axes in reversed(leg_axes(state, leg).items()):
        joint = robot.joints[j]
        wrench, p = wrenches[joint.successor], poses[joint.successor].p
        for number, (axis, indices) in enumerate(axes):
            effort = axis_effort(state, j, number, dq[indices], ddq[indices], physics)
            H[indices] = list(axis.along(*wrench.about(p - axis.point)) + effort)
        if joint.predecessor != BASE:
            passed = wrench.about(p - poses[joint.predecessor].p)
            wrenches[joint.predecessor] = wrenches[joint.predecessor].plus(passed)
    return pack(H)


def platform_dynamics(state: State, dV: Array) -> Array:
    """F_p (6 or 3,) at dV_p/dt about the platform's origin, less the external wrench ([KI2007] (12))."""
    _, w, a, dw = platform_motion(state, dV)
    f, n = body_wrench(state, PLATFORM, a, w, dw)
    return pack([*f, *n])[: len(dV)]


def closure_forces(state: State, legs: Sequence[LegState], dV: Array, physics: Physics) -> Array:
    """Friction, springs and rotors of the closures, as a force (6 or 3,) along V_p.

    These are the joints between legs and platform, between bodies of legs, and at a point.
    """
    robot, poses = state.robot, state.now.motion.poses
    total: Array = np.zeros(robot.platform_nv)
    loaded = [index for index in loaded_joints(robot) if index >= robot.tree]
    if not loaded:
        return total
    bodies = {PLATFORM: platform_motion(state, dV)}
    for leg in legs:
        bodies |= leg_motions(state, leg.leg, leg.dq, leg.accelerations(dV))

    def columns(body: int, point: Array) -> Array:
        """Twist (6, 6 or 3) of any body at a point, from V_p: q_i' = J_i^-1 J_vi V_p ([KI2007] (17))."""
        result = platform_columns(state, body, point)
        for leg in legs:
            if body in robot.legs[leg.leg].bodies:
                result = result + leg_columns(state, leg.leg, body, point) @ (leg.inverse @ leg.Jv)
        return result

    for index in loaded:
        joint = robot.joints[index]
        ends = (joint.successor, joint.predecessor)
        for number, axis in enumerate(joint_axes(joint, *closure_frames(joint, state.now.motion))):
            far, near = (bodies[body].at(axis.point - poses[body].p) for body in ends)
            to, off = (columns(body, axis.point) for body in ends)
            rate = axis.along(far.v - near.v, far.w - near.w)
            spin = relative_angular_acceleration(
                axis, *(AngularMotion(body.w, body.dw) for body in (near, far))
            )
            acceleration = axis.along(far.a - near.a, spin)
            effort = axis_effort(state, index, number, rate, acceleration, physics)
            total = total + axis.along((to - off)[:3], (to - off)[3:]).T @ effort
    return np.asarray(total)


def generalised_force(state: State, a: Array, physics: Physics) -> Array:
    """Force (n,) along the reduced twist: S^T [F_p + sum of J_vi^T J_i^-T H_i] ([KI2007] (20))."""
    S, bias = platform_map(state)
    state = add_forces_between_bodies(state, physics)
    dV = S @ a + bias
    legs = leg_states(state)
    F = platform_dynamics(state, dV) + closure_forces(state, legs, dV, physics)
    for leg in legs:
        H = leg_dynamics(state, leg.leg, leg.dq, leg.accelerations(dV), physics)
        F = F + leg.Jv.T @ (leg.inverse.T @ H)
    return np.asarray(S.T @ F)

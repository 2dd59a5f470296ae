"""Legs and platform ([KI2007]): each leg a serial (or tree) robot, the platform one rigid body.

    F = S^T [ F_p + sum over legs of J_vi^T J_i^-T H_i ]                                    [KI2007] (20)

J_i takes the rates q_i' of a leg's own joints to what its end gives to the platform, J_vi the platform's
twist to the same (18), (19), so q_i' = J_i^-1 J_vi V_p; H_i is the inverse dynamics of the leg alone, F_p the
wrench that the platform asks for (12). The last joint of a leg is no part of q_i; its friction, and the
friction of a joint between legs at a point, is added beside F_p.

Everything is in base axes, with velocities and accelerations of points, and is found here from the poses of
the bodies: of the kinematics of velocities only S(x) and dS/dt V_r are taken, as given in [KI2007] (9), (13)
too. J_i has one row an equation of the leg's closures; where there are more equations than rates (they
agree) or a rod with an idle spin (one equation more: no spin), J_i^-1 is the left inverse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.demand import Settings
from nacelle.dynamics.friction import axis_friction, ball_friction
from nacelle.dynamics.joint_effort import axis_coordinate, rotors
from nacelle.dynamics.state import State
from nacelle.dynamics.wrench import Wrench
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.kinematics.tree.closure import closure_frames
from nacelle.kinematics.tree.least_squares import least_squares
from nacelle.model.joint import Joint, JointKind, Lock, Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.loaded import body_parameters, has_mass
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, Scalar, cross, dot, pack
from nacelle.spatial.solve import solve


def applies(mechanism: Mechanism) -> str:
    """Why the formulation does not serve a robot; empty if it does."""
    robot = mechanism.robot
    if robot.nacelle.joints:
        names = ", ".join(robot.joints[j].name for j in robot.nacelle.joints)
        return (
            f"its nacelle has joints of its own ({names}), and F_p of [KI2007] (12) is that of one rigid body"
        )
    for leg in robot.legs:
        for j in leg.joints:
            if robot.joints[j].predecessor == PLATFORM:
                body = robot.bodies[robot.joints[j].successor].name
                return f"body {body} hangs on the nacelle, and the legs of [KI2007] start from the base"
    return ""


# ---------------------------------------------------------------------------- geometry


class Freedom(NamedTuple):
    """One primitive of a joint, base axes: directions as columns (3, k), a point of its axis, its kind."""

    axes: Array
    point: Array
    turns: bool


def freedoms(joint: Joint, first: Pose, second: Pose) -> list[Freedom]:
    """The primitives of a joint from the poses of its two frames.

    The second axis of a universal joint and the slides after a ball turn with the second frame. A massless
    point has no orientation, so a joint to it turns freely.
    """
    if joint.kind is JointKind.POINT:
        return []
    point = first.p if joint.kind is JointKind.SPHERICAL_PLANAR else second.p
    result = []
    for k, primitive in enumerate(joint.primitives):
        if primitive is Primitive.BALL:
            result.append(Freedom(second.R, point, True))
            continue
        later = k > 0 and joint.kind in (JointKind.UNIVERSAL, JointKind.SPHERICAL_PLANAR)
        axes = (second if later else first).R[:, [primitive.axis]]
        result.append(Freedom(axes, point, primitive.turns))
    return result


def leg_places(robot: Robot, leg: int) -> dict[int, slice]:
    """For each joint of a leg, where its rates stand in q_i'."""
    places: dict[int, slice] = {}
    start = 0
    for j in robot.legs[leg].joints:
        places[j] = slice(start, start + robot.joints[j].nv)
        start += robot.joints[j].nv
    return places


def _size(places: Mapping[int, slice]) -> int:
    return max((place.stop for place in places.values()), default=0)


def leg_columns(state: State, leg: int, body: int, point: Array) -> Array:
    """Twist [v; w] (6, rates of the leg) of a body of a leg at a point, from the leg's own rates.

    A turn about a through P gives [a x (point - P); a], a slide [a; 0] ([KI2007] (35)); a body that is not in
    the leg does not move.
    """
    robot, motion = state.robot, state.now.motion
    places = leg_places(robot, leg)
    placed_by = {robot.joints[j].successor: j for j in places}
    columns: list[Array] = [np.zeros(6)] * _size(places)
    while body in placed_by:
        j = placed_by[body]
        start = places[j].start
        for freedom in freedoms(robot.joints[j], *closure_frames(robot.joints[j], motion)):
            for a in freedom.axes.T:
                if freedom.turns:
                    columns[start] = pack([*cross(a, point - freedom.point), *a])
                else:
                    columns[start] = pack([*a, 0.0, 0.0, 0.0])
                start += 1
        body = robot.joints[j].predecessor
    return np.stack(columns, axis=1) if columns else np.zeros((6, 0))


def platform_columns(state: State, body: int, point: Array) -> Array:
    """Twist [v; w] (6, 6 or 3) of the platform at a point from V_p: [[1, -r^], [0, 1]] ([KI2007] (49))."""
    nv = state.robot.platform_nv
    if body != PLATFORM:
        return np.zeros((6, nv))
    if nv == 3:
        return np.concatenate([np.eye(3), np.zeros((3, 3))])
    r = point - state.now.motion.poses[PLATFORM].p
    below = np.concatenate([np.zeros((3, 3)), np.eye(3)], axis=1)
    return np.concatenate([np.concatenate([np.eye(3), -skew(r)], axis=1), below])


# ---------------------------------------------------------------------------- motion


class Motion(NamedTuple):
    """How a body moves, at a point of it: v, w, and their time derivatives a, dw; base axes."""

    v: Array
    w: Array
    a: Array
    dw: Array

    def at(self, arm: Array) -> Motion:
        """The motion of the same body at a point that lies at `arm` from the old one."""
        w, dw = self.w, self.dw
        return Motion(self.v + cross(w, arm), w, self.a + cross(dw, arm) + cross(w, cross(w, arm)), dw)

    def after(self, freedom: Freedom, rate: Array, acceleration: Array) -> Motion:
        """The motion of the next body at the same point, which for a turn lies on its axis."""
        own, more = freedom.axes @ rate, freedom.axes @ acceleration
        if freedom.turns:
            return Motion(self.v, self.w + own, self.a, self.dw + more + cross(self.w, own))
        return Motion(self.v + own, self.w, self.a + more + 2.0 * cross(self.w, own), self.dw)


def platform_motion(V: Array, dV: Array) -> Motion:
    """The platform's motion at its origin from V_p and its derivative; a point does not turn."""
    if len(V) == 3:
        return Motion(V, np.zeros(3), dV, np.zeros(3))
    return Motion(V[:3], V[3:], dV[:3], dV[3:])


def leg_motions(state: State, leg: int, dq: Array, ddq: Array) -> dict[int, Motion]:
    """Motions of the bodies of a leg at their origins, from the leg's rates and their derivatives."""
    robot, motion = state.robot, state.now.motion
    zero = np.zeros(3)
    result = {BASE: Motion(zero, zero, zero, zero)}
    for j, place in leg_places(robot, leg).items():
        joint = robot.joints[j]
        now, at, start = result[joint.predecessor], motion.poses[joint.predecessor].p, place.start
        for freedom in freedoms(joint, *closure_frames(joint, motion)):
            stop = start + freedom.axes.shape[1]
            now = now.at(freedom.point - at).after(freedom, dq[start:stop], ddq[start:stop])
            at, start = freedom.point, stop
        result[joint.successor] = now.at(motion.poses[joint.successor].p - at)
    return result


# ---------------------------------------------------------------------------- kinematics of a leg


def lock_row(lock: Lock, first: Pose, second: Pose, relative: Array) -> Array:
    """Rate of what a joint locks from the relative twists (6, k) at the second origin."""
    e = first.R[:, lock[1]]
    if len(lock) == 2:
        return np.asarray(relative[:3].T @ e)
    return np.asarray(relative[3:].T @ cross(second.R[:, lock[2]], e))


def lock_drift(lock: Lock, first: Pose, second: Pose, one: Motion, two: Motion) -> Scalar:
    """Second derivative of what a joint locks, from the motions of its bodies at the second origin.

    The second body may slide along the first: hence the term of Coriolis, which [KI2007] (64) lacks.
    """
    e = first.R[:, lock[1]]
    if len(lock) == 2:
        return dot(e, two.a - one.a - 2.0 * cross(one.w, two.v - one.v))
    f = second.R[:, lock[2]]
    turn = cross(cross(two.w, f), e) + cross(f, cross(one.w, e))
    return dot(cross(f, e), two.dw - one.dw) + dot(turn, two.w - one.w)


@dataclass(frozen=True)
class LegState:
    """A leg in motion.

    Attributes:
        leg: its number.
        inverse: J_i^-1 (rates, equations).
        Jv: J_vi (equations, 6 or 3).
        dq: q_i' = J_i^-1 J_vi V_p (rates,).
        drift: dJ_vi/dt V_p - dJ_i/dt q_i' (equations,).
    """

    leg: int
    inverse: Array
    Jv: Array
    dq: Array
    drift: Array

    @property
    def rate_map(self) -> Array:
        """J_i^-1 J_vi (rates, 6 or 3): the leg's rates from the platform's twist ([KI2007] (17))."""
        return np.asarray(self.inverse @ self.Jv)

    def accelerations(self, dV: Array) -> Array:
        """q_i'' = J_i^-1 (J_vi dV_p/dt + dJ_vi/dt V_p - dJ_i/dt q_i') ([KI2007] (27))."""
        return np.asarray(self.inverse @ (self.Jv @ dV + self.drift))


def leg_jacobian(state: State, leg: int) -> tuple[Array, Array]:
    """J_i (equations, rates) and J_vi (equations, 6 or 3) with J_i q_i' = J_vi V_p ([KI2007] (18), (19))."""
    robot, motion = state.robot, state.now.motion
    plan = state.mechanism.legs[leg]
    J: list[Array] = []
    Jv: list[Array] = []
    for joint, locks in _equations(state, leg):
        first, second = closure_frames(joint, motion)
        ends = (joint.successor, joint.predecessor)
        own, other = (leg_columns(state, leg, body, second.p) for body in ends)
        to, off = (platform_columns(state, body, second.p) for body in ends)
        for lock in locks:
            J.append(-lock_row(lock, first, second, own - other))
            Jv.append(lock_row(lock, first, second, to - off))
    for spin in plan.spins:
        pose = motion.poses[spin.body]
        J.append(leg_columns(state, leg, spin.body, pose.p)[3:].T @ (pose.R @ np.array(spin.axis)))
        Jv.append(np.zeros(robot.platform_nv))
    return np.stack(J), np.stack(Jv)


def _equations(state: State, leg: int) -> list[tuple[Joint, list[Lock]]]:
    """The closures of a leg with those of their locks that are not always kept."""
    robot, rows = state.robot, state.mechanism.legs[leg].rows
    result, start = [], 0
    for index, joint in enumerate(robot.closures, robot.tree):
        if index in robot.legs[leg].closures:
            result.append((joint, [lock for k, lock in enumerate(joint.locks, start) if k in rows]))
        start += len(joint.locks)
    return result


def leg_drift(state: State, leg: int, dq: Array, V: Array) -> Array:
    """dJ_vi/dt V_p - dJ_i/dt q_i' (equations,) ([KI2007] (25), (26)): one number an equation."""
    motion = state.now.motion
    bodies = leg_motions(state, leg, dq, np.zeros(len(dq)))
    bodies[PLATFORM] = platform_motion(V, np.zeros(len(V)))
    drift: list[Scalar] = []
    for joint, locks in _equations(state, leg):
        first, second = closure_frames(joint, motion)
        one, two = (
            bodies[body].at(second.p - motion.poses[body].p) for body in (joint.predecessor, joint.successor)
        )
        drift += [lock_drift(lock, first, second, one, two) for lock in locks]
    for spin in state.mechanism.legs[leg].spins:
        drift.append(-dot(motion.poses[spin.body].R @ np.array(spin.axis), bodies[spin.body].dw))
    return pack(drift)


def leg_state(state: State, leg: int, V: Array) -> LegState:
    """A leg at the platform's twist V_p."""
    J, Jv = leg_jacobian(state, leg)
    rows = np.eye(len(J))
    inverse = solve(J, rows) if J.shape[0] == J.shape[1] else least_squares(J, rows).X
    dq = inverse @ (Jv @ V)
    return LegState(leg, inverse, Jv, dq, leg_drift(state, leg, dq, V))


def leg_states(state: State) -> list[LegState]:
    """All legs in motion, each found on its own."""
    V = state.moving.u[: state.robot.platform_nv]
    return [leg_state(state, k, V) for k in range(len(state.robot.legs))]


def platform_map(state: State) -> tuple[Array, Array]:
    """S(x) (6 or 3, n) and dS/dt V_r (6 or 3,) ([KI2007] (9), (13))."""
    nv = state.robot.platform_nv
    return state.moving.U[:nv], state.moving.bias[:nv]


# ---------------------------------------------------------------------------- dynamics of a leg


def newton_euler(
    state: State, leg: int, dq: Array, ddq: Array, gravity: Array, external: Mapping[int, Wrench]
) -> Array:
    """Forces (rates,) along the joints of a leg: out with the motions, back with the wrenches.

    About a body's centre of mass c: f = m (a_c - g), n = I_c dw + w x I_c w, here in the ten parameters
    about the body's origin.
    """
    robot, poses = state.robot, state.now.motion.poses
    places = leg_places(robot, leg)
    motions = leg_motions(state, leg, dq, ddq)
    wrenches: dict[int, Wrench] = {}
    for body in robot.legs[leg].bodies:
        f, n = np.zeros(3), np.zeros(3)
        if has_mass(robot, body):
            f, n = _body_wrench(state, body, motions[body], gravity)
        if body in external:
            f, n = f - external[body].f, n - external[body].n
        wrenches[body] = Wrench(f, n)
    forces: list[Scalar] = [0.0] * _size(places)
    for j in reversed(robot.legs[leg].joints):
        joint = robot.joints[j]
        wrench, p = wrenches[joint.successor], poses[joint.successor].p
        start = places[j].start
        for freedom in freedoms(joint, *closure_frames(joint, state.now.motion)):
            felt = wrench.about(p - freedom.point).n if freedom.turns else wrench.f
            for a in freedom.axes.T:
                forces[start] = dot(a, felt)
                start += 1
        if joint.predecessor != BASE:
            before, passed = wrenches[joint.predecessor], wrench.about(p - poses[joint.predecessor].p)
            wrenches[joint.predecessor] = Wrench(before.f + passed.f, before.n + passed.n)
    return pack(forces)


def _body_wrench(state: State, body: int, motion: Motion, gravity: Array) -> Wrench:
    """Wrench about a body's origin that gives it its motion against gravity, base axes ([KI2007] (12))."""
    M, MS, I = _inertia(state, body)
    a, w = motion.a - gravity, motion.w
    f = M * a - cross(MS, motion.dw) + cross(w, cross(w, MS))
    n = cross(MS, a) + I @ motion.dw + cross(w, I @ w)
    return Wrench(f, n)


def _inertia(state: State, body: int) -> tuple[Scalar, Array, Array]:
    """Mass, first moments (3,) and inertia (3, 3) about a body's origin, base axes."""
    p, R = body_parameters(state.robot, body), state.now.motion.poses[body].R
    return p[0], R @ p[1:4], R @ inertia_matrix(p) @ R.T


def leg_dynamics(state: State, leg: int, dq: Array, ddq: Array, settings: Settings) -> Array:
    """H_i (rates,): inverse dynamics of a leg on its own, with friction, springs and rotors of its joints."""
    robot = state.robot
    H = newton_euler(state, leg, dq, ddq, np.asarray(robot.gravity), settings.external)
    efforts: list[Array] = []
    geared = dict(rotors(robot))
    for j, place in leg_places(robot, leg).items():
        start = place.start
        for number, primitive in enumerate(robot.joints[j].primitives):
            stop = start + primitive.nv
            effort = axis_effort(state, j, number, dq[start:stop], settings)
            efforts.append(effort + geared[j] * ddq[start:stop] if j in geared else effort)
            start = stop
    return H + np.concatenate(efforts) if efforts else H


def axis_effort(state: State, index: int, number: int, rate: Array, settings: Settings) -> Array:
    """What an axis of a joint asks for at a rate (1,), a ball at its angular velocity (3,)."""
    joint = state.robot.joints[index]
    terms = joint.friction[number] if joint.friction and settings.friction else ()
    spring = joint.springs[number] if joint.springs else None
    if len(rate) == 3:
        return ball_friction(terms, rate, settings.smooth) if terms else np.zeros(3)
    total: Scalar = axis_friction(terms, rate[0], settings.smooth) if terms else 0.0
    if spring is not None:
        total = total + spring.held_force(axis_coordinate(state, index, number))
    return pack([total])


def leg_inertia(state: State, leg: int) -> Array:
    """A_i (rates, rates): inertia matrix of a leg, column by column the inverse dynamics at unit q_i''."""
    robot = state.robot
    places = leg_places(robot, leg)
    count, nothing = _size(places), np.zeros(3)
    still, unit = np.zeros(count), np.eye(count)
    A = np.stack([newton_euler(state, leg, still, unit[k], nothing, {}) for k in range(count)], axis=1)
    for j, inertia in rotors(robot):
        if j in places:
            own = unit[places[j].start]
            A = A + inertia * np.outer(own, own)
    return np.asarray(A)


# ---------------------------------------------------------------------------- platform and its joints


def platform_inertia(state: State) -> Array:
    """I_s (6, 6), for a point M_p 1 (3, 3): spatial inertia of the platform, base axes ([KI2007] (14))."""
    M, MS, I = _inertia(state, PLATFORM)
    if state.robot.platform_nv == 3:
        return np.asarray(M * np.eye(3))
    S = skew(MS)
    upper = np.concatenate([M * np.eye(3), -S], axis=1)
    return np.concatenate([upper, np.concatenate([S, I], axis=1)])


def platform_dynamics(state: State, dV: Array, settings: Settings) -> Array:
    """F_p (6 or 3,) at dV_p/dt, less the external wrench ([KI2007] (12)).

    F_p = I_s [dv/dt - g; dw/dt] + [w x (w x MS); w x I w], about the platform's origin, base axes.
    """
    nv = state.robot.platform_nv
    _, MS, I = _inertia(state, PLATFORM)
    rest = np.concatenate([np.asarray(state.robot.gravity), np.zeros(nv - 3)])
    F = platform_inertia(state) @ (dV - rest)
    if nv == 6:
        w = state.moving.u[3:6]
        F = F + np.concatenate([cross(w, cross(w, MS)), cross(w, I @ w)])
    if PLATFORM in settings.external:
        f, n = settings.external[PLATFORM]
        F = F - np.concatenate([f, n])[:nv]
    return np.asarray(F)


@dataclass(frozen=True)
class EndAxis:
    """An axis of a joint that closes a loop.

    Attributes:
        index: of the joint.
        number: of the axis in the joint.
        rows: its rates from V_p (k, 6 or 3); three for a ball.
        drift: their derivatives (k,) where dV_p/dt = 0, for revolute and prismatic joints.
    """

    index: int
    number: int
    rows: Array
    drift: Array


def end_axes(state: State, legs: list[LegState]) -> list[EndAxis]:
    """The axes of all closures: joints between legs and platform, between bodies of legs, at a point."""
    robot, motion = state.robot, state.now.motion
    V = state.moving.u[: robot.platform_nv]
    zero = np.zeros(len(V))
    bodies = {PLATFORM: platform_motion(V, zero)}
    for leg in legs:
        bodies |= leg_motions(state, leg.leg, leg.dq, leg.inverse @ leg.drift)

    def columns(body: int, point: Array) -> Array:
        """Twist (6, 6 or 3) of any body at a point, from V_p."""
        total = platform_columns(state, body, point)
        for leg in legs:
            if body in robot.legs[leg.leg].bodies:
                total = total + leg_columns(state, leg.leg, body, point) @ leg.rate_map
        return total

    axes = []
    for index, joint in enumerate(robot.closures, robot.tree):
        for number, freedom in enumerate(freedoms(joint, *closure_frames(joint, motion))):
            ends = (joint.successor, joint.predecessor)
            to, off = (columns(body, freedom.point) for body in ends)
            two, one = (bodies[body].at(freedom.point - motion.poses[body].p) for body in ends)
            half = slice(3, 6) if freedom.turns else slice(0, 3)
            # Of revolute and prismatic joints, which alone have rotors: what the axis' own motion adds is
            # across the axis.
            drift = two.dw - one.dw if freedom.turns else two.a - one.a
            rows = freedom.axes.T @ (to - off)[half]
            axes.append(EndAxis(index, number, rows, freedom.axes.T @ drift))
    return axes


def end_force(state: State, legs: list[LegState], dV: Array, settings: Settings) -> Array:
    """Friction, springs and rotors of the closures, as a force (6 or 3,) along V_p."""
    V = state.moving.u[: state.robot.platform_nv]
    geared = dict(rotors(state.robot))
    total: Array = np.zeros(len(V))
    for axis in end_axes(state, legs) if _busy_ends(state.robot) else []:
        effort = axis_effort(state, axis.index, axis.number, axis.rows @ V, settings)
        if axis.index in geared:
            effort = effort + geared[axis.index] * (axis.rows @ dV + axis.drift)
        total = total + axis.rows.T @ effort
    return np.asarray(total)


def _busy_ends(robot: Robot) -> bool:
    """Whether any closure has friction, a spring or a rotor."""
    driven = {index for index, _ in rotors(robot)}
    return any(
        any(joint.friction) or any(joint.springs) or index in driven
        for index, joint in enumerate(robot.closures, robot.tree)
    )


# ---------------------------------------------------------------------------- the robot


def generalised_force(state: State, a: Array, settings: Settings) -> Array:
    """Force (n,) along the reduced twist: S^T [F_p + sum of J_vi^T J_i^-T H_i] ([KI2007] (20))."""
    S, drift = platform_map(state)
    dV = S @ a + drift
    legs = leg_states(state)
    F = platform_dynamics(state, dV, settings) + end_force(state, legs, dV, settings)
    for leg in legs:
        H = leg_dynamics(state, leg.leg, leg.dq, leg.accelerations(dV), settings)
        F = F + leg.Jv.T @ (leg.inverse.T @ H)
    return np.asarray(S.T @ F)


class Split(NamedTuple):
    """The force as [KI2007] (22) splits it: Gamma = own + J_r^T rest.

    Attributes:
        own: H^a (actuators,): what the legs' own dynamics ask of the actuators in them.
        rest: the rest (n,), along the reduced twist: platform, passive joints, actuators that close loops.
    """

    own: Array
    rest: Array


def split_force(state: State, a: Array, settings: Settings) -> Split:
    """The same with the active joints' own forces apart, which need no projection ([KI2007] (21), (22))."""
    robot = state.robot
    S, drift = platform_map(state)
    dV = S @ a + drift
    legs = leg_states(state)
    F = platform_dynamics(state, dV, settings) + end_force(state, legs, dV, settings)
    own: list[Scalar] = [0.0] * len(robot.actuators)
    for leg in legs:
        H = list(leg_dynamics(state, leg.leg, leg.dq, leg.accelerations(dV), settings))
        places = leg_places(robot, leg.leg)
        for k, actuator in enumerate(robot.actuators):
            if actuator.joint in places:
                own[k], H[places[actuator.joint].start] = H[places[actuator.joint].start], 0.0
        F = F + leg.Jv.T @ (leg.inverse.T @ pack(H))
    return Split(pack(own), S.T @ F)


def end_inertia(leg: LegState, A: Array) -> Array:
    """A_Xi (equations, equations) = J_i^-T A_i J_i^-1: a leg's inertia, seen from its end."""
    return np.asarray(leg.inverse.T @ A @ leg.inverse)


def _total_inertia(state: State, legs: list[LegState], ends: list[Array]) -> Array:
    """I_s + sum of J_vi^T A_Xi J_vi, and rotors that close loops: along V_p."""
    total = platform_inertia(state)
    for leg, A in zip(legs, ends, strict=True):
        total = total + leg.Jv.T @ A @ leg.Jv
    geared = dict(rotors(state.robot))
    if any(index >= state.robot.tree for index in geared):
        for axis in end_axes(state, legs):
            if axis.index in geared:
                total = total + geared[axis.index] * (axis.rows.T @ axis.rows)
    return np.asarray(total)


def mass_matrix(state: State) -> Array:
    """A_robot (n, n) = S^T (I_s + sum of J_vi^T A_Xi J_vi) S ([KI2007] (29))."""
    S, _ = platform_map(state)
    legs = leg_states(state)
    ends = [end_inertia(leg, leg_inertia(state, leg.leg)) for leg in legs]
    return np.asarray(S.T @ _total_inertia(state, legs, ends) @ S)


def bias(state: State, settings: Settings) -> Array:
    """h_robot (n,): the force along the reduced twist where its derivative is zero ([KI2007] (30))."""
    S, drift = platform_map(state)
    legs = leg_states(state)
    ends = [end_inertia(leg, leg_inertia(state, leg.leg)) for leg in legs]
    still = np.zeros(len(drift))
    h = platform_dynamics(state, still, settings) + end_force(state, legs, still, settings)
    h = h + _total_inertia(state, legs, ends) @ drift
    for leg, A in zip(legs, ends, strict=True):
        own = leg_dynamics(state, leg.leg, leg.dq, np.zeros(len(leg.dq)), settings)
        h = h + leg.Jv.T @ (A @ leg.drift + leg.inverse.T @ own)
    return np.asarray(S.T @ h)

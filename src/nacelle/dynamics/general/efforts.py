"""Friction, springs and rotors in the joints of the general form, and what rods require."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from nacelle.dynamics.friction import axis_friction, ball_friction
from nacelle.dynamics.general.required import Counted, Required, on_both_sides
from nacelle.dynamics.joint_effort import axis_coordinate
from nacelle.dynamics.state import State
from nacelle.kinematics.general.actuators import ClosureRate, closure_axes
from nacelle.kinematics.general.legs import Legs, Motion, merge
from nacelle.kinematics.general.motion import angular_velocity, columns
from nacelle.kinematics.general.placed import Placed
from nacelle.kinematics.general.tie_motion import slip
from nacelle.kinematics.general.ties import Rod, Tie
from nacelle.kinematics.general.vectors import ZERO, add, all_zero, scaled, turned
from nacelle.model.joint import JointKind, Primitive
from nacelle.spatial.scalar import Array, Scalar, divide, dot, pack, plus


def require_rods(legs: Legs, motion: Motion, into: Required, counted: Counted) -> None:
    """What rods require beside the masses at their ends: the mass between them, and friction."""
    placed = legs.placed
    chains, robot = placed.chains, placed.robot
    for leg, ties in enumerate(placed.ties):
        for number, tie in enumerate(ties):
            link = tie.link
            if link is None or tie.rows[0].kind != "rod":
                continue
            if tie.body is not None:
                a_own = motion.state.acceleration(tie)
                assert tie.local is not None
                a_far = motion.state.end_acceleration(tie)
                w_far = chains.down(tie.axes, motion.frames[tie.body].w)
            else:
                assert tie.other is not None
                other, point = tie.other
                a_own = chains.up(tie.node, motion.nodes[tie.node].acceleration(tie.own), tie.axes)
                a_far = chains.up(other, motion.nodes[other].acceleration(point), tie.axes)
                w_far = chains.up(other, motion.nodes[other].w, tie.axes)
            between = link.masses[2] if counted.inertia else 0.0
            f_own, f_far = scaled(between, a_far), scaled(between, a_own)
            n_own: Array = ZERO
            n_far: Array = ZERO
            rod = link if isinstance(link, Rod) else None
            terms = [robot.joints[k].friction for k in (rod.joint, rod.closure)] if rod is not None else []
            if rod is not None and counted.friction and any(any(t) for t in terms):
                w_own = chains.up(tie.node, motion.nodes[tie.node].w, tie.axes)
                d = tie.rows[0].force
                # For the rod's angular velocity, and for a moment on it as a pair of forces.
                over = scaled(divide(1.0, rod.length2), d)
                w = turned(over, _slip_of(legs, motion, tie))
                near, far = terms if rod.bodies[0] == _leg_body(placed, rod) else terms[::-1]
                n_own = _ball(near, add(w, -w_own), counted.smooth)
                n_far = _ball(far, add(w, -w_far), counted.smooth)
                pair = turned(add(n_own, n_far), over)
                f_far, f_own = add(f_far, pair), add(f_own, -pair)
            on_both_sides(placed, into, (leg, number), tie, (f_own, -n_own), (f_far, -n_far))


def _leg_body(placed: Placed, rod: Rod) -> int:
    inside = [body in placed.chains.place for body in rod.bodies]
    side = 0 if inside[0] and (not inside[1] or placed.chains.place[rod.bodies[0]][0]) else 1
    return rod.bodies[side]


def _ball(friction: Any, rate: Array, smooth: float | None) -> Array:
    if not friction or not friction[0]:
        return ZERO
    return ball_friction(friction[0], rate, smooth)


def _slip_of(legs: Legs, motion: Motion, tie: Tie) -> Array:
    """Velocity of the far point relative to the leg's point, tie axes."""
    return slip(legs.placed.chains, tie, motion.u, motion.frames)


def require_efforts(legs: Legs, motion: Motion, into: Required, counted: Counted) -> None:
    """Friction and springs of joints of the tree."""
    robot = legs.placed.robot
    state = cast(State, legs.placed)
    nacelle = set(robot.nacelle.joints)
    for j in range(robot.tree):
        joint = robot.joints[j]
        if joint.successor in legs.plan.parts.omitted:
            continue
        rate = robot.platform_nv + robot.v_slices[j].start
        rates = motion.w if j in nacelle else motion.u
        gather = into.nacelle if j in nacelle else into.gamma
        for number, primitive in enumerate(joint.primitives):
            spring = joint.springs[number] if counted.springs and joint.springs else None
            if spring is not None:
                q = axis_coordinate(state, j, number)
                merge(gather, {rate: spring.held_force(q)})
            terms = joint.friction[number] if counted.friction and joint.friction else ()
            if terms and primitive is Primitive.BALL:
                values = ball_friction(
                    terms, pack([rates.get(rate + i, 0.0) for i in range(3)]), counted.smooth
                )
                merge(gather, {rate + i: values[i] for i in range(3)})
            elif terms:
                merge(gather, {rate: axis_friction(terms, rates.get(rate, 0.0), counted.smooth)})
            rate += primitive.nv


def require_closures(legs: Legs, motion: Motion, into: Required, counted: Counted) -> None:
    """Friction and springs of closures: equal and opposite on both sides."""
    placed = legs.placed
    robot, chains = placed.robot, placed.chains
    state = cast(State, placed)
    for leg, ties in enumerate(placed.ties):
        for number, tie in enumerate(ties):
            if tie.joint < 0 or (tie.rows and tie.rows[0].kind == "rod"):
                continue
            joint = robot.joints[tie.joint]
            if not (counted.friction and any(joint.friction)) and not (
                counted.springs and any(joint.springs)
            ):
                continue
            if tie.body is not None and joint.kind is JointKind.SPHERICAL and chains.root(tie.node) is None:
                _spherical_end(legs, motion, into, tie, counted)
                continue
            w = motion.nodes[tie.node].w
            if tie.body is not None:
                far = chains.down(tie.axes, motion.frames[tie.body].w)
            else:
                assert tie.other is not None
                w = chains.up(tie.node, w, tie.axes)
                far = chains.up(tie.other[0], motion.nodes[tie.other[0]].w, tie.axes)
            turn = add(far, -w) if tie.first else add(w, -far)
            axes = closure_axes(placed, tie)
            force: Array = ZERO
            moment: Array = ZERO
            for place, primitive in enumerate(joint.primitives):
                spring = joint.springs[place] if counted.springs and joint.springs else None
                terms = joint.friction[place] if counted.friction and joint.friction else ()
                if not terms and spring is None:
                    continue
                if primitive is Primitive.BALL:
                    moment = add(moment, ball_friction(terms, turn, counted.smooth))
                    continue
                e = axes[place]
                value: Scalar = 0.0
                if terms:
                    slip = ZERO if primitive.turns else _slip_of(legs, motion, tie)
                    if not tie.first:
                        slip = -slip
                    rate = dot(e, turn) if primitive.turns else dot(e, slip)
                    value = axis_friction(terms, rate, counted.smooth)
                if spring is not None:
                    value = value + spring.held_force(axis_coordinate(state, tie.joint, place))
                if primitive.turns:
                    moment = add(moment, scaled(value, e))
                else:
                    force = add(force, scaled(value, e))
            # Along the rates of the second side less the first.
            far_side = (force, moment) if tie.first else (-force, -moment)
            own_side = (-force, -moment) if tie.first else (force, moment)
            on_both_sides(placed, into, (leg, number), tie, own_side, far_side)


def _spherical_end(legs: Legs, motion: Motion, into: Required, tie: Tie, counted: Counted) -> None:
    """Friction of a spherical joint onto the nacelle, in base axes: nothing is turned there and back."""
    chains = legs.placed.chains
    body, _ = tie.held
    assert tie.point is not None
    moved = columns(chains, tie.node, tie.own, 0)
    w = add(motion.frames[body].w, -angular_velocity(moved, motion.u))
    terms = legs.placed.robot.joints[tie.joint].friction[0]
    # Along the relative angular velocity, whichever side counts as first.
    moment = ball_friction(terms, w, counted.smooth)
    into.on_nacelle(body, tie.point, ZERO, moment)
    for rate, (_, axis) in moved.items():
        if not all_zero(axis):
            into.along(rate, -dot(axis, moment))


def require_point_joints(legs: Legs, motion: Motion, into: Required, counted: Counted) -> None:
    """Friction and springs of joints between the legs at a point nacelle."""
    placed = legs.placed
    robot, chains = placed.robot, placed.chains
    state = cast(State, placed)
    for c in robot.nacelle.closures:
        joint = robot.joints[c]
        if not (counted.friction and any(joint.friction)) and not (counted.springs and any(joint.springs)):
            continue
        if not joint.at_point:
            _nacelle_effort(legs, motion, into, c, counted)
            continue
        if any(body not in chains.place for body in (joint.predecessor, joint.successor)):
            continue
        sides = [chains.place[body] for body in (joint.predecessor, joint.successor)]
        w = [chains.up(node, motion.nodes[node].w) for node, _ in sides]
        turn = add(w[1], -w[0])
        R = [
            np.stack([chains.up(node, (frame.R @ own.R)[:, k]) for k in range(3)], axis=1)
            for (node, frame), own in zip(
                sides, (joint.frame_predecessor, joint.frame_successor), strict=True
            )
        ]
        moment: Array = ZERO
        for number, primitive in enumerate(joint.primitives):
            terms = joint.friction[number] if counted.friction and joint.friction else ()
            spring = joint.springs[number] if counted.springs and joint.springs else None
            if primitive is Primitive.BALL:
                moment = add(moment, ball_friction(terms, turn, counted.smooth) if terms else ZERO)
                continue
            universal = joint.kind is JointKind.UNIVERSAL and number == 1
            e = R[1][:, 1] if universal else R[0][:, primitive.axis]
            value: Scalar = axis_friction(terms, dot(e, turn), counted.smooth) if terms else 0.0
            if spring is not None:
                value = value + spring.held_force(axis_coordinate(state, c, number))
            moment = add(moment, scaled(value, e))
        for (node, _), sign in zip(sides, (-1.0, 1.0), strict=True):
            into.on_node(node, ZERO, chains.down(node, scaled(sign, moment)))


def _nacelle_effort(legs: Legs, motion: Motion, into: Required, c: int, counted: Counted) -> None:
    """Friction and springs of a closure between two bodies of the nacelle."""
    placed = legs.placed
    robot = placed.robot
    joint = robot.joints[c]
    state = cast(State, placed)
    bodies = (joint.predecessor, joint.successor)
    frames = [motion.frames[body] for body in bodies]
    first = placed.nacelle.poses[bodies[0]] @ joint.frame_predecessor
    second = placed.nacelle.poses[bodies[1]] @ joint.frame_successor
    turn = add(frames[1].w, -frames[0].w)
    slip = add(
        frames[1].velocity_at(plus(second.p, -frames[1].pose.p)),
        -frames[0].velocity_at(plus(second.p, -frames[0].pose.p)),
    )
    force: Array = ZERO
    moment: Array = ZERO
    for number, primitive in enumerate(joint.primitives):
        terms = joint.friction[number] if counted.friction and joint.friction else ()
        spring = joint.springs[number] if counted.springs and joint.springs else None
        if primitive is Primitive.BALL:
            moment = add(moment, ball_friction(terms, turn, counted.smooth) if terms else ZERO)
            continue
        universal = joint.kind is JointKind.UNIVERSAL and number == 1
        e = second.R[:, 1] if universal else first.R[:, primitive.axis]
        rate = dot(e, turn if primitive.turns else slip)
        value: Scalar = axis_friction(terms, rate, counted.smooth) if terms else 0.0
        if spring is not None:
            value = value + spring.held_force(axis_coordinate(state, c, number))
        if primitive.turns:
            moment = add(moment, scaled(value, e))
        else:
            force = add(force, scaled(value, e))
    into.on_nacelle(bodies[1], second.p, force, moment)
    into.on_nacelle(bodies[0], second.p, -force, -moment)


def closure_acceleration(legs: Legs, motion: Motion, rate: ClosureRate) -> Scalar:
    """Derivative of the rate of a closure."""
    tie, e = rate.tie, rate.e
    w, w_dot, a = _side(legs, motion, tie, far=False)
    z, z_dot, b = _side(legs, motion, tie, far=True)
    if rate.turns:
        value = dot(e, add(add(z_dot, -w_dot), -turned(w, z)))
    else:
        carrier = w if tie.first else z
        slip = _slip_of(legs, motion, tie)
        value = dot(e, add(add(b, -a), scaled(-2.0, turned(carrier, slip))))
    return value if tie.first else -value


def _side(legs: Legs, motion: Motion, tie: Tie, *, far: bool) -> tuple[Array, Array, Array]:
    """Angular velocity, its derivative and the point's acceleration on a side of a tie, in its axes."""
    chains = legs.placed.chains
    if far and tie.body is not None:
        frame = motion.frames[tie.body]
        assert tie.point is not None
        if tie.local is not None:
            a = frame.acceleration(tie.local)
        else:
            a = frame.acceleration_at(plus(tie.point, -frame.pose.p))
        return (
            chains.down(tie.axes, frame.w),
            chains.down(tie.axes, frame.w_dot),
            chains.down(tie.axes, a),
        )
    node, point = (tie.node, tie.own)
    if far:
        assert tie.other is not None
        node, point = tie.other
    moving = motion.nodes[node]
    up = chains.up
    return (
        up(node, moving.w, tie.axes),
        up(node, moving.w_dot, tie.axes),
        up(node, moving.acceleration(point), tie.axes),
    )

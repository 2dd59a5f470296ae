"""Forces of the general form: what the motion requires along the legs' rates and of the nacelle."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from nacelle.dynamics.friction import axis_friction, ball_friction
from nacelle.dynamics.general.inertia import Numbers, moved, numbers_from_parameters, wrench_in_own_axes
from nacelle.dynamics.joint_effort import axis_coordinate
from nacelle.dynamics.state import State
from nacelle.kinematics.general.actuators import ClosureRate, closure_axes
from nacelle.kinematics.general.legs import Legs, Motion, Rates, merge
from nacelle.kinematics.general.motion import velocity
from nacelle.kinematics.general.plan import Placed, Plan
from nacelle.kinematics.general.ties import (
    Rod,
    Tie,
    inner_slip,
    onto_nacelle,
    outer_velocity,
    tie_columns,
    weighed,
)
from nacelle.kinematics.general.vectors import ZERO, add, all_zero, is_zero, scaled, turned
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.loaded import body_parameters, has_mass
from nacelle.spatial.scalar import Array, Scalar, divide, dot, pack, plus


@dataclass(eq=False)
class Required:
    """What the motion requires, gathered.

    Attributes:
        placed: where the robot is.
        force: for every node a force at its origin, its axes.
        moment: for every node a moment about its origin.
        gamma: forces along rates of legs.
        at_tie: for every (leg, tie) a force at the nacelle's point and a moment, in the tie's axes.
        at_end: for every (leg, tie) a force at the nacelle's point, base axes.
        nacelle: forces along the moving rates of the nacelle.
    """

    placed: Placed
    force: dict[int, Array] = field(default_factory=dict)
    moment: dict[int, Array] = field(default_factory=dict)
    gamma: Rates = field(default_factory=dict)
    at_tie: dict[tuple[int, int], tuple[Array, Array]] = field(default_factory=dict)
    at_end: dict[tuple[int, int], Array] = field(default_factory=dict)
    nacelle: Rates = field(default_factory=dict)

    def on_node(self, node: int, force: Array = ZERO, moment: Array = ZERO, point: Array = ZERO) -> None:
        """A force at a point of a node and a moment, its axes."""
        if node:
            self.force[node] = add(self.force.get(node, ZERO), force)
            self.moment[node] = add(self.moment.get(node, ZERO), add(moment, turned(point, force)))

    def on_tie(self, key: tuple[int, int], force: Array = ZERO, moment: Array = ZERO) -> None:
        """A force at the nacelle's point of a tie and a moment, the tie's axes."""
        f, n = self.at_tie.get(key, (ZERO, ZERO))
        self.at_tie[key] = (add(f, force), add(n, moment))

    def along(self, rate: int, value: Scalar) -> None:
        """A force along a rate of a leg."""
        merge(self.gamma, {rate: value})

    def along_closure(self, legs: Legs, rate: ClosureRate, value: Scalar) -> None:
        """A force along the rate of a closure."""
        gamma, nacelle = rate.unit_force(legs)
        merge(self.gamma, {key: value * factor for key, factor in gamma.items()})
        merge(self.nacelle, {key: value * factor for key, factor in nacelle.items()})

    def on_nacelle(self, body: int, point: Array, force: Array, moment: Array) -> None:
        """A wrench on a nacelle body, base axes."""
        merge(self.nacelle, self.placed.nacelle.onto(body, point, force, moment))


def inertial_numbers(placed: Placed, plan: Plan) -> Numbers:
    """The numbers as the description gives them; rods are masses on what they connect."""
    robot, place = placed.robot, placed.chains.place
    nodes: dict[int, Array] = {}
    bodies: dict[int, Array] = {}

    def put(body: int, numbers: Array) -> None:
        if body in place:
            node, frame = place[body]
            if node:
                seen = moved(numbers, frame.R, frame.p)
                seen = moved(seen, np.eye(3), -reference_point(placed, node))
                nodes[node] = nodes[node] + seen if node in nodes else seen
        else:
            bodies[body] = bodies[body] + numbers if body in bodies else numbers

    for body in range(1, len(robot.bodies)):
        if body not in plan.rods and has_mass(robot, body):
            put(body, numbers_from_parameters(body_parameters(robot, body)))
    for rod in placed.rods:
        for body, point, mass in zip(rod.bodies, rod.points, rod.masses[:2], strict=True):
            put(body, moved(pack([mass, *(0.0,) * 9]), np.eye(3), point))
    rates: dict[int, Scalar] = {}
    for j in range(robot.tree):
        joint = robot.joints[j]
        if robot.numeric.joints[j].rotor_inertia:
            rate = robot.platform_nv + robot.v_slices[j].start
            rates[rate] = joint.gear_ratio * joint.gear_ratio * joint.rotor_inertia
    return Numbers(nodes, bodies, {}, rates)


def end_ties(placed: Placed) -> dict[int, tuple[int, int]]:
    """For every node that a locked point joins to the nacelle, the tie (leg, number)."""
    found: dict[int, tuple[int, int]] = {}
    for leg, ties in enumerate(placed.ties):
        for number, tie in enumerate(ties):
            if tie.body is not None and tie.rows and tie.rows[0].kind == "point":
                found.setdefault(tie.node, (leg, number))
    return found


def reference_point(placed: Placed, node: int) -> Array:
    """The point about which a node's inertia counts: where it holds the nacelle, else its origin."""
    key = end_ties(placed).get(node)
    return ZERO if key is None else placed.ties[key[0]][key[1]].own


def require_inertia(legs: Legs, motion: Motion, numbers: Numbers, into: Required) -> None:
    """Inertia and weight of all bodies, and of rotors."""
    placed = legs.placed
    ends = end_ties(placed)
    for node, values in numbers.nodes.items():
        moving = motion.nodes[node]
        if node not in ends:
            f, n = wrench_in_own_axes(values, moving.a, moving.turning)
            into.on_node(node, f, n)
            continue
        # What acts at the point where the leg holds the nacelle goes straight to the nacelle.
        leg, number = ends[node]
        tie = placed.ties[leg][number]
        assert tie.body is not None and tie.local is not None
        a = placed.chains.down(node, motion.frames[tie.body].acceleration(tie.local))
        f, n = wrench_in_own_axes(values, a, moving.turning)
        into.on_tie((leg, number), f)
        into.on_node(node, ZERO, n)
    for key, mass in numbers.ends.items():
        tie = placed.ties[key[0]][key[1]]
        assert tie.body is not None and tie.local is not None and tie.point is not None
        frame = motion.frames[tie.body]
        into.at_end[key] = scaled(mass, frame.acceleration(tie.local))
    for body, values in numbers.bodies.items():
        frame = motion.frames[body]
        f, n = _columns_wrench(values, frame)
        into.on_nacelle(body, frame.pose.p, f, n)
    for rate, inertia in numbers.rates.items():
        acceleration = motion.u_dot.get(rate, motion.w_dot.get(rate, 0.0))
        merge(into.gamma if rate in motion.u_dot else into.nacelle, {rate: inertia * acceleration})


def _columns_wrench(values: Array, frame: Any) -> tuple[Array, Array]:
    """Wrench of a nacelle body about its origin from the columns of its axes, base axes."""
    R, ddot = frame.pose.R, frame.columns_ddot
    f = scaled(values[0], frame.a)
    h: Array = ZERO
    for k in range(3):
        f = add(f, scaled(values[1 + k], ddot[k]))
        h = add(h, scaled(values[1 + k], R[:, k]))
    n = turned(h, frame.a)
    from nacelle.dynamics.general.inertia import PAIRS

    for (i, j), value in zip(PAIRS, values[4:], strict=True):
        if is_zero(value) or all(all_zero(c) for c in ddot):
            continue
        part = turned(R[:, i], ddot[j])
        if i != j:
            part = add(part, turned(R[:, j], ddot[i]))
        n = add(n, scaled(value, part))
    return f, n


def require_rods(legs: Legs, motion: Motion, into: Required, friction: bool, smooth: float | None) -> None:
    """What rods require beside the masses at their ends: the mass between them, and friction."""
    placed = legs.placed
    chains, robot = placed.chains, placed.robot
    by_closure = {rod.closure: rod for rod in placed.rods}
    for leg, ties in enumerate(placed.ties):
        for number, tie in enumerate(ties):
            rod = by_closure.get(tie.joint) if tie.rows and tie.rows[0].kind == "rod" else None
            if rod is None:
                continue
            a_own = chains.up(tie.node, motion.nodes[tie.node].acceleration(tie.own), tie.axes)
            if tie.body is not None:
                assert tie.local is not None
                a_far = chains.down(tie.axes, motion.frames[tie.body].acceleration(tie.local))
                w_far = chains.down(tie.axes, motion.frames[tie.body].w)
            else:
                assert tie.other is not None
                other, point = tie.other
                a_far = chains.up(other, motion.nodes[other].acceleration(point), tie.axes)
                w_far = chains.up(other, motion.nodes[other].w, tie.axes)
            between = rod.masses[2]
            f_own, f_far = scaled(between, a_far), scaled(between, a_own)
            n_own: Array = ZERO
            n_far: Array = ZERO
            terms = [robot.joints[k].friction for k in (rod.joint, rod.closure)]
            if friction and any(any(t) for t in terms):
                w_own = chains.up(tie.node, motion.nodes[tie.node].w, tie.axes)
                d = tie.rows[0].force
                w = scaled(divide(1.0, rod.length2), turned(d, _slip_of(legs, motion, tie)))
                near, far = terms if rod.bodies[0] == _leg_body(placed, rod) else terms[::-1]
                n_own = _ball(near, add(w, -w_own), smooth)
                n_far = _ball(far, add(w, -w_far), smooth)
                pair = scaled(divide(1.0, rod.length2), turned(add(n_own, n_far), d))
                f_far, f_own = add(f_far, pair), add(f_own, -pair)
            _both(placed, into, (leg, number), tie, (f_own, -n_own), (f_far, -n_far))


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
    chains = legs.placed.chains
    if tie.other is None:
        own = velocity(tie_columns(chains, tie), motion.u)
        return add(outer_velocity(chains, tie, motion.frames)[0], -own)
    return inner_slip(chains, tie, motion.u, motion.frames)


def _both(
    placed: Placed,
    into: Required,
    key: tuple[int, int],
    tie: Tie,
    own: tuple[Array, Array],
    far: tuple[Array, Array],
) -> None:
    """Forces and moments on both sides of a tie, at its points, in its axes."""
    chains = placed.chains
    if tie.body is not None:
        if tie.axes == tie.node:
            into.on_node(tie.node, *own, tie.own)
        else:
            for rate, (v, w) in tie_columns(chains, tie).items():
                into.along(rate, dot(v, own[0]))
                if not all_zero(own[1]):
                    into.along(rate, dot(w, own[1]))
        into.on_tie(key, *far)
        return
    assert tie.other is not None
    other, point = tie.other
    down = chains.down
    into.on_node(tie.node, down(tie.node, own[0], tie.axes), down(tie.node, own[1], tie.axes), tie.own)
    into.on_node(other, down(other, far[0], tie.axes), down(other, far[1], tie.axes), point)


def require_efforts(legs: Legs, motion: Motion, into: Required, friction: bool, smooth: float | None) -> None:
    """Friction and springs of joints of the tree."""
    robot = legs.placed.robot
    state = cast(State, SimpleNamespace(robot=robot, now=legs.placed.now))
    nacelle = set(robot.nacelle.joints)
    for j in range(robot.tree):
        joint = robot.joints[j]
        if joint.successor in legs.plan.rods:
            continue
        rate = robot.platform_nv + robot.v_slices[j].start
        rates = motion.w if j in nacelle else motion.u
        gather = into.nacelle if j in nacelle else into.gamma
        for number, primitive in enumerate(joint.primitives):
            spring = joint.springs[number] if joint.springs else None
            if spring is not None:
                q = axis_coordinate(state, j, number)
                merge(gather, {rate: spring.stiffness * (q - spring.rest)})
            terms = joint.friction[number] if friction and joint.friction else ()
            if terms and primitive is Primitive.BALL:
                values = ball_friction(terms, pack([rates.get(rate + i, 0.0) for i in range(3)]), smooth)
                merge(gather, {rate + i: values[i] for i in range(3)})
            elif terms:
                merge(gather, {rate: axis_friction(terms, rates.get(rate, 0.0), smooth)})
            rate += primitive.nv


def require_closures(
    legs: Legs, motion: Motion, into: Required, friction: bool, smooth: float | None
) -> None:
    """Friction and springs of closures: equal and opposite on both sides."""
    placed = legs.placed
    robot, chains = placed.robot, placed.chains
    state = cast(State, SimpleNamespace(robot=robot, now=placed.now))
    for leg, ties in enumerate(placed.ties):
        for number, tie in enumerate(ties):
            if tie.joint < 0 or (tie.rows and tie.rows[0].kind == "rod"):
                continue
            joint = robot.joints[tie.joint]
            if not (friction and any(joint.friction)) and not any(joint.springs):
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
                spring = joint.springs[place] if joint.springs else None
                terms = joint.friction[place] if friction and joint.friction else ()
                if not terms and spring is None:
                    continue
                if primitive is Primitive.BALL:
                    moment = add(moment, ball_friction(terms, turn, smooth))
                    continue
                e = axes[place]
                value: Scalar = 0.0
                if terms:
                    slip = ZERO if primitive.turns else _slip_of(legs, motion, tie)
                    if not tie.first:
                        slip = -slip
                    rate = dot(e, turn) if primitive.turns else dot(e, slip)
                    value = axis_friction(terms, rate, smooth)
                if spring is not None:
                    value = value + spring.stiffness * (
                        axis_coordinate(state, tie.joint, place) - spring.rest
                    )
                if primitive.turns:
                    moment = add(moment, scaled(value, e))
                else:
                    force = add(force, scaled(value, e))
            # Along the rates of the second side less the first.
            far_side = (force, moment) if tie.first else (-force, -moment)
            own_side = (-force, -moment) if tie.first else (force, moment)
            _both(placed, into, (leg, number), tie, own_side, far_side)


def require_point_joints(
    legs: Legs, motion: Motion, into: Required, friction: bool, smooth: float | None
) -> None:
    """Friction and springs of joints between the legs at a point nacelle."""
    placed = legs.placed
    robot, chains = placed.robot, placed.chains
    state = cast(State, SimpleNamespace(robot=robot, now=placed.now))
    for c in robot.nacelle.closures:
        joint = robot.joints[c]
        if not (friction and any(joint.friction)) and not any(joint.springs):
            continue
        if not joint.at_point:
            _nacelle_effort(legs, motion, into, c, friction, smooth)
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
            terms = joint.friction[number] if friction and joint.friction else ()
            spring = joint.springs[number] if joint.springs else None
            if primitive is Primitive.BALL:
                moment = add(moment, ball_friction(terms, turn, smooth) if terms else ZERO)
                continue
            universal = joint.kind is JointKind.UNIVERSAL and number == 1
            e = R[1][:, 1] if universal else R[0][:, primitive.axis]
            value: Scalar = axis_friction(terms, dot(e, turn), smooth) if terms else 0.0
            if spring is not None:
                value = value + spring.stiffness * (axis_coordinate(state, c, number) - spring.rest)
            moment = add(moment, scaled(value, e))
        for (node, _), sign in zip(sides, (-1.0, 1.0), strict=True):
            into.on_node(node, ZERO, chains.down(node, scaled(sign, moment)))


def _nacelle_effort(
    legs: Legs, motion: Motion, into: Required, c: int, friction: bool, smooth: float | None
) -> None:
    """Friction and springs of a closure between two bodies of the nacelle."""
    placed = legs.placed
    robot = placed.robot
    joint = robot.joints[c]
    state = cast(State, SimpleNamespace(robot=robot, now=placed.now))
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
        terms = joint.friction[number] if friction and joint.friction else ()
        spring = joint.springs[number] if joint.springs else None
        if primitive is Primitive.BALL:
            moment = add(moment, ball_friction(terms, turn, smooth) if terms else ZERO)
            continue
        universal = joint.kind is JointKind.UNIVERSAL and number == 1
        e = second.R[:, 1] if universal else first.R[:, primitive.axis]
        rate = dot(e, turn if primitive.turns else slip)
        value: Scalar = axis_friction(terms, rate, smooth) if terms else 0.0
        if spring is not None:
            value = value + spring.stiffness * (axis_coordinate(state, c, number) - spring.rest)
        if primitive.turns:
            moment = add(moment, scaled(value, e))
        else:
            force = add(force, scaled(value, e))
    into.on_nacelle(bodies[1], second.p, force, moment)
    into.on_nacelle(bodies[0], second.p, -force, -moment)


def inward(into: Required) -> Rates:
    """Forces along the rates of all legs: wrenches of the nodes carried to the base."""
    chains = into.placed.chains
    force, moment = dict(into.force), dict(into.moment)
    gamma = dict(into.gamma)
    for index in reversed(range(1, len(chains.nodes))):
        node = chains.node(index)
        f, n = force.get(index, ZERO), moment.get(index, ZERO)
        for rate, axis in zip(node.rates, node.axes, strict=True):
            merge(gamma, {rate: dot(axis, n if node.primitive.turns else f)})
        if index in chains.roots:
            body = chains.roots[index]
            into.on_nacelle(body, into.placed.nacelle.poses[body].p, f, n)
        elif node.parent:
            up_f = node.up(f) if not all_zero(f) else ZERO
            up_n = node.up(n) if not all_zero(n) else ZERO
            force[node.parent] = add(force.get(node.parent, ZERO), up_f)
            carried = add(up_n, turned(node.o, up_f))
            moment[node.parent] = add(moment.get(node.parent, ZERO), carried)
    return gamma


def ties_on_nacelle(legs: Legs, into: Required, multipliers: list[Rates]) -> Rates:
    """What the legs put on the nacelle along its moving rates: multipliers and forces at ties.

    `inward` comes before: it brings what hangs on the nacelle there.
    """
    placed = legs.placed
    total = dict(into.nacelle)
    for leg, ties in enumerate(placed.ties):
        start = 0
        for number, tie in enumerate(ties):
            values = [multipliers[leg].get(start + i) for i in range(len(tie.rows))]
            start += len(tie.rows)
            force, moment = weighed(tie, values)
            f, n = into.at_tie.get((leg, number), (ZERO, ZERO))
            end = into.at_end.get((leg, number), ZERO)
            force, moment = add(force, f), add(moment, n)
            merge(total, onto_nacelle(placed.chains, placed.nacelle, tie, force, moment, end))
    return total


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

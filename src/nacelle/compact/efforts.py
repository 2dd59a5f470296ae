"""What joints, rods, springs and dampers require in the compact form, in addition to inertia.

Along an axis of a joint with coordinate q (rad or m) and rate q' the motion has to overcome

    friction(q') + k (q - q_0)                    N m or N; of a spherical joint a moment along w

k, q_0 stiffness and rest position of a spring. A joint of the tree has q' among the rates: the force is one
along that rate. A closure has q' = e . w or e . v, e its axis, w and v the angular velocity and velocity of
its second body relative to the first: +e times the force acts on the second body, -e on the first. Its
acceleration, for rotors, differentiates this with e carried by the first body (w_1, w_2 of the two bodies,
a_1, a_2 accelerations of their points, v_rel the relative velocity):

    revolute  q'' = e . (w_2' - w_1' - w_1 x w_2)      prismatic  q'' = e . (a_2 - a_1 - 2 w_1 x v_rel)

A rod from A to B, d = B - A, that does not spin has the angular velocity d x (v_B - v_A) / |d|^2. Its masses
m_A, m_B move with its ends; m_AB between them (`rods`) requires m_AB a_B at A and m_AB a_A at B. A friction
moment n on it is a pair of forces, +(n x d) / |d|^2 at B and its opposite at A. Vectors in the rod's axes.

Between two bodies, base axes: an angular damper requires n = c (w_2 - w_1), +n on the second body and -n on
the first; a spring with d = P_2 - P_1, l = |d| and l' = d . (v_2 - v_1) / l requires F = k (l - l_0) + c l',
which is +F d / l on the second body at P_2 and -F d / l on the first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from nacelle.compact.actuators import rotor_rates, tree_rotors
from nacelle.compact.configured import ConfiguredRobot
from nacelle.compact.constraints import JointClosure, Rod, SphericalRod
from nacelle.compact.legs import ClosureRate, Legs, add_forces
from nacelle.compact.motion import MechanismMotion, angular_velocity, node_twist, point_unit_twists
from nacelle.compact.required import ForceAccumulator, add_to_both_sides
from nacelle.compact.sides import PlatformSides
from nacelle.compact.vectors import ZERO, add, all_zero, cross_nonzero, scale
from nacelle.dynamics.compliance import spring_line_between
from nacelle.dynamics.joint_effort import axis_effort, friction_effort
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import State
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE
from nacelle.spatial.scalar import Array, Scalar, divide, dot, is_zero, pack, plus, product
from nacelle.spatial.screw import Twist, Wrench
from nacelle.tree.actuation import joint_axes


def add_damper_moments(
    legs: Legs, motion: MechanismMotion, forces: ForceAccumulator, physics: Physics
) -> None:
    """Angular dampers between bodies, where friction counts."""
    configured = legs.configured
    if not physics.friction:
        return
    for damper in configured.robot.dampers:
        first, second = (_twist(configured, motion, body, ZERO).w for body in damper.bodies)
        moment = scale(damper.damping, add(second, -first))
        for body, n in zip(damper.bodies, (-moment, moment), strict=True):
            _add_wrench(configured, forces, body, ZERO, Wrench(ZERO, n))


def _twist(configured: ConfiguredRobot, motion: MechanismMotion, body: int, local: Array) -> Twist:
    """Velocity (3,), m/s, of a point of a body, `local` in its frame, and its angular velocity, base axes."""
    if body == BASE:
        return Twist(ZERO, ZERO)
    if body in configured.platform.poses:
        return Twist(motion.frames[body].velocity(local), motion.frames[body].w)
    node, at = _node_and_point(configured, body, local)
    unit_twists = point_unit_twists(configured.trees, node, at)
    v, w = node_twist(configured.trees, node, at, unit_twists, motion.u, motion.frames)
    return Twist(configured.trees.up(node, v), configured.trees.up(node, w))


def _add_wrench(
    configured: ConfiguredRobot, forces: ForceAccumulator, body: int, local: Array, wrench: Wrench
) -> None:
    """Add a wrench (N, N m), base axes, on a point of a body, `local` (3,) in its frame, m."""
    if body == BASE:
        return
    if body in configured.platform.poses:
        forces.add_to_platform(body, _position(configured, body, local), *wrench, local)
        return
    node, point = _node_and_point(configured, body, local)
    f, n = (configured.trees.down(node, vector) for vector in wrench)
    forces.add_to_node(node, f, n, point)


def add_spring_forces(
    legs: Legs, motion: MechanismMotion, forces: ForceAccumulator, physics: Physics
) -> None:
    """Springs between bodies where these count, their dampers where friction does."""
    configured = legs.configured
    for spring in configured.robot.springs:
        ends = list(zip(spring.bodies, spring.points, strict=True))
        line = spring_line_between(*(_position(configured, *end) for end in ends))
        value: Scalar = spring.pull(line.length) if physics.springs else 0.0
        if physics.friction and not is_zero(spring.damping):
            first, second = (_twist(configured, motion, *end).v for end in ends)
            value = value + spring.damping * dot(line.direction, add(second, -first))
        force = scale(value, line.direction)
        for (body, local), f in zip(ends, (-force, force), strict=True):
            _add_wrench(configured, forces, body, local, Wrench(f, ZERO))


def _position(configured: ConfiguredRobot, body: int, local: Array) -> Array:
    """A point of a body in base axes."""
    if body == BASE:
        return local
    if body in configured.platform.poses:
        return configured.platform.point(body, local)
    node, at = _node_and_point(configured, body, local)
    return configured.trees.point(node, at)


def _node_and_point(configured: ConfiguredRobot, body: int, local: Array) -> tuple[int, Array]:
    """The node of a body of a leg, and a point of the body in its axes."""
    node, frame = configured.trees.node_frames[body]
    return node, plus(frame.p, product(frame.R, local))


def add_rod_forces(legs: Legs, motion: MechanismMotion, forces: ForceAccumulator, physics: Physics) -> None:
    """What rods require in addition to the masses at their ends: the mass between them, and friction."""
    for rod in (rod for rod in legs.configured.all_constraints if isinstance(rod, Rod)):
        between = rod.link.masses[2] if physics.inertia else 0.0
        a_own, a_far = rod.sides.near_acceleration(motion), rod.sides.end_acceleration(motion)
        near, far = Wrench(scale(between, a_far), ZERO), Wrench(scale(between, a_own), ZERO)
        if isinstance(rod, SphericalRod) and physics.friction and rod.link.has_friction:
            near, far = _with_rod_friction(legs, motion, rod, physics, near, far)
        add_to_both_sides(forces, rod, near, far)


def _with_rod_friction(
    legs: Legs, motion: MechanismMotion, rod: SphericalRod, physics: Physics, near_wrench: Wrench, far: Wrench
) -> tuple[Wrench, Wrench]:
    """Wrenches on both ends of a rod, with what friction in its spherical joints adds to them."""
    w_own, w_far = (side.w for side in rod.sides.motions(motion))
    # For the rod's angular velocity, and for a moment on it as a pair of forces.
    over = scale(divide(1.0, rod.link.length2), rod.d)
    w = cross_nonzero(over, rod.relative_velocity(legs.configured.trees, motion.u, motion.frames))
    joints = [legs.configured.robot.joints[k] for k in (rod.link.joint, rod.link.closure)]
    near, end = joints if rod.first else joints[::-1]
    n_own = friction_effort(near, 0, add(w, -w_own), physics.smooth)
    n_far = friction_effort(end, 0, add(w, -w_far), physics.smooth)
    pair = cross_nonzero(add(n_own, n_far), over)
    return Wrench(add(near_wrench.f, -pair), -n_own), Wrench(add(far.f, pair), -n_far)


def add_joint_efforts(
    legs: Legs, motion: MechanismMotion, forces: ForceAccumulator, physics: Physics
) -> None:
    """Friction, springs and end stops of joints of the tree, each along its own rate."""
    configured, robot = legs.configured, legs.configured.robot
    for j in range(robot.tree):
        joint = robot.joints[j]
        if joint.successor in configured.parts.omitted_bodies:
            continue
        of_platform = j in robot.platform.joints
        rates, along_rates = (motion.w, forces.platform) if of_platform else (motion.u, forces.gamma)
        start = robot.platform_nv + robot.v_slices[j].start
        for number, primitive in enumerate(joint.primitives):
            indices = range(start, start + primitive.nv)
            rate = pack([rates.get(index, 0.0) for index in indices])
            effort = _axis_effort(configured, j, number, rate, physics)
            add_forces(along_rates, dict(zip(indices, effort.tolist(), strict=True)))
            start = indices.stop


def _axis_effort(
    configured: ConfiguredRobot, index: int, number: int, rate: Array, physics: Physics
) -> Array:
    """Friction, spring and end stop (k,) of an axis of a joint at its rate (k,); rotors count as inertia."""
    return axis_effort(cast(State, configured), index, number, rate, rate, replace(physics, inertia=False))


def _has_effort(joint: Joint, physics: Physics) -> bool:
    """Whether a joint has friction, springs or end stops that count."""
    rubs = physics.friction and (any(joint.friction) or any(joint.stops))
    return bool(rubs or (physics.springs and joint.has_spring_or_stop))


def _closure_effort(
    configured: ConfiguredRobot, index: int, axes: int, relative: Twist, physics: Physics
) -> Wrench:
    """Force (N) and moment (N m) on the second body of a closure that hold its friction and springs.

    With e an axis of the joint, q its coordinate, v and w the velocity and the angular velocity of the second
    body relative to the first,

        along e    friction(e . w or, of a prismatic axis, e . v) + spring(q)

    and in a spherical joint friction along w.

    Args:
        configured: where the robot is.
        index: the closure.
        axes: node in whose axes all vectors are written; 0 for the base.
        relative: v (3,), m/s, and w (3,), rad/s.
        physics: what is included.
    """
    joint = configured.robot.joints[index]
    force: Array = ZERO
    moment: Array = ZERO
    for number, axis in enumerate(joint_axes(joint, *configured.joint_frames(index, axes))):
        if axis.directions.shape[1] == 3:
            moment = add(moment, _axis_effort(configured, index, number, relative.w, physics))
            continue
        e = axis.directions[:, 0]
        rate = pack([dot(e, relative.w if axis.is_rotation else relative.v)])
        (value,) = _axis_effort(configured, index, number, rate, physics)
        if axis.is_rotation:
            moment = add(moment, scale(value, e))
        else:
            force = add(force, scale(value, e))
    return Wrench(force, moment)


def add_closure_efforts(
    legs: Legs, motion: MechanismMotion, forces: ForceAccumulator, physics: Physics
) -> None:
    """Friction and springs of the legs' closures: equal and opposite on both sides."""
    configured = legs.configured
    for closure in configured.joint_closures:
        joint, sides = configured.robot.joints[closure.joint], closure.sides
        if not _has_effort(joint, physics):
            continue
        is_end = isinstance(sides, PlatformSides) and joint.kind is JointKind.SPHERICAL
        if is_end and configured.trees.root(sides.node) is None:
            _add_spherical_end_friction(legs, motion, forces, closure, physics)
            continue
        w, w_far = (side.w for side in sides.motions(motion))
        v = closure.relative_velocity(configured.trees, motion.u, motion.frames)
        relative = Twist(v, add(w_far, -w)) if closure.first else Twist(-v, add(w, -w_far))
        effort = _closure_effort(configured, closure.joint, sides.axes, relative, physics)
        # Along the rates of the second side less the first.
        against = Wrench(-effort.f, -effort.n)
        add_to_both_sides(forces, closure, *((against, effort) if closure.first else (effort, against)))


def _add_spherical_end_friction(
    legs: Legs, motion: MechanismMotion, forces: ForceAccumulator, closure: JointClosure, physics: Physics
) -> None:
    """Friction of a spherical joint onto the platform, in base axes: nothing is turned there and back."""
    sides = closure.platform
    assert sides is not None
    twists = point_unit_twists(legs.configured.trees, sides.node, sides.leg_point, 0)
    w = add(motion.frames[sides.body].w, -angular_velocity(twists, motion.u))
    # Along the relative angular velocity, whichever side counts as first.
    moment = friction_effort(legs.configured.robot.joints[closure.joint], 0, w, physics.smooth)
    forces.add_to_platform(sides.body, sides.point, ZERO, moment)
    for rate, (_, axis) in twists.items():
        if not all_zero(axis):
            forces.along(rate, -dot(axis, moment))


def add_platform_closure_efforts(
    legs: Legs, motion: MechanismMotion, forces: ForceAccumulator, physics: Physics
) -> None:
    """Friction and springs of joints between legs at a point platform, and of the platform's own loops."""
    configured = legs.configured
    trees = configured.trees
    for c in configured.robot.platform.closures:
        joint = configured.robot.joints[c]
        bodies = (joint.predecessor, joint.successor)
        if not _has_effort(joint, physics):
            continue
        if not joint.at_point:
            point = configured.joint_frames(c, 0)[1].p
            near, far = (motion.frames[body] for body in bodies)
            v = [frame.velocity_at(plus(point, -frame.pose.p)) for frame in (near, far)]
            relative = Twist(add(v[1], -v[0]), add(far.w, -near.w))
            force, moment = _closure_effort(configured, c, 0, relative, physics)
            forces.add_to_platform(bodies[1], point, force, moment)
            forces.add_to_platform(bodies[0], point, -force, -moment)
        elif all(body in trees.node_frames for body in bodies):
            nodes = [trees.node_frames[body].node for body in bodies]
            w = [trees.up(node, motion.nodes[node].w) for node in nodes]
            _, moment = _closure_effort(configured, c, 0, Twist(ZERO, add(w[1], -w[0])), physics)
            for node, sign in zip(nodes, (-1.0, 1.0), strict=True):
                forces.add_to_node(node, ZERO, trees.down(node, scale(sign, moment)))


def closure_acceleration(legs: Legs, motion: MechanismMotion, rate: ClosureRate) -> Scalar:
    """Derivative q'' of the rate of a closure, rad/s^2 or m/s^2, from the motion of both sides.

    Revolute: e . (w_2' - w_1' - w_1 x w_2); prismatic: e . (a_2 - a_1 - 2 w_1 x v_rel), e carried by the
    first.
    """
    closure, e = rate.closure, rate.e
    near, far = closure.sides.motions(motion)
    if rate.revolute:
        value = dot(e, add(add(far.w_dot, -near.w_dot), -cross_nonzero(near.w, far.w)))
    else:
        carrier = near.w if closure.first else far.w
        slip = closure.relative_velocity(legs.configured.trees, motion.u, motion.frames)
        value = dot(e, add(add(far.a, -near.a), scale(-2.0, cross_nonzero(carrier, slip))))
    return value if closure.first else -value


def add_rotor_inertia(legs: Legs, motion: MechanismMotion, forces: ForceAccumulator) -> None:
    """Rotors behind gears, i^2 J q'' (N or N m), in the tree and at closures."""
    for rate, inertia in tree_rotors(legs.configured).items():
        acceleration = motion.u_dot.get(rate, motion.w_dot.get(rate, 0.0))
        add_forces(forces.gamma if rate in motion.u_dot else forces.platform, {rate: inertia * acceleration})
    for closing in rotor_rates(legs.configured):
        forces.add_along_closure(legs, closing, closing.rotor * closure_acceleration(legs, motion, closing))


JOINT_FORCE_TERMS = (
    add_joint_efforts,
    add_closure_efforts,
    add_platform_closure_efforts,
    add_spring_forces,
    add_damper_moments,
)
"""What joints, springs and dampers require, in this order; rods and bars have their own."""

"""Compliant forces: springs, dampers and torsion springs between two bodies, end stops of joints.

A spring from the point P_1 of one body to P_2 of the other has d = P_2 - P_1, l = |d| and e = d / l. With
v_1, v_2 the velocities of the points its length changes by l' = e . (v_2 - v_1), and it and its damper pull
with

    F = k (l - l_0) + c l'           +F e acts on the first body at P_1, -F e on the second at P_2

k stiffness, l_0 free length, c damping. It stores k (l - l_0)^2 / 2, and c l'^2 is the power it takes. Base
axes, m, N. Where the points meet (l = 0) its direction is not determined.

An angular damper c between bodies with the angular velocities w_1, w_2, base axes, gives them

    n_2 = -c (w_2 - w_1)  acts on the second body and  n_1 = -n_2  on the first, N m

and c |w_2 - w_1|^2 is the power that it takes. Dampers count as friction does.

Of a torsion spring, R (3, 3) is the rotation of its frame on the second body in that on the first; its axis z
is a_1 on the one and a_2 on the other, base axes. R is a swing, about a direction perpendicular to z, and a
twist about z, by the angle t of

    tan t = (R_10 - R_01) / (R_00 + R_11),      t' = g . (w_2 - w_1),      g = (a_1 + a_2) / (1 + a_1 . a_2)

With T = k_1 s + k_2 s^2 + ..., s = t - rest, the moment -T g acts on the second body and T g on the first,
N m. Its component along a_1, and along a_2, is -T; the rest of it is what a force with the energy
k_1 s^2 / 2 + k_2 s^3 / 3 + ... needs where the axes are not parallel. Where the bodies turn about the axis
alone, g = a_1 and t is the angle. t is the one nearest to the rest; it is not determined where a_2 = -a_1.

An end stop is a compliant contact at the limits lower and upper of a joint's coordinate q, rad or m. With s =
q - q held within the limits, how far it is beyond one, signed, and zero within, the motion has to overcome

    F = k s + d,     d = c q' held within -k |s| and k |s|

k stiffness and c damping: a spring, and a damper whose force is at most the spring's. F is continuous in q
and q' everywhere, so that integrators need no event; beyond the first moments of a contact it is k s + c q'.
It never pulls the joint to its limit, and d only takes power: k s^2 / 2 is the energy stored. An angle is the
one nearest to the middle of the limits, or counts its turns (`Configuration.coordinate`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import State
from nacelle.model.joint import Joint, Stop
from nacelle.model.leg import BASE, Damper, LineSpring, TorsionSpring
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, maximum, minimum, norm, pack
from nacelle.spatial.screw import Wrench
from nacelle.tree.spanning_tree import CosineSine, TreeKinematics, angle_near, point_velocity


class LineSpringState(NamedTuple):
    """A spring in a configuration: its points, the direction from the first to the second, its length."""

    points: tuple[Array, Array]
    direction: Array
    length: Scalar


def spring_line_between(first: Array, second: Array) -> LineSpringState:
    """The line between two points (3,), m."""
    d = second - first
    length = norm(d)
    return LineSpringState((first, second), d * divide(1.0, length), length)


def spring_line(spring: LineSpring, motion: TreeKinematics) -> LineSpringState:
    """Where a spring is, base axes."""
    poses = [motion.poses[body] for body in spring.bodies]
    first, second = (pose.p + pose.R @ p for pose, p in zip(poses, spring.points, strict=True))
    return spring_line_between(first, second)


def spring_rate(spring: LineSpring, line: LineSpringState, state: State) -> Scalar:
    """Rate l' of the length of a spring, m/s."""
    twists = state.moving.velocity.twists
    first, second = (
        point_velocity(twists[body], point) for body, point in zip(spring.bodies, line.points, strict=True)
    )
    return dot(line.direction, second - first)


def spring_energy(spring: LineSpring, line: LineSpringState) -> Scalar:
    """Energy (J) that a spring stores."""
    stretch = line.length - spring.length
    return 0.5 * spring.stiffness * stretch * stretch


def _add_wrench(total: dict[int, Wrench], body: int, wrench: Wrench) -> None:
    """Add a wrench to those that act on a body."""
    total[body] = total[body].plus(wrench) if body in total else wrench


def _add_moment(
    total: dict[int, Wrench], between: Damper | TorsionSpring, size: Scalar, along: Array
) -> None:
    """Add the moment size `along` (3,), base axes, to what acts on one body, its opposite on the other."""
    for body, sign in zip(between.bodies, (1.0, -1.0), strict=True):
        if body != BASE:
            n = pack([sign * size * entry for entry in along])
            _add_wrench(total, body, Wrench(pack([0.0, 0.0, 0.0]), n))


# ---- angular dampers between two bodies, as wrenches on them; all forces between bodies at once


def relative_angular_velocity(damper: Damper, state: State) -> Array:
    """Angular velocity (3,) of the second body against the first, rad/s, base axes."""
    first, second = (state.moving.velocity.twists[body][3:] for body in damper.bodies)
    return second - first


def damper_power(damper: Damper, state: State) -> Scalar:
    """Power (W) that a damper takes."""
    w = relative_angular_velocity(damper, state)
    return damper.damping * dot(w, w)


def add_forces_between_bodies(state: State, physics: Physics) -> State:
    """The state with the wrenches of springs and dampers between bodies among the external ones.

    Dampers count as friction does.
    """
    robot, motion = state.robot, state.now.motion
    total = dict(state.external)
    for spring in robot.springs:
        line = spring_line(spring, motion)
        F: Scalar = spring.pull(line.length) if physics.springs else 0.0
        if physics.friction:
            F = F + spring.damping * spring_rate(spring, line, state)
        for body, point, sign in zip(spring.bodies, line.points, (1.0, -1.0), strict=True):
            if body != BASE:
                f = pack([sign * F * entry for entry in line.direction])
                _add_wrench(total, body, Wrench(f, cross(point - motion.poses[body].p, f)))
    for damper in robot.dampers if physics.friction else ():
        _add_moment(total, damper, damper.damping, relative_angular_velocity(damper, state))
    coils = torsion_spring_states(robot, motion) if physics.springs else []
    for coil, torsion in zip(robot.torsion_springs, coils, strict=False):
        _add_moment(total, coil, coil.holding_torque(torsion.stretch), torsion.direction)
    return replace(state, external=total)


# ---- torsion springs between two bodies: where they are


class TorsionSpringState(NamedTuple):
    """A torsion spring in a configuration: t - rest, rad, and g (3,), base axes."""

    stretch: Scalar
    direction: Array


def torsion_spring_states(robot: Robot, motion: TreeKinematics) -> list[TorsionSpringState]:
    """Where the torsion springs of a robot are: of each t - rest and g with t' = g . (w_2 - w_1)."""
    states = []
    # Which of the angles that are a turn apart is meant is decided by numbers.
    for spring, numeric in zip(robot.torsion_springs, robot.numeric.torsion_springs, strict=True):
        ends = zip(spring.bodies, spring.rotations, strict=True)
        first, second = (motion.poses[body].R @ rotation for body, rotation in ends)
        R = first.T @ second
        angle = angle_near(CosineSine(R[0, 0] + R[1, 1], R[1, 0] - R[0, 1]), float(numeric.rest))
        direction = (first[:, 2] + second[:, 2]) * divide(1.0, 1.0 + R[2, 2])
        states.append(TorsionSpringState(angle - spring.rest, direction))
    return states


# ---- end stops: compliant contacts at the limits of a joint's coordinate


def end_stop(joint: Joint, number: int) -> Stop | None:
    """The end stop of an axis of a joint."""
    return joint.stops[number] if joint.stops else None


def limit_excess(joint: Joint, number: int, q: Scalar) -> Scalar:
    """How far a coordinate (rad or m) of an axis is beyond its limits, signed; 0 within them.

    Args:
        joint: the joint, with limits of floats.
        number: of the axis.
        q: the coordinate.
    """
    lower, upper = joint.limits[number]
    held = q
    if math.isfinite(upper):
        held = minimum(held, upper)
    if math.isfinite(lower):
        held = maximum(held, lower)
    return q - held


def stop_energy(joint: Joint, number: int, q: Scalar) -> Scalar:
    """Energy k s^2 / 2 (J) that an end stop stores at a coordinate; 0 without one."""
    stop = end_stop(joint, number)
    if stop is None:
        return 0.0
    s = limit_excess(joint, number, q)
    return 0.5 * stop.spring_force(s) * s


def stop_effort(joint: Joint, number: int, q: Scalar, rate: Scalar, physics: Physics) -> Scalar:
    """What the motion has to overcome in an end stop, N or N m; 0 without one.

    Args:
        joint: the joint.
        number: of the axis.
        q: its coordinate, rad or m.
        rate: its rate, rad/s or m/s.
        physics: k s counts as springs do, d as friction does.
    """
    stop = end_stop(joint, number)
    if stop is None:
        return 0.0
    s = limit_excess(joint, number, q)
    total: Scalar = stop.spring_force(s) if physics.springs else 0.0
    return total + stop.damper_force(s, rate) if physics.friction else total

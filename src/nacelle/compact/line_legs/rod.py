"""Rods of constant length L on a driven slider or arm: what their turning about A requires.

With r = B - A, v and a its derivatives, a rod is masses at its ends and between them
(`nacelle.kinematics.mechanism.rods`). What a universal joint at A adds comes from the moments about its two
axes, a_1 and e_1 = b / rho with b = a_1 x r, rho = |b|, y = a_1 . r:

    M_a = p_1 alpha'' - D b.a + friction       T = M_1 / rho = D y alpha'^2 + friction
    alpha' = b.v / rho^2       alpha'' = (b.a + 2 y a_1.v alpha') / rho^2

p_1 the inertia about r with that of the cross about a_1, D = (p_33 + p_11 - p_22) / L^2. They are forces at
B, and their opposites at A:

    G = (M_a / rho^2) b - T a_1.

In a plane a moment about A is a force at B along the arm, or across the slide, which the drive does not feel.

A leg between A and B can transmit to the platform any force along its line, f r with the force density f
(N/m), and what its own motion takes: the platform feels f r - G at B. G (3,), N, is what the leg's inertia,
weight and passive friction require at B, up to a multiple of r, which f takes up. Equal power at a unit rate
of the actuator gives its force

    force = gain f + own          gain: l = |r| for a strut (with its sign), r . dA/dq for a driven rod

own (N or N m) what the leg and its drive require without f. So each leg has one unknown, f, and the
platform's balance sum over legs of (f_j r_j - G_j) = its own inertia and weight determines all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from nacelle.compact.line_legs.geometry import LegForm
from nacelle.compact.line_legs.known import has_offset_mass, hinge_side, is_asymmetric
from nacelle.compact.vectors import ZERO
from nacelle.dynamics.friction import axis_friction, spherical_friction
from nacelle.dynamics.physics import Physics
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import FrictionTerm, Joint, JointKind
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, is_zero, pack, sign, sqrt


def friction_along(terms: tuple[FrictionTerm, ...], rate: Scalar, along: Scalar, physics: Physics) -> Scalar:
    """Friction, N or N m, at a rate; `along` is any positive multiple of it, enough for dry friction."""
    if not physics.friction or not terms:
        return 0.0
    total: Scalar = 0.0
    for term in terms:
        if term.basis == "coulomb" and physics.smooth is None:
            total = total + term.coefficient * sign(along)
        else:
            total = total + axis_friction([term], rate, physics.smooth)
    return total


# What gives r = B - A of a bar, and its derivative.
Lines = Callable[[], tuple[Array, Array]]


class RodMotion(NamedTuple):
    """How a rod moves; vectors (3,) in one set of axes.

    Attributes:
        r: B - A, m.
        v: its derivative, m/s.
        a1: acceleration of A less gravity, m/s^2.
        a2: acceleration of B less gravity, m/s^2.
        q_dot: rate of the drive, rad/s or m/s.
        reciprocal: 1 / (r . dA/dq).
        arm: for an arm, A from its axis, m.
    """

    r: Array
    v: Array
    a1: Array
    a2: Array
    q_dot: Scalar
    reciprocal: Scalar
    arm: Array


class RodRotation(NamedTuple):
    """What a rod's turning requires; vectors (3,) in the axes of its motion.

    Attributes:
        G: force at B, and its opposite at A, N.
        moment: on the platform, N m.
        force: at A, in addition to that, N.
        about_a: moment about A in a plane, N m, still to be made a force at B (`lean`).
        reaction: on the drive, N m.
    """

    G: Array
    moment: Array = ZERO
    force: Array = ZERO
    about_a: Scalar = 0.0
    reaction: Scalar = 0.0


class RodSpin(NamedTuple):
    """A rod on a universal joint: y, b, rho^2 and its inverse, and the two inertias p_1 and D."""

    y: Scalar
    b: Array
    rho2: Scalar
    sigma: Scalar
    p1: Scalar
    D: Scalar


def _rod_spin(form: LegForm, r: Array) -> RodSpin:
    b, p = cross(form.first, r), form.rod
    rho2 = dot(b, b)
    D = (p[9] + p[4] - p[6]) * divide(1.0, form.length * form.length)
    return RodSpin(dot(form.first, r), b, rho2, divide(1.0, rho2), form.cross + p[9], D)


class Residual(NamedTuple):
    """Kinetic energy of a rod beyond that of its masses.

    A alpha'^2 / 2 + C alpha' w_1 + q' (F alpha' + G w_1)

    Attributes:
        s: (3,), alpha' = s . v, or a multiple of it.
        A: inertia of the spin, kg m^2, for that multiple.
        t: (3,), w_1 = t . v, the rate about e_1; not used where C and G are zero.
        C: product of inertia of both, kg m^2.
        F: what a centre of mass off the line makes of alpha' and the drive's rate.
        G: the same with w_1.
    """

    s: Array
    A: Scalar
    t: Array = ZERO
    C: Scalar = 0.0
    F: Scalar = 0.0
    G: Scalar = 0.0


def residual(form: LegForm, r: Array, c: Array) -> Residual | None:
    """What a rod's masses do not have of its kinetic energy; c = dA/dq. None where they have all.

    With h_1, h_2 the first moments off the line, in e_1, e_2, e_3,

        A = p_1 - D rho^2 + 2 p_23 rho y / L^2             C = (p_12 rho + p_13 y) / L
        F = (y (h_1 e_2 - h_2 e_1) - rho h_1 e_3) . c / L      G = h_2 e_3 . c.
    """
    axis, p, L = form.first, form.rod, form.length
    if form.joint_at_a == "R":
        if not has_offset_mass(form.rod, (1,)):
            return None
        s = divide(1.0, L * L) * cross(axis, r)
        # The first moment across the line is -h_2 axis x r / L.
        return Residual(s, 0.0, F=(p[2] / L) * dot(r, c))
    spin = _rod_spin(form, r)
    if not is_asymmetric(form):
        complete = is_zero(spin.p1) and is_zero(spin.D)
        return None if complete else Residual(spin.b, (spin.p1 * spin.sigma - spin.D) * spin.sigma)
    reciprocal = divide(1.0, sqrt(spin.rho2))
    up, across = spin.rho2 * reciprocal / L, spin.y / L
    e1, e3 = spin.b * reciprocal, r / L
    e2 = cross(e3, e1)
    A = spin.p1 - spin.D * spin.rho2 + 2.0 * p[8] * (up * across)
    F = across * (p[1] * dot(e2, c) - p[2] * dot(e1, c)) - up * (p[1] * dot(e3, c))
    return Residual(
        spin.sigma * spin.b, A, -reciprocal * axis, p[5] * up + p[7] * across, F, p[2] * dot(e3, c)
    )


def rod_rotation(form: LegForm, at: RodMotion, w_end: Array, physics: Physics) -> RodRotation:
    """What a rod's rotation about A requires: G = (M_a / rho^2) b - T a_1 at B, and its opposite at A.

    Args:
        form: the leg.
        at: how it moves.
        w_end: angular velocity (3,), rad/s, of the platform's body at B, in the same axes.
        physics: what is included.
    """
    if form.joint_at_a == "R":
        return _planar_rod(form, at, w_end, physics)
    return _universal_rod(form, at, w_end, physics)


def _universal_rod(form: LegForm, at: RodMotion, w_end: Array, physics: Physics) -> RodRotation:
    """A rod on a universal joint."""
    first, passive, r, v = form.first, form.passive, at.r, at.v
    spin = _rod_spin(form, r)
    y, b, rho2, sigma, p1, D = spin
    h, along = dot(b, v), dot(first, v)
    rate = h * sigma
    moment: Array = ZERO
    with_drive = dot(form.axis, first) if form.drive.revolute else 0.0
    relative_rate = rate - with_drive * at.q_dot if form.drive.revolute else rate
    M: Scalar = friction_along(passive.first, relative_rate, relative_rate, physics)
    reaction: Scalar = -(with_drive * M) if form.drive.revolute else 0.0
    M = M + friction_along(passive.still, rate, h, physics)
    T: Scalar = 0.0
    force: Array = ZERO
    if is_asymmetric(form):
        moments, force = _asymmetric_moments(form, at, spin, along, rate)
        M, T = M + moments[0], moments[1]
    elif not (is_zero(p1) and is_zero(D)):
        k = dot(b, at.a2 - at.a1)
        M = M + p1 * ((k + (2.0 * (y * along)) * rate) * sigma) - D * k
        T = (D * y) * (rate * rate)
    if physics.friction and passive.second:
        side, reciprocal = passive.side, divide(1.0, sqrt(rho2))
        T = (
            T
            + side
            * friction_along(passive.second, -(side * along) * reciprocal, -(side * along), physics)
            * reciprocal
        )
    if physics.friction and passive.end and passive.end_kind is JointKind.SPHERICAL:
        w = divide(1.0, form.length * form.length) * (cross(r, v) + (rate * y) * r)
        moment = spherical_friction(passive.end, w_end - w, physics.smooth)
        M = M - dot(first, moment)
        T = T - dot(b, moment) * sigma
    return RodRotation((M * sigma) * b - T * first, moment, force, reaction=reaction)


def _asymmetric_moments(
    form: LegForm, at: RodMotion, spin: RodSpin, along: Scalar, rate: Scalar
) -> tuple[tuple[Scalar, Scalar], Array]:
    """Moments M_a and T of any inertia, in e_1, e_2, e_3, and the force at A.

    `along` is a_1 . v, m/s, and `rate` alpha' = b . v / rho^2, rad/s.

    An axisymmetric rod, inertia p_11 about e_1 and e_2 and first moment p_3, is left out: it is in the
    masses at the ends.
    """
    y, b, rho2, sigma, *_ = spin
    L, r, a = form.length, at.r, at.a2 - at.a1
    reciprocal = divide(1.0, sqrt(rho2))
    up, across = rho2 * reciprocal / L, y / L
    drho = -(y * along) * reciprocal
    w1 = -(along * reciprocal)
    accel = (dot(b, a) + (2.0 * (y * along)) * rate) * sigma
    w = pack([w1, rate * up, rate * across])
    dw = pack(
        [
            -(dot(form.first, a) + w1 * drho) * reciprocal,
            accel * up + rate * (drho / L),
            accel * across + rate * (along / L),
        ]
    )
    e1, e3 = b * reciprocal, r / L
    e2 = cross(e3, e1)
    p11, p12, p22, p13, p23, p33 = form.rod[4:]

    def times(u: Array) -> Array:
        return pack(
            [
                p12 * u[1] + p13 * u[2],
                p12 * u[0] + (p22 - p11) * u[1] + p23 * u[2],
                p13 * u[0] + p23 * u[1] + p33 * u[2],
            ]
        )

    c = pack([form.rod[1], form.rod[2], 0.0])
    M = times(dw) + cross(w, times(w)) + cross(c, pack([dot(e, at.a1) for e in (e1, e2, e3)]))
    f = cross(dw, c) + cross(w, cross(w, c))
    moments = (form.cross * accel + up * M[1] + across * M[2], M[0] * reciprocal)
    return moments, np.asarray(f[0] * e1 + f[1] * e2 + f[2] * e3)


def planar_rate(form: LegForm, r: Array, v: Array) -> Scalar:
    """Rate of a planar bar about its axis, rad/s: axis . (r x v) / |r|^2."""
    square = form.length * form.length if form.kind == "rod" else dot(r, r)
    return divide(1.0, square) * dot(form.first, cross(r, v))


def hinge_moments(
    robot: Robot, lines: Mapping[str, tuple[LegForm, Lines]], physics: Physics
) -> dict[str, Scalar]:
    """Friction of revolute joints between bars at a point: a moment on one bar, its opposite on the other.

    Bars are given by their names: the form, and what gives r and its derivative.
    """
    owner = {body: leg.name for leg in robot.legs for body in leg.bodies}
    moments: dict[str, Scalar] = {}
    for joint in robot.closures:
        pair = [owner.get(body, "") for body in (joint.predecessor, joint.successor)]
        if not (joint.at_point and physics.friction and any(joint.friction) and set(pair) <= set(lines)):
            continue
        sides = [hinge_side(mechanism_of(robot), lines[name][0], joint) for name in pair]
        legs_by_line = [(form, *line()) for form, line in (lines[name] for name in pair)]
        first, second = (
            side * planar_rate(*line_leg) for line_leg, side in zip(legs_by_line, sides, strict=True)
        )
        effort = friction_along(joint.friction[0], second - first, second - first, physics)
        for name, side in zip(pair, (-sides[0], sides[1]), strict=True):
            moments[name] = moments[name] + side * effort if name in moments else side * effort
    return moments


def _planar_rod(form: LegForm, at: RodMotion, w_end: Array, physics: Physics) -> RodRotation:
    """A rod in a plane: a centre of mass off its line, friction in both revolute joints."""
    axis = form.first
    G, force = ZERO, ZERO
    # The first moment across r, along axis x r: e_2 = e_3 x e_1 = -axis x e_3.
    if has_offset_mass(form.rod, (1,)):
        offset = -form.rod[2] / form.length
        G, force = -offset * cross(axis, at.a1), offset * cross(axis, at.a2 - at.a1)
    if not physics.friction or not (form.passive.first or form.passive.end):
        return RodRotation(G, force=force)
    rate = planar_rate(form, at.r, at.v)
    with_drive = dot(form.axis, axis) if form.drive.revolute else 0.0
    relative_rate = rate - with_drive * at.q_dot if form.drive.revolute else rate
    about_a = friction_along(form.passive.first, relative_rate, relative_rate, physics)
    reaction = -(with_drive * about_a) if form.drive.revolute else 0.0
    about_a, moment = add_end_friction(form, about_a, rate, w_end, physics)
    return RodRotation(G, moment, force, about_a, reaction)


def add_end_friction(
    form: LegForm, about_a: Scalar, rate: Scalar, w_end: Array, physics: Physics
) -> tuple[Scalar, Array]:
    """The moment about A (N m) of a planar bar with friction at B, and the moment (3,) on the platform."""
    if form.passive.end_kind is not JointKind.REVOLUTE:
        return about_a, ZERO
    side = form.passive.end_side
    relative_rate = side * (dot(form.first, w_end) - rate)
    end = side * friction_along(form.passive.end, relative_rate, relative_rate, physics)
    return about_a - end, end * form.first


def force_for_moment(form: LegForm, at: RodMotion) -> Array:
    """Force at B (3,), N, for a moment of 1 N m about A in a plane, which the drive does not feel."""
    if form.kind == "strut":
        return np.asarray(divide(1.0, dot(at.r, at.r)) * cross(form.first, at.r))
    if form.drive.revolute:
        return np.asarray((-dot(form.axis, form.first) * at.reciprocal) * at.arm)
    return np.asarray(at.reciprocal * cross(form.first, form.axis))


def geared_inertia(joint: Joint) -> Scalar:
    """Inertia i^2 J of a joint's rotor behind a gear of ratio i, seen from the joint: kg m^2 or kg."""
    return 0.0 if is_zero(joint.rotor_inertia) else joint.gear_ratio * joint.gear_ratio * joint.rotor_inertia

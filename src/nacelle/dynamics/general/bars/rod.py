"""Rods of constant length L on a driven slider or arm: what their turning about A requires.

With r = B - A, v and a its derivatives, and p, h the transverse inertia about A and the first moment, a rod is
masses at its ends and between them (`nacelle.kinematics.general.rods`). What a universal joint at A adds comes
from the moments about its two axes, a_1 and e_1 = b / rho with b = a_1 x r, rho = |b|, y = a_1 . r:

    M_a = p_1 alpha'' - D b.a + friction       T = M_1 / rho = D y alpha'^2 + friction
    alpha' = b.v / rho^2       alpha'' = (b.a + 2 y a_1.v alpha') / rho^2

p_1 the inertia about r with that of the cross about a_1, D = (p_33 + p_11 - p_22) / L^2. They are forces at B,
and their opposites at A:

    G = (M_a / rho^2) b - T a_1.

In a plane a moment about A is a force at B along the arm, or across the slide, which the drive does not feel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.dynamics.friction import ball_friction
from nacelle.dynamics.general.bars.demand import friction_along
from nacelle.dynamics.general.required import Counted
from nacelle.kinematics.bars.form import LegForm
from nacelle.kinematics.general.vectors import ZERO, is_zero
from nacelle.kinematics.legs.axes import TOLERANCE
from nacelle.model.joint import JointKind
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, sqrt


class Moved(NamedTuple):
    """How a rod moves.

    Attributes:
        r: B - A (3,).
        v: its derivative.
        a1: acceleration of A less gravity.
        a2: acceleration of B less gravity.
        q_dot: rate of the drive.
        share: 1 / (r . dA/dq).
        arm: for an arm, A from its axis.
    """

    r: Array
    v: Array
    a1: Array
    a2: Array
    q_dot: Scalar
    share: Scalar
    arm: Array


class Turned(NamedTuple):
    """What a rod's turning requires.

    Attributes:
        G: force at B, and its opposite at A.
        moment: on the nacelle.
        force: at A, beside that.
        about_A: moment about A in a plane, still to be made a force at B (`lean`).
        reaction: on the drive.
    """

    G: Array
    moment: Array = ZERO
    force: Array = ZERO
    about_A: Scalar = 0.0
    reaction: Scalar = 0.0


class Spin(NamedTuple):
    """A rod on a universal joint: y, b, rho^2 and its inverse, and the two inertias p_1 and D."""

    y: Scalar
    b: Array
    rho2: Scalar
    sigma: Scalar
    p1: Scalar
    D: Scalar


def _spin(form: LegForm, r: Array) -> Spin:
    b, p = cross(form.first, r), form.rod
    rho2 = dot(b, b)
    D = (p[9] + p[4] - p[6]) * divide(1.0, form.length * form.length)
    return Spin(dot(form.first, r), b, rho2, divide(1.0, rho2), form.cross + p[9], D)


def spin_inertia(form: LegForm, r: Array) -> tuple[Scalar, Array]:
    """Inertia c of a rod's spin and b, so that its kinetic energy is c (b . v)^2 / 2; in a plane none."""
    if form.pivot != "U":
        return 0.0, ZERO
    spin = _spin(form, r)
    if is_zero(spin.p1) and is_zero(spin.D):
        return 0.0, ZERO
    return (spin.p1 * spin.sigma - spin.D) * spin.sigma, spin.b


def turning(form: LegForm, numeric: LegForm, at: Moved, w_end: Array, counted: Counted) -> Turned:
    """What a rod's turning requires; `w_end` is the angular velocity of the nacelle's body at B."""
    return _hinged(form, numeric, at, w_end, counted) if form.pivot == "R" else _crossed(form, at, w_end, counted)


def _crossed(form: LegForm, at: Moved, w_end: Array, counted: Counted) -> Turned:
    """A rod on a universal joint."""
    first, passive, r, v = form.first, form.passive, at.r, at.v
    y, b, rho2, sigma, p1, D = _spin(form, r)
    h, along = dot(b, v), dot(first, v)
    rate = h * sigma
    moment: Array = ZERO
    with_drive = dot(form.axis, first) if form.drive.turns else 0.0
    own = rate - with_drive * at.q_dot if form.drive.turns else rate
    M: Scalar = friction_along(passive.first, own, own, counted)
    reaction: Scalar = -(with_drive * M) if form.drive.turns else 0.0
    M = M + friction_along(passive.still, rate, h, counted)
    T: Scalar = 0.0
    if not (is_zero(p1) and is_zero(D)):
        k = dot(b, at.a2 - at.a1)
        M = M + p1 * ((k + (2.0 * (y * along)) * rate) * sigma) - D * k
        T = (D * y) * (rate * rate)
    if counted.friction and passive.second:
        side, share = passive.side, divide(1.0, sqrt(rho2))
        T = T + side * friction_along(passive.second, -(side * along) * share, -(side * along), counted) * share
    if counted.friction and passive.end and passive.end_kind is JointKind.SPHERICAL:
        w = divide(1.0, form.length * form.length) * (cross(r, v) + (rate * y) * r)
        moment = ball_friction(passive.end, w_end - w, counted.smooth)
        M = M - dot(first, moment)
        T = T - dot(b, moment) * sigma
    return Turned((M * sigma) * b - T * first, moment, reaction=reaction)


def turn(form: LegForm, r: Array, v: Array) -> Scalar:
    """Rate of a planar bar about its axis."""
    square = form.length * form.length if form.kind == "rod" else dot(r, r)
    return divide(1.0, square) * dot(form.first, cross(r, v))


def _hinged(form: LegForm, numeric: LegForm, at: Moved, w_end: Array, counted: Counted) -> Turned:
    """A rod in a plane: a centre of mass beside its line, friction in both revolute joints."""
    axis = form.first
    G, force = ZERO, ZERO
    # The first moment across r, along axis x r: e_2 = e_3 x e_1 = -axis x e_3.
    if float(abs(numeric.rod[2])) > TOLERANCE * max(float(np.max(np.abs(numeric.rod[1:4]))), 1e-300):
        beside = -form.rod[2] / form.length
        G, force = -beside * cross(axis, at.a1), beside * cross(axis, at.a2 - at.a1)
    if not counted.friction or not (form.passive.first or form.passive.end):
        return Turned(G, force=force)
    rate = turn(form, at.r, at.v)
    with_drive = dot(form.axis, axis) if form.drive.turns else 0.0
    own = rate - with_drive * at.q_dot if form.drive.turns else rate
    about_A = friction_along(form.passive.first, own, own, counted)
    reaction = -(with_drive * about_A) if form.drive.turns else 0.0
    moment: Array = ZERO
    if form.passive.end_kind is JointKind.REVOLUTE:
        side = form.passive.end_side
        other = side * (dot(axis, w_end) - rate)
        end = side * friction_along(form.passive.end, other, other, counted)
        about_A, moment = about_A - end, end * axis
    return Turned(G, moment, force, about_A, reaction)


def lean(form: LegForm, at: Moved) -> Array:
    """The force at B for a unit moment about A in a plane, which the drive does not feel."""
    if form.kind == "strut":
        return np.asarray(divide(1.0, dot(at.r, at.r)) * cross(form.first, at.r))
    if form.drive.turns:
        return np.asarray((-dot(form.axis, form.first) * at.share) * at.arm)
    return np.asarray(at.share * cross(form.first, form.axis))


def rotor(form: LegForm) -> Scalar:
    """Inertia of the drive's rotor, seen from the joint."""
    joint = form.drive.joint
    return 0.0 if is_zero(joint.rotor_inertia) else joint.gear_ratio * joint.gear_ratio * joint.rotor_inertia

"""A driven rod whose motion is measured: what it requires of the platform and of its drive.

With r = B - A, g_1 and g_2 the accelerations of A and B less gravity, the rod's mass m, first moment h and
transverse inertia p about A, c_1 = h / L and c_2 = p / L^2,

    G = c_2 g_2 + (c_1 - c_2) g_1 + turning
    along the drive   (m - 2 c_1 + c_2) g_1 + (c_1 - c_2) g_2 - turning

up to a multiple of r, and the turning as `nacelle.dynamics.general.bars.rod` has it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.dynamics.general.bars import rod as rods
from nacelle.dynamics.general.bars.demand import Demand, drive_force
from nacelle.dynamics.general.required import Counted
from nacelle.kinematics.bars.form import LegForm
from nacelle.kinematics.general.bars import flat
from nacelle.kinematics.general.vectors import ZERO, add, is_zero, scaled
from nacelle.spatial.scalar import Array, Scalar, atan2, cross, divide, dot


class Measured(NamedTuple):
    """How a rod and its drive move; vectors (3,) in base axes.

    Attributes:
        r: B - A, m.
        v: its derivative, m/s.
        a: its second derivative, m/s^2.
        a1: acceleration of A, m/s^2.
        a2: acceleration of B, m/s^2.
        arm: for an arm, A from the centre of its circle, m.
        drive: coordinate, rate and acceleration of the drive, rad or m; an arm's angle may be missing (0).
        by_end: whether a2 is known first, and a follows from it; else the other way round.
    """

    r: Array
    v: Array
    a: Array
    a1: Array
    a2: Array
    arm: Array
    drive: tuple[Scalar, Scalar, Scalar]
    by_end: bool


def from_drive(
    form: LegForm, r: Array, v: Array, a2: Array, arm: Array, drive: tuple[Scalar, Scalar, Scalar]
) -> Measured:
    """The motion of a rod from that of its drive (`arm` from its centre), with r and dr/dt known."""
    _, q_dot, q_ddot = drive
    a1 = q_ddot * form.axis
    if form.drive.revolute:
        a1 = q_ddot * cross(form.axis, arm) - (q_dot * q_dot) * arm
    return Measured(r, v, a2 - a1, a1, a2, arm, drive, True)


def from_elements(form: LegForm, drive: Array, rod: Array) -> Measured:
    """The motion of a rod from its elements ([OAM] (66)).

    Args:
        form: the leg.
        drive: direction of the arm with its two derivatives (3, 3), or length of the slide with its (3,).
        rod: direction of the rod with its two derivatives (3, 3).
    """
    r, v, a = (form.length * part for part in rod)
    if not form.drive.revolute:
        a1 = drive[2] * form.axis
        return Measured(r, v, a, a1, a1 + a, ZERO, (drive[0], drive[1], drive[2]), False)
    arm, a1 = form.carriage.arm * drive[0], form.carriage.arm * drive[2]
    turned = cross(form.axis, drive[0])
    rates = (0.0, dot(turned, drive[1]), dot(turned, drive[2]))
    return Measured(r, v, a, a1, a1 + a, arm, rates, False)


def end_share(form: LegForm) -> Scalar:
    """Mass of a rod at B, kg: p / L^2, p its transverse inertia about A."""
    return form.rod[4] / (form.length * form.length)


def rod(
    form: LegForm, at: Measured, gravity: Array, extra: Scalar, counted: Counted
) -> tuple[Demand, rods.Moved]:
    """Demand of a rod on a platform that does not turn, with a mass `extra` of it at B; base axes."""
    revolute, g = form.drive.revolute, flat(form, gravity)
    carriage, arm = form.carriage.parameters, form.carriage.arm
    reach = cross(form.axis, at.arm) if revolute else form.axis
    lever = dot(at.r, reach)
    g1, g2 = at.a1 - g, at.a2 - g
    q, q_dot, q_ddot = at.drive
    mass, c1, c2 = form.rod[0], form.rod[3] / form.length, end_share(form)
    moved = rods.Moved(at.r, at.v, g1, g2, q_dot, divide(1.0, lever), at.arm)
    part = rods.rod_rotation(form, moved, ZERO, counted)
    # Along the drive: (c_1 - c_2) g_2, the mass at A, the carriage, the turning part.
    if at.by_end or not is_zero(extra):
        G = add(scaled(c2 + extra, g2), scaled(c1 - c2, g1))
    else:
        G = c1 * g1 + c2 * at.a
    if at.by_end:
        at_A, own = mass - 2.0 * c1 + c2, (c1 - c2) * dot(g2, reach)
    else:
        at_A, own = mass - c1, (c1 - c2) * dot(at.a, reach)
    own = own + dot(part.force - part.G, reach) + part.reaction
    if revolute:
        own = own + (at_A * arm * arm + carriage[9] + rods.rotor(form)) * q_ddot
        own = own - (at_A + carriage[1] / arm) * dot(g, reach)
        own = own + (carriage[2] / arm) * dot(g, at.arm)
    else:
        carried = at_A + carriage[0]
        own = own + (carried + rods.rotor(form)) * q_ddot - carried * dot(g, reach)
    if revolute and form.drive.joint.springs:
        q = atan2(dot(at.arm, cross(form.axis, form.carriage.start)), dot(at.arm, form.carriage.start))
    own = own + drive_force(form.drive, q, q_dot, q_dot, counted)
    demand = Demand(at.r, np.asarray(G + part.G), part.moment, lever, own)
    return demand._replace(about_a=part.about_a), moved

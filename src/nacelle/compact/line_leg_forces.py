"""Bars in the compact form: what they require of the platform and of their drives, and their inertia.

With d = B - A (3,), v_A and v_B the velocities of its ends, a bar that does not spin has the kinetic energy

    T = m_A v_A.v_A / 2 + m_B v_B.v_B / 2 + m_AB v_A.v_B + residual

The masses m_A, m_B of a rod count on what carries its ends (`inertial`), m_AB between them as that of every
rod (`efforts`). What is left is here: the residual of turning about A in a universal or revolute joint, a
force G at B and -G at A (`rod`); all of a strut, a force G at B and a force along its drive (`strut`); and
friction at A and B. Vectors in the axes of the bar's constraint, N and N m.

A bar's kinetic energy is a form in the velocity v_B (3,) of its end alone, v_B^T K v_B / 2, K (3, 3), kg,
base axes: the drive of a rod of constant length follows B,

    d . (v_B - c q') = 0,     so     q' = n . v_B,     n = d / (d . c)        c = dA/dq, d = B - A

and v = v_B - c q'. Its energy is H q'^2 / 2 along the drive (H kg or kg m^2), m_AB (c q') . v_B of the mass
between its ends, and `rod.residual` beyond that, A (s.v)^2 / 2 + C (s.v)(t.v) + q' (F s.v + G t.v). With s
and t seen from v_B, s - (c.s) n and t - (c.t) n,

    K = H n n^T + A s s^T + sym(2 m_AB c n^T + 2 C s t^T + 2 n (F s + G t)^T).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from nacelle.compact.constraints import DrivenRod, LineConstraint, Strut
from nacelle.compact.legs import Legs
from nacelle.compact.line_legs.geometry import LegForm
from nacelle.compact.line_legs.known import project_to_plane
from nacelle.compact.line_legs.rod import (
    Residual,
    RodMotion,
    force_for_moment,
    hinge_moments,
    residual,
    rod_rotation,
)
from nacelle.compact.line_legs.strut import StrutMotion, strut_forces, strut_inertia
from nacelle.compact.motion import MechanismMotion
from nacelle.compact.required import ForceAccumulator, add_to_both_sides
from nacelle.compact.vectors import ZERO, add, add_product, scale
from nacelle.dynamics.physics import Physics
from nacelle.spatial.scalar import Array, Scalar, divide, dot, is_zero, pack, sample_values
from nacelle.spatial.screw import Wrench


def add_strut_and_rod_forces(
    legs: Legs, motion: MechanismMotion, forces: ForceAccumulator, physics: Physics
) -> None:
    """What bars require in addition to masses at points.

    Args:
        legs: the legs.
        motion: how everything moves.
        forces: where it is gathered.
        physics: what is included.
    """
    configured = legs.configured
    moments: dict[int, Scalar] = {}
    for line_leg in configured.legs_by_line:
        form = line_leg.form if physics.inertia else _without_inertia(line_leg.form)
        if isinstance(line_leg, DrivenRod):
            moments[line_leg.key.leg] = _add_rod_forces(legs, motion, forces, physics, line_leg, form)
        else:
            _add_strut_forces(legs, motion, forces, physics, line_leg, form)
    lines = {
        line_leg.form.name: (line_leg.form, partial(_line_and_rate, legs, motion, line_leg))
        for line_leg in configured.legs_by_line
    }
    hinges = hinge_moments(configured.robot, lines, physics)
    for line_leg in configured.legs_by_line:
        moment = hinges.get(line_leg.form.name, 0.0) + moments.get(line_leg.key.leg, 0.0)
        if not is_zero(moment):
            forces.add_to_constraint(
                line_leg.key, moment * force_for_moment(line_leg.form, _rod_motion(legs, motion, line_leg))
            )


def _without_inertia(form: LegForm) -> LegForm:
    """A leg without inertia: its friction alone."""
    none = np.zeros(10)
    drive = replace(form.drive, joint=replace(form.drive.joint, rotor_inertia=0.0))
    return replace(form, tube=none, rod=none, cross=0.0, drive=drive)


def _add_strut_forces(
    legs: Legs,
    motion: MechanismMotion,
    forces: ForceAccumulator,
    physics: Physics,
    strut: Strut,
    form: LegForm,
) -> None:
    """What a strut requires; `form` as it counts."""
    trees, sides = legs.configured.trees, strut.sides
    gravity = trees.down(sides.axes, np.asarray(legs.configured.robot.gravity))
    w = trees.down(sides.axes, motion.frames[sides.body].w)
    if sides.line is not None and sides.line.length is not None:
        r, v, a = sides.line.direction
        moving = StrutMotion(r, v, a, gravity, w, sides.line.length)
    else:
        moving = StrutMotion(
            *_line_and_rate(legs, motion, strut), project_to_plane(form, sides.gap(motion)), gravity, w
        )
    demand = strut_forces(form, moving, strut.link.up, physics)
    forces.add_to_constraint(strut.key, demand.G, demand.moment)
    forces.along(strut.link.rate, demand.residual_force)


def _rod_motion(legs: Legs, motion: MechanismMotion, line_leg: LineConstraint) -> RodMotion:
    """How a bar moves as a rod, in its axes."""
    trees, sides, (r, v) = legs.configured.trees, line_leg.sides, _line_and_rate(legs, motion, line_leg)
    if isinstance(line_leg, Strut):
        return RodMotion(r, v, ZERO, ZERO, 0.0, 0.0, ZERO)
    a1, a2 = (
        project_to_plane(line_leg.form, a)
        for a in (sides.near_acceleration(motion), sides.end_acceleration(motion))
    )
    arm: Array = ZERO
    if line_leg.form.drive.revolute:
        (axis,) = trees.node(sides.node).axes
        point = sides.leg_point
        arm = trees.up(sides.node, point - float(axis @ sample_values(point)) * axis, sides.axes)
    reciprocal = legs.factors[line_leg.key.leg].reciprocals[0]
    return RodMotion(r, v, a1, a2, motion.u[line_leg.link.rate], reciprocal, arm)


def _add_rod_forces(
    legs: Legs,
    motion: MechanismMotion,
    forces: ForceAccumulator,
    physics: Physics,
    rod: DrivenRod,
    form: LegForm,
) -> Scalar:
    """What a rod requires; gives the moment about A that is left for a force at B (`lean`)."""
    w = legs.configured.trees.down(rod.sides.axes, motion.frames[rod.sides.body].w)
    part = rod_rotation(form, _rod_motion(legs, motion, rod), w, physics)
    near, far = Wrench(part.force - part.G, ZERO), Wrench(part.G, part.moment)
    add_to_both_sides(forces, rod, near, far)
    forces.along(rod.link.rate, part.reaction)
    return part.about_a


def _line_and_rate(legs: Legs, motion: MechanismMotion, line_leg: LineConstraint) -> tuple[Array, Array]:
    """B - A of a bar and its derivative, in its axes."""
    trees = legs.configured.trees
    return line_leg.line(trees), line_leg.relative_velocity(trees, motion.u, motion.frames)


def end_inertia_of_strut(legs: Legs, line_leg: LineConstraint, drive: Scalar) -> Array:
    """Inertia (3, 3) of a bar at B, base axes; `drive` is that of a rod along its drive, kg or kg m^2."""
    trees = legs.configured.trees
    K = (
        strut_inertia(line_leg.form, line_leg.line(trees))
        if isinstance(line_leg, Strut)
        else _rod_inertia(legs, line_leg, drive)
    )
    return trees.tensor_to_base(line_leg.sides.axes, K)


def _residual_energy_terms(legs: Legs, rod: DrivenRod) -> tuple[Array, Residual | None]:
    """dA/dq, and what a rod has beyond its masses."""
    c = rod.sides.near(legs.configured.trees)[rod.link.rate][0]
    return c, residual(rod.form, rod.d, c)


def _rod_inertia(legs: Legs, rod: DrivenRod, drive: Scalar) -> Array:
    c, extra = _residual_energy_terms(legs, rod)
    n = scale(divide(1.0, rod.rows[0].coefficients[rod.link.rate]), rod.d)
    # H n n^T + m (c n^T + n c^T) = k n^T + n k^T.
    k = add(scale(rod.link.masses[2], c), scale(0.5 * drive, n))
    pairs, spun = [], []
    if extra is not None:
        s = add(extra.s, -scale(dot(c, extra.s), n))
        spun.append((s, scale(extra.A, s)))
        if not (is_zero(extra.C) and is_zero(extra.G)):
            t = add(extra.t, -scale(dot(c, extra.t), n))
            pairs.append((s, scale(extra.C, t)))
            k = add(k, scale(extra.G, t))
        k = add(k, scale(extra.F, s))
    pairs.append((n, k))

    def entry(i: int, j: int) -> Scalar:
        parts: list[Scalar] = [u[i] * w[j] for u, w in spun]
        parts += [u[i] * w[j] + w[i] * u[j] if i != j else 2.0 * (u[i] * w[i]) for u, w in pairs]
        value: Scalar = 0.0
        for part in parts:
            value = part if is_zero(value) else value + part
        return value

    return pack([[entry(max(i, j), min(i, j)) for j in range(3)] for i in range(3)])


def residual_energy(legs: Legs, rod: DrivenRod, v: Array, rate: Scalar) -> Scalar:
    """Kinetic energy (J) of a rod beyond that of its masses, at v = v_B - v_A (3,) and its drive's rate q'.

    A (s.v)^2 / 2 + C (s.v) (t.v) + q' (F s.v + G t.v), with s.v = alpha' and t.v = w_1 (`rod.Residual`).
    """
    _, extra = _residual_energy_terms(legs, rod)
    if extra is None:
        return 0.0
    about_s = dot(extra.s, v)
    total = 0.5 * extra.A * (about_s * about_s)
    total = add_product(total, extra.F, rate * about_s)
    if not (is_zero(extra.C) and is_zero(extra.G)):
        about = dot(extra.t, v)
        total = add_product(add_product(total, extra.C, about_s * about), extra.G, rate * about)
    return total

"""Bars in the compact form: what they require of the nacelle and of their drives, and their inertia.

With d = B - A (3,), v_A and v_B the velocities of its ends, a bar that does not spin has the kinetic energy

    T = m_A v_A.v_A / 2 + m_B v_B.v_B / 2 + m_AB v_A.v_B + residual

The masses m_A, m_B of a rod count on what carries its ends (`inertial`), m_AB between them as that of every
rod (`efforts`). What is left is here: the residual of turning about A in a universal or revolute joint, a
force G at B and -G at A (`rod`); all of a strut, a force G at B and a force along its drive (`strut`); and
friction at A and B. Vectors in the axes of the bar's tie, N and N m.

Inertia of bars, condensed at the point B where they hold the nacelle.

A bar's kinetic energy is a form in the velocity v_B (3,) of its end alone, v_B^T K v_B / 2, K (3, 3), kg,
base axes: the drive of a rod of constant length follows B,

    d . (v_B - c q') = 0,     so     q' = n . v_B,     n = d / (d . c)        c = dA/dq, d = B - A

and v = v_B - c q'. Its energy is H q'^2 / 2 along the drive (H kg or kg m^2), m_AB (c q') . v_B of the mass
between its ends, and `rod.residual` beyond that, A (s.v)^2 / 2 + C (s.v)(t.v) + q' (F s.v + G t.v). With s
and t seen from v_B, s - (c.s) n and t - (c.t) n,

    K = H n n^T + A s s^T + sym(2 m_AB c n^T + 2 C s t^T + 2 n (F s + G t)^T).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from nacelle.compact.bars.geometry import LegForm
from nacelle.compact.bars.known import Bar, flat
from nacelle.compact.bars.rod import Residual, RodMotion, hinge_moments, lean, residual, rod_rotation
from nacelle.compact.bars.strut import StrutMotion, strut, strut_inertia
from nacelle.compact.legs import Legs, MechanismMotion
from nacelle.compact.placed import Placed
from nacelle.compact.required import Required, on_both_sides
from nacelle.compact.ties import Tie, TieKey, slip, tie_columns
from nacelle.compact.vectors import ZERO, add, is_zero, plus_times, scaled
from nacelle.dynamics.physics import Physics
from nacelle.spatial.scalar import Array, Scalar, at_sample, divide, dot, pack, plus
from nacelle.spatial.screw import Wrench


class BarTie(NamedTuple):
    """A bar, and the tie that joins it to the nacelle.

    Attributes:
        key: which tie it is.
        tie: the tie.
        bar: the bar.
        form: its leg in the tie's axes.
    """

    key: TieKey
    tie: Tie
    bar: Bar
    form: LegForm


def bars(placed: Placed) -> Iterator[BarTie]:
    """All bars, leg by leg."""
    trees = placed.trees
    for leg, ties in enumerate(placed.ties):
        for number, tie in enumerate(ties):
            if tie.bar is not None:
                form = tie.bar.seen(trees.node(tie.axes).G.R if tie.axes else None)
                yield BarTie(TieKey(leg, number), tie, tie.bar, form)


def require_bars(legs: Legs, motion: MechanismMotion, into: Required, counted: Physics) -> None:
    """What bars require beside masses at points.

    Args:
        legs: the legs.
        motion: how everything moves.
        into: where it is gathered.
        counted: what counts.
    """
    moments: dict[int, Scalar] = {}
    for at in bars(legs.placed):
        weighed = at if counted.inertia else at._replace(form=_massless(at.form))
        if at.bar.is_strut:
            _require_strut(legs, motion, into, counted, weighed)
        else:
            moments[at.key.leg] = _require_rod(legs, motion, into, counted, weighed)
    lines = {
        form.name: (form, partial(_line_rate, legs, motion, tie)) for _, tie, _, form in bars(legs.placed)
    }
    hinges = hinge_moments(legs.placed.robot, lines, counted)
    for key, tie, _, form in bars(legs.placed):
        moment = hinges.get(form.name, 0.0) + moments.get(key.leg, 0.0)
        if not is_zero(moment):
            into.on_tie(key, moment * lean(form, _moved(legs, motion, key, tie, form)))


def _massless(form: LegForm) -> LegForm:
    """A leg without inertia: its friction alone."""
    none = np.zeros(10)
    drive = replace(form.drive, joint=replace(form.drive.joint, rotor_inertia=0.0))
    return replace(form, tube=none, rod=none, cross=0.0, drive=drive)


def bar_line(legs: Legs, tie: Tie) -> Array:
    """B - A of a bar (3,), m, in the tie's axes."""
    assert tie.point is not None
    if tie.line is not None:
        return tie.line.r
    if tie.rows[0].kind == "rod":
        return tie.rows[0].force
    return np.asarray(plus(legs.placed.trees.seen(tie.axes, tie.point), -tie.own))


def _require_strut(legs: Legs, motion: MechanismMotion, into: Required, counted: Physics, at: BarTie) -> None:
    key, tie, bar, form = at
    trees = legs.placed.trees
    assert tie.body is not None
    gravity = trees.down(tie.axes, np.asarray(legs.placed.robot.gravity))
    w = trees.down(tie.axes, motion.frames[tie.body].w)
    if tie.line is not None and tie.line.length is not None:
        r, v, a = tie.line.direction
        moving = StrutMotion(r, v, a, gravity, w, tie.line.length)
    else:
        state = (bar_line(legs, tie), motion.state.slip(tie), flat(form, motion.state.gap(tie)))
        moving = StrutMotion(*state, gravity, w)
    demand = strut(form, moving, bar.up, counted, geared=True)
    into.on_tie(key, demand.G, demand.moment)
    into.along(bar.rate, demand.own)


def _moved(legs: Legs, motion: MechanismMotion, key: TieKey, tie: Tie, form: LegForm) -> RodMotion:
    """How a rod moves, in the tie's axes."""
    trees = legs.placed.trees
    assert tie.bar is not None
    r, state = bar_line(legs, tie), motion.state
    if tie.bar.is_strut:
        return RodMotion(r, state.slip(tie), ZERO, ZERO, 0.0, 0.0, ZERO)
    a1, a2 = (flat(form, a) for a in (state.acceleration(tie), state.end_acceleration(tie)))
    arm: Array = ZERO
    if form.drive.revolute:
        (axis,) = trees.node(tie.node).axes
        arm = trees.up(tie.node, tie.own - float(axis @ at_sample(tie.own)) * axis, tie.axes)
    reciprocal = legs.factors[key.leg].reciprocals[0]
    return RodMotion(r, state.slip(tie), a1, a2, motion.u[tie.bar.rate], reciprocal, arm)


def _require_rod(legs: Legs, motion: MechanismMotion, into: Required, counted: Physics, at: BarTie) -> Scalar:
    """What a rod requires; gives the moment about A that is left for a force at B (`lean`)."""
    key, tie, bar, form = at
    assert tie.body is not None
    w = legs.placed.trees.down(tie.axes, motion.frames[tie.body].w)
    part = rod_rotation(form, _moved(legs, motion, key, tie, form), w, counted)
    own, far = Wrench(part.force - part.G, ZERO), Wrench(part.G, part.moment)
    on_both_sides(legs.placed, into, key, tie, own, far)
    into.along(bar.rate, part.reaction)
    return part.about_a


def _line_rate(legs: Legs, motion: MechanismMotion, tie: Tie) -> tuple[Array, Array]:
    """B - A of a bar and its derivative, in the tie's axes."""
    return bar_line(legs, tie), slip(legs.placed.trees, tie, motion.u, motion.frames)


# ---- inertia of bars, condensed at the point B where they hold the nacelle


def bar_inertia(legs: Legs, tie: Tie, form: LegForm, drive: Scalar) -> Array:
    """Inertia (3, 3) of a bar at B, base axes.

    Args:
        legs: the legs.
        tie: the tie of the bar.
        form: the leg in the tie's axes.
        drive: of a rod, inertia along its drive, kg or kg m^2.
    """
    assert tie.bar is not None
    if tie.bar.is_strut:
        K = strut_inertia(form, bar_line(legs, tie))
    else:
        K = _rod_inertia(legs, tie, tie.bar, form, drive)
    if not tie.axes:
        return K
    up = legs.placed.trees.up
    half = np.stack([up(tie.axes, K[:, k]) for k in range(3)], axis=1)
    full = np.stack([up(tie.axes, half[k]) for k in range(3)], axis=0)
    return pack([[full[max(i, j), min(i, j)] for j in range(3)] for i in range(3)])


def _beyond(legs: Legs, tie: Tie, bar: Bar, form: LegForm) -> tuple[Array, Residual | None]:
    """dA/dq, and what a rod has beyond its masses."""
    c = tie_columns(legs.placed.trees, tie)[bar.rate][0]
    return c, residual(form, bar_line(legs, tie), c)


def _rod_inertia(legs: Legs, tie: Tie, bar: Bar, form: LegForm, drive: Scalar) -> Array:
    c, more = _beyond(legs, tie, bar, form)
    n = scaled(divide(1.0, tie.rows[0].coefficients[bar.rate]), tie.rows[0].force)
    # H n n^T + m (c n^T + n c^T) = k n^T + n k^T.
    k = add(scaled(bar.masses[2], c), scaled(0.5 * drive, n))
    pairs, spun = [], []
    if more is not None:
        s = add(more.s, -scaled(dot(c, more.s), n))
        spun.append((s, scaled(more.A, s)))
        if not (is_zero(more.C) and is_zero(more.G)):
            t = add(more.t, -scaled(dot(c, more.t), n))
            pairs.append((s, scaled(more.C, t)))
            k = add(k, scaled(more.G, t))
        k = add(k, scaled(more.F, s))
    pairs.append((n, k))

    def entry(i: int, j: int) -> Scalar:
        parts: list[Scalar] = [u[i] * w[j] for u, w in spun]
        parts += [u[i] * w[j] + w[i] * u[j] if i != j else 2.0 * (u[i] * w[i]) for u, w in pairs]
        value: Scalar = 0.0
        for part in parts:
            value = part if is_zero(value) else value + part
        return value

    return pack([[entry(max(i, j), min(i, j)) for j in range(3)] for i in range(3)])


def residual_energy(legs: Legs, tie: Tie, form: LegForm, v: Array, rate: Scalar) -> Scalar:
    """Kinetic energy (J) of a rod beyond that of its masses, at v = v_B - v_A (3,) and its drive's rate q'.

    A (s.v)^2 / 2 + C (s.v) (t.v) + q' (F s.v + G t.v), with s.v = alpha' and t.v = w_1 (`rod.Residual`).
    """
    assert tie.bar is not None
    _, more = _beyond(legs, tie, tie.bar, form)
    if more is None:
        return 0.0
    about_s = dot(more.s, v)
    total = 0.5 * more.A * (about_s * about_s)
    total = plus_times(total, more.F, rate * about_s)
    if not (is_zero(more.C) and is_zero(more.G)):
        about = dot(more.t, v)
        total = plus_times(plus_times(total, more.C, about_s * about), more.G, rate * about)
    return total

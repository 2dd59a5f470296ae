"""Bars in the general form: what they require of the nacelle and of their drives, and their inertia.

With d = B - A (3,), v_A and v_B the velocities of its ends, a bar that does not spin has the kinetic energy

    T = m_A v_A.v_A / 2 + m_B v_B.v_B / 2 + m_AB v_A.v_B + residual

The masses m_A, m_B of a rod count on what carries its ends (`inertial`), m_AB between them as that of every
rod (`efforts`). What is left is here: the residual of turning about A in a universal or revolute joint, a
force G at B and -G at A (`rod`); all of a strut, a force G at B and a force along its drive (`strut`); and
friction at A and B. Vectors in the axes of the bar's tie, N and N m.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from nacelle.dynamics.general.bars.rod import RodMotion, hinge_moments, lean, rod_rotation
from nacelle.dynamics.general.bars.strut import strut
from nacelle.dynamics.general.bars.strut_line import StrutMotion
from nacelle.dynamics.general.required import Counted, Required, on_both_sides
from nacelle.kinematics.bars.form import LegForm
from nacelle.kinematics.general.bars import Bar, flat
from nacelle.kinematics.general.legs import Legs, MechanismMotion
from nacelle.kinematics.general.placed import Placed
from nacelle.kinematics.general.tie_motion import slip
from nacelle.kinematics.general.ties import Tie
from nacelle.kinematics.general.vectors import ZERO, is_zero
from nacelle.spatial.scalar import Array, Scalar, at_sample, plus

Key = tuple[int, int]


def bars(placed: Placed) -> Iterator[tuple[Key, Tie, Bar, LegForm]]:
    """For every bar its tie (leg, number), and the leg in the tie's axes."""
    trees = placed.trees
    for leg, ties in enumerate(placed.ties):
        for number, tie in enumerate(ties):
            if tie.bar is not None:
                form = tie.bar.seen(trees.node(tie.axes).G.R if tie.axes else None)
                yield (leg, number), tie, tie.bar, form


def require_bars(legs: Legs, motion: MechanismMotion, into: Required, counted: Counted) -> None:
    """What bars require beside masses at points.

    Args:
        legs: the legs.
        motion: how everything moves.
        into: where it is gathered.
        counted: what counts.
    """
    moments: dict[int, Scalar] = {}
    for key, tie, bar, form in bars(legs.placed):
        weighed = form if counted.inertia else _massless(form)
        if bar.is_strut:
            _require_strut(legs, motion, into, counted, (key, tie, weighed))
        else:
            moments[key[0]] = _require_rod(legs, motion, into, counted, (key, tie, weighed))
    lines = {
        form.name: (form, partial(_line_rate, legs, motion, tie)) for _, tie, _, form in bars(legs.placed)
    }
    hinges = hinge_moments(legs.placed.robot, lines, counted)
    for key, tie, _, form in bars(legs.placed):
        moment = hinges.get(form.name, 0.0) + moments.get(key[0], 0.0)
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


def _require_strut(
    legs: Legs,
    motion: MechanismMotion,
    into: Required,
    counted: Counted,
    what: tuple[Key, Tie, LegForm],
) -> None:
    key, tie, form = what
    bar, trees = tie.bar, legs.placed.trees
    assert bar is not None
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


def _moved(legs: Legs, motion: MechanismMotion, key: Key, tie: Tie, form: LegForm) -> RodMotion:
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
    reciprocal = legs.factors[key[0]].reciprocals[0]
    return RodMotion(r, state.slip(tie), a1, a2, motion.u[tie.bar.rate], reciprocal, arm)


def _require_rod(
    legs: Legs, motion: MechanismMotion, into: Required, counted: Counted, what: tuple[Key, Tie, LegForm]
) -> Scalar:
    """What a rod requires; gives the moment about A that is left for a force at B (`lean`)."""
    key, tie, form = what
    assert tie.bar is not None
    assert tie.body is not None
    w = legs.placed.trees.down(tie.axes, motion.frames[tie.body].w)
    part = rod_rotation(form, _moved(legs, motion, key, tie, form), w, counted)
    on_both_sides(legs.placed, into, key, tie, (part.force - part.G, ZERO), (part.G, part.moment))
    into.along(tie.bar.rate, part.reaction)
    return part.about_a


def _line_rate(legs: Legs, motion: MechanismMotion, tie: Tie) -> tuple[Array, Array]:
    """B - A of a bar and its derivative, in the tie's axes."""
    return bar_line(legs, tie), slip(legs.placed.trees, tie, motion.u, motion.frames)

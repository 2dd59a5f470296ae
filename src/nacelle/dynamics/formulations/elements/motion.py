"""Motion constraints: how every element moves with the nacelle ([OAM] section 5.3).

The nacelle's bodies move with its rates w = [platform twist; rates of its joints]. Leg by leg the rates u of
the elements follow from what keeps the leg together (`leg_bodies`), linear equations at a configuration,

    C_u u + C_w w = 0,     u = M w,     M = -C_u^+ C_w                           [OAM] (37), (41), (43), (55)

What a leg's equations leave over, P C_w w = 0 with P = 1 - C_u C_u^+, and the loops of the nacelle determine
in the same way those of w that depend on others. Differentiated: C_u u' + C_w w' + (C_u)' u + (C_w)' w = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.state import State
from nacelle.kinematics.elements.chain import (
    end_zeros,
    free_rates,
    leg_bodies,
    motion_basis,
    part_bodies,
    part_states,
)
from nacelle.kinematics.elements.geometry import ElementGeometry
from nacelle.kinematics.elements.rates import (
    Rate,
    Rigid,
    cross_and_rate,
    dotted,
    solved_rates,
    stacked,
    times,
    zero_rate,
)
from nacelle.kinematics.elements.reading import element_legs
from nacelle.kinematics.elements.structure import ElementLeg
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.rates import selections
from nacelle.model.joint import JointKind
from nacelle.model.leg import PLATFORM
from nacelle.spatial.scalar import Array


class CarriedBody(NamedTuple):
    """A body, or a part of one, that a leg carries: its motion over the leg's motion basis."""

    body: int
    share: float
    rigid: Rigid


class LegMotion(NamedTuple):
    """How the elements of a leg move.

    Attributes:
        leg: the leg.
        u: its motion basis from the reduced twist, u.M = M (m, n) ([OAM] (55)).
        carried: all bodies that it carries, over the motion basis.
    """

    leg: ElementLeg
    u: Rate
    carried: tuple[CarriedBody, ...]


@dataclass(frozen=True)
class ElementBodyMotion:
    """How all elements of a robot move.

    Attributes:
        nacelle: how the bodies of the nacelle move with the reduced twist.
        legs: how the elements of each leg move.
    """

    nacelle: Mapping[int, Rigid]
    legs: tuple[LegMotion, ...]


def element_motion(state: State, a: Array) -> ElementBodyMotion:
    """All rates of the elements at the state's twist, and their derivatives at a = dv/dt (n,)."""
    mechanism = state.mechanism
    legs = element_legs(mechanism)
    at = ElementGeometry(state.robot, state.now.motion.poses)
    independent, dependent = selections(mechanism)
    v = Rate(np.eye(len(a)), state.moving.u[list(mechanism.independent)], a)
    w = v.through(independent)
    if mechanism.dependent:
        depends, _ = solved_rates(
            lambda depends, v: _zeros(at, legs, v.through(independent) + depends.through(dependent)),
            len(mechanism.dependent),
            v,
        )
        w = w + depends.through(dependent)
    nacelle = _nacelle(at, w)
    return ElementBodyMotion(nacelle, tuple(_leg_motion(at, leg, nacelle) for leg in legs))


def _nacelle(at: ElementGeometry, w: Rate) -> dict[int, Rigid]:
    """Motions of the nacelle's bodies from its rates w = [platform twist; its joints' rates]."""
    robot, m, rates = at.robot, at.robot.platform_nv, mechanism_of(at.robot).nacelle_rates
    rotation = zero_rate(w.M.shape[1]) if m == 3 else w[3:6]
    bodies = {PLATFORM: Rigid(at.poses[PLATFORM].p, w[0:3], rotation)}
    for j in robot.nacelle.joints:
        joint = robot.joints[j]
        body = bodies[joint.predecessor]
        if joint.kind is not JointKind.FIXED:
            F, p = at.frame(j), at.frame(j, on_successor=True).p
            z = F.R[:, 2]
            rate = times(w[m + rates.index(m + robot.v_slices[j].start)], z, body.fixed(z))
            if joint.kind is JointKind.REVOLUTE:
                body = Rigid(F.p, body.at(F.p), body.w + rate)
            else:
                reach = cross_and_rate(body.w, p - F.p, body.fixed(p - F.p) + rate.now)
                body = Rigid(p, body.at(F.p) + reach + rate, body.w)
        bodies[joint.successor] = body
    return bodies


def _zeros(at: ElementGeometry, legs: tuple[ElementLeg, ...], w: Rate) -> list[Rate]:
    """What determines dependent motions: loops of the nacelle, and legs if the motion is parasitic."""
    nacelle = _nacelle(at, w)
    zeros: list[Rate] = []
    for c in at.robot.nacelle.closures:
        joint = at.robot.joints[c]
        if joint.at_point:
            continue
        first, second = at.frame(c), at.frame(c, on_successor=True)
        one, two = nacelle[joint.predecessor], nacelle[joint.successor]
        zeros.append(two.at(second.p) - one.at(first.p))
        for k in range(2 if joint.kind is JointKind.REVOLUTE else 3):
            e = first.R[:, k]
            zeros.append(dotted(two.w - one.w, e, one.fixed(e)))
    if mechanism_of(at.robot).parasitic:
        zeros += [_solved_leg(at, leg, nacelle)[1] for leg in legs]
    return zeros


def _solved_leg(at: ElementGeometry, leg: ElementLeg, nacelle: Mapping[int, Rigid]) -> tuple[Rate, Rate]:
    """Rates of a leg's own elements, and what the leg forbids to the nacelle, over the nacelle's basis."""
    held = nacelle[leg.rods[0].nacelle]

    def zeros(free: Rate, twist: Rate) -> list[Rate]:
        moved = Rigid(held.p, twist[0:3], twist[3:6])
        made = leg_bodies(at, leg, motion_basis(at, leg, free, moved))
        return [*made.zeros, *end_zeros(at, leg, made.ends, moved)]

    free, left = solved_rates(zeros, free_rates(leg), stacked([held.v, held.w]))
    return motion_basis(at, leg, free, held), left


def _leg_motion(at: ElementGeometry, leg: ElementLeg, nacelle: Mapping[int, Rigid]) -> LegMotion:
    """A leg's motion basis from the nacelle's motion, then its bodies and parts over that basis."""
    u = stacked([_solved_leg(at, leg, nacelle)[0], *part_states(at, leg, nacelle)])
    own = Rate(np.eye(len(u.M)), u.now, u.next)
    made = leg_bodies(at, leg, own)
    parts = part_bodies(at, leg, own, made.ends[0][1])
    carried_parts = (CarriedBody(p.element.body, p.element.share, parts[p.element.body]) for p in leg.parts)
    return LegMotion(
        leg, u, (*(CarriedBody(b, 1.0, rigid) for b, rigid in made.bodies.items()), *carried_parts)
    )

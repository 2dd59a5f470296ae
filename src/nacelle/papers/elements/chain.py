"""How the bodies of a leg move with the motion basis of its elements, and what keeps them together.

The motion basis u of a leg stacks x' (3), d' and theta' of its elements ([OAM] (26)); the kinematic
coordinates of a body are the partial velocities [dS'/du; dw/du] ([OAM] (49), (50), Table 1), by the chain

    B' = A' + d' x + d x',   w = x x x' + theta' x                                   [OAM] (12), (14), (30)

from the base outwards, with every point that lies off an element's line carried along as w x e. These rates
are zero, and are [OAM]'s motion constraints (37) with those that it meets by construction:

    x . x'                     a direction has unit length
    n . (w_2 - w_1)            a joint: n the two axes perpendicular to that of a revolute joint, n = a x b of
                               the axes a, b of a universal one
    B'_leg - B'_nacelle        the end of a leg; of a spherical joint on a plane only across the plane

With a on the base and b perpendicular to x the universal joint gives the spin of a strut, theta' =
(a . x) ((a x x) . x') / |a x x|^2, which [OAM] (7) leaves out. A strut between two spherical joints has an
idle spin, and none about the line of their centres is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.legs.parallelogram import Parallelogram
from nacelle.model.leg import BASE
from nacelle.papers.elements.reading import welds
from nacelle.papers.elements.structure import (
    ElementGeometry,
    ElementLeg,
    ElementRod,
    Hold,
    Rate,
    Rigid,
    cross_and_rate,
    dotted,
    resting,
    split_states,
    stacked,
    times,
    zero_rate,
)
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, cross, divide, dot, norm


class LegBodies(NamedTuple):
    """The bodies of a leg over its motion basis.

    Attributes:
        bodies: how each moves, by index.
        ends: each rod that holds the nacelle, with the body at its end.
        zeros: rates within the leg that are zero.
    """

    bodies: dict[int, Rigid]
    ends: list[tuple[ElementRod, Rigid]]
    zeros: list[Rate]


def leg_bodies(at: ElementGeometry, leg: ElementLeg, u: Rate) -> LegBodies:
    """The bodies of a leg from the rates u of its own elements, from the base outwards."""
    states = split_states(leg.elements, u)
    before = resting(u.M.shape[1])
    made = LegBodies({}, [], [])
    if leg.driver is not None:
        before = made.bodies[leg.elements[0].body] = _driven(at, leg, states[0])
    if leg.form == "plane":
        made.ends.append((leg.rods[0], before))
    else:
        for k, rod in enumerate(leg.rods, start=len(leg.elements) - len(leg.rods)):
            _add_rod(at, leg, rod, states[k], before, made)
    if leg.fold is not None:
        _close_parallelogram(at, leg.fold, made)
    stem = welds(at.robot)
    for body in leg.leg.bodies:
        if stem[body] != body:
            made.bodies[body] = resting(u.M.shape[1]) if stem[body] == BASE else made.bodies[stem[body]]
    return made


def spun(x: Array, states: Mapping[str, Rate]) -> Rate:
    """Angular velocity of an element: x x x' + theta' x ([OAM] (12), (13))."""
    x_rate = states["x"]
    w = Rate(skew(x) @ x_rate.M, cross(x, x_rate.now), cross(x, x_rate.next))
    return w + times(states["theta"], x, x_rate.now) if "theta" in states else w


def _driven(at: ElementGeometry, leg: ElementLeg, states: Mapping[str, Rate]) -> Rigid:
    """The driven bar, slider or spindle on the base."""
    assert leg.driver is not None
    F = at.frame(leg.driver)
    z, (rate, *_) = F.R[:, 2], states.values()
    none = zero_rate(rate.M.shape[-1])
    if "x" in states:
        return Rigid(F.p, none, spun(at.bar_direction(leg), states))
    moves = times(rate, z, np.zeros(3))
    return Rigid(F.p, moves, none) if "d" in states else Rigid(F.p, none, moves)


def _add_rod(
    at: ElementGeometry,
    leg: ElementLeg,
    rod: ElementRod,
    states: Mapping[str, Rate],
    before: Rigid,
    made: LegBodies,
) -> None:
    """A rod or strut on the body before it, with the body between two revolutes that hold it."""
    A, B = at.ends(leg, rod)
    x, x_rate = at.direction(leg, rod), states["x"]
    body = Rigid(A, before.at(A), spun(x, states))
    made.zeros.extend((dotted(x_rate, x, x_rate.now), *joint_zeros(at, rod.hold, before, body)))
    if rod.hold.cross is not None:
        made.bodies.setdefault(rod.hold.cross, Rigid(A, body.v, _between(at, rod.hold, before, body)))
    made.bodies[rod.body] = body
    if leg.moving is not None:
        # P = A + d x: P' = A' + d' x + d x'
        d, d_rate = dot(x, B - A), states["d"]
        stretch = Rate(x_rate.M * d, x_rate.now * d, x_rate.next * d + x_rate.now * d_rate.now)
        body = Rigid(A + x * d, body.v + times(d_rate, x, x_rate.now) + stretch, body.w)
        made.bodies[leg.moving] = body
        if rod.hold.letter == rod.end.letter == "S":
            made.zeros.append(dotted(body.w, B - A, body.fixed(B - A)))
    made.ends.append((rod, body))


def _close_parallelogram(at: ElementGeometry, fold: Parallelogram, made: LegBodies) -> None:
    """Its rods start at the hub; its end moves with the first one and rotates as the hub."""
    joints = at.robot.joints
    hub = made.bodies[joints[fold.hub].successor]
    for j in (fold.rod_a, fold.rod_b):
        root, rod = at.frame(j).p, joints[j].successor
        made.bodies[rod] = Rigid(root, hub.at(root), made.bodies[rod].w)
    tip = at.frame(fold.end).p
    end = Rigid(tip, made.bodies[joints[fold.rod_a].successor].at(tip), hub.w)
    made.bodies[joints[fold.end].successor] = end
    made.ends[:] = [(made.ends[0][0], end)]


def joint_zeros(at: ElementGeometry, hold: Hold, before: Rigid, behind: Rigid) -> list[Rate]:
    """What a joint locks of the rotation of the body behind it against the one before."""
    if hold.letter == "S":
        return []
    a, b = (at.axis(axis) for axis in hold.axes)
    relative = behind.w - before.w
    if hold.letter == "U":
        return [dotted(relative, cross(a, b), cross(before.fixed(a), b) + cross(a, behind.fixed(b)))]
    F = at.frame(hold.axes[1].joint, on_successor=hold.axes[1].on_successor)
    return [dotted(relative, F.R[:, k], behind.fixed(F.R[:, k])) for k in range(2)]


def _between(at: ElementGeometry, hold: Hold, before: Rigid, behind: Rigid) -> Rate:
    """Angular velocity of the body between two revolutes: w_1 + q1' a, where q1' a + q2' b = w_2 - w_1."""
    a, b = (at.axis(axis) for axis in hold.axes)
    k = dot(a, b)
    reciprocal = divide(1.0, 1.0 - k * k)
    # a is fixed to the body before, b to the one behind; both to the body between.
    g, g_rate = (a - b * k) * reciprocal, (before.fixed(a) - behind.fixed(b) * k) * reciprocal
    return before.w + times(dotted(behind.w - before.w, g, g_rate), a, before.fixed(a))


def free_rates(leg: ElementLeg) -> int:
    """How many rates of a leg `motion_basis` takes: q' of its driver, spins of its rods, all of a strut."""
    driven = leg.elements[: len(leg.elements) - (len(leg.rods) if leg.form != "plane" else 0)]
    spins = sum("theta" in element.basis for element in leg.elements[len(driven) :])
    return len(driven) + (spins if leg.prismatic is None else 5)


def motion_basis(at: ElementGeometry, leg: ElementLeg, free: Rate, nacelle: Rigid) -> Rate:
    """The motion basis of a leg's own elements from its free rates and the motion of the nacelle.

    A driven bar has x' = q' y, y = z x x with the joint's own axis z, so q' may have either sign or be zero
    (not so in [OAM] (10)); a rod has x' = (B' - A') / |B - A| ([OAM] (42), (43)).
    """
    if leg.prismatic is not None:
        return free
    assert leg.driver is not None
    first, *spins = (free[k] for k in range(len(free.now)))
    if "x" in leg.elements[0].basis:
        x = at.bar_direction(leg)
        first = times(first, cross(at.frame(leg.driver).R[:, 2], x), -x * first.now)
    before = _driven(at, leg, {leg.elements[0].basis[0]: first})
    rates = [first]
    for rod, element in zip(leg.rods, leg.elements[1:], strict=False):
        A, B = at.ends(leg, rod)
        rates.append((nacelle.at(B) - before.at(A)).through(np.eye(3) * divide(1.0, norm(B - A))))
        if "theta" in element.basis:
            rates.append(spins.pop(0))
    return stacked(rates)


def end_zeros(
    at: ElementGeometry, leg: ElementLeg, ends: list[tuple[ElementRod, Rigid]], nacelle: Rigid
) -> list[Rate]:
    """What the joints at the ends of a leg lock of the nacelle; rods reach their ends by `motion_basis`."""
    if leg.form == "plane":
        return [_plane_zero(at, leg, ends[0][1], nacelle)]
    zeros: list[Rate] = []
    for rod, last in ends:
        if leg.prismatic is not None:
            B = at.ends(leg, rod)[1]
            zeros.append(nacelle.at(B) - last.at(B))
        zeros += joint_zeros(at, rod.end, last, nacelle)
    return zeros


def _plane_zero(at: ElementGeometry, leg: ElementLeg, slider: Rigid, nacelle: Rigid) -> Rate:
    """A spherical joint C that stays on a plane: (n . (C - O))' = n . (C' - O') + n' . (C - O)."""
    tip = leg.rods[0].tip
    plane, centre = at.frame(tip), at.frame(tip, on_successor=True)
    one, two = (
        (nacelle, slider) if at.robot.joints[tip].predecessor == leg.rods[0].nacelle else (slider, nacelle)
    )
    n, gap = plane.R[:, 2], two.at(centre.p) - one.at(plane.p)
    return dotted(gap, n, one.fixed(n)) + dotted(cross_and_rate(one.w, n), centre.p - plane.p, gap.now)


def part_states(at: ElementGeometry, leg: ElementLeg, nacelle: Mapping[int, Rigid]) -> list[Rate]:
    """The basis of a leg's parts of the nacelle: x' = w x x, theta' = w . x; A' where no element gives it."""
    rates = []
    for part in leg.parts:
        body = nacelle[part.element.body]
        if "A" in part.element.basis:
            rates.append(body.at(at.part_input(part)))
        if "x" in part.element.basis:
            x = at.part_direction(part)
            rates += [cross_and_rate(body.w, x), dotted(body.w, x, body.fixed(x))]
    return rates


def part_bodies(at: ElementGeometry, leg: ElementLeg, u: Rate, last: Rigid) -> dict[int, Rigid]:
    """A leg's parts of the nacelle from the rates u of all its elements, behind the last body of the leg."""
    parts: dict[int, Rigid] = {}
    for part, states in zip(leg.parts, split_states(leg.all_elements, u)[len(leg.elements) :], strict=True):
        A = at.part_input(part)
        before = last if part.neighbour is None else parts[part.neighbour]
        w = spun(at.part_direction(part), states) if "x" in states else zero_rate(u.M.shape[1])
        parts[part.element.body] = Rigid(A, states["A"] if "A" in states else before.at(A), w)
    return parts

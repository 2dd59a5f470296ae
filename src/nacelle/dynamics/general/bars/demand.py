"""What a leg requires of the platform and of its actuator.

A leg between A and B, r = B - A (3,), m, can transmit to the platform any force along its line, f r with the
force density f (N/m), and what its own motion takes: the platform feels f r - G at B. G (3,), N, is what the
leg's inertia, weight and passive friction require at B, up to a multiple of r, which f takes up. Equal power
at a unit rate of the actuator gives its force

    force = gain f + own          gain: l = |r| for a strut (with its sign), r . dA/dq for a driven rod

own (N or N m) what the leg and its drive require without f. So each leg has one unknown, f, and the
platform's balance sum over legs of (f_j r_j - G_j) = its own inertia and weight determines all of them. Base
axes.
"""

from __future__ import annotations

from typing import NamedTuple

from nacelle.dynamics.friction import axis_friction
from nacelle.dynamics.general.required import Counted
from nacelle.kinematics.bars import ActuatedJoint
from nacelle.model.joint import FrictionTerm
from nacelle.spatial.scalar import Array, Scalar, sign


class Demand(NamedTuple):
    """What one leg requires.

    Attributes:
        r: direction of the unknown (3,), base axes, m.
        G: force at B (3,), base axes, N.
        moment: on the platform (3,), N m, from friction in the joint at B.
        gain: actuator's force for a unit of force density (N/m): m, or m^2 of a revolute drive.
        own: actuator's force without it, N or N m.
        about_a: for a rod in a plane, a moment about A, N m, still to be made a force at B.
    """

    r: Array
    G: Array
    moment: Array
    gain: Scalar
    own: Scalar
    about_a: Scalar = 0.0


def friction_along(terms: tuple[FrictionTerm, ...], rate: Scalar, along: Scalar, counted: Counted) -> Scalar:
    """Friction, N or N m, at a rate; `along` is any positive multiple of it, enough for dry friction."""
    if not counted.friction or not terms:
        return 0.0
    total: Scalar = 0.0
    for term in terms:
        if term.basis == "coulomb" and counted.smooth is None:
            total = total + term.coefficient * sign(along)
        else:
            total = total + axis_friction([term], rate, counted.smooth)
    return total


def drive_force(drive: ActuatedJoint, q: Scalar, rate: Scalar, along: Scalar, counted: Counted) -> Scalar:
    """Friction and spring of the driven joint, friction(q') + k (q - q_0), N or N m.

    Args:
        drive: the actuated joint.
        q: its coordinate, rad or m.
        rate: q', rad/s or m/s.
        along: a positive multiple of q'.
        counted: what counts.
    """
    total = friction_along(drive.friction(), rate, along, counted)
    spring = drive.joint.springs[0] if counted.springs and drive.joint.springs else None
    if spring is not None:
        total = total + spring.held_force(q)
    return total

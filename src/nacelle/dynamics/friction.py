"""Friction as a sum of basis functions of the joint's rate ([AGH2005] (24)-(27)).

    viscous    r              coulomb    sign(r), 0 at rest      coulomb-smooth   tanh(r / scale)
    quadratic  r |r|          cubic      r^3                     stribeck         exp(-(r / scale)^2) sign(r)
    constant   1

Forces are those that the motion has to overcome: positive against a positive rate. In a spherical joint
it acts along the relative angular velocity, whose length is the rate: a constant is Coulomb friction there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacelle.model.joint import FrictionTerm
from nacelle.spatial.scalar import Array, Scalar, absolute, dot, exp, maximum, sign, sqrt, tanh, where

# What changes at once where the rate changes its sign.
DRY_FRICTION = ("coulomb", "stribeck", "constant")
# Part of the rate over which friction bends that is rest in a spherical joint: its square is below rounding.
_REST_RATE = 1e-9


def friction_basis(term: FrictionTerm, rate: Scalar, smooth: float | None = None) -> Scalar:
    """The basis function of a friction term at a rate (rad/s or m/s).

    Args:
        term: the term.
        rate: of the joint, rad/s or m/s.
        smooth: if given (rad/s or m/s), sign(r) becomes tanh(r / smooth) in every term.
    """
    side = sign(rate) if smooth is None else tanh(rate / smooth)
    match term.basis:
        case "viscous":
            return rate
        case "coulomb":
            return side
        case "coulomb-smooth":
            return tanh(rate / term.scale)
        case "stribeck":
            bend = rate / term.scale
            return exp(-(bend * bend)) * side
        case "quadratic":
            return rate * absolute(rate)
        case "cubic":
            return rate * rate * rate
        case "constant":
            return 1.0
    raise ValueError(f"unknown friction {term.basis!r}")


def axis_friction(terms: Sequence[FrictionTerm], rate: Scalar, smooth: float | None = None) -> Scalar:
    """Friction force sum_i c_i b_i(rate), N or N m, along an axis at a rate, rad/s or m/s ([AGH2005] (24)).

    `smooth` is the rate over which Coulomb terms change their sign, at once if None.
    """
    force: Scalar = 0.0
    for term in terms:
        force = force + term.coefficient * friction_basis(term, rate, smooth)
    return force


def spherical_friction(terms: Sequence[FrictionTerm], w: Array, smooth: float | None = None) -> Array:
    """Friction moment (3,) in a spherical joint at a relative angular velocity w (3,), along it."""
    viscous: Scalar = 0.0
    others = [term for term in terms if term.basis != "viscous"]
    for term in terms:
        if term.basis == "viscous":
            viscous = viscous + term.coefficient
    if not others:
        return np.asarray(viscous * w)
    square = dot(w, w)
    if smooth is None and any(term.basis in DRY_FRICTION for term in others):
        moves = where(square, 1.0, 0.0)
        rate = sqrt(where(square, square, 1.0))
        # At rest there is no direction, and no Coulomb friction.
        along = axis_friction(others, rate) * moves / rate
    else:
        # Friction over the rate has a limit at rest, the slope there, which a rate of almost none gives. Not
        # its square added to that of the rate: identities by numbers would leave out what is below rounding.
        bends = [term.scale for term in others if term.basis == "coulomb-smooth"]
        least_rate = _REST_RATE * min(bends if smooth is None else [smooth, *bends], default=1.0)
        rate = sqrt(maximum(square, least_rate * least_rate))
        along = axis_friction([_as_spherical_term(term) for term in others], rate, smooth) / rate
    return np.asarray((viscous + along) * w)


def _as_spherical_term(term: FrictionTerm) -> FrictionTerm:
    """A term as it acts along a direction that turns with the motion: a constant as Coulomb friction."""
    return FrictionTerm("coulomb", term.coefficient) if term.basis == "constant" else term

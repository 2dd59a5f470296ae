"""Margins and pivot figures from the factors of the general form, which has them already.

A leg whose rows are eliminated as M = L R with pivots p_k has det M = +- product p_k. It vanishes where the
leg is singular, to first order as the smallest singular value does, so

    margin = s (product p_k)^2

with s so that the margin is the squared inverse condition of the leg's own Jacobian at sample states. The
nacelle's dependent rates have the same for the rows D that the legs leave over. Where a leg has more rows
than rates the determinant of those that were chosen may vanish alone: the margin is then too small, never too
large. Below `TRUSTED` the dense margins (`nacelle.kinematics.margins`) decide.

Fixed pivots lose digits where the multipliers l_ik = m_ik / p_k are large, at most as many as these have: the
rounding of an elimination is that of a matrix whose entries are |L| |R| (Wilkinson). Their largest size, rows
counted in the robot's size, is the growth of a state, and its reciprocal the pivot figure: 1 where a pivot is
the largest entry of its column, and independent of how small the pivots are, which is the margins' part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nacelle.kinematics.general.legs import Legs
from nacelle.kinematics.general.solve import MatrixUnits, determinant, multiplied
from nacelle.kinematics.margins import closed_form_margin
from nacelle.spatial.scalar import Array, Scalar, absolute, divide, maximum, minimum, pack

TRUSTED = 1e-4
"""Margins above this say enough: a leg is far from singular. Below, the dense ones are taken."""
# Scales beyond this are shared among groups of so many pivots, of which none counts for more than the bound.
_LARGE, _GROUP, _BOUND = 1e24, 12, 1e3
FREE = 3.0
"""Multipliers up to this cost no digit that counts."""


def leg_determinant(legs: Legs, leg: int) -> Scalar:
    """Determinant of a leg's rows up to its sign: the product of its pivots p_k."""
    return multiplied(_leg_pivots(legs, leg))


def _leg_pivots(legs: Legs, leg: int) -> list[Scalar]:
    factors = legs.factors[leg]
    return [factors.pivots[row] for row, _ in factors.order.pivots]


def nacelle_determinant(legs: Legs) -> Scalar:
    """Determinant of the rows that decide the dependent rates of the nacelle."""
    if legs.dependent is not None:
        return multiplied(legs.dependent.pivots)
    return determinant(legs.D.tolist(), MatrixUnits.ones(len(legs.D)))


def margins(legs: Legs) -> Array:
    """The margins (legs,), or (legs + 1,) where the nacelle has dependent rates."""
    plan = legs.plan
    values: list[Scalar] = [closed_form_margin(roots) for roots in legs.placed.now.root_margins]
    for k in plan.mechanism.iterated_legs:
        values[k] = _margin(_leg_pivots(legs, k), plan.margins[k])
    if plan.mechanism.dependent:
        pivots = [nacelle_determinant(legs)] if legs.dependent is None else legs.dependent.pivots
        values.append(_margin(pivots, plan.margins[-1]))
    return pack(values)


def _margin(pivots: Sequence[Scalar], scale: float) -> Scalar:
    if scale <= _LARGE:
        value = multiplied(pivots)
        return minimum(1.0, value * value * scale)
    # A product of a hundred pivots is beyond single precision: groups of them take their parts of the scale.
    # The bound of each keeps these parts from becoming one number again.
    part = scale ** (0.5 / len(pivots))
    groups = [pivots[k : k + _GROUP] for k in range(0, len(pivots), _GROUP)]
    value = multiplied([minimum(_BOUND, absolute(part ** len(g) * multiplied(g))) for g in groups])
    return minimum(1.0, value * value)


def iterated_distances(legs: Legs) -> list[Scalar]:
    """Squares that vanish at serial singularities alone, and smoothly, of what is found by iteration.

    One for each leg on its own, and one for all legs that the nacelle's dependent rates hang on, together
    with these: det of the whole, which does not depend on the rows that were chosen. For plans that are
    `complete`.
    """
    plan = legs.plan
    values: list[Scalar] = []
    coupled: list[Scalar] = []
    for k in plan.mechanism.iterated_legs:
        (coupled if plan.legs[k].kept else values).append(leg_determinant(legs, k))
    if plan.mechanism.dependent:
        values.append(multiplied([*coupled, nacelle_determinant(legs)]))
    return [value * value for value in values]


def growth_figure(legs: Legs) -> Scalar:
    """`FREE` over the largest multiplier of the legs and of the dependent rates, at most 1.

    A strut counts by (z / l)^2, z the entry of its direction that its row is divided by.
    """
    largest = _largest(_multipliers(legs))
    figure: Scalar = 1.0 if largest is None else minimum(1.0, divide(FREE, largest))
    for ties, factors in zip(legs.placed.ties, legs.factors, strict=True):
        if ties and ties[0].rows[0].kind == "strut":
            reciprocal = factors.reciprocals[0]
            figure = minimum(figure, reciprocal * reciprocal)
    return figure


def _multipliers(legs: Legs) -> Iterable[Scalar]:
    """Multipliers that count, rows without units."""
    for factors, leg in zip(legs.factors, legs.plan.legs, strict=True):
        for row in (*(row for row, _ in factors.order.pivots), *leg.kept):
            for other, factor in factors.lower[row].items():
                ratio = leg.units[other] / leg.units[row]
                yield factor if ratio == 1.0 else factor * ratio
    if legs.dependent is not None:
        yield from legs.dependent.multipliers


def _largest(values: Iterable[Scalar]) -> Scalar | None:
    largest: Scalar | None = None
    for value in values:
        size = absolute(value)
        largest = size if largest is None else maximum(largest, size)
    return largest

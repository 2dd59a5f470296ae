"""B-spline functions: their cumulative sums with derivatives, and interpolation.

Of degree p on rising knots t_i (s) they follow from B_(i,0) = 1 between t_i and t_(i+1), else 0, by the
recursion of Cox and de Boor,

    B_(i,d) = (t - t_i) / (t_(i+d) - t_i) B_(i,d-1) + (t_(i+d+1) - t) / (t_(i+d+1) - t_(i+1)) B_(i+1,d-1)

They sum up to 1, so a spline x = sum B_i c_i with control points c_i is also

    x = c_0 + sum over i >= 1 of C_i (c_i - c_(i-1)),      C_i = sum over j >= i of B_j

in differences alone: the form in which orientations are splined as well. Derivatives of C_i telescope:
C_i' = p / (t_(i+p) - t_i) B_(i,p-1). At a time only p of them change; earlier ones are 1, later ones 0.
"""

from __future__ import annotations

import numpy as np

from nacelle.spatial.scalar import Array


def cumulative(knots: Array, degree: int, t: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    """Cumulative B-splines that change at times (m,), with two derivatives.

    With C_i = sum over j >= i of B_j, a spline is c_0 + sum over i of C_i (c_i - c_(i-1)). Of the control
    points those from index `first` on matter: the p functions C_(first + 1) to C_(first + p) change, those
    before are 1 and those after 0. Derivatives telescope:

        C_i' = p / (t_(i+p) - t_i) B_(i, p-1).

    Returns:
        `first` (m,), and the p functions with their first and second derivatives, (m, p) each.
    """
    span = np.clip(np.searchsorted(knots, t, side="right") - 1, degree, len(knots) - degree - 2)
    places = span[:, None] - degree + np.arange(1, degree + 1)
    values = np.cumsum(_basis(knots, degree, span, t)[:, :0:-1], axis=1)[:, ::-1]
    factor = degree / (knots[places + degree] - knots[places])
    rates = factor * _basis(knots, degree - 1, span, t)
    lower = _basis(knots, degree - 2, span, t) if degree > 1 else np.zeros((len(t), 0))
    # B_(i, p-1)' from the functions of degree p - 2 that do not vanish: those with i from span - p + 2.
    inner = places[:, 1:]
    scaled = (degree - 1) * lower / (knots[inner + degree - 1] - knots[inner])
    none = np.zeros((len(t), 1))
    changes = factor * (np.hstack([none, scaled]) - np.hstack([scaled, none]))
    return span - degree, (values, rates, changes)


def _basis(knots: Array, degree: int, span: Array, t: Array) -> Array:
    """The degree + 1 B-splines that do not vanish between knots span and span + 1, (m, degree + 1).

    The recursion of Cox and de Boor: B_(i,d) = (t - t_i) / (t_(i+d) - t_i) B_(i,d-1)
    + (t_(i+d+1) - t) / (t_(i+d+1) - t_(i+1)) B_(i+1,d-1).
    """
    values = np.ones((len(t), 1))
    none = np.zeros((len(t), 1))
    for d in range(1, degree + 1):
        places = span[:, None] - d + np.arange(1, d + 1)
        share = values / (knots[places + d] - knots[places])
        rising = (t[:, None] - knots[places]) * share
        falling = (knots[places + d] - t[:, None]) * share
        values = np.hstack([falling, none]) + np.hstack([none, rising])
    return values


def interpolant(values: Array, times: Array, degree: int, rest: bool) -> tuple[Array, Array]:
    """Knots and control points of the spline through values (N, count) at times, by banded equations.

    From rest to rest the first (degree - 1) / 2 derivatives vanish at both ends; otherwise the ends are
    "not a knot".
    """
    from scipy.interpolate import make_interp_spline

    ends = None
    if rest:
        zeros = [(order, np.zeros(values.shape[1])) for order in range(1, (degree + 1) // 2)]
        ends = (zeros, zeros)
    spline = make_interp_spline(times, values, k=degree, bc_type=ends)
    return np.asarray(spline.t, dtype=float), np.asarray(spline.c, dtype=float)


def clamped_knots(count: int, degree: int, end: float) -> Array:
    """Equally spaced knots (count + degree + 1,) from 0 to `end` for `count` control points, ends full."""
    inner = np.linspace(0.0, end, count - degree + 1)
    return np.concatenate([np.zeros(degree), inner, np.full(degree, end)])

"""Inertia of bars, condensed at the point B where they hold the nacelle.

A bar's kinetic energy is a form in the velocity v_B (3,) of its end alone, v_B^T K v_B / 2, K (3, 3), kg,
base axes: the drive of a rod of constant length follows B,

    d . (v_B - c q') = 0,     so     q' = n . v_B,     n = d / (d . c)        c = dA/dq, d = B - A

and v = v_B - c q'. Its energy is H q'^2 / 2 along the drive (H kg or kg m^2), m_AB (c q') . v_B of the mass
between its ends, and `rod.residual` beyond that, A (s.v)^2 / 2 + C (s.v)(t.v) + q' (F s.v + G t.v). With s
and t seen from v_B, s - (c.s) n and t - (c.t) n,

    K = H n n^T + A s s^T + sym(2 m_AB c n^T + 2 C s t^T + 2 n (F s + G t)^T).
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.general.bars.require import bar_line
from nacelle.dynamics.general.bars.rod import Residual, residual
from nacelle.dynamics.general.bars.strut import strut_inertia
from nacelle.kinematics.bars.form import LegForm
from nacelle.kinematics.general.bars import Bar
from nacelle.kinematics.general.legs import Legs
from nacelle.kinematics.general.tie_motion import tie_columns
from nacelle.kinematics.general.ties import Tie
from nacelle.kinematics.general.vectors import add, is_zero, plus_times, scaled
from nacelle.spatial.scalar import Array, Scalar, divide, dot, pack


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

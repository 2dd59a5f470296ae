"""Inertia of bars, condensed at the point B where they hold the nacelle.

The drive of a rod follows B: q' = n . v_B with n = d / (d . c), c = dA/dq, and v = v_B - c q'. With H the inertia
along the drive, m_AB the mass between its ends and c_s (b . v)^2 / 2 the energy of its spin,

    K = H n n^T + m_AB (c n^T + n c^T) + c_s s s^T      s = b - (c . b) n.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.general.bars.require import line
from nacelle.dynamics.general.bars.rod import spin_inertia
from nacelle.dynamics.general.bars.strut import strut_inertia
from nacelle.kinematics.bars.form import LegForm
from nacelle.kinematics.general.bars import Bar
from nacelle.kinematics.general.legs import Legs
from nacelle.kinematics.general.tie_motion import tie_columns
from nacelle.kinematics.general.ties import Tie
from nacelle.kinematics.general.vectors import add, is_zero, scaled
from nacelle.spatial.scalar import Array, Scalar, divide, dot, pack


def bar_inertia(legs: Legs, tie: Tie, form: LegForm, drive: Scalar, mass: Scalar) -> Array:
    """Inertia (3, 3) of a bar at B, base axes.

    Args:
        legs: the legs.
        tie: the tie of the bar.
        form: the leg in the tie's axes.
        drive: of a rod, inertia along its drive.
        mass: of the nacelle at B.
    """
    assert tie.bar is not None
    if tie.bar.is_strut:
        K = strut_inertia(form, tie.bar.numeric, line(legs, tie), mass, geared=True)
    else:
        K = _rod_inertia(legs, tie, tie.bar, form, drive, mass)
    if not tie.axes:
        return K
    up = legs.placed.chains.up
    half = np.stack([up(tie.axes, K[:, k]) for k in range(3)], axis=1)
    full = np.stack([up(tie.axes, half[k]) for k in range(3)], axis=0)
    return pack([[full[max(i, j), min(i, j)] for j in range(3)] for i in range(3)])


def _rod_inertia(legs: Legs, tie: Tie, bar: Bar, form: LegForm, drive: Scalar, mass: Scalar) -> Array:
    c = tie_columns(legs.placed.chains, tie)[bar.rate][0]
    n = scaled(divide(1.0, tie.rows[0].coefficients[bar.rate]), tie.rows[0].force)
    # H n n^T + m (c n^T + n c^T) = t n^T + n t^T.
    t = add(scaled(bar.masses[2], c), scaled(0.5 * drive, n))
    spin_, b = spin_inertia(form, tie.rows[0].force)
    s = b if is_zero(spin_) else add(b, -scaled(dot(c, b), n))

    def entry(i: int, j: int) -> Scalar:
        value = t[i] * n[j] + n[i] * t[j] if i != j else 2.0 * (t[i] * n[i])
        if not is_zero(spin_):
            value = value + (spin_ * s[i]) * s[j]
        return value + mass if i == j and not is_zero(mass) else value

    return pack([[entry(max(i, j), min(i, j)) for j in range(3)] for i in range(3)])


def spin(legs: Legs, tie: Tie, form: LegForm) -> tuple[Scalar, Array]:
    """Inertia of a rod's spin c and the direction b, tie axes: kinetic energy c (b . v)^2 / 2."""
    return spin_inertia(form, line(legs, tie))

"""Gains of a sampled loop around x'' = a from the poles that it is to have.

An acceleration a = -k_p x - k_d x' that is held over a sample T gives

    z^2 + (T k_d + T^2 k_p / 2 - 2) z + 1 - T k_d + T^2 k_p / 2

With the gains that make this (z - e^(T s_1)) (z - e^(T s_2)) the samples are those of a continuous system
with the poles s_1, s_2 of s^2 + 2 zeta w s + w^2: neither the hold nor the sample time shifts them. For
T -> 0 they are k_p = w^2 and k_d = 2 zeta w.
"""

from __future__ import annotations

import cmath
import math


def gains_of_poles(bandwidth: float, damping: float, period: float) -> tuple[float, float]:
    """k_p (1/s^2) and k_d (1/s) for poles s^2 + 2 zeta w s + w^2.

    Args:
        bandwidth: w / (2 pi), Hz.
        damping: zeta.
        period: sample time, s.
    """
    w = 2.0 * math.pi * bandwidth
    root = cmath.sqrt(damping * damping - 1.0)
    first, second = (cmath.exp(period * w * (-damping + sign * root)) for sign in (1.0, -1.0))
    total, product = (first + second).real, (first * second).real
    return (1.0 - total + product) / period**2, (3.0 - total - product) / (2.0 * period)

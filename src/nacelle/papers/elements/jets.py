"""Vectors with their first and second derivatives, linear in measured ones.

A jet is an array (3, 3): a vector (3,) in base axes, its first and its second derivative, row by row. Sums,
products with constants and constant matrices act on all rows alike; a product with a length d that changes is

    r = d x,     r' = d' x + d x',     r'' = d'' x + 2 d' x' + d x''                        [OAM] (14), (15)
"""

from __future__ import annotations

import numpy as np

from nacelle.compact.vectors import add, cross_nonzero, scale
from nacelle.spatial.scalar import Array, Scalar, divide, dot, norm, pack

# A vector with its first and second derivative (3, 3).
Jet = Array
# The jet of what is and stays zero.
NO_JET = np.zeros((3, 3))


def constant_jet(point: Array) -> Jet:
    """The jet [p; 0; 0] (3, 3) of a vector p (3,) that does not change."""
    return np.stack([point, np.zeros(3), np.zeros(3)])


def add_jets(a: Jet, b: Jet, factor: Scalar = 1.0) -> Jet:
    """The sum a + factor b, with a constant factor."""
    return pack([add(p, scale(factor, q)).tolist() for p, q in zip(a, b, strict=True)])


def constant_cross_jet(z: Array, a: Jet) -> Jet:
    """The jet [z x a; z x a'; z x a''] (3, 3) for a constant vector z (3,)."""
    return pack([cross_nonzero(z, row).tolist() for row in a])


def length_times_jet(d: Array, x: Jet) -> Jet:
    """The jet of d x from a length d with its derivatives (3,) and a direction."""
    first = add(scale(d[1], x[0]), scale(d[0], x[1]))
    second = add(add(scale(d[2], x[0]), scale(2.0 * d[1], x[1])), scale(d[0], x[2]))
    return pack([scale(d[0], x[0]).tolist(), first.tolist(), second.tolist()])


def cross_jets(a: Jet, b: Jet) -> Jet:
    """The jet of a x b: (a x b)'' = a'' x b + 2 a' x b' + a x b''."""
    first = add(cross_nonzero(a[1], b[0]), cross_nonzero(a[0], b[1]))
    second = add(
        add(cross_nonzero(a[2], b[0]), cross_nonzero(a[0], b[2])), scale(2.0, cross_nonzero(a[1], b[1]))
    )
    return pack([cross_nonzero(a[0], b[0]).tolist(), first.tolist(), second.tolist()])


def unit_jet(n: Jet) -> Jet:
    """The jet of the direction u of a vector n, with s = |n|.

    u = n / s,   u' = (n' - s' u) / s,   u'' = (n'' - s'' u - 2 s' u') / s,   s' = u . n',
    s'' = u' . n' + u . n''
    """
    reciprocal = divide(1.0, norm(n[0]))
    u = scale(reciprocal, n[0])
    rate = dot(u, n[1])
    first = scale(reciprocal, add(n[1], scale(-rate, u)))
    second = dot(first, n[1]) + dot(u, n[2])
    rest = add(n[2], add(scale(-second, u), scale(-2.0 * rate, first)))
    return pack([u.tolist(), first.tolist(), scale(reciprocal, rest).tolist()])

"""Inertia of nodes and nacelle bodies by second moments: m, h = m c and the matrix S of second moments.

Of a body with mass elements dm at r (3,) from a reference point, S = sum r r^T dm (3, 3), kg m^2, so that its
inertia is I = trace(S) 1 - S, and S = trace(I)/2 1 - I. A point accelerates with a + T r, a (3,) that of the
reference point (gravity taken off) and T (3, 3) the matrix of w' x r + w x (w x r) over r. Summed over the
mass,

    f = sum (a + T r) dm         = m a + T h
    n = sum r x (a + T r) dm     = h x a + sum over i, j of S_ij e_i x T e_j

about the reference point, N and N m: each second moment costs as much as the entries of T that it meets.
"""

from __future__ import annotations

from dataclasses import dataclass

from nacelle.kinematics.general.vectors import ZERO, add, all_zero, crossed, is_zero, scaled
from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.scalar import Array, Scalar, pack, plus, product, sum_of_products

# Entries of S in the order of the numbers: xx, yy, zz, xy, xz, yz.
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def numbers_from_parameters(p: Array) -> Array:
    """Ten numbers m, h (3), S (6), kg, kg m, kg m^2, from ten inertial parameters: S = trace(I)/2 - I."""
    I = inertia_matrix(p)
    half = 0.5 * (I[0, 0] + I[1, 1] + I[2, 2])
    return pack([*p[:4], *((half if i == j else 0.0) - I[i, j] for i, j in PAIRS)])


def moved_inertia(numbers: Array, R: Array, t: Array) -> Array:
    """Ten numbers of the same body about another frame, r -> R r + t, R (3, 3) and t (3,), m.

    h -> R h + m t,      S -> R S R^T + (R h) t^T + t (R h)^T + m t t^T
    """
    m, h = numbers[0], product(R, numbers[1:4])
    S = product(product(R, second_moments(numbers)), R.T)
    # In order, and 0 where they cancel: what is 0 decides what is computed (`nacelle.spatial.rounding`).
    moments = (sum_of_products([1.0, h[i], t[i], m * t[i]], [S[i, j], t[j], h[j], t[j]]) for i, j in PAIRS)
    return pack([m, *plus(h, m * t), *moments])


def second_moments(numbers: Array) -> Array:
    """S (3, 3) from the numbers."""
    S: list[list[Scalar]] = [[0.0] * 3 for _ in range(3)]
    for (i, j), value in zip(PAIRS, numbers[4:], strict=True):
        S[i][j] = S[j][i] = value
    return pack(S)


def wrench_in_own_axes(numbers: Array, a: Array, w: Array, T: Array) -> tuple[Array, Array]:
    """Force f = m a + T h (N) and moment h x a + sum S_ij e_i x T e_j (N m) about the reference point."""
    m, h = numbers[0], numbers[1:4]
    f = scaled(m, a)
    for k in range(3):
        f = add(f, scaled(h[k], T[:, k]))
    n = crossed(h, a) if not all_zero(h) else ZERO
    for (i, j), value in zip(PAIRS, numbers[4:], strict=True):
        if is_zero(value):
            continue
        if i == j:
            part = _unit_cross(i, T[:, j])
        else:
            # Of two entries on the diagonal of T only their difference counts: w_j^2 - w_i^2.
            column = pack(
                [0.0 if k == i else w[j] * w[j] - w[i] * w[i] if k == j else T[k, j] for k in range(3)]
            )
            other = pack([0.0 if k in (i, j) else T[k, i] for k in range(3)])
            part = add(_unit_cross(i, column), _unit_cross(j, other))
        n = add(n, scaled(value, part))
    return f, n


def _unit_cross(k: int, vector: Array) -> Array:
    """e_k x vector."""
    product: list[Scalar] = [0.0, 0.0, 0.0]
    i, j = (k + 1) % 3, (k + 2) % 3
    product[i], product[j] = -vector[j], vector[i]
    return pack(product)


@dataclass(frozen=True)
class InertialNumbers:
    """The inertial numbers of a robot as the general form uses them.

    Attributes:
        nodes: for every node its ten numbers about its reference point.
        bodies: for every nacelle body its ten numbers about its origin, own axes.
        rates: for every rate an inertia along it.
    """

    nodes: dict[int, Array]
    bodies: dict[int, Array]
    rates: dict[int, Scalar]

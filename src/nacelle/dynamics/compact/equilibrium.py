"""The only solve of the smallest form: the platform's equilibrium, for the force densities.

    sum over legs of f_j [r_j; arm_j x r_j] = wrench

about a pole, arm_j from it to any point of the leg's line; at the end of a leg as pole this leg has no
moments. Where all legs stand on the base in a plane, three of six rows are constants times the component of
r_j across the plane: they are eliminated beforehand, and a 3 x 3 solve remains.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from nacelle.kinematics.general.solve import Solved, determinant, eliminate
from nacelle.spatial.rounding import first_largest
from nacelle.spatial.scalar import (
    Array,
    Scalar,
    at_sample,
    dot,
    pack,
    product,
)
from nacelle.spatial.solve import solve


def rows(force: Array, moment: Array, axes: tuple[int, ...]) -> Array:
    """The rows of a wrench [force; moment] that a motion with these twist axes feels."""
    return pack([force[k] if k < 3 else moment[k - 3] for k in axes])


def balance(
    columns: list[Array],
    wrench: Array,
    order: tuple[tuple[int, int], ...] | None,
    units: tuple[Array, Array],
) -> Solved:
    """Solve with columns of rows already chosen, by elimination in a given order or by Cramer's rule."""
    n = len(columns)
    A = [[columns[j][i] for j in range(n)] for i in range(n)]
    if order is None:
        return Solved(solve(pack(A), wrench), determinant(A, units))
    return eliminate(A, list(wrench), order, units)


def flat_anchors(anchors: Array) -> Array | None:
    """Normal of the plane of anchors (N, 3), floats, along an axis of the base; None if there is none."""
    spread = np.ptp(anchors, axis=0)
    flat = [k for k in range(3) if spread[k] <= 1e-13 * max(float(np.max(np.abs(anchors))), 1e-300)]
    return np.eye(3)[flat[0]] if flat and len(anchors) == 6 else None


def balance_flat(anchors: Array, columns: list[Array], force: Array, moment: Array, normal: int) -> Solved:
    """Solve for six legs whose anchors (6, 3), floats, lie in a plane square to an axis of the base.

    Columns are r_j / (n . r_j). With g_j = f_j (n . r_j) the rows of the force along n and of the moments
    across it are constant:
    sum g_j = F_n, sum g_j A_j = n x M. Three of the g_j follow from the others, and the rest of the rows
    make a 3 x 3 solve. Moments are about a point of the plane.
    """
    i, j, k = (normal + 1) % 3, (normal + 2) % 3, normal
    C = np.stack([np.ones(6), anchors[:, i], anchors[:, j]])
    numbers = at_sample(anchors)
    three, others = _split(at_sample(C))
    symbols = anchors.dtype == object
    inverse = solve(C[:, three], np.eye(3)) if symbols else np.linalg.inv(C[:, three])
    K = product(-inverse, C[:, others])
    # A_i g -> -M_j, A_j g -> M_i for arms in the plane: (A x n g) has components A_j g, -A_i g.
    right = pack([force[k], -moment[j], moment[i]])
    g0 = inverse @ right
    xi, eta = [column[i] for column in columns], [column[j] for column in columns]
    turn = [anchors[m, i] * eta[m] - anchors[m, j] * xi[m] for m in range(6)]
    table = [xi, eta, turn]
    A = pack(
        [[row[others[c]] + dot(pack([row[m] for m in three]), K[:, c]) for c in range(3)] for row in table]
    )
    b = pack(
        [
            value - dot(pack([row[m] for m in three]), g0)
            for value, row in zip((force[i], force[j], moment[k]), table, strict=True)
        ]
    )
    g_rest = solve(A, b)
    size = float(np.max(np.ptp(numbers, axis=0)))
    pivot = determinant([list(row) for row in A], (np.array([1.0, 1.0, size]), np.ones(3)))
    g_three = g0 + K @ g_rest
    g: list[Scalar] = [0.0] * 6
    for c, m in enumerate(others):
        g[m] = g_rest[c]
    for c, m in enumerate(three):
        g[m] = g_three[c]
    return Solved(pack(g), pivot)


def _split(C: Array) -> tuple[list[int], list[int]]:
    """Three legs whose constant columns stand well apart, and the other three."""
    triples = list(combinations(range(6), 3))
    best = triples[first_largest([abs(_det(C[:, three])) for three in triples])]
    return list(best), [m for m in range(6) if m not in best]


def _det(A: Array) -> float:
    return float(np.linalg.det(A))

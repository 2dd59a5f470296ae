"""All real solutions of square equations in a box, certified, by branch and prune.

For boxes X of the unknowns, thousands at a time, with the middle m, C near the inverse of F'(m) and bounds of
F'(X):

1. X is empty of solutions if the bounds of F over it, or of F(m) + F'(X) (X - m), leave out 0.
2. With D = C F'(X) and g = C F(m), row by row (interval Gauss-Seidel, the latest bounds of the others),

       x_i in X_i and m_i - (g_i + sum_(k != i) D_ik (x_k - m_k)) / D_ii,      D_ii without 0,

   and an empty intersection excludes X.
3. Krawczyk's K = m - g + (1 - D) (X - m) in the interior of X proves that X has exactly one solution, and
   that it lies in K. Boxes that have become small are tried with X enlarged about K, so that a solution on an
   edge of X is certified, too; the same solution from two sides is one.
4. Other boxes are halved along the side over which F changes most.

What is neither excluded nor certified when boxes are smaller than the resolution is returned as undecided:
there may be a double solution. Nothing else may: the boxes that are left out have no solution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nacelle.compile.interval import BoxFunction
from nacelle.proof.matrices import MiddleRadius, around, identity_less_product, middle_radius, point, product
from nacelle.spatial.interval import round_down, round_up
from nacelle.spatial.scalar import Array

# Boxes that are taken at a time.
_BLOCK = 4096
# A box is not halved while it shrinks to less than this part along its longest side.
_SHRUNK = 0.6
# Sides below this part of the first box are tried with an enlarged box; enlargement over the radius of K.
_SMALL, _ENLARGED = 1e-3, 0.5
_LARGER = 1.0 + 2.0**-30


class SquareSystem(NamedTuple):
    """Equations F(x) = 0, as many as unknowns, with numbers `fixed` that they depend on.

    Attributes:
        values: bounds of F, output "F", of boxes of x and of the numbers.
        jacobian: bounds of F', output "d_F".
        fixed: boxes of the numbers (k, 2).
    """

    values: BoxFunction
    jacobian: BoxFunction
    fixed: Array

    def bounds(self, X: Array) -> tuple[Array, Array]:
        """Bounds of F (N, n, 2) and of F' (N, n, n, 2)."""
        return self.values(X, self.fixed)["F"], self.jacobian(X, self.fixed)["d_F"]


class CertifiedSolutions(NamedTuple):
    """What branch and prune has found.

    Attributes:
        boxes: one for each solution (S, n, 2), in which it is, and no other.
        undecided: boxes (U, n, 2) of which nothing is known; with none of them the solutions are all.
        evaluated: how many boxes were evaluated.
    """

    boxes: Array
    undecided: Array
    evaluated: int


def solve_in_box(
    system: SquareSystem,
    first: Array,
    *,
    resolution: float = 1e-9,
    most: int = 4_000_000,
    contract: Callable[[Array], Array] | None = None,
) -> CertifiedSolutions:
    """All solutions in a box.

    Args:
        system: the equations.
        first: the box (n, 2).
        resolution: sides of boxes, over those of the first, below which they are undecided.
        most: how many boxes are evaluated at most; what is left then is undecided.
        contract: makes boxes (N, n, 2) smaller without losing a solution; empty ones have NaN bounds.
    """
    waiting, widths = first[None], first[:, 1] - first[:, 0]
    solutions: list[Array] = []
    undecided: list[Array] = []
    evaluated = 0
    while len(waiting) and evaluated < most:
        X, waiting = waiting[-_BLOCK:], waiting[:-_BLOCK]
        evaluated += len(X)
        if contract is not None:
            X = contract(X)
        X = X[_is_proper(X)]
        if not len(X):
            continue
        step = _step(system, X, widths)
        solutions += list(step.certified)
        undecided += list(step.boxes[step.small_at(resolution, widths)])
        left = ~step.small_at(resolution, widths)
        shrunk = step.shrunk & left
        waiting = np.concatenate(
            [waiting, step.boxes[shrunk], _halve(step.boxes, step.smear, left & ~shrunk)]
        )
    undecided += list(waiting)
    n = len(first)
    distinct, doubtful = _distinct(system, solutions)
    undecided += doubtful
    return CertifiedSolutions(
        np.array(distinct).reshape(-1, n, 2),
        np.array(undecided).reshape(-1, n, 2),
        evaluated,
    )


class _Linear(NamedTuple):
    """Preconditioned equations g + D (x - m) = 0: D, and g (N, n) with its radius."""

    slopes: MiddleRadius
    values: Array
    radius: Array


class _Step(NamedTuple):
    """Boxes after one step: those that are left, which are much smaller, where F changes; solutions."""

    boxes: Array
    shrunk: Array
    smear: Array
    certified: Array

    def small_at(self, resolution: float, widths: Array) -> Array:
        """Which boxes are not halved any more (N,)."""
        sides = self.boxes[..., 1] - self.boxes[..., 0]
        return np.asarray(np.all(sides <= resolution * widths, axis=1))


def _step(system: SquareSystem, X: Array, widths: Array) -> _Step:
    with np.errstate(all="ignore"):
        F, J = system.bounds(X)
        possible = ~np.any((F[..., 0] > 0.0) | (F[..., 1] < 0.0), axis=1)
        X, J = X[possible], J[possible]
        middle, radius = middle_radius(X)
        at_middle = system.values(point(middle), system.fixed)["F"]
        M, R = middle_radius(J)
        usable = np.all(np.isfinite(M) & np.isfinite(R), axis=(1, 2))
        change = ((np.abs(M) + R) @ radius[..., None])[..., 0] * _LARGER
        possible = ~usable | ~np.any((at_middle[..., 0] > change) | (at_middle[..., 1] < -change), axis=1)
        X, J, M, R, middle, radius, at_middle, usable = (
            part[possible] for part in (X, J, M, R, middle, radius, at_middle, usable)
        )
        C = _inverses(M, usable)
        D = product(C, J)
        g = product(C, at_middle[..., None, :])
        center, spread = g.middle[..., 0], g.radius[..., 0]
        Y = _gauss_seidel(X, middle, radius, _Linear(D, center, spread))
        possible = ~usable | _is_proper(Y)
        Y = np.where(usable[:, None, None], Y, X)
        # Krawczyk's operator on the box as it was, and on one about it where it is small.
        rest = identity_less_product(C, J).size
        K = around(middle - center, (spread + (rest @ radius[..., None])[..., 0]) * _LARGER)
        inside = usable & np.all((K[..., 0] > X[..., 0]) & (K[..., 1] < X[..., 1]), axis=1)
        certified = [_refine(system, K[inside])]
        small = possible & usable & ~inside & np.all(Y[..., 1] - Y[..., 0] <= _SMALL * widths, axis=1)
        proved, boxes = _certify_enlarged(system, Y[small])
        certified.append(_refine(system, boxes[proved]))
        done = inside.copy()
        done[np.flatnonzero(small)[proved]] = True
        left = possible & ~done
        sides, before = Y[..., 1] - Y[..., 0], 2.0 * radius
        longest = np.argmax(before / widths, axis=1)
        rows = np.arange(len(Y))
        shrunk = sides[rows, longest] < _SHRUNK * before[rows, longest]
        smear = np.max((np.abs(M) + R) / (np.max(np.abs(M), axis=2, keepdims=True) + 1e-300), axis=1) * sides
        smear = np.where(np.isfinite(smear), smear, sides / widths)
    return _Step(Y[left], shrunk[left], smear[left], np.concatenate(certified))


def _is_proper(X: Array) -> Array:
    """Which boxes (N, n, 2) are not empty."""
    return np.asarray(np.all(X[..., 0] <= X[..., 1], axis=1))


def _inverses(M: Array, usable: Array) -> Array:
    """Inverses of matrices in floats; of singular ones anything."""
    n = M.shape[-1]
    safe = np.where(usable[:, None, None], M, np.eye(n))
    scale = np.max(np.abs(safe), axis=(1, 2), initial=1e-300)
    try:
        C = np.linalg.inv(safe)
    except np.linalg.LinAlgError:
        # Any matrix is right, and none is good for a singular one.
        C = np.linalg.inv(safe + 1e-9 * scale[:, None, None] * np.random.default_rng(0).normal(size=(n, n)))
    return np.where(np.isfinite(C), C, 0.0)


def _gauss_seidel(X: Array, middle: Array, radius: Array, linear: _Linear) -> Array:
    """Boxes made smaller row by row."""
    D, center, spread = linear
    size = np.abs(D.middle) + D.radius
    Y, n = X.copy(), X.shape[1]
    for i in range(n):
        # The sum over the others, as middle and radius, from their latest bounds.
        low, high = Y[..., 0] - middle, Y[..., 1] - middle
        m, r = 0.5 * (low + high), 0.5 * (high - low) * _LARGER + 2.0**-50 * np.abs(middle)
        row, row_radius = D.middle[:, i], D.radius[:, i]
        others = np.arange(n) != i
        total = center[:, i] + np.sum(row * m * others, axis=1)
        slack = spread[:, i] + np.sum((np.abs(row) * r + row_radius * (np.abs(m) + r)) * others, axis=1)
        slack = (slack + 2.0**-48 * (np.abs(total) + np.sum(np.abs(row * m), axis=1))) * _LARGER
        pivot_low, pivot_high = np.abs(row[:, i]) - row_radius[:, i], size[:, i, i]
        sign = np.sign(row[:, i])
        a, b = -sign * total - slack, -sign * total + slack
        low_i = np.where(a > 0.0, a / pivot_high, a / pivot_low)
        high_i = np.where(b > 0.0, b / pivot_low, b / pivot_high)
        fine = (pivot_low > 0.0) & np.isfinite(low_i) & np.isfinite(high_i)
        low_i = round_down(round_down(low_i * 1.0) + middle[:, i])
        high_i = round_up(round_up(high_i * 1.0) + middle[:, i])
        Y[:, i, 0] = np.where(fine, np.maximum(Y[:, i, 0], low_i), Y[:, i, 0])
        Y[:, i, 1] = np.where(fine, np.minimum(Y[:, i, 1], high_i), Y[:, i, 1])
    return Y


def _krawczyk(system: SquareSystem, X: Array) -> tuple[Array, Array]:
    """K (N, n, 2) of boxes, and whether it lies in their interior."""
    middle, radius = middle_radius(X)
    J = system.jacobian(X, system.fixed)["d_F"]
    M = middle_radius(J).middle
    usable = np.all(np.isfinite(J), axis=(1, 2, 3))
    C = _inverses(M, usable)
    g = product(C, system.values(point(middle), system.fixed)["F"][..., None, :])
    rest = identity_less_product(C, J).size
    K = around(middle - g.middle[..., 0], (g.radius[..., 0] + (rest @ radius[..., None])[..., 0]) * _LARGER)
    inside = usable & np.all((K[..., 0] > X[..., 0]) & (K[..., 1] < X[..., 1]), axis=1)
    return K, np.asarray(inside)


def _certify_enlarged(system: SquareSystem, X: Array) -> tuple[Array, Array]:
    """Whether boxes, enlarged, hold exactly one solution; and boxes that do."""
    if not len(X):
        return np.zeros(0, dtype=bool), X
    middle, radius = middle_radius(X)
    wide = around(middle, (1.0 + _ENLARGED) * radius + 1e-12 * (1.0 + np.abs(middle)))
    K, inside = _krawczyk(system, wide)
    return inside, K


def _refine(system: SquareSystem, X: Array, steps: int = 4) -> Array:
    """Boxes of single solutions, made as small as rounding allows."""
    if not len(X):
        return X
    for _ in range(steps):
        K, _ = _krawczyk(system, X)
        low, high = np.maximum(K[..., 0], X[..., 0]), np.minimum(K[..., 1], X[..., 1])
        good = np.all(low <= high, axis=1)[:, None]
        X = np.stack([np.where(good, low, X[..., 0]), np.where(good, high, X[..., 1])], axis=-1)
    return X


def _halve(X: Array, smear: Array, chosen: Array) -> Array:
    """Both halves of chosen boxes along the side over which F changes most."""
    X, smear = X[chosen], smear[chosen]
    if not len(X):
        return X
    rows, side = np.arange(len(X)), np.argmax(smear, axis=1)
    middle = 0.5 * (X[rows, side, 0] + X[rows, side, 1])
    low, high = X.copy(), X.copy()
    low[rows, side, 1] = high[rows, side, 0] = middle
    return np.concatenate([low, high])


def _distinct(system: SquareSystem, solutions: list[Array]) -> tuple[list[Array], list[Array]]:
    """Solutions that are not one another, and boxes that may hold two.

    Two boxes that overlap hold one solution if one that holds both has a single one.
    """
    distinct: list[Array] = []
    doubtful: list[Array] = []
    for box in solutions:
        near = [k for k, earlier in enumerate(distinct) if _overlap(box, earlier)]
        if not near:
            distinct.append(box)
            continue
        if not is_single(system, [box, *(distinct[k] for k in near)]):
            doubtful.append(box)
    return distinct, doubtful


def _overlap(a: Array, b: Array) -> bool:
    return bool(np.all((a[:, 0] <= b[:, 1]) & (b[:, 0] <= a[:, 1])))


def is_single(system: SquareSystem, boxes: list[Array]) -> bool:
    """Whether a box that holds some boxes (n, 2) is proved to have exactly one solution."""
    low, high = np.min([box[:, 0] for box in boxes], axis=0), np.max([box[:, 1] for box in boxes], axis=0)
    with np.errstate(all="ignore"):
        return bool(_certify_enlarged(system, np.stack([low, high], axis=-1)[None])[0][0])

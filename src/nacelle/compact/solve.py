"""Elimination with pivots in an order found from numbers, and the same transposed for forces.

The rows of a leg, sum_k M_ik u_k = g_i, are reduced by Gauss with pivots (row, rate) in a fixed order, so
that a traced program has no branches: passive rates first, then active ones; rows that are left demand
something of the platform alone. With L the multipliers and R the reduced rows, M = L R:

    rates     L z = g,    R u = z
    forces    M^T lambda = Gamma:    R^T kappa = Gamma over the passive rates,    L^T lambda = kappa

kappa is free for the rows of active rates and for the rows that are left: lambda = lambda_0 + sum mu_r
Lambda_r, with Lambda_r = L^-T e_r. The matrix of the rates over the platform's motion is never formed. A
small square system A x = b is solved in the same way, all of its columns passive.

An order is chosen once, from samples at generic states. A pivot of a square system counts over the units of
its row and column, so the smallest of them is a pure number: where it is weak, fixed pivots lose digits, and
the state is evaluated again by a form that chooses its pivots. Rows that are constant at all states are
eliminated with constant factors: x_P = C_P^-1 (b_C - C_rest x_rest).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np

from nacelle.compact.vectors import inner
from nacelle.spatial.scalar import (
    Array,
    Scalar,
    absolute,
    cross,
    divide,
    dot,
    is_zero,
    minimum,
    pack,
    product,
)
from nacelle.spatial.solve import solve

# Entries of scaled sample matrices below this are zero: their loops are closed to 1e-15.
_ZERO_PART = 1e-11
# A pivot may be this part of the best one at the worst of the samples.
_STRONG = 0.05


@dataclass(frozen=True)
class EliminationOrder:
    """How a leg is eliminated.

    Attributes:
        passive: pivots (row, rate) of passive rates in their order.
        active: those of active rates.
        left: rows that remain.
    """

    passive: tuple[tuple[int, int], ...]
    active: tuple[tuple[int, int], ...]
    left: tuple[int, ...]

    @property
    def pivots(self) -> tuple[tuple[int, int], ...]:
        """All pivots."""
        return self.passive + self.active

    @property
    def free(self) -> tuple[int, ...]:
        """Rows whose kappa is free: of active rates, and those that remain."""
        return (*(row for row, _ in self.active), *self.left)


def find_order(
    samples: Array, rates: Sequence[int], active: frozenset[int], price: Sequence[float]
) -> EliminationOrder:
    """An order that is good for all samples.

    At each step, among the entries that are large at the worst sample, the one that fills least (Markowitz).

    Args:
        samples: M at sample states (samples, rows, rates), rows and rates without units.
        rates: places in u of the columns.
        active: those of active rates.
        price: for every row what breaks ties: cheap rows become pivots first.
    """
    M = samples.copy()
    rows = list(range(M.shape[1]))
    pivots: dict[bool, list[tuple[int, int]]] = {False: [], True: []}
    for late in (False, True):
        columns = [k for k, rate in enumerate(rates) if (rate in active) == late]
        while columns:
            part = np.abs(M[:, rows][:, :, columns])
            best = np.max(part, axis=(1, 2), keepdims=True)
            good = np.min(part / np.where(best > 0, best, 1.0), axis=0)
            filled = np.max(np.abs(M[:, rows]), axis=0) > _ZERO_PART
            # A column that few rows feel, by a row that feels few rates: elimination fills
            # (rows of the column - 1) (rates of the row - 1) entries.
            others_row = np.count_nonzero(filled, axis=1) - 1
            others_column = np.count_nonzero(filled[:, columns], axis=0) - 1
            fill = others_row[:, None] * others_column[None, :]
            score = fill + 1e-2 * np.asarray(price)[rows][:, None] + 1e-3 * others_row[:, None] - 1e-4 * good
            score = np.where(good > _STRONG * np.max(good), score, np.inf)
            best_at = int(np.flatnonzero(score.ravel() <= np.min(score) + 1e-9)[0])
            i, j = divmod(best_at, len(columns))
            row, column = rows[i], columns[j]
            pivots[late].append((row, rates[column]))
            rows.remove(row)
            columns.remove(column)
            for other_row in rows:
                factor = M[:, other_row, column] / M[:, row, column]
                M[:, other_row] = M[:, other_row] - factor[:, None] * M[:, row]
                M[:, other_row, column] = 0.0
            M[np.abs(M) < _ZERO_PART] = 0.0
    return EliminationOrder(tuple(pivots[False]), tuple(pivots[True]), tuple(rows))


@dataclass(frozen=True, eq=False)
class Factors:
    """A leg's rows, eliminated.

    Attributes:
        order: the order.
        upper: for every pivot row its reduced coefficients by rate, of rates not eliminated before.
        reciprocals: of every pivot, by row.
        lower: for every row the multipliers of the pivot rows taken off it, by pivot row.
        pivots: the pivots, by row.
    """

    order: EliminationOrder
    upper: dict[int, dict[int, Scalar]]
    reciprocals: dict[int, Scalar]
    lower: dict[int, dict[int, Scalar]]
    pivots: dict[int, Scalar]

    def rates(self, right: Sequence[Scalar], active: dict[int, Scalar] | None = None) -> dict[int, Scalar]:
        """Rates u by place, L z = g, R u = z, from right-hand sides g (rows,); active ones unless given."""
        pivots = self.order.pivots if active is None else self.order.passive
        z: dict[int, Scalar] = {}
        for row, _ in pivots:
            value = right[row]
            for pivot_row, factor in self.lower[row].items():
                value = _subtract_product(value, factor, z[pivot_row])
            z[row] = value
        u: dict[int, Scalar] = dict(active or {})
        for row, rate in reversed(pivots):
            value = z[row]
            for other_rate, entry in self.upper[row].items():
                if other_rate != rate:
                    value = _subtract_product(value, entry, u[other_rate])
            u[rate] = value * self.reciprocals[row]
        return u

    def solution(self, right: Sequence[Scalar]) -> Array:
        """The unknowns (n,) of a square system from its right-hand side (n,)."""
        unknowns = self.rates(right)
        return pack([unknowns[column] for column in sorted(unknowns)])

    def multipliers(self, rows: Iterable[int], units: Sequence[float] | Array) -> Iterator[Scalar]:
        """What pivot rows were taken off some rows by, all rows over their units."""
        for row in rows:
            for pivot_row, factor in self.lower[row].items():
                ratio = float(units[pivot_row] / units[row])
                yield factor if ratio == 1.0 else factor * ratio

    def free_multipliers(self, row: int) -> dict[int, Scalar]:
        """Lambda_r = L^-T e_r by row: the multipliers of a free row alone, which no passive rate feels."""
        return self._solve_lower_transposed({row: 1.0})

    def forces(
        self, gamma: dict[int, Scalar], active_rates_held: bool = False
    ) -> tuple[dict[int, Scalar], dict[int, Scalar]]:
        """Multipliers lambda_0 by row, M^T lambda_0 = Gamma, and what is left along active rates, N or N m.

        Args:
            gamma: forces by rate.
            active_rates_held: whether the rows hold the active rates, too.
        """
        kappa: dict[int, Scalar] = {}
        active_forces: dict[int, Scalar] = {}
        for row, rate in self.order.pivots:
            value = gamma.get(rate, 0.0)
            for earlier_row, _ in self.order.pivots:
                if earlier_row == row:
                    break
                if earlier_row in kappa and rate in self.upper[earlier_row]:
                    value = _subtract_product(value, self.upper[earlier_row][rate], kappa[earlier_row])
            if (row, rate) in self.order.passive or active_rates_held:
                kappa[row] = value * self.reciprocals[row]
            else:
                active_forces[rate] = value
        return self._solve_lower_transposed(kappa), active_forces

    def _solve_lower_transposed(self, kappa: dict[int, Scalar]) -> dict[int, Scalar]:
        """Lambda from kappa: L^T lambda = kappa."""
        lambdas = dict(kappa)
        order = [row for row, _ in self.order.pivots]
        rows = [*order, *self.order.left]
        for row in reversed(order):
            value: Scalar = lambdas.get(row, 0.0)
            for row_below in rows:
                factor = self.lower[row_below].get(row)
                if factor is not None and row_below in lambdas:
                    value = _subtract_product(value, factor, lambdas[row_below])
            if not is_zero(value):
                lambdas[row] = value
        return lambdas


def _subtract_product(value: Scalar, factor: Scalar, multiplicand: Scalar) -> Scalar:
    if is_zero(factor) or is_zero(multiplicand):
        return value
    product = factor * multiplicand
    return -product if is_zero(value) else value - product


def eliminate_rows(
    coefficients: Sequence[dict[int, Scalar]], order: EliminationOrder, zeros: frozenset[tuple[int, int]]
) -> Factors:
    """Eliminate the rows of a leg.

    Args:
        coefficients: M_ik by rate, row by row.
        order: the order.
        zeros: entries (row, rate) that are zero at all samples.
    """
    M = [
        {rate: entry for rate, entry in row.items() if (i, rate) not in zeros and not is_zero(entry)}
        for i, row in enumerate(coefficients)
    ]
    upper: dict[int, dict[int, Scalar]] = {}
    reciprocals: dict[int, Scalar] = {}
    pivots: dict[int, Scalar] = {}
    lower: dict[int, dict[int, Scalar]] = {i: {} for i in range(len(M))}
    rows = [*(row for row, _ in order.pivots), *order.left]
    for step, (row, rate) in enumerate(order.pivots):
        pivots[row] = M[row].get(rate, 0.0)
        reciprocal = reciprocals[row] = divide(1.0, pivots[row])
        upper[row] = M[row]
        for row_below in rows[step + 1 :]:
            entry = M[row_below].pop(rate, None)
            if entry is None:
                continue
            factor = lower[row_below][row] = entry * reciprocal
            for k, value in M[row].items():
                if k != rate:
                    M[row_below][k] = _subtract_product(M[row_below].get(k, 0.0), factor, value)
    return Factors(order, upper, reciprocals, lower, pivots)


# ---- small square systems


# Scores that differ by less are equal; sizes of pivots weigh a thousandth.
_NEAR = 1e-9


class MatrixUnits(NamedTuple):
    """What the rows (n,) and the columns (n,) of a matrix count in; an entry over both is a pure number."""

    rows: Array
    columns: Array


@dataclass(frozen=True)
class SolveOrder:
    """How a small square system is solved.

    Attributes:
        pivots: (row, column) in their order.
        units: of rows and columns.
        constant: rows that are solved beforehand, where there are some.
        left: how the rest is solved.
    """

    pivots: tuple[tuple[int, int], ...]
    units: MatrixUnits
    constant: ConstantRows | None = None
    left: SolveOrder | None = None

    @property
    def transpose(self) -> SolveOrder:
        """The order for the transposed matrix, no row of which is solved beforehand."""
        pivots = tuple((column, row) for row, column in self.pivots)
        return SolveOrder(pivots, MatrixUnits(self.units.columns, self.units.rows))

    def eliminate(self, A: Sequence[Sequence[Scalar]]) -> Factors:
        """Eliminate a matrix (n, n), given by rows."""
        columns = [column for _, column in self.pivots]
        rows = [{column: row[column] for column in columns} for row in A]
        return eliminate_rows(rows, EliminationOrder(self.pivots, (), ()), frozenset())

    def smallest_pivot(self, factors: Factors) -> Scalar:
        """The smallest pivot without units; what is scaled alike is compared before it is scaled."""
        groups: dict[float, Scalar] = {}
        for row, column in self.pivots:
            scale = float(1.0 / (self.units.rows[row] * self.units.columns[column]))
            size = absolute(factors.pivots[row])
            groups[scale] = minimum(groups[scale], size) if scale in groups else size
        return reduce(minimum, (value * scale for scale, value in groups.items()))

    def solve(self, A: list[list[Scalar]], b: list[Scalar]) -> tuple[Array, Scalar]:
        """The solution (n,) of A x = b, and the smallest pivot without units."""
        if self.constant is None or self.left is None:
            factors = self.eliminate(A)
            return factors.solution(b), self.smallest_pivot(factors)
        A, b, complete = without_constant_rows(A, b, self.constant)
        solution, pivot = self.left.solve(A, b)
        return complete(solution), pivot


class ConstantRows(NamedTuple):
    """Rows of a system that are the same at all states, and the unknowns that they are solved for.

    Attributes:
        rows: the rows.
        columns: as many unknowns.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]


def constant_rows(samples: Array) -> ConstantRows | None:
    """Rows of sample matrices (N, n, n) that are constant, and unknowns whose columns there are apart."""
    spread = np.ptp(samples, axis=0)
    size = np.max(np.abs(samples), axis=(0, 2))
    rows = [i for i in range(len(size)) if np.all(spread[i] <= _ZERO_PART * size[i])]
    if not 0 < len(rows) < len(size):
        return None
    part = samples[0][rows] / size[rows, None]
    choices = list(combinations(range(len(size)), len(rows)))
    volumes = [abs(float(np.linalg.det(part[:, list(columns)]))) for columns in choices]
    best = int(np.flatnonzero(np.array(volumes) >= np.max(volumes) * (1.0 - _NEAR))[0])
    return ConstantRows(tuple(rows), choices[best]) if volumes[best] > _ZERO_PART else None


def without_constant_rows(
    A: list[list[Scalar]], b: list[Scalar], constant: ConstantRows
) -> tuple[list[list[Scalar]], list[Scalar], Callable[[Array], Array]]:
    """A system without its constant rows, and what gives all unknowns from those that are left.

    With C the constant rows, C_P their part for the unknowns P: g_P = C_P^-1 (b_C - C_rest g_rest).
    """
    n = len(A)
    others = [c for c in range(n) if c not in constant.columns]
    inverse = solve(
        pack([[A[i][c] for c in constant.columns] for i in constant.rows]), np.eye(len(constant.rows))
    )
    K = product(inverse, pack([[A[i][c] for c in others] for i in constant.rows]))
    start = [inner(row, [b[i] for i in constant.rows]) for row in inverse.tolist()]
    rows, right = [], []
    for i in (i for i in range(n) if i not in constant.rows):
        constant_part = [A[i][c] for c in constant.columns]
        rows.append([A[i][c] - inner(constant_part, K[:, k].tolist()) for k, c in enumerate(others)])
        right.append(b[i] - inner(constant_part, start))

    def whole(f: Array) -> Array:
        solution: dict[int, Scalar] = dict(zip(others, f.tolist(), strict=True))
        for c, value, row in zip(constant.columns, start, K.tolist(), strict=True):
            solution[c] = value - inner(row, f.tolist())
        return pack([solution[c] for c in range(n)])

    return rows, right, whole


def product_of(values: Iterable[Scalar]) -> Scalar:
    """The product of some values; 1 without values."""
    product: Scalar = 1.0
    for value in values:
        product = value if isinstance(product, float) and product == 1.0 else product * value
    return product


def pivot_order(samples: Array) -> tuple[tuple[int, int], ...]:
    """An order of pivots (row, column) that is good for all sample matrices (N, n, n) of floats.

    At each step the entry whose smallest size over the samples, against the largest entry of what is left,
    is best; entries that are zero in all samples make columns cheap and are preferred among near equals, and
    columns that are constant come before all others: their pivots cost nothing.
    """
    still = constant_columns(samples)
    largest = np.max(np.abs(samples), axis=2, keepdims=True)
    # A row may be zero at a sample that is singular.
    M = samples.copy() if still.any() else samples / np.where(largest > 0.0, largest, 1.0)
    n = M.shape[1]
    rows_left, columns_left = list(range(n)), list(range(n))
    order = []
    for _ in range(n):
        part = np.abs(M[:, rows_left][:, :, columns_left])
        largest = np.max(part, axis=(1, 2), keepdims=True)
        good = np.min(part / np.where(largest > 0.0, largest, 1.0), axis=0)
        filled = np.sum(np.max(part, axis=0) > _ZERO_PART, axis=0)
        cheap = len(M) * still[columns_left]
        strong = good > 0.1 * np.max(good[:, still[columns_left]] if cheap.any() else good)
        score = np.where(strong, cheap[None, :] - filled[None, :] + 1e-3 * good, -np.inf)
        # The first whose score is the best but for a margin: columns weigh whole numbers.
        i, j = divmod(int(np.flatnonzero(score.ravel() >= np.max(score) - _NEAR)[0]), score.shape[1])
        row, column = rows_left[i], columns_left[j]
        order.append((row, column))
        rows_left.remove(row)
        columns_left.remove(column)
        for other_row in rows_left:
            factor = M[:, other_row, column] / M[:, row, column]
            M[:, other_row] = M[:, other_row] - factor[:, None] * M[:, row]
    return tuple(order)


def constant_columns(samples: Array) -> Array:
    """Which columns of sample matrices (N, n, n) are the same at all samples."""
    spread = np.ptp(samples, axis=0)
    return np.asarray(np.all(spread <= _ZERO_PART * np.max(np.abs(samples)), axis=0))


def determinant(A: list[list[Scalar]]) -> Scalar:
    """|det A| of a matrix (n, n), n up to three."""
    n = len(A)
    if n == 1:
        value = A[0][0]
    elif n == 2:
        value = A[0][0] * A[1][1] - A[0][1] * A[1][0]
    else:
        first, second, third = (pack(row) for row in A)
        value = dot(first, cross(second, third))
    return absolute(value)

"""Elimination of a leg's rates, in an order found from numbers, and the same transposed for forces.

The rows of a leg, sum_k M_ik u_k = g_i, are reduced with pivots (row, rate) in a fixed order, passive rates
first, then active ones; rows that are left demand something of the nacelle alone. With L the multipliers and
R the reduced rows, M = L R:

    rates     L z = g,    R u = z
    forces    M^T lambda = Gamma:    R^T kappa = Gamma over the passive rates,    L^T lambda = kappa

kappa is free for the rows of active rates and for the rows that are left: lambda = lambda_0 + sum mu_r
Lambda_r, with Lambda_r = L^-T e_r. The matrix of the rates over the nacelle's motion is never formed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.general.vectors import is_zero
from nacelle.spatial.scalar import Array, Scalar, divide

# Entries of scaled sample matrices below this are zero: their loops are closed to 1e-15.
_FILLED = 1e-11
# A pivot may be this part of the best one at the worst of the samples.
_STRONG = 0.05


@dataclass(frozen=True)
class Order:
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


def find_order(samples: Array, rates: Sequence[int], active: frozenset[int], price: Sequence[float]) -> Order:
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
            filled = np.max(np.abs(M[:, rows]), axis=0) > _FILLED
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
            for other in rows:
                factor = M[:, other, column] / M[:, row, column]
                M[:, other] = M[:, other] - factor[:, None] * M[:, row]
                M[:, other, column] = 0.0
            M[np.abs(M) < _FILLED] = 0.0
    return Order(tuple(pivots[False]), tuple(pivots[True]), tuple(rows))


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

    order: Order
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
            for other, factor in self.lower[row].items():
                value = _minus(value, factor, z[other])
            z[row] = value
        u: dict[int, Scalar] = dict(active or {})
        for row, rate in reversed(pivots):
            value = z[row]
            for other, entry in self.upper[row].items():
                if other != rate:
                    value = _minus(value, entry, u[other])
            u[rate] = value * self.reciprocals[row]
        return u

    def remaining(self, row: int) -> dict[int, Scalar]:
        """Lambda_r = L^-T e_r by row: the multipliers of a free row alone, which no passive rate feels."""
        return self._spread({row: 1.0})

    def forces(
        self, gamma: dict[int, Scalar], held: bool = False
    ) -> tuple[dict[int, Scalar], dict[int, Scalar]]:
        """Multipliers lambda_0 by row, M^T lambda_0 = Gamma, and what is left along active rates, N or N m.

        Args:
            gamma: forces by rate.
            held: whether the rows hold the active rates, too.
        """
        kappa: dict[int, Scalar] = {}
        own: dict[int, Scalar] = {}
        for row, rate in self.order.pivots:
            value = gamma.get(rate, 0.0)
            for other, _ in self.order.pivots:
                if other == row:
                    break
                if other in kappa and rate in self.upper[other]:
                    value = _minus(value, self.upper[other][rate], kappa[other])
            if (row, rate) in self.order.passive or held:
                kappa[row] = value * self.reciprocals[row]
            else:
                own[rate] = value
        return self._spread(kappa), own

    def _spread(self, kappa: dict[int, Scalar]) -> dict[int, Scalar]:
        """Lambda from kappa: L^T lambda = kappa."""
        lambdas = dict(kappa)
        order = [row for row, _ in self.order.pivots]
        rows = [*order, *self.order.left]
        for row in reversed(order):
            value: Scalar = lambdas.get(row, 0.0)
            for other in rows:
                factor = self.lower[other].get(row)
                if factor is not None and other in lambdas:
                    value = _minus(value, factor, lambdas[other])
            if not is_zero(value):
                lambdas[row] = value
        return lambdas


def _minus(value: Scalar, factor: Scalar, other: Scalar) -> Scalar:
    if is_zero(factor) or is_zero(other):
        return value
    product = factor * other
    return -product if is_zero(value) else value - product


def factorise(
    coefficients: Sequence[dict[int, Scalar]], order: Order, zeros: frozenset[tuple[int, int]]
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
        pivots[row] = M[row][rate]
        reciprocal = reciprocals[row] = divide(1.0, M[row][rate])
        upper[row] = M[row]
        for other in rows[step + 1 :]:
            entry = M[other].pop(rate, None)
            if entry is None:
                continue
            factor = lower[other][row] = entry * reciprocal
            for k, value in M[row].items():
                if k != rate:
                    M[other][k] = _minus(M[other].get(k, 0.0), factor, value)
    return Factors(order, upper, reciprocals, lower, pivots)

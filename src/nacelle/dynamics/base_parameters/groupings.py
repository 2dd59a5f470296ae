"""Groupings as symbols: the coefficients of base parameters as polynomials in coordinates of joints.

Transfers of chosen parameters are added up over legs that share them; Gauss's elimination with constant
pivots leaves for every dependent parameter one transfer, in which it stands beside base parameters alone.
What its numbers agree with is written with symbols, all else with numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from nacelle.dynamics.base_parameters.choice import Choice
from nacelle.dynamics.base_parameters.polynomial import Polynomial
from nacelle.dynamics.base_parameters.transfers import Transfer, Vector
from nacelle.spatial.scalar import Array

_SMALL = 1e-9
# Longer polynomials are given as numbers.
_TERMS = 24
_ZERO = Polynomial({}, {})


def chosen_transfers(choice: Choice, transfers: Iterable[Transfer]) -> list[Vector]:
    """Transfers over the chosen parameters, summed over legs that share them."""
    column = {int(k): int(np.flatnonzero(row)[0]) for k, row in enumerate(choice.E) if np.any(row)}
    size = [int(count) for count in np.count_nonzero(choice.E, axis=0)]
    together: dict[tuple[str, ...], list[Transfer]] = {}
    for number, transfer in enumerate(transfers):
        alone = all(size[column[k]] == 1 for k in transfer.change if k in column)
        together.setdefault((*transfer.rule, *([str(number)] if alone else [])), []).append(transfer)
    listed = []
    for group in together.values():
        total: dict[int, Polynomial] = {}
        for transfer in group:
            for k, value in transfer.change.items():
                total[k] = total.get(k, _ZERO) + value
        vector = _chosen(total, choice, column)
        if vector:
            listed.append(vector)
    return listed


def _chosen(total: dict[int, Polynomial], choice: Choice, column: dict[int, int]) -> Vector | None:
    """A transfer over chosen parameters; None where it changes what is zero, or one of several legs alone."""
    largest = max((abs(value.value) for value in total.values()), default=0.0)
    vector: Vector = {}
    for k, value in total.items():
        if k not in column:
            if abs(value.value) > _SMALL * largest:
                return None
            continue
        z = column[k]
        value = value.scaled(float(choice.E[k, z]))
        if z in vector and abs(vector[z].value - value.value) > _SMALL * largest:
            return None
        vector.setdefault(z, value)
    for z in vector:
        if any(int(k) not in total for k in np.flatnonzero(choice.E[:, z])):
            return None
    return vector


def symbolic_coefficients(
    vectors: list[Vector], dependent: Sequence[int], K: Array, kept: Sequence[int]
) -> dict[tuple[int, int], Polynomial]:
    """Coefficients (base parameter, dependent parameter) with symbols, as far as rules give them.

    Args:
        vectors: transfers over the chosen parameters.
        dependent: places of those that are not base parameters.
        K: (kept, chosen), the coefficients as numbers.
        kept: places of the base parameters.
    """
    rows = [dict(vector) for vector in vectors]
    order = {k: place for place, k in enumerate(kept)}
    solved: dict[int, Vector] = {}
    outside = set(dependent)

    def length(row: Vector) -> tuple[int, int]:
        return len(outside & row.keys()), sum(len(value.terms) for value in row.values())

    for k in reversed(dependent):
        candidates = [row for row in rows if k in row and abs(row[k].constant or 0.0) > _SMALL]
        if not candidates:
            continue
        pivot = min(candidates, key=length)
        rows = [row for row in rows if row is not pivot]
        pivot = {j: value.scaled(1.0 / float(pivot[k].constant or 1.0)) for j, value in pivot.items()}
        rows = [_without(row, k, pivot) for row in rows]
        solved = {j: _without(row, k, pivot) for j, row in solved.items()}
        solved[k] = pivot
    coefficients: dict[tuple[int, int], Polynomial] = {}
    for k, row in solved.items():
        if any(j in outside and j != k and abs(value.value) > _SMALL for j, value in row.items()):
            continue
        column = np.zeros(len(kept))
        for j, value in row.items():
            if j in order:
                column[order[j]] = -value.value
        if np.max(np.abs(column - K[:, k]), initial=0.0) > 1e-7 * max(
            1.0, float(np.max(np.abs(K[:, k]), initial=0.0))
        ):
            continue
        for j, value in row.items():
            if j in order and len(value.terms) <= _TERMS:
                coefficients[j, k] = value.scaled(-1.0)
    return coefficients


def _without(row: Vector, k: int, pivot: Vector) -> Vector:
    """A transfer with parameter k taken out by another, in which it has the factor one."""
    if k not in row:
        return row
    factor = row[k].scaled(-1.0)
    new = dict(row)
    for j, value in pivot.items():
        total = new.get(j, _ZERO) + factor * value
        if total.terms:
            new[j] = total
        else:
            new.pop(j, None)
    new.pop(k, None)
    return new

"""First-order effects of rounding on the values of a program, in random directions.

Every direction changes each number of the program by about one unit of rounding, at random, and follows what
that does to the values, to first order:

    numbers       constants and inputs change once each: what a value owes to the rounding of the robot's
    numbers operations    every operation changes its result as well: what double precision makes of a value

The changes of two values that owe theirs to the same numbers agree, so that a difference of values can be
held against the change of the difference. Largest changes over some directions stand for standard
deviations; they do not depend on the order of a sum, and so not on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

UNIT = 2.0**-53
DIRECTIONS = 8
NUMBERS, OPERATIONS = 0, 1


class Directions:
    """Random changes by number, the same on every machine: they come from whole random numbers."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(20)
        self._rows: list[Array] = []

    def __getitem__(self, k: int) -> Array:
        """Changes in all directions (directions,): 0.5 to 1.5 units of rounding of 1, of either sign."""
        while k >= len(self._rows):
            whole = self._random.integers(0, 1 << 20, (4096, DIRECTIONS)).astype(float) / (1 << 20)
            sign = self._random.integers(0, 2, (4096, DIRECTIONS)) * 2.0 - 1.0
            table = (0.5 + whole) * sign * UNIT
            table.flags.writeable = False
            self._rows.extend(table)
        return self._rows[k]


@cache
def directions() -> Directions:
    """The one table of changes, made once for all programs."""
    return Directions()


def of_number(size: Array, direction: Array) -> Array:
    """Changes (2, samples, directions) of a constant or an input of some size (samples,)."""
    change = size[:, None] * direction
    return np.stack([change, change])


def of_operation(
    op: str, value: Array, arguments: Sequence[Array], changes: Sequence[Array], slope: Array | None = None
) -> Array:
    """Changes of a result without its own rounding.

    Args:
        op: the operation.
        value: its result (samples,).
        arguments: values of its arguments (samples,).
        changes: their changes (2, samples, directions).
        slope: derivative (samples,) of sin and cos.
    """
    if op == "add":
        return changes[0] + changes[1]
    if op == "sub":
        return changes[0] - changes[1]
    if op == "mul":
        return arguments[1][:, None] * changes[0] + arguments[0][:, None] * changes[1]
    if op == "neg":
        return -changes[0]
    with np.errstate(all="ignore"):
        if op == "div":
            return (changes[0] - value[:, None] * changes[1]) / arguments[1][:, None]
        if op == "sqrt":
            return changes[0] / (2.0 * value[:, None])
        if slope is not None:
            return slope[:, None] * changes[0]
        # Values that are drawn at random (see `values`) have no part in the rounding of numbers; what they
        # pass on of the rounding of operations is taken as relative to their own size.
        result = np.zeros_like(changes[0])
        if op in ("sign", "floor"):
            return result
        for argument, change in zip(arguments[-2:], changes[-2:], strict=True):
            ratio = np.where(argument != 0.0, np.abs(value / argument), 1.0)
            passed = ratio[:, None] * change[OPERATIONS]
            result[OPERATIONS] = np.where(
                np.abs(passed) > np.abs(result[OPERATIONS]), passed, result[OPERATIONS]
            )
        return result


def largest(changes: Array) -> Array:
    """The largest change over the directions: (..., samples, directions) to (..., samples)."""
    return np.asarray(np.maximum.reduce(np.abs(changes), axis=-1))


def typical(changes: Array) -> Array:
    """Root of the mean square over the directions: (..., samples, directions) to (..., samples).

    It is summed in order, so that it is the same on every machine.
    """
    squares = changes * changes
    total = squares[..., 0]
    for k in range(1, changes.shape[-1]):
        total = total + squares[..., k]
    return np.asarray(np.sqrt(total / changes.shape[-1]))

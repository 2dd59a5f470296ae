"""Floats that remember how they were made from given numbers.

A recorded float is a float: it is compared, it decides branches, it passes every check. Arithmetic with it
is recorded on a tape as well, so that what was computed from it once, at a sample of the given numbers, can
be computed again for others. What is only zero or one, or equal to something else, *at the sample* is decided
there: samples are drawn at random, so that what holds at one holds at all of them.

Functions with a kink or jumps (abs, sign, floor, min, max, where) have a side at the sample, which another
sample need not share. They are recorded, and their value is moved a little, so that nothing is taken to be
equal across the kink. Only the sign that a negation takes away (`abs(c)` of a coefficient) follows the
sample: c = -(-c) holds on both sides.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Protocol

import numpy as np

from nacelle.spatial.operators import Operators, map_entries
from nacelle.spatial.trigonometry import sine_cosine

_NONSMOOTH = ("abs", "sign", "floor", "min", "max", "where")
_PLAIN = frozenset((float, int, np.float64))
# Irrational, so that values on the far side of a kink are like no others.
_GOLDEN = 0.6180339887498949


class Tape(Protocol):
    """What arithmetic is recorded on: nodes by index (`nacelle.program.graph.Graph`)."""

    def const(self, value: float) -> int:
        """A constant."""

    def apply(self, op: str, *arguments: int) -> int:
        """Any operation by name."""


class Recorded(Operators, float):
    """A float that was computed from given numbers, with its node on a tape."""

    __slots__ = ("node", "tape")
    tape: Tape
    node: int

    def __new__(cls, value: float, tape: Tape, node: int) -> Recorded:
        """Keep a value with the node that computes it."""
        self = super().__new__(cls, value)
        self.tape, self.node = tape, node
        return self

    def _binary(self, op: str, other: Any, swapped: bool = False) -> Any:
        """The operation; 0 times anything is 0, and a plain number."""
        if isinstance(other, np.ndarray):
            return map_entries(lambda entry: self._binary(op, entry, swapped), other)
        if not isinstance(other, float | int | np.integer):
            # A traced symbol or another scalar, for which this is a number.
            return NotImplemented
        plain = None if isinstance(other, Recorded) else float(other)
        if plain == 0.0 and (op == "mul" or (op == "div" and swapped)):
            return 0.0
        node = tape_node(self.tape, other if isinstance(other, Recorded) else float(other))
        pair = ((float(other), node), (float(self), self.node))
        (a, first), (b, second) = pair if swapped else pair[::-1]
        return Recorded(_ARITHMETIC[op](a, b), self.tape, self.tape.apply(op, first, second))

    def __neg__(self) -> Recorded:
        """Negation."""
        return Recorded(-float(self), self.tape, self.tape.apply("neg", self.node))

    def __pos__(self) -> Recorded:
        """The number itself."""
        return self

    def __abs__(self) -> Recorded:
        """The number, or its negation where that is positive at the sample; see the head of the file."""
        return -self if self < 0.0 else self

    def __pow__(self, power: Any, modulus: Any = None) -> Any:
        """Whole powers that are not negative, by repeated products."""
        if not isinstance(power, int) or power < 0 or modulus is not None:
            raise TypeError("only whole powers can be recorded; use sqrt for roots")
        result: Any = 1.0
        for _ in range(power):
            result = result * self
        return result

    def __reduce__(self) -> Any:
        """Copies and pickles are plain floats: a tape stays where it is."""
        return float, (float(self),)


def record_operation(op: str, *arguments: float) -> Any:
    """A function of numbers of which one at least is recorded; its value at the sample may not be NaN."""
    tape = next(a.tape for a in arguments if isinstance(a, Recorded))
    node = tape.apply(op, *(tape_node(tape, a) for a in arguments))
    value = _VALUES[op](*(float(a) for a in arguments))
    if op in _NONSMOOTH:
        offset = 1e-3 * (0.5 + (node * _GOLDEN) % 1.0)
        # What is zero at the sample (floor of 0.7) is not at others, and must not make products zero.
        value = value * (1.0 + offset) if value else offset
    return Recorded(value, tape, node)


def tape_node(tape: Tape, value: float) -> int:
    """The node of a number on a tape."""
    if isinstance(value, Recorded):
        if value.tape is not tape:
            raise TypeError("numbers of two recordings cannot be mixed")
        return value.node
    return tape.const(float(value))


def as_float(value: Any) -> float:
    """A number as a float, recorded if it is."""
    return value if isinstance(value, Recorded) else float(value)


def is_recorded(entries: Any) -> bool:
    """Whether a number, or one in nested sequences and arrays of them, is recorded."""
    if isinstance(entries, np.ndarray) and entries.dtype != object:
        return False
    if isinstance(entries, list | tuple | np.ndarray):
        # Most are plain numbers, which are passed over without a call.
        for entry in entries:  # noqa: SIM110 (twice as fast)
            if type(entry) not in _PLAIN and is_recorded(entry):
                return True
        return False
    return isinstance(entries, Recorded)


_ARITHMETIC: dict[str, Any] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}
_VALUES: dict[str, Any] = {
    "sqrt": math.sqrt,
    "sin": lambda a: sine_cosine(a)[0],
    "cos": lambda a: sine_cosine(a)[1],
    "tanh": math.tanh,
    "exp": math.exp,
    "abs": abs,
    "sign": lambda a: float((a > 0) - (a < 0)),
    "floor": lambda a: float(math.floor(a)),
    "atan2": math.atan2,
    "min": min,
    "max": max,
    "where": lambda c, a, b: a if c > 0.0 else b,
}

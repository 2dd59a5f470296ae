"""Classes of values of a program that are equal, up to sign, at all samples, and their rounding.

The program is read instruction by instruction. Each value is computed with 50 digits at every sample and then
looked up among those before it; equal ones are one class.

**What counts as equal.** Let d be the difference of two values at a sample (or a value itself, where the
question is whether it is zero). It counts as nothing if, at every sample,

1.  d <= 1e-40 of the size of the terms that made the values: the identity holds for these numbers exactly; or
2.  d <= 32 D, where D is how much d itself changes, to first order, if every constant of the program and
    every input changes by one unit of rounding of double, each at random (below).

The second rule is for the robot's numbers, which are doubles: the cosine of 120 degrees is off by 1e-16,
three legs are alike to 1e-16 only, and what is zero in exact geometry is 1e-17. Such a deviation is what
rounding of constants makes, and its size is known: that of the change D. It is not a tolerance on values.
Legs that differ by 1e-12 have d = 1e-12 s where the value depends by s on the length in question, and D =
1e-16 s: their values stay apart, since 32 units are 3.6e-15. A value that is pure cancellation is zero only
if what is left is as small as rounding of numbers explains, however small it is. And where a difference is
hidden behind a number on which the values depend a hundred times more strongly, that number's own rounding
is worth as much. 32 is the margin within which two numbers of a robot are one
(`nacelle.spatial.rounding.ULPS`).

**Rounding.** Two values that are equal may be computed with errors of different size. A value is not replaced
by one before it whose change by rounding (below) is more than four times its own; it is a class of its own
then, and the one that later values are given to.

**Free values.** sign, floor, abs, min, max, where, atan2, tanh and exp get independent random values, the
same for equal arguments: no identity may rest on the side of a case on which the samples happen to lie, nor
on a relation between transcendental functions. (A `where` is evaluated as it is if the samples lie on either
side of its condition, two at least on each; one condition in a program is, since two would need samples for
all their combinations.)

**Changes by rounding**, to first order, in random directions. Every direction changes each number of the
program by about one unit of rounding, at random, and follows what that does to the values, to first order:

    numbers       constants and inputs change once each: what a value owes to the rounding of the robot's
    numbers operations    every operation changes its result as well: what double precision makes of a value

The changes of two values that owe theirs to the same numbers agree, so that a difference of values can be
held against the change of the difference. Largest changes over some directions stand for standard
deviations; they do not depend on the order of a sum, and so not on the machine.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.program.precise import APPLY, decimal_context
from nacelle.program.program import COMMUTATIVE, Program
from nacelle.spatial.rounding import FOLDED_ULPS, ULPS, Constants

Row = tuple[Decimal, ...]


@dataclass(frozen=True, eq=False)
class PreciseInputs:
    """Inputs with 50 digits, a row each.

    Inputs that depend on one another (passive coordinates at a pose, entries of a rotation) must do so to
    all these digits; all others are random. Four rows or more prove an identity: two on either side of a
    `where` that is to take part in one.

    Attributes:
        proof: rows at which identities are sought.
        check: other rows, at which the result is compared with the program as it was.
        sizes: for every input the size that its rounding is relative to, 1 rad for an angle that may be 0.
    """

    proof: tuple[Row, ...]
    check: tuple[Row, ...]
    sizes: tuple[float, ...]


# ---- first-order effects of rounding on the values of a program, in random directions


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


def number_rounding(size: Array, direction: Array) -> Array:
    """Changes (2, samples, directions) of a constant or an input of some size (samples,)."""
    change = size[:, None] * direction
    return np.stack([change, change])


def operation_rounding(
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


def largest_change(changes: Array) -> Array:
    """The largest change over the directions: (..., samples, directions) to (..., samples)."""
    return np.asarray(np.maximum.reduce(np.abs(changes), axis=-1))


def rms_change(changes: Array) -> Array:
    """Root of the mean square over the directions: (..., samples, directions) to (..., samples).

    It is summed in order, so that it is the same on every machine.
    """
    squares = changes * changes
    total = squares[..., 0]
    for k in range(1, changes.shape[-1]):
        total = total + squares[..., k]
    return np.asarray(np.sqrt(total / changes.shape[-1]))


# ---- classes of values of a program that are equal, up to sign, at all samples


# An identity is exact if it holds to this part of the terms.
EXACT = 1e-40
RANDOMISED = frozenset(("sign", "floor", "abs", "min", "max", "where", "atan2", "tanh", "exp"))
_ODD = frozenset(("sign", "tanh"))

# A class and a sign: twice the class, and one more for its negative.
Ref = int
# An operation on classes: ("add", 4, 7); constants and inputs as in a program.
Definition = tuple[Any, ...]
# What makes a class: 1 if the definition gives its negative, else 0; and the definition.
SignedDefinition = tuple[int, Definition]

_pack, _unpack = struct.Struct("<d").pack, struct.Struct("<q").unpack
# A value is not replaced by one whose rounding is larger than its own by this factor.
_MAX_ROUNDING_RATIO = 4.0
# Leading bits of a double by which values are looked up: 36 of the fraction, 1.5e-11.
_DROPPED_BITS = 16


class ValueClasses:
    """The classes of a program's values.

    Attributes:
        exact: for every class its values at the samples.
        values: the same in double, (samples,) each.
        changes: their changes (2, samples, directions) by rounding of numbers, and of operations, too.
        sizes: sizes of the terms that made them, (samples,) each: their changes in units of rounding.
        constants: for every class the constant that it is, or None.
        makings: for every class the operations on classes that make it, in the order of the program.
        results: the classes of the program's results.
    """

    def __init__(
        self, program: Program, rows: Sequence[Row], sizes: Sequence[float], units: float = ULPS
    ) -> None:
        """Read a program.

        Args:
            program: the program.
            rows: its inputs at the samples.
            sizes: sizes of the inputs to which their rounding is relative.
            units: how many units of rounding of the numbers may explain a deviation; 0 for none.
        """
        self.program = program
        self.exact: list[list[Decimal]] = []
        self.values: list[Array] = []
        self.changes: list[Array] = []
        self.sizes: list[Array] = []
        self.constants: list[float | None] = []
        self.makings: list[list[SignedDefinition]] = []
        self._rows, self._input_sizes, self._units = rows, sizes, units
        self._count = len(rows)
        self.directions = directions()
        self._random = np.random.default_rng(21)
        self._numbers = Constants(FOLDED_ULPS)
        self._table: dict[Definition, Ref] = {}
        self._buckets: dict[int, list[int]] = {}
        self._free: dict[Definition, list[Decimal]] = {}
        self._condition: Ref | None = None
        with localcontext(decimal_context()), np.errstate(all="ignore"):
            self.zero = self.constant(0.0)
            refs: list[Ref] = []
            for instruction in program.code:
                refs.append(self._instruction(instruction, refs))
        self.results = [refs[k] for k in program.results]

    def _instruction(self, instruction: Definition, refs: list[Ref]) -> Ref:
        op = instruction[0]
        if op == "const":
            return self.constant(float(instruction[1]))
        if op == "input":
            return self._input(int(instruction[1]))
        arguments = [refs[k] for k in instruction[1:]]
        if op == "neg":
            return arguments[0] ^ 1 if arguments[0] >> 1 != self.zero >> 1 else self.zero
        return self._operation(str(op), arguments)

    # ---- values

    def constant(self, value: float, doubt: float = 0.0) -> Ref:
        """The class of a constant: of the nearest one that there is within a doubt about it, or its own."""
        if not math.isfinite(value):
            return self._separate_class(("const", value), [Decimal(value)] * self._count)
        if doubt > FOLDED_ULPS * UNIT * abs(value):
            near = [c for c in self.constants if c and abs(abs(c) - abs(value)) <= doubt]
            if near:
                size = abs(min(near, key=lambda c: abs(abs(c) - abs(value))))
                value = math.copysign(size, value)
        size = abs(self._numbers.unify(value))
        definition = ("const", size)
        ref = self._table.get(definition)
        if ref is None:
            change = number_rounding(np.full(self._count, size), self.directions[len(self.exact)])
            ref = self._class_of(definition, [Decimal(size)] * self._count, change)
            self._table[definition] = ref
        return ref ^ 1 if value < 0.0 else ref

    def _input(self, k: int) -> Ref:
        definition = ("input", k)
        ref = self._table.get(definition)
        if ref is None:
            exact = [row[k] for row in self._rows]
            size = np.maximum(np.abs(np.array([float(value) for value in exact])), self._input_sizes[k])
            ref = self._class_of(definition, exact, number_rounding(size, self.directions[len(self.exact)]))
            self._table[definition] = ref
        return ref

    def _operation(self, op: str, arguments: list[Ref]) -> Ref:
        if op in COMMUTATIVE:
            arguments = sorted(arguments)
        definition: Definition = (op, *arguments)
        ref = self._table.get(definition)
        if ref is None:
            ref = self._table[definition] = self._evaluate_operation(op, arguments, definition)
        return ref

    def _evaluate_operation(self, op: str, arguments: list[Ref], definition: Definition) -> Ref:
        if op == "where":
            condition = self.constants[arguments[0] >> 1]
            if condition is not None:
                positive = condition < 0.0 if arguments[0] & 1 else condition > 0.0
                return arguments[1] if positive else arguments[2]
            if arguments[1] == arguments[2]:
                return arguments[1]
        operands = [self.signed_values(ref) for ref in arguments]
        slope: Array | None = None
        if op == "where" and self._has_both_signs(arguments[0], operands[0]):
            exact = [APPLY[op](*row) for row in zip(*operands, strict=True)]
            return self._class_of(definition, exact, self._where_changes(operands[0], arguments))
        if op in RANDOMISED and not all(self.constants[ref >> 1] is not None for ref in arguments):
            exact = self._random_values(op, arguments)
        else:
            apply = APPLY[op]
            exact = list(map(apply, *operands))
            if op in ("sin", "cos"):
                derivative = APPLY["cos" if op == "sin" else "sin"]
                slope = np.array([float(derivative(value)) for value in operands[0]])
                slope = slope if op == "sin" else -slope
        value = np.array(list(map(float, exact)))
        numbers = [self._value(ref) for ref in arguments]
        changes = operation_rounding(op, value, numbers, [self.change(ref) for ref in arguments], slope)
        changes[OPERATIONS] += value[:, None] * self.directions[len(self.exact)]
        return self._class_of(definition, exact, changes, value)

    def signed_values(self, ref: Ref) -> list[Decimal]:
        """The values of a class, or their negatives."""
        exact = self.exact[ref >> 1]
        return [-value for value in exact] if ref & 1 else exact

    def _value(self, ref: Ref) -> Array:
        return -self.values[ref >> 1] if ref & 1 else self.values[ref >> 1]

    def change(self, ref: Ref) -> Array:
        """The changes of a class by rounding, or their negatives."""
        return -self.changes[ref >> 1] if ref & 1 else self.changes[ref >> 1]

    def _has_both_signs(self, condition: Ref, values: list[Decimal]) -> bool:
        """Whether the samples lie on either side of a condition, and it is the first such."""
        positive = sum(value > 0 for value in values)
        if min(positive, len(values) - positive) < 2:
            return False
        if self._condition is None:
            self._condition = condition
        return self._condition == condition

    def _where_changes(self, condition: list[Decimal], arguments: list[Ref]) -> Array:
        side = np.array([value > 0 for value in condition])[:, None]
        return np.where(side, self.change(arguments[1]), self.change(arguments[2]))

    def _random_values(self, op: str, arguments: list[Ref]) -> list[Decimal]:
        """Random values of a case or of a transcendental function; odd and even ones keep their symmetry."""
        negative = False
        if op in _ODD:
            negative, arguments = bool(arguments[0] & 1), [arguments[0] & ~1]
        elif op == "abs":
            arguments = [arguments[0] & ~1]
        key = (op, *arguments)
        samples = self._free.get(key)
        if samples is None:
            whole = self._random.integers(1 << 52, 1 << 53, self._count)
            samples = self._free[key] = [Decimal(int(value)) / (1 << 53) for value in whole]
        return [-value for value in samples] if negative else samples

    # ---- classes

    def _separate_class(self, definition: Definition, exact: list[Decimal]) -> Ref:
        """A class of its own for a constant that is not a number."""
        ref = self._table.get(definition)
        if ref is None:
            zero = np.zeros(self._count)
            nothing = number_rounding(zero, self.directions[len(self.exact)])
            value = np.array([float(entry) for entry in exact])
            ref = self._table[definition] = self._new(definition, exact, nothing, value, zero)
        return ref

    def _class_of(
        self, definition: Definition, exact: list[Decimal], changes: Array, value: Array | None = None
    ) -> Ref:
        """The class of a value, new or old, and its sign in it."""
        if value is None:
            value = np.array([float(entry) for entry in exact])
        peaks, changed = (peak_changes := largest_change(changes)).tolist()
        size, sizes = peak_changes[OPERATIONS] / UNIT, [entry / UNIT for entry in changed]
        floats = value.tolist()
        if not math.isfinite(sum(floats) + sum(peaks) + sum(sizes)):
            return self._new(definition, exact, changes, value, size)
        if self.exact and self._is_within_rounding(floats, peaks, sizes):
            return self.zero
        noise = changes[NUMBERS]
        bits = int(_unpack(_pack(abs(floats[0])))[0])
        bucket = bits >> _DROPPED_BITS
        for near in (bucket, bucket - 1, bucket + 1):
            for candidate in reversed(self._buckets.get(near, ())):
                ref = self._sign_in_class(candidate, exact, noise, size)
                if ref is not None:
                    self.makings[candidate].append((ref & 1, definition))
                    return ref
        constant = self._constant_of(definition, exact, floats, noise, size)
        ref = self._new(definition, exact, changes, value, size, constant)
        self._buckets.setdefault(bucket, []).append(ref >> 1)
        return ref

    def is_negligible(self, difference: Sequence[Decimal], noise: Array, size: Array) -> bool:
        """Whether a difference counts as nothing at every sample.

        Args:
            difference: of some values.
            noise: its changes by rounding of numbers (samples, directions).
            size: of the terms that made the values (samples,).
        """
        return self._is_within_rounding(difference, largest_change(noise).tolist(), size.tolist())

    def _is_within_rounding(
        self, difference: Sequence[Decimal | float], peaks: list[float], sizes: list[float]
    ) -> bool:
        units = self._units
        for d, n, s in zip(difference, peaks, sizes, strict=True):
            gap = abs(float(d))
            if gap > units * n and gap > EXACT * s:
                return False
        return True

    def _sign_in_class(self, candidate: int, exact: list[Decimal], noise: Array, size: Array) -> Ref | None:
        """A class with the sign with which a value belongs to it; None if it does not."""
        theirs = self.exact[candidate]
        negative = (exact[0] < 0) != (theirs[0] < 0)
        their_noise, their_size = self.changes[candidate][NUMBERS], self.sizes[candidate]
        if negative:
            apart = [a + b for a, b in zip(exact, theirs, strict=True)]
            noise = noise + their_noise
        else:
            apart = [a - b for a, b in zip(exact, theirs, strict=True)]
            noise = noise - their_noise
        if not self.is_negligible(apart, noise, size + their_size):
            return None
        # Users of this value would get the rounding of that one.
        if self.constants[candidate] is None and (their_size > _MAX_ROUNDING_RATIO * size).any():
            return None
        return 2 * candidate + negative

    def _constant_of(
        self, definition: Definition, exact: list[Decimal], floats: list[float], noise: Array, size: Array
    ) -> float | None:
        """The constant that a value is; None if it varies."""
        if definition[0] == "const":
            return floats[0]
        if self._count < 2 or abs(floats[1] - floats[0]) > 1e-9 * abs(floats[0]):
            return None
        first = exact[0]
        apart = [entry - first for entry in exact]
        if not self.is_negligible(apart, noise - noise[0], size + size[0]):
            return None
        return self._numbers.unify(floats[0])

    def _new(
        self,
        definition: Definition,
        exact: list[Decimal],
        changes: Array,
        value: Array,
        size: Array,
        constant: float | None = None,
    ) -> Ref:
        self.exact.append(exact)
        self.values.append(value)
        self.changes.append(changes)
        self.sizes.append(size)
        self.constants.append(constant)
        self.makings.append([(0, definition)])
        return 2 * (len(self.exact) - 1)

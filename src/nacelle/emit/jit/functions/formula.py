"""Lines of a function that evaluates a formula in every lane of a vector.

Sums and products of doubles that keep what rounding loses are those of T. J. Dekker (1971).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nacelle.emit.jit.loops import Lanes
from nacelle.emit.jit.vectors import splat, type_name

# Added to a number and taken away again it leaves the nearest integer, which it has in its lowest bits.
ROUNDER = 1.5 * 2.0**52
# The highest bit, as a signed integer.
SIGN = -(2**63)
# Sizes of numbers that one instruction makes.
_SHORT = (0.0, 0.5, 1.0, 2.0)
# Splits a double into two of 26 bits.
_SPLITTER = 2.0**27 + 1.0


class DoubleDouble(NamedTuple):
    """The sum of two doubles, by the names of their values: a number, and a rest below its last place."""

    high: str
    low: str


class Formula(Lanes):
    """Lines of the function `@<prefix><name>`; `fma` says whether products are fused with sums.

    Its constants are vectors in a table: made by instructions each takes five of them on aarch64.
    """

    def __init__(
        self, width: int, prefix: str, name: str, parameters: str, *, fma: bool, pair: bool = False
    ) -> None:
        """Begin a function of parameters "x", "y x" that gives a vector, or a pair of them."""
        kind = type_name(width)
        self.result = f"{{ {kind}, {kind} }}" if pair else kind
        parameter_list = ", ".join(f"{kind} %{parameter}" for parameter in parameters.split())
        super().__init__(
            width, fma, f"define internal {self.result} @{prefix}{name}({parameter_list}) noinline", prefix
        )
        self._table = f"@{prefix}{name}.numbers"
        self._numbers: dict[float, int] = {}

    def function_text(self, *values: str) -> str:
        """The text of the function, which gives these values, and of its table."""
        return self.text(f"{self.result} {self.record(*values)}")

    def text(self, result: str = "void") -> str:
        """The text of the function, which ends by returning a result, and of its table."""
        table = ", ".join(f"{self.type} {splat(number, self.width)}" for number in self._numbers)
        count = f"[{len(self._numbers)} x {self.type}]"
        head = f"{self._table} = internal constant {count} [{table}], align {8 * self.width}\n\n"
        return (head if self._numbers else "") + super().text(result)

    def record(self, *values: str) -> str:
        """What the function gives: a value, or one of several vectors."""
        if len(values) == 1:
            return values[0]
        pair = "poison"
        for i, value in enumerate(values):
            pair = self.value(f"insertvalue {self.result} {pair}, {self.type} {value}, {i}")
        return pair

    # ---- doubles

    def number(self, value: float) -> str:
        """A constant of all lanes."""
        if abs(value) in _SHORT:
            return splat(value, self.width)
        offset = 8 * self.width * self._numbers.setdefault(value, len(self._numbers))
        pointer = f"getelementptr (i8, ptr {self._table}, i64 {offset})"
        return self.value(f"load {self.type}, ptr {pointer}, align {8 * self.width}, !invariant.load !{{}}")

    def add(self, a: str, b: str) -> str:
        """Give a + b."""
        return self.real("+", a, b)

    def sub(self, a: str, b: str) -> str:
        """Give a - b."""
        return self.real("-", a, b)

    def mul(self, a: str, b: str) -> str:
        """Give a b."""
        return self.real("*", a, b)

    def negative(self, a: str) -> str:
        """Give -a."""
        return self.unary("-", a)

    def size(self, a: str) -> str:
        """Give |a|."""
        return self.unary("abs", a)

    def with_sign(self, a: str, b: str) -> str:
        """Give |a| with the sign of b."""
        return self.intrinsic("copysign", a, b)

    def polynomial(self, coefficients: Sequence[float], x: str) -> str:
        """Give the polynomial with these coefficients, lowest first, by Estrin's scheme.

        Its products do not wait for one another as those of Horner's rule do.
        """
        terms = [self.number(c) for c in coefficients]
        while len(terms) > 1:
            pairs = [self.product_sum(terms[i + 1], x, terms[i]) for i in range(0, len(terms) - 1, 2)]
            terms = pairs + terms[2 * len(pairs) :]
            if len(terms) > 1:
                x = self.mul(x, x)
        return terms[0]

    def fast_two_sum(self, a: str, b: str) -> DoubleDouble:
        """Give a + b rounded, and what rounding has lost; |a| >= |b|, or a = 0."""
        total = self.add(a, b)
        return DoubleDouble(total, self.sub(b, self.sub(total, a)))

    def remainder(self, c: str, a: str, b: str) -> str:
        """Give c - a b as if rounded once, where a b is c up to rounding."""
        if self.fma:
            return self.product_sum(self.negative(a), b, c)
        product = self.mul(a, b)
        a1, a2 = self._veltkamp_split(a)
        b1, b2 = self._veltkamp_split(b)
        rest = self.sub(product, self.mul(a1, b1))
        for left, right in ((a1, b2), (a2, b1), (a2, b2)):
            rest = self.sub(rest, self.mul(left, right))
        # rest is now a b rounded less a b.
        return self.add(self.sub(c, product), rest)

    def quotient(self, a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
        """Give the quotient of two sums, of a number and a small rest each, as such a sum."""
        inverse = self.real("/", self.number(1.0), b.high)
        rough = self.mul(a.high, inverse)
        rest = self.add(self.remainder(a.high, rough, b.high), a.low)
        rest = self.product_sum(self.negative(rough), b.low, rest)
        return DoubleDouble(rough, self.mul(rest, inverse))

    def _veltkamp_split(self, a: str) -> tuple[str, str]:
        """Split a double into two of 26 bits each."""
        large = self.mul(a, self.number(_SPLITTER))
        high = self.sub(large, self.sub(large, a))
        return high, self.sub(a, high)

    # ---- bits

    def bits_of(self, a: str) -> str:
        """Give the bits of doubles as integers."""
        return self.value(f"bitcast {self.type} {a} to {self.integer}")

    def double(self, a: str) -> str:
        """Give the doubles of these bits."""
        return self.value(f"bitcast {self.integer} {a} to {self.type}")

    def integers(self, verb: str, a: str, b: str | int) -> str:
        """An operation on integers: add, sub, and, xor, shl, lshr."""
        operand = self.splat(b) if isinstance(b, int) else b
        return self.value(f"{verb} {self.integer} {a}, {operand}")

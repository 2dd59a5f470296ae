"""Values kept as v or as -v, so that no negation remains on machines without a * b - c.

NEON adds a product to a sum or takes it away, c + a * b and c - a * b, but has no a * b - c: LLVM writes a
negation and a product for it. Where -c is what is kept, or where -(a * b - c) will do, it is one instruction.

A sum is computed with the opposite sign by the opposite signs of its terms, and rounds alike; only where its
terms cancel it is +0 either way, so that v comes out as -0 where it would be +0. That is allowed where no
divisor and no angle depends on the sign of a zero, and not for results themselves; otherwise a value that is
kept is v, or exactly -v.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nacelle.program.program import Instruction

Code = Sequence[Instruction | None]

FUSED = {"fma": (1, 1), "fms": (1, -1), "fnma": (-1, 1)}
"""Fused operations: the signs of the product and of the third operand."""

_SUMS = {"add": 1, "sub": -1}
# These take a sign from their argument to their value.
_PLAIN = ("neg", "sqrt", "sin", "tanh", "floor", "min", "max")
# How often signs are chosen anew from what their uses want.
_ROUNDS = 4


def operands(step: Instruction) -> tuple[int, ...]:
    """Indices of the values that an instruction uses."""
    return () if step[0] in ("const", "input") else step[1:]


def never_negative(code: Code) -> list[bool]:
    """Say which values are neither negative nor -0 (or NaN): squares, their sums and roots."""
    certain = [False] * len(code)
    for k, step in enumerate(code):
        if step is None:
            continue
        op, *a = step
        if op == "const":
            certain[k] = a[0] > 0.0 or str(a[0]) == "0.0"
        elif op == "mul":
            certain[k] = a[0] == a[1] or (certain[a[0]] and certain[a[1]])
        elif op == "fma":
            certain[k] = certain[a[2]] and (a[0] == a[1] or (certain[a[0]] and certain[a[1]]))
        elif op in ("add", "div", "min", "max"):
            certain[k] = certain[a[0]] and certain[a[1]]
        elif op == "where":
            certain[k] = certain[a[1]] and certain[a[2]]
        elif op == "sqrt":
            certain[k] = certain[a[0]]
        else:
            certain[k] = op in ("abs", "exp")
    return certain


def zero_sign_matters(code: Code, certain: Sequence[bool]) -> list[bool]:
    """Say of which values the sign of a zero may change more than the sign of another zero.

    A divisor's zero decides between two infinities, a zero of atan2 between two angles; what these are made
    of tells through products, and through sums unless the other term settles the sign.
    """
    tells = [False] * len(code)
    for k in range(len(code) - 1, -1, -1):
        step = code[k]
        if step is None or step[0] in ("const", "input"):
            continue
        op, *a = step
        if op == "div":
            tells[a[1]] = True
        elif op == "atan2":
            tells[a[0]] = tells[a[1]] = True
        if tells[k]:
            for value in _sources(op, a, certain):
                tells[value] = True
    return tells


def _sources(op: str, a: list[int], certain: Sequence[bool]) -> Iterator[int]:
    """Operands whose zeros decide the sign of a zero that an operation gives."""
    if op in _PLAIN or op in ("mul", "div"):
        if op != "mul" or a[0] != a[1]:
            yield from a
    elif op == "where":
        yield from a[1:]
    elif op in _SUMS:
        # +0 and any zero is +0, whatever is added or taken away.
        if op == "sub" or not certain[a[1]]:
            yield a[0]
        if not certain[a[0]]:
            yield a[1]
    elif op in FUSED:
        if op == "fms" or not certain[a[2]]:
            yield from a[:2]
        if a[0] != a[1] or op == "fnma":
            yield a[2]


class _Signs:
    """The sign with which every value is kept: `sign`, 1 or -1."""

    def __init__(self, code: Code, results: Sequence[int]) -> None:
        self.code = code
        certain = never_negative(code)
        tells = zero_sign_matters(code, certain)
        self.constant = [step is not None and step[0] == "const" for step in code]
        uses = [0] * len(code)
        # Values that are needed as they are.
        self.keeps_sign = [False] * len(code)
        for step in code:
            if step is not None:
                for a in operands(step):
                    uses[a] += 1
                for a in _unsigned_operands(step):
                    self.keeps_sign[a] = True
        for k in results:
            self.keeps_sign[k] = True
        # Sums that must not be computed with the opposite sign; and those of a product that only they use.
        self.fixed, self.pair = [False] * len(code), [False] * len(code)
        last = set(results)
        for k, step in enumerate(code):
            if step is None:
                continue
            if step[0] in FUSED:
                c = step[3]
                self.pair[k] = (code[c] or ("",))[0] == "mul" and uses[c] == 1 and not self.keeps_sign[c]
            if step[0] in FUSED or step[0] in _SUMS or step[0] == "sign":
                self.fixed[k] = (tells[k] or k in last) and not certain[k]
        self.liked = [1] * len(code)
        self.sign = [1] * len(code)
        fewest, best = len(code), self.liked
        for _ in range(_ROUNDS):
            count = self._choose_signs()
            if count < fewest:
                fewest, best = count, self.liked
            if not count:
                break
            self._vote_on_signs()
        self.liked = best
        self._choose_signs()

    def sign_of(self, k: int) -> int:
        """The sign of a value by the signs of its operands; where it may have either, the one liked."""
        step = self.code[k]
        assert step is not None
        op, *a = step
        sign, constant = self.sign, self.constant
        if op in ("mul", "div"):
            if a[0] == a[1]:
                return 1
            free = constant[a[0]] or constant[a[1]]
            return self.liked[k] if free else sign[a[0]] * sign[a[1]]
        if op in FUSED:
            usual = sign[a[2]] * FUSED[op][1]
            free = constant[a[2]] or (self.pair[k] and self._swapped_sign(k) == self.liked[k])
            return self.liked[k] if free else usual
        if op in _SUMS:
            first, second = sign[a[0]], sign[a[1]] * _SUMS[op]
            free = constant[a[0]] or constant[a[1]] or first != second
            return self.liked[k] if free else first
        if op == "neg":
            return -sign[a[0]]
        return sign[a[0]] if op == "sign" else 1

    def _swapped_sign(self, k: int) -> int:
        """The sign of a sum of two products by the other one of them as the third operand."""
        op, a, b, _ = self.code[k] or ()
        if a != b and (self.constant[a] or self.constant[b]):
            return self.liked[k]
        return FUSED[op][0] * (1 if a == b else self.sign[a] * self.sign[b])

    def _choose_signs(self) -> int:
        """Choose all signs; give the number of operations that this costs."""
        count = 0
        for k, step in enumerate(self.code):
            if step is None or step[0] in ("const", "input"):
                continue
            sign = self.sign_of(k)
            if sign < 0 and (self.fixed[k] or self.keeps_sign[k]):
                count += 1
            self.sign[k] = 1 if self.fixed[k] else sign
        return count

    def _vote_on_signs(self) -> None:
        """Choose the signs that are liked anew, from what the uses of a value would like."""
        votes = [0] * len(self.code)
        self.liked = liked = [1] * len(self.code)
        sign = self.sign
        for k in range(len(self.code) - 1, -1, -1):
            step = self.code[k]
            if step is None or step[0] in ("const", "input"):
                continue
            like = liked[k] = -1 if votes[k] < 0 and not (self.keeps_sign[k] or self.fixed[k]) else 1
            op, *a = step
            if op in FUSED:
                votes[a[2]] += 2 * like * FUSED[op][1]
            elif op in _SUMS:
                votes[a[0]] += like
                votes[a[1]] += like * _SUMS[op]
            elif op == "neg":
                votes[a[0]] -= 2 * like
            elif op in ("mul", "div"):
                votes[a[0]] += like * sign[a[1]]
                votes[a[1]] += like * sign[a[0]]


def _unsigned_operands(step: Instruction) -> tuple[int, ...]:
    """Operands of which an instruction needs the value itself."""
    op = step[0]
    if op in FUSED or op in _SUMS or op in ("mul", "div", "neg", "abs", "sign"):
        return ()
    return operands(step)


def without_negations(code: Code, results: Sequence[int]) -> tuple[tuple[Instruction | None, ...], list[int]]:
    """Write a fused program by values that are kept with either sign; `fms` and most `neg` are gone.

    Args:
        code: instructions, fused; None marks one that is not needed.
        results: the values that are wanted.

    Returns:
        The instructions and the results among them.
    """
    return _Writer(code, results).write(results)


class _Term(NamedTuple):
    """A term of a sum: the place of the value that is kept, and the sign (1 or -1) with which it is added."""

    value: int
    sign: int


class _Writer:
    """Writes a program by values with signs."""

    def __init__(self, code: Code, results: Sequence[int]) -> None:
        self.code, self.signs = code, _Signs(code, results)
        self.sign, self.constant = self.signs.sign, self.signs.constant
        self.instructions: list[Instruction] = []
        self.at: dict[int, int] = {}
        self._numbers: dict[tuple[float, bool], int] = {}
        self._negated: dict[int, int] = {}

    def write(self, results: Sequence[int]) -> tuple[tuple[Instruction | None, ...], list[int]]:
        """All of it."""
        late = {k for k in range(len(self.code)) if self._is_swapped(k)}
        absorbed = {(self.code[k] or ())[3] for k in late}
        for k, step in enumerate(self.code):
            if step is not None and step[0] != "const" and k not in absorbed:
                self.at[k] = self._write_swapped(k) if k in late else self._step(k, step)
        kept = [self.with_sign(k, 1) for k in results]
        return tuple(self.instructions), kept

    def put(self, *step: object) -> int:
        """Add an instruction."""
        self.instructions.append(step)
        return len(self.instructions) - 1

    def with_sign(self, a: int, sign: int) -> int:
        """A value with a sign: the place where it is kept, or of its negation."""
        if self.constant[a]:
            value = sign * (self.code[a] or ())[1]
            key = (value, str(value).startswith("-"))
            if key not in self._numbers:
                self._numbers[key] = self.put("const", value)
            return self._numbers[key]
        if self.sign[a] == sign:
            return self.at[a]
        if a not in self._negated:
            self._negated[a] = self.put("neg", self.at[a])
        return self._negated[a]

    def _is_swapped(self, k: int) -> bool:
        """Whether the product that a sum takes up and the one it is added to change places."""
        if not self.signs.pair[k]:
            return False
        op, _, _, c = self.code[k] or ()
        return self.sign[c] * FUSED[op][1] != self.sign[k] == self.signs.sign_of(k)

    def _write_swapped(self, k: int) -> int:
        op, a, b, c = self.code[k] or ()
        alpha, beta = FUSED[op]
        first = self._product(a, b, alpha * self.sign[k])
        _, a, b = self.code[c] or ()
        left, right, product = self._factors(a, b)
        return self.put("fma" if product * beta == self.sign[k] else "fnma", left, right, first)

    def _factors(self, a: int, b: int) -> tuple[int, int, int]:
        """Two factors as they are kept, and the sign of their product."""
        signs = [1 if self.constant[value] else self.sign[value] for value in (a, b)]
        left, right = (self.with_sign(value, sign) for value, sign in zip((a, b), signs, strict=True))
        return left, right, signs[0] * signs[1]

    def _product(self, a: int, b: int, sign: int, op: str = "mul") -> int:
        """A product or quotient with a sign, which is that of the factors unless one is constant."""
        left, right, product = self._factors(a, b)
        if product != sign:
            if self.constant[a]:
                left = self.with_sign(a, -1)
            elif self.constant[b]:
                right = self.with_sign(b, -1)
        return self.put(op, left, right)

    def _sum(self, x: _Term, y: _Term) -> int:
        """A sum of two values that are kept, each with a sign."""
        (first, p), (second, q) = x, y
        if p < 0 and q < 0:
            first, p = self.put("neg", first), 1
        if p > 0:
            return self.put("add" if q > 0 else "sub", first, second)
        return self.put("sub", second, first)

    def _term(self, a: int, sign: int) -> _Term:
        """A value as it is kept, and the sign with which that is added; a constant's own sign is turned."""
        if self.constant[a]:
            return _Term(self.with_sign(a, sign), 1)
        return _Term(self.at[a], sign * self.sign[a])

    def _step(self, k: int, step: Instruction) -> int:
        op, *a = step
        sign = self.sign[k]
        if op == "input":
            return self.put(*step)
        if op in ("mul", "div"):
            return self._product(a[0], a[1], sign, op)
        if op in FUSED:
            alpha, beta = FUSED[op]
            left, right, product = self._factors(a[0], a[1])
            product *= alpha * sign
            if not self.constant[a[2]] and self.sign[a[2]] * beta != sign and product > 0:
                # As a product and a sum, which are as many instructions as a negation and a fused one.
                return self.put("sub", self.put("mul", left, right), self.at[a[2]])
            third = self.with_sign(a[2], beta * sign)
            return self.put("fma" if product > 0 else "fnma", left, right, third)
        if op in _SUMS:
            return self._sum(self._term(a[0], sign), self._term(a[1], sign * _SUMS[op]))
        if op == "neg":
            return self.with_sign(a[0], 1) if self.constant[a[0]] else self.at[a[0]]
        if op == "abs":
            return self.put(op, self.with_sign(a[0], 1 if self.constant[a[0]] else self.sign[a[0]]))
        if op == "sign":
            return self.put(op, self.with_sign(a[0], sign))
        return self.put(op, *(self.with_sign(value, 1) for value in a))

"""Programs evaluated with 50 digits, by the decimal arithmetic of Python's own library.

Reference vectors of a package come from here, and so do the numbers by which identities of a program are
recognised. NaN and infinities pass through as in every target; every machine gives the same digits.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal, getcontext, localcontext
from functools import lru_cache

from nacelle.program.program import Program

DIGITS = 50
_GUARD = 12  # digits beyond, lost in series
_SMALLEST = Decimal(10) ** -(DIGITS + _GUARD)


def evaluate(program: Program, inputs: Sequence[float]) -> list[float]:
    """Evaluate a program with 50 digits and round the results to double.

    Args:
        program: the program.
        inputs: the scalars of all inputs, counted through, taken as exact.
    """
    return [float(value) for value in evaluate_decimal(program, [Decimal(float(value)) for value in inputs])]


def evaluate_decimal(program: Program, inputs: Sequence[Decimal]) -> list[Decimal]:
    """Evaluate a program with 50 digits.

    Args:
        program: the program.
        inputs: the scalars of all inputs, counted through.
    """
    with localcontext(decimal_context()):
        values: list[Decimal] = []
        for instruction in program.code:
            op = instruction[0]
            if op == "const":
                values.append(Decimal(instruction[1]))
            elif op == "input":
                values.append(inputs[instruction[1]])
            elif len(instruction) == 3:
                values.append(APPLY[op](values[instruction[1]], values[instruction[2]]))
            else:
                values.append(APPLY[op](*[values[k] for k in instruction[1:]]))
        return [values[k] for k in program.results]


def decimal_context() -> Context:
    """The context in which operations have 50 digits, and some beyond for what series lose."""
    return Context(prec=DIGITS + _GUARD, rounding=ROUND_HALF_EVEN, traps=[])


def pi() -> Decimal:
    """Machin: pi = 16 atan(1/5) - 4 atan(1/239), to the digits of the context."""
    return _pi_to(getcontext().prec)


@lru_cache(maxsize=16)
def _pi_to(digits: int) -> Decimal:
    del digits  # that of the context, which a cache must know
    return 16 * _atan_series(Decimal(1) / 5) - 4 * _atan_series(Decimal(1) / 239)


def _sin(x: Decimal) -> Decimal:
    if not x.is_finite():
        return Decimal("nan")
    # More digits where whole turns are taken off.
    with localcontext() as context:
        context.prec += max(0, x.adjusted() + 1)
        two_pi = 2 * pi()
        x = x - two_pi * (x / two_pi).to_integral_value()
    # Of a third of the angle thrice: sin 3u = 3 sin u - 4 sin^3 u.
    u = x / 27
    term = total = u
    k = 1
    while abs(term) > _SMALLEST * abs(u):
        k += 2
        term = -term * u * u / (k * (k - 1))
        total += term
    for _ in range(3):
        total = 3 * total - 4 * total * total * total
    return total


def _cos(x: Decimal) -> Decimal:
    return _sin(x + pi() / 2)


def _tanh(x: Decimal) -> Decimal:
    if x.is_nan():
        return x
    if abs(x) > 100:
        return Decimal(1).copy_sign(x)
    if abs(x) < Decimal("1e-15"):
        return x - x * x * x / 3
    with localcontext() as context:
        context.prec += 20
        up = (2 * x).exp()
        value = (up - 1) / (up + 1)
    return +value


def _atan_series(t: Decimal) -> Decimal:
    power = total = t
    k = 1
    while abs(power) > _SMALLEST * abs(t):
        power = -power * t * t
        k += 2
        total += power / k
    return total


def _atan2(y: Decimal, x: Decimal) -> Decimal:
    if y.is_nan() or x.is_nan() or not (y.is_finite() and x.is_finite()) or (not y and not x):
        return Decimal(math.atan2(float(y), float(x)))
    length = (x * x + y * y).sqrt()
    c, s = x / length, y / length
    # What is missing to the angle in double is small, and its tangent is known.
    near = Decimal(math.atan2(float(s), float(c)))
    cn, sn = _cos(near), _sin(near)
    return near + _atan_series((s * cn - c * sn) / (c * cn + s * sn))


def _sign(x: Decimal) -> Decimal:
    if x.is_nan() or not x:
        return x if x.is_nan() else Decimal(0)
    return Decimal(1).copy_sign(x)


def _minimum(a: Decimal, b: Decimal) -> Decimal:
    return Decimal("nan") if a.is_nan() or b.is_nan() else min(a, b)


def _maximum(a: Decimal, b: Decimal) -> Decimal:
    return Decimal("nan") if a.is_nan() or b.is_nan() else max(a, b)


APPLY: dict[str, Callable[..., Decimal]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
    "sqrt": lambda a: a.sqrt(),
    "sin": _sin,
    "cos": _cos,
    "tanh": _tanh,
    "exp": lambda a: a.exp(),
    "atan2": _atan2,
    "min": _minimum,
    "max": _maximum,
    "where": lambda c, a, b: b if c.is_nan() or not c > 0 else a,
    "sign": _sign,
    "floor": lambda a: a.to_integral_value(ROUND_FLOOR),
}

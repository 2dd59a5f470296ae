"""The exponential and the hyperbolic tangent.

With k = round(y / ln 2) and r = y - k ln 2 in [-ln 2 / 2, ln 2 / 2] (Cody & Waite), e^r = 1 + r + r² P(r) and

    exp y = 2^k e^r,    tanh (y/2) = ((2^k - 1) + 2^k (e^r - 1)) / ((2^k + 1) + 2^k (e^r - 1)).

The second has no difference of near numbers for small y, where k = 0. Both sums and the quotient keep what
their rounding loses.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from nacelle.emit.jit.functions.coefficients import EXP, LN2
from nacelle.emit.jit.functions.formula import ROUNDER, Formula

# Up to this size of its argument exp is a normal number; beyond the others it is infinite, or 0.
_NORMAL = 708.0
_MOST, _LEAST = 710.0, -746.0
# tanh is 1 from half of this on.
_ONE = 40.0
# Exponent field of 1.
_BIAS = 1023


def exp(formula: Callable[[], Formula]) -> str:
    """Write `@<prefix>exp(x)`."""
    f = formula()
    f.begin("exp", f"{f.real} %x")
    r, lost, k = _reduced(f, "%x")
    one = f.number(1.0)
    rough = f.add(one, r)
    lost = f.add(f.add(f.sub(one, rough), r), lost)
    power = f.add(rough, _change(f, r, lost))
    usual = f.mul(power, f.double(f.integers("shl", k, 52)))
    extreme = f.any(f.compare("ogt", f.size("%x"), f.number(_NORMAL)))
    f(f"br i1 {extreme}, label %extreme, label %usual", "usual:", f"ret {f.real} {usual}", "extreme:")
    # 2^k by two factors, of which none is out of range.
    k = f.integers("add", k, _BIAS)
    first = f.integers("lshr", k, 1)
    for exponent in (first, f.integers("sub", k, first)):
        power = f.mul(power, f.double(f.integers("shl", exponent, 52)))
    power = f.choose(f.compare("ogt", "%x", f.number(_MOST)), f.number(math.inf), power)
    return f.text(f.choose(f.compare("olt", "%x", f.number(_LEAST)), f.number(0.0), power))


def tanh(formula: Callable[[], Formula]) -> str:
    """Write `@<prefix>tanh(x)`."""
    f = formula()
    f.begin("tanh", f"{f.real} %x")
    y = f.size("%x")
    y = f.add(y, y)
    y = f.choose(f.compare("ogt", y, f.number(_ONE)), f.number(_ONE), y)
    r, lost, k = _reduced(f, y)
    power = f.double(f.integers("shl", k, 52))
    high, low = (f.mul(part, power) for part in f.sum_and_rest(r, _change(f, r, lost)))
    above, below = (_sum_of_three(f, power, f.number(one), high, low) for one in (-1.0, 1.0))
    quotient, rest = f.quotient(above, below)
    return f.text(f.with_sign(f.add(quotient, rest), "%x"))


def _sum_of_three(f: Formula, power: str, one: str, high: str, low: str) -> tuple[str, str]:
    """Give power + one + high + low as a number and a small rest; 1 may be below the power's last place."""
    whole, lost = f.sum_and_rest(power, one)
    total, rest = f.sum_and_rest(whole, high)
    return total, f.add(rest, f.add(lost, low))


def _reduced(f: Formula, y: str) -> tuple[str, str, str]:
    """Give r, what e^r lacks by the rounding of r, and k + 1023 in the lowest bits of an integer."""
    turns = f.product_sum(y, f.number(1.0 / math.log(2.0)), f.number(ROUNDER + _BIAS))
    k = f.sub(turns, f.number(ROUNDER + _BIAS))
    first = f.product_sum(k, f.number(-LN2[0]), y)
    second = f.mul(k, f.number(LN2[1]))
    r = f.sub(first, second)
    lost = f.sub(f.sub(first, r), second)
    return r, f.product_sum(lost, r, lost), f.bits(turns)


def _change(f: Formula, r: str, lost: str) -> str:
    """Give r² P(r) + lost."""
    return f.product_sum(f.mul(r, r), f.polynomial(EXP, r), lost)

"""Sine and cosine together: the program that needs one of an angle's pair mostly needs the other.

With k = round(2 |x| / π) and r = |x| - k π/2 in [-π/4, π/4],

    sin r = r + r³ S(r²),    cos r = 1 - r²/2 + r⁴ C(r²),

and the two change places and signs with the quarter turns k. π/2 is taken away in three parts (Cody & Waite),
the first two so short that their products by k are exact; r keeps what its rounding loses as a second double.
So the results are right next to multiples of π/2, too. Angles beyond `LARGEST` go through `large_angles`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from nacelle.emit.jit.functions import large_angles
from nacelle.emit.jit.functions.coefficients import COS, HALF_PI, SIN
from nacelle.emit.jit.functions.formula import ROUNDER, SIGN, Formula

# k has at most 16 bits up to here, and the first two parts of π/2 have 37.
LARGEST = 1e5


def sincos(formula: Callable[[], Formula]) -> str:
    """Write `{sine, cosine} @<prefix>sincos(x)`, and what it calls."""
    f = formula()
    pair = _pair_type(f)
    f.begin("sincos", f"{f.real} %x", pair)
    a = f.size("%x")
    sine, cosine = _turned(f, _reduced(f, a))
    large = f.any(f.compare("ogt", a, f.number(LARGEST)))
    f(f"br i1 {large}, label %large, label %usual", "usual:")
    f(f"ret {pair} {f.record(sine, cosine)}", "large:")
    both = f"{f.real} {sine}, {f.real} {cosine}"
    mended = f.value(f"call {pair} @{f.prefix}sincos_lanes({f.real} %x, {both})")
    texts = (
        large_angles.two_over_pi_table(f.prefix),
        _large(Formula(1, f.prefix, fma=f.fma)),
        _lanes(formula()),
    )
    return "\n\n".join([*texts, f.text(mended, pair)])


def _large(f: Formula) -> str:
    """Write `{sine, cosine} @<prefix>sincos_large(x)` of one large angle."""
    f.begin("sincos_large", "double %x", _pair_type(f))
    reduced = large_angles.angle_reduction(f, f.size("%x"))
    return f.text(f.record(*_turned(f, reduced)), _pair_type(f))


def _lanes(f: Formula) -> str:
    """Write `@<prefix>sincos_lanes(x, sine, cosine)`, which puts in those of large angles.

    It is apart from `sincos`, which then has nothing to keep over a call.
    """
    pair, one = _pair_type(f), "{ double, double }"
    f.begin("sincos_lanes", f"{f.real} %x, {f.real} %sine, {f.real} %cosine", pair)
    sines, cosines = [], []
    for lane in range(f.width):
        x = f.lane("%x", lane)
        made = f.value(f"call {one} @{f.prefix}sincos_large(double {x})")
        sines.append(f.value(f"extractvalue {one} {made}, 0"))
        cosines.append(f.value(f"extractvalue {one} {made}, 1"))
    a = f.size("%x")
    finite = f.compare("olt", a, f.number(math.inf))
    large = f.both(finite, f.compare("ogt", a, f.number(LARGEST)))
    sine = f.choose(large, f.vector(sines), "%sine")
    return f.text(f.record(sine, f.choose(large, f.vector(cosines), "%cosine")), pair)


def _pair_type(f: Formula) -> str:
    return f"{{ {f.real}, {f.real} }}"


def _reduced(f: Formula, a: str) -> tuple[str, str, str]:
    """Give r, what its rounding has lost, and k in the lowest bits of an integer; a is not negative."""
    turns = f.product_sum(a, f.number(2.0 / math.pi), f.number(ROUNDER))
    k = f.sub(turns, f.number(ROUNDER))
    first = f.product_sum(k, f.number(-HALF_PI[0]), a)
    second = f.mul(k, f.number(HALF_PI[1]))
    # Either |first| >= |second|, or the difference is exact.
    r = f.sub(first, second)
    lost = f.sub(f.sub(first, r), second)
    return r, f.product_sum(k, f.number(-HALF_PI[2]), lost), f.bits(turns)


def _turned(f: Formula, reduced: tuple[str, str, str]) -> tuple[str, str]:
    """Give the pair of %x: the sine is odd in it, and quarter turns change the two and their signs."""
    r, lost, quarters = reduced
    sine, cosine = _pair(f, r, lost)
    odd = f.value(f"trunc {f.integer} {quarters} to {f.bit}")
    one, two = f.integers("shl", quarters, 63), f.integers("shl", quarters, 62)

    def signed(value: str, sign: str) -> str:
        change = f.integers("and", f.integers("xor", two, sign), SIGN)
        return f.double(f.integers("xor", f.bits(value), change))

    return signed(f.choose(odd, cosine, sine), f.bits("%x")), signed(f.choose(odd, sine, cosine), one)


def _pair(f: Formula, r: str, lost: str) -> tuple[str, str]:
    """Sine and cosine of r + lost, |r| <= π/4, |lost| at most the last place of π/4."""
    square = f.mul(r, r)
    one, half = f.number(1.0), f.number(-0.5)
    rough = f.product_sum(square, half, one)
    change = f.product_sum(f.mul(square, r), f.polynomial(SIN, square), f.mul(lost, rough))
    rest = f.product_sum(square, half, f.sub(one, rough))
    rest = f.product_sum(f.negative(r), lost, rest)
    rest = f.product_sum(f.mul(square, square), f.polynomial(COS, square), rest)
    return f.add(r, change), f.add(rough, rest)

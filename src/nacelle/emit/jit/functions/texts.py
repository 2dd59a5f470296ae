"""The functions that a program calls: sine and cosine, exponential, tanh, and the angle of a point.

The angle of a point in the plane.

Let n <= d be the smaller and the larger of |x|, |y|. With j = 1 where n > d tan(π/8), else 0,

    t = (n - j d) / (d + j n) in [-tan(π/8), tan(π/8)],    atan(n / d) = j π/4 + atan t,

atan t = t + t³ A(t²) (Cody & Waite), and the angle of (x, y) is m π/4 + σ atan t with whole m and σ = ±1 by
the octant. t keeps what the rounding of both sums and of the quotient loses.

The exponential and the hyperbolic tangent.

With k = round(y / ln 2) and r = y - k ln 2 in [-ln 2 / 2, ln 2 / 2] (Cody & Waite), e^r = 1 + r + r² P(r) and

    exp y = 2^k e^r,    tanh (y/2) = ((2^k - 1) + 2^k (e^r - 1)) / ((2^k + 1) + 2^k (e^r - 1)).

The second has no difference of near numbers for small y, where k = 0. Both sums and the quotient keep what
their rounding loses.

Sine and cosine together: the program that needs one of an angle's pair mostly needs the other.

With k = round(2 |x| / π) and r = |x| - k π/2 in [-π/4, π/4],

    sin r = r + r³ S(r²),    cos r = 1 - r²/2 + r⁴ C(r²),

and the two change places and signs with the quarter turns k. π/2 is taken away in three parts (Cody & Waite),
the first two so short that their products by k are exact; r keeps what its rounding loses as a second double.
So the results are right next to multiples of π/2, too. Angles beyond `LARGEST` go through
`large_angles`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from nacelle.emit.jit.functions import large_angles
from nacelle.emit.jit.functions.coefficients import ATAN, COS, EXP, HALF_PI, LN2, QUARTER_PI, SIN
from nacelle.emit.jit.functions.formula import ROUNDER, SIGN, DoubleDouble, Formula

_TAN_PI_8 = math.sqrt(2.0) - 1.0
# Points are scaled where the larger coordinate is beyond the first, else where the smaller is below the
# second, so that no operation overflows, and the remainder of the quotient does not underflow.
_FAR, _NEAR = 2.0**800, 2.0**-900
_SHRINK, _ENLARGE = 2.0**-300, 2.0**160


def atan2(formula: Callable[..., Formula]) -> str:
    """Write `@<prefix>atan2(y, x)`."""
    f = formula("atan2", "y x")
    width, height = f.size("%x"), f.size("%y")
    steep = f.real(">", height, width)
    n, d = f.choose(steep, width, height), f.choose(steep, height, width)
    far, near = f.real(">", d, f.number(_FAR)), f.real("<", n, f.number(_NEAR))
    extreme = f.combine_bits("|", far, near)
    f(f"br i1 {f.any(extreme)}, label %extreme, label %usual", "extreme:")
    scaled = _scale_point(f, n, d, far=far, near=near)
    f("br label %usual", "usual:")
    n, d = (
        f.value(f"phi {f.type} [ {plain}, %entry ], [ {rescaled}, %extreme ]")
        for plain, rescaled in zip((n, d), scaled, strict=True)
    )

    zero = f.number(0.0)
    upper = f.real(">", n, f.mul(d, f.number(_TAN_PI_8)))
    above = f.fast_two_sum(f.negative(f.choose(upper, d, zero)), n)
    below = f.fast_two_sum(d, f.choose(upper, n, zero))
    t, rest = f.quotient(above, below)
    square = f.mul(t, t)
    change = f.product_sum(f.mul(square, t), f.polynomial(ATAN, square), rest)

    # m = 2 - s (2 - j), or 2 - s j for a steep point, with s = -1 left of the axis.
    side = f.with_sign(f.number(1.0), "%x")
    one, two = f.number(1.0), f.number(2.0)
    eighths = f.choose(upper, one, f.choose(steep, zero, two))
    octants = f.sub(two, f.mul(side, eighths))
    flip = f.choose(steep, f.number(-1.0), one)
    flip = f.integers("and", f.integers("xor", f.bits_of(flip), f.bits_of("%x")), SIGN)
    t, change = (f.double(f.integers("xor", f.bits_of(part), flip)) for part in (t, change))
    angle, lost = f.fast_two_sum(f.mul(octants, f.number(QUARTER_PI[0])), t)
    change = f.product_sum(octants, f.number(QUARTER_PI[1]), f.add(lost, change))
    return f.function_text(f.with_sign(f.add(angle, change), "%y"))


def _scale_point(f: Formula, n: str, d: str, *, far: str, near: str) -> tuple[str, str]:
    """Scale very far and very near points; the origin and infinite points become (0, 1) or (1, 1)."""
    one, infinite = f.number(1.0), f.number(math.inf)
    scale = f.choose(far, f.number(_SHRINK), f.choose(near, f.number(_ENLARGE), one))
    zero = f.real("==", d, f.number(0.0))
    special = f.combine_bits("|", zero, f.real("==", d, infinite))
    # A NaN stays one.
    limit = f.choose(f.real("==", n, infinite), one, f.mul(n, f.number(0.0)))
    return f.choose(special, limit, f.mul(n, scale)), f.choose(special, one, f.mul(d, scale))


# ---- the exponential and the hyperbolic tangent


# Up to this size of its argument exp is a normal number; beyond the others it is infinite, or 0.
_NORMAL = 708.0
_MOST, _LEAST = 710.0, -746.0
# tanh is 1 from half of this on.
_ONE = 40.0
# Exponent field of 1.
_BIAS = 1023


def exp(formula: Callable[..., Formula]) -> str:
    """Write `@<prefix>exp(x)`."""
    f = formula("exp", "x")
    r, lost, k = _reduce_exponent(f, "%x")
    one = f.number(1.0)
    rough = f.add(one, r)
    lost = f.add(f.add(f.sub(one, rough), r), lost)
    power = f.add(rough, _exponential_correction(f, r, lost))
    usual = f.mul(power, f.double(f.integers("shl", k, 52)))
    extreme = f.any(f.real(">", f.size("%x"), f.number(_NORMAL)))
    f(f"br i1 {extreme}, label %extreme, label %usual", "usual:", f"ret {f.type} {usual}", "extreme:")
    # 2^k by two factors, of which none is out of range.
    k = f.integers("add", k, _BIAS)
    first = f.integers("lshr", k, 1)
    for exponent in (first, f.integers("sub", k, first)):
        power = f.mul(power, f.double(f.integers("shl", exponent, 52)))
    power = f.choose(f.real(">", "%x", f.number(_MOST)), f.number(math.inf), power)
    return f.function_text(f.choose(f.real("<", "%x", f.number(_LEAST)), f.number(0.0), power))


def tanh(formula: Callable[..., Formula]) -> str:
    """Write `@<prefix>tanh(x)`."""
    f = formula("tanh", "x")
    y = f.size("%x")
    y = f.add(y, y)
    y = f.choose(f.real(">", y, f.number(_ONE)), f.number(_ONE), y)
    r, lost, k = _reduce_exponent(f, y)
    power = f.double(f.integers("shl", k, 52))
    high, low = (f.mul(part, power) for part in f.fast_two_sum(r, _exponential_correction(f, r, lost)))
    above, below = (_sum_of_three(f, power, f.number(unit), high, low) for unit in (-1.0, 1.0))
    quotient, rest = f.quotient(above, below)
    return f.function_text(f.with_sign(f.add(quotient, rest), "%x"))


def _sum_of_three(f: Formula, power: str, unit: str, high: str, low: str) -> DoubleDouble:
    """Give power + one + high + low as a number and a small rest; 1 may be below the power's last place."""
    whole, lost = f.fast_two_sum(power, unit)
    total, rest = f.fast_two_sum(whole, high)
    return DoubleDouble(total, f.add(rest, f.add(lost, low)))


def _reduce_exponent(f: Formula, y: str) -> tuple[str, str, str]:
    """Give r, what e^r lacks by the rounding of r, and k + 1023 in the lowest bits of an integer."""
    turns = f.product_sum(y, f.number(1.0 / math.log(2.0)), f.number(ROUNDER + _BIAS))
    k = f.sub(turns, f.number(ROUNDER + _BIAS))
    first = f.product_sum(k, f.number(-LN2[0]), y)
    second = f.mul(k, f.number(LN2[1]))
    r = f.sub(first, second)
    lost = f.sub(f.sub(first, r), second)
    return r, f.product_sum(lost, r, lost), f.bits_of(turns)


def _exponential_correction(f: Formula, r: str, lost: str) -> str:
    """Give r² P(r) + lost."""
    return f.product_sum(f.mul(r, r), f.polynomial(EXP, r), lost)


# ---- sine and cosine together: the program that needs one of an angle's pair mostly needs the other


# k has at most 16 bits up to here, and the first two parts of π/2 have 37.
LARGEST = 1e5


def sincos(formula: Callable[..., Formula]) -> str:
    """Write `{sine, cosine} @<prefix>sincos(x)`, and what it calls."""
    f = formula("sincos", "x", pair=True)
    a = f.size("%x")
    sine, cosine = _apply_quadrants(f, *_reduce_angle(f, a))
    large = f.any(f.real(">", a, f.number(LARGEST)))
    f(f"br i1 {large}, label %large, label %usual", "usual:")
    f(f"ret {f.result} {f.record(sine, cosine)}", "large:")
    both = f"{f.type} {sine}, {f.type} {cosine}"
    mended = f.value(f"call {f.result} @{f.prefix}sincos_lanes({f.type} %x, {both})")
    texts = (
        large_angles.two_over_pi_table(f.prefix),
        _large_angle_function(Formula(1, f.prefix, "sincos_large", "x", fma=f.fma, pair=True)),
        _lane_function(formula("sincos_lanes", "x sine cosine", pair=True)),
    )
    return "\n\n".join([*texts, f.function_text(mended)])


def _large_angle_function(f: Formula) -> str:
    """Write `{sine, cosine} @<prefix>sincos_large(x)` of one large angle."""
    return f.function_text(*_apply_quadrants(f, *large_angles.angle_reduction(f, f.size("%x"))))


def _lane_function(f: Formula) -> str:
    """Write `@<prefix>sincos_lanes(x, sine, cosine)`, which puts in those of large angles.

    It is apart from `sincos`, which then has nothing to keep over a call.
    """
    pair_type = "{ double, double }"
    sines, cosines = [], []
    for lane in range(f.width):
        x = f.lane("%x", lane)
        pair = f.value(f"call {pair_type} @{f.prefix}sincos_large(double {x})")
        sines.append(f.value(f"extractvalue {pair_type} {pair}, 0"))
        cosines.append(f.value(f"extractvalue {pair_type} {pair}, 1"))
    a = f.size("%x")
    finite = f.real("<", a, f.number(math.inf))
    large = f.combine_bits("&", finite, f.real(">", a, f.number(LARGEST)))
    return f.function_text(
        f.choose(large, f.lanes(sines), "%sine"), f.choose(large, f.lanes(cosines), "%cosine")
    )


def _reduce_angle(f: Formula, a: str) -> tuple[str, str, str]:
    """Give r, what its rounding has lost, and k in the lowest bits of an integer; a is not negative."""
    turns = f.product_sum(a, f.number(2.0 / math.pi), f.number(ROUNDER))
    k = f.sub(turns, f.number(ROUNDER))
    first = f.product_sum(k, f.number(-HALF_PI[0]), a)
    second = f.mul(k, f.number(HALF_PI[1]))
    # Either |first| >= |second|, or the difference is exact.
    r = f.sub(first, second)
    lost = f.sub(f.sub(first, r), second)
    return r, f.product_sum(k, f.number(-HALF_PI[2]), lost), f.bits_of(turns)


def _apply_quadrants(f: Formula, r: str, lost: str, quarters: str) -> tuple[str, str]:
    """Give the pair of %x: the sine is odd in it, and quarter turns change the two and their signs."""
    sine, cosine = _sine_and_cosine(f, r, lost)
    odd = f.value(f"trunc {f.integer} {quarters} to {f.bit}")
    low_bit, high_bit = f.integers("shl", quarters, 63), f.integers("shl", quarters, 62)

    def with_sign(value: str, sign: str) -> str:
        change = f.integers("and", f.integers("xor", high_bit, sign), SIGN)
        return f.double(f.integers("xor", f.bits_of(value), change))

    return with_sign(f.choose(odd, cosine, sine), f.bits_of("%x")), with_sign(
        f.choose(odd, sine, cosine), low_bit
    )


def _sine_and_cosine(f: Formula, r: str, lost: str) -> tuple[str, str]:
    """Sine and cosine of r + lost, |r| <= π/4, |lost| at most the last place of π/4."""
    square = f.mul(r, r)
    one, half = f.number(1.0), f.number(-0.5)
    rough = f.product_sum(square, half, one)
    change = f.product_sum(f.mul(square, r), f.polynomial(SIN, square), f.mul(lost, rough))
    rest = f.product_sum(square, half, f.sub(one, rough))
    rest = f.product_sum(f.negative(r), lost, rest)
    rest = f.product_sum(f.mul(square, square), f.polynomial(COS, square), rest)
    return f.add(r, change), f.add(rough, rest)


# ---- the functions that a program calls


# What writes the function of an operation; sin and cos of one argument come from one call.
_WRITERS = {"sin": sincos, "cos": sincos, "tanh": tanh, "exp": exp, "atan2": atan2}


def function_texts(operations: set[str], width: int, prefix: str, *, fma: bool) -> list[str]:
    """Write the functions that the operations of a program call; their names begin with `prefix`."""
    used = dict.fromkeys(write for op, write in _WRITERS.items() if op in operations)
    return [write(partial(Formula, width, prefix, fma=fma)) for write in used]

"""Large angles taken into [-π/4, π/4], with all bits of 2/π that they need (Payne & Hanek 1983).

Let x = m 2^e with an integer m of 53 bits. Of 2/π only the bits count whose products by m are below four turns
of a quarter, and above what rounding leaves of the result: 256 of them. The product is an integer modulo
2^256; its two highest bits are the quarter turns, the others the part of one, which is never below 2^-62 for
a double (Muller 2016, 11.3.2).
"""

from __future__ import annotations

from nacelle.emit.jit.functions.coefficients import HALF_PI_PAIR, TWO_OVER_PI
from nacelle.emit.jit.functions.formula import Formula

# Bits of 2/π that the table has, and words with zeros above them.
_BITS, _WORDS = 1280, 22
_RESULT = "{ double, double, i64 }"
# The exponent field of the smallest angle for which the table has bits; larger ones come here.
_LEAST_EXPONENT = 1023 + 16


def in_lanes(f: Formula, a: str, large: str, reduced: tuple[str, str, str]) -> tuple[str, str, str]:
    """Write the reduction of the lanes in which an angle is large; the others keep what they have.

    Args:
        f: the function it is part of.
        a: angles, not negative.
        large: bits, where they are large and finite.
        reduced: angle, its rest and quarter turns, of the other lanes.
    """
    columns: list[str] = ["poison"] * 3
    for lane in range(f.width):
        angle = a if f.width == 1 else f.value(f"extractelement {f.real} {a}, i64 {lane}")
        made = f.value(f"call {_RESULT} @{f.prefix}large_angle(double {angle})")
        for i, kind in enumerate((f.real, f.real, f.integer)):
            entry = f.value(f"extractvalue {_RESULT} {made}, {i}")
            one = "i64" if i == 2 else "double"
            if f.width > 1:
                entry = f.value(f"insertelement {kind} {columns[i]}, {one} {entry}, i64 {lane}")
            columns[i] = entry
    near, rest, quarters = (
        f.choose(large, new, old, kind)
        for new, old, kind in zip(columns, reduced, (f.real, f.real, f.integer), strict=True)
    )
    return near, rest, quarters


def reduction(f: Formula) -> str:
    """Write `{r, rest, quarter turns} @<prefix>large_angle(x)` of one angle, and its table."""
    table = ", ".join(f"i64 {TWO_OVER_PI >> (64 * i) & (1 << 64) - 1}" for i in range(_WORDS))
    f(f"@{f.prefix}two_over_pi = internal constant [{_WORDS} x i64] [{table}], align 8", "")
    f.begin("large_angle", "double %x", _RESULT)
    bits = f.bits("%x")
    field = f.value(f"call i64 @llvm.smax.i64(i64 {f.integers('lshr', bits, 52)}, i64 {_LEAST_EXPONENT})")
    mantissa = f.integers("or", f.integers("and", bits, 2**52 - 1), 2**52)
    # x 2/π 2^254 = m (2/π 2^_BITS) 2^-shift modulo 2^256, and whole bytes are cut off the table's end.
    shift = f.value(f"sub i64 {_BITS + 1075 - 254}, {field}")
    cut = f.integers("lshr", f.integers("add", shift, 7), 3)
    left = f.integers("sub", f.integers("shl", cut, 3), shift)
    place = f.value(f"getelementptr i8, ptr @{f.prefix}two_over_pi, i64 {cut}")
    window = f.value(f"load i256, ptr {place}, align 1")
    product = f.value(f"mul i256 {f.value(f'zext i64 {mantissa} to i256')}, {window}")
    product = f.value(f"shl i256 {product}, {f.value(f'zext i64 {left} to i256')}")
    turns = _word(f, product, 254)
    part = f.value(f"shl i256 {product}, 2")
    below = f.value(f"icmp slt i256 {part}, 0")
    quarters = f.integers("add", turns, f.value(f"zext i1 {below} to i64"))
    part = f.value(f"select i1 {below}, i256 {f.value(f'sub i256 0, {part}')}, i256 {part}")
    # The part of a quarter turn as two doubles of 53 bits each.
    zeros = f.value(f"call i64 @llvm.ctlz.i64(i64 {_word(f, part, 192)}, i1 false)")
    part = f.value(f"shl i256 {part}, {f.value(f'zext i64 {zeros} to i256')}")
    unit = f.double(f.integers("shl", f.value(f"sub i64 {1023 - 53}, {zeros}"), 52))
    high = f.mul(f.value(f"uitofp i64 {_word(f, part, 203)} to double"), unit)
    low = f.value(f"uitofp i64 {f.integers('and', _word(f, part, 150), 2**53 - 1)} to double")
    low = f.mul(f.mul(low, unit), f.number(2.0**-53))
    half_pi, half_pi_rest = (f.number(number) for number in HALF_PI_PAIR)
    near = f.mul(high, half_pi)
    rest = f.negative(f.remainder(near, high, half_pi))
    rest = f.product_sum(low, half_pi, f.product_sum(high, half_pi_rest, rest))
    near, rest = f.sum_and_rest(near, rest)
    result = "poison"
    for i, (kind, value) in enumerate(
        (
            ("double", f.choose(below, f.negative(near), near)),
            ("double", f.choose(below, f.negative(rest), rest)),
            ("i64", quarters),
        )
    ):
        result = f.value(f"insertvalue {_RESULT} {result}, {kind} {value}, {i}")
    return f.text(result, _RESULT)


def _word(f: Formula, a: str, place: int) -> str:
    """64 bits of an integer of 256, from a place on."""
    return f.value(f"trunc i256 {f.value(f'lshr i256 {a}, {place}')} to i64")

"""Large angles taken into [-π/4, π/4], with all bits of 2/π that they need (Payne & Hanek 1983).

Let x = m 2^e with an integer m of 53 bits. Of 2/π only the bits count whose products by m are below four
quarter turns, and above what rounding leaves of the result: three words of 64 bits. The product has the
quarter turns in its two highest bits, then the part of one, which for a double is never below 2^-62
(Muller 2016, 11.3.2); two of its words are kept, so that part is right to 2^-64 of it.
"""

from __future__ import annotations

from nacelle.emit.jit.functions.coefficients import HALF_PI_PAIR, TWO_OVER_PI
from nacelle.emit.jit.functions.formula import Formula

# Words of 2/π, the highest first, behind a word of zeros.
_LIMBS = 20
# The exponent field of the smallest angle for which there is a word; larger ones come here.
_LEAST_EXPONENT = 1023 + 16


def two_over_pi_table(prefix: str) -> str:
    """Write the table of 2/π, `@<prefix>two_over_pi`."""
    limbs = [TWO_OVER_PI >> 64 * i & (1 << 64) - 1 for i in reversed(range(_LIMBS))]
    entries = ", ".join(f"i64 {word}" for word in [0, *limbs])
    return f"@{prefix}two_over_pi = internal constant [{_LIMBS + 1} x i64] [{entries}], align 8"


def angle_reduction(f: Formula, a: str) -> tuple[str, str, str]:
    """Write the reduction of one angle, not negative: r, what its rounding has lost, quarter turns."""
    bits = f.bits_of(a)
    field = f.value(f"call i64 @llvm.smax.i64(i64 {f.integers('lshr', bits, 52)}, i64 {_LEAST_EXPONENT})")
    m = f.integers("or", f.integers("and", bits, 2**52 - 1), 2**52)
    # The bit of 2/π of weight 2^-b makes 2^(e-b) m: the first that counts is that of b = e - 1.
    first = f.integers("add", field, 64 - 1075 - 2)
    address = f.value(f"getelementptr i64, ptr @{f.prefix}two_over_pi, i64 {f.integers('lshr', first, 6)}")
    loaded = []
    for i in range(4):
        pointer = f.value(f"getelementptr i64, ptr {address}, i64 {i}")
        loaded.append(f.value(f"load i64, ptr {pointer}, align 8"))
    window = [_funnel_shift(f, loaded[i], loaded[i + 1], first) for i in range(3)]
    middle = f.value(f"mul i128 {_zero_extend(f, m)}, {_zero_extend(f, window[1])}")
    carried = f.value(f"mul i128 {_zero_extend(f, m)}, {_zero_extend(f, window[2])}")
    middle = f.value(f"add i128 {middle}, {_zero_extend(f, _high_word(f, carried))}")
    high = f.integers("add", f.integers("mul", m, window[0]), _high_word(f, middle))
    low = f.value(f"trunc i128 {middle} to i64")

    # From half of a quarter turn on the next one is nearer, from above: its complement, up to the last bit.
    turns = f.integers("lshr", high, 62)
    high, low = _funnel_shift(f, high, low, "2"), f.integers("shl", low, 2)
    above = f.integers("ashr", high, 63)
    quarters = f.integers("sub", turns, above)
    high, low = f.integers("xor", high, above), f.integers("xor", low, above)
    # The part of a quarter turn as two doubles of 53 bits each.
    zeros = f.value(f"call i64 @llvm.ctlz.i64(i64 {high}, i1 false)")
    high, low = _funnel_shift(f, high, low, zeros), f.integers("shl", low, f.integers("and", zeros, 63))
    unit = f.double(f.integers("shl", f.value(f"sub i64 {1023 - 53}, {zeros}"), 52))
    small = f.mul(unit, f.number(2.0**-53))
    part = f.mul(_leading_bits(f, high), unit)
    rest = f.mul(_leading_bits(f, _funnel_shift(f, high, low, "53")), small)

    half_pi, half_pi_rest = (f.number(number) for number in HALF_PI_PAIR)
    r = f.mul(part, half_pi)
    lost = f.negative(f.remainder(r, part, half_pi))
    lost = f.product_sum(rest, half_pi, f.product_sum(part, half_pi_rest, lost))
    r, lost = f.fast_two_sum(r, lost)
    sign = f.integers("shl", above, 63)
    r, lost = (f.double(f.integers("xor", f.bits_of(value), sign)) for value in (r, lost))
    return r, lost, quarters


def _funnel_shift(f: Formula, a: str, b: str, bits: str) -> str:
    """Shift a to the left, by `bits` modulo 64, and fill it up from b."""
    return f.value(f"call i64 @llvm.fshl.i64(i64 {a}, i64 {b}, i64 {bits})")


def _zero_extend(f: Formula, a: str) -> str:
    return f.value(f"zext i64 {a} to i128")


def _high_word(f: Formula, a: str) -> str:
    return f.value(f"trunc i128 {f.value(f'lshr i128 {a}, 64')} to i64")


def _leading_bits(f: Formula, a: str) -> str:
    """The first 53 bits of a word, as a whole number."""
    return f.value(f"sitofp i64 {f.integers('lshr', a, 11)} to double")

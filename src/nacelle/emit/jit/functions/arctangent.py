"""The angle of a point in the plane.

Let n <= d be the smaller and the larger of |x|, |y|. With j = 1 where n > d tan(π/8), else 0,

    t = (n - j d) / (d + j n) in [-tan(π/8), tan(π/8)],    atan(n / d) = j π/4 + atan t,

atan t = t + t³ A(t²) (Cody & Waite), and the angle of (x, y) is m π/4 + σ atan t with whole m and σ = ±1 by
the octant. t keeps what the rounding of both sums and of the quotient loses.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from nacelle.emit.jit.functions.coefficients import ATAN, QUARTER_PI
from nacelle.emit.jit.functions.formula import SIGN, Formula

_TAN_PI_8 = math.sqrt(2.0) - 1.0
# Points are scaled where the larger coordinate is beyond the first, else where the smaller is below the
# second, so that no operation overflows, and the remainder of the quotient does not underflow.
_FAR, _NEAR = 2.0**800, 2.0**-900
_SHRINK, _ENLARGE = 2.0**-300, 2.0**160


def atan2(formula: Callable[[], Formula]) -> str:
    """Write `@<prefix>atan2(y, x)`."""
    f = formula()
    f.begin("atan2", f"{f.real} %y, {f.real} %x")
    width, height = f.size("%x"), f.size("%y")
    steep = f.compare("ogt", height, width)
    n, d = f.choose(steep, width, height), f.choose(steep, height, width)
    far, near = f.compare("ogt", d, f.number(_FAR)), f.compare("olt", n, f.number(_NEAR))
    extreme = f.value(f"or {f.bit} {far}, {near}")
    f(f"br i1 {f.any(extreme)}, label %extreme, label %usual", "extreme:")
    scaled = _scaled(f, (n, d), (far, near))
    f("br label %usual", "usual:")
    n, d = (
        f.value(f"phi {f.real} [ {plain}, %start ], [ {other}, %extreme ]")
        for plain, other in zip((n, d), scaled, strict=True)
    )

    zero = f.number(0.0)
    upper = f.compare("ogt", n, f.mul(d, f.number(_TAN_PI_8)))
    above = f.sum_and_rest(f.negative(f.choose(upper, d, zero)), n)
    below = f.sum_and_rest(d, f.choose(upper, n, zero))
    t, rest = f.quotient(above, below)
    square = f.mul(t, t)
    change = f.product_sum(f.mul(square, t), f.polynomial(ATAN, square), rest)

    # m = 2 - s (2 - j), or 2 - s j for a steep point, with s = -1 left of the axis.
    side = f.with_sign(f.number(1.0), "%x")
    one, two = f.number(1.0), f.number(2.0)
    eighths = f.choose(upper, one, f.choose(steep, zero, two))
    octants = f.sub(two, f.mul(side, eighths))
    flip = f.choose(steep, f.number(-1.0), one)
    flip = f.integers("and", f.integers("xor", f.bits(flip), f.bits("%x")), SIGN)
    t, change = (f.double(f.integers("xor", f.bits(part), flip)) for part in (t, change))
    angle, lost = f.sum_and_rest(f.mul(octants, f.number(QUARTER_PI[0])), t)
    change = f.product_sum(octants, f.number(QUARTER_PI[1]), f.add(lost, change))
    return f.text(f.with_sign(f.add(angle, change), "%y"))


def _scaled(f: Formula, point: tuple[str, str], outside: tuple[str, str]) -> tuple[str, str]:
    """Scale very far and very near points; the origin and infinite points become (0, 1) or (1, 1)."""
    one, infinite = f.number(1.0), f.number(math.inf)
    (n, d), (far, near) = point, outside
    scale = f.choose(far, f.number(_SHRINK), f.choose(near, f.number(_ENLARGE), one))
    zero = f.compare("oeq", d, f.number(0.0))
    special = f.value(f"or {f.bit} {zero}, {f.compare('oeq', d, infinite)}")
    # A NaN stays one.
    limit = f.choose(f.compare("oeq", n, infinite), one, f.mul(n, f.number(0.0)))
    return f.choose(special, limit, f.mul(n, scale)), f.choose(special, one, f.mul(d, scale))

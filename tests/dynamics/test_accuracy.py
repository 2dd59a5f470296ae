"""Minimised programs against evaluations at 77 and 50 digits, over states of the workspace."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from nacelle.program.trace import trace
from nacelle.spatial.scalar import absolute, cos, maximum, minimum, pack, sign, sin, sqrt, where
from support import wide
from support.accuracy import BOUND, ROWS, Row, errors_of, relative_errors
from support.cc import COMPILERS

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler")

SMALL = [row for row in ROWS if row.robot in ("fivebar", "delta", "planar")]


def assert_accurate(row: Row, states: int) -> None:
    """Error below 1000 eps condition: of the program where its pivots are strong, of the door everywhere."""
    errors = errors_of(row, states)
    assert errors.agreement < 1e-45
    for name in errors.found:
        looked_at = slice(None) if name == "door" else ~errors.weak
        worst = np.max(errors.counted(name)[looked_at])
        assert worst <= BOUND, f"{row}, {name}: {worst:.3g}"


@pytest.mark.parametrize("row", [*SMALL, Row("palida", friction=True)], ids=str)
def test_programs_are_accurate(row: Row) -> None:
    assert_accurate(row, 300)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_programs_are_accurate_everywhere(row: Row) -> None:
    """A hundred thousand states for every model that is counted."""
    assert_accurate(row, 100_000)


def test_errors_are_seen() -> None:
    """Values that are off by a part in 1e12 are told so, in units where the largest entry counts."""
    exact = np.zeros((2, 3, wide.PARTS))
    exact[..., :2] = [[(1.0, 1e-17), (20.0, 0.0), (-3.0, 0.0)], [(-1e-9, 1e-26), (0.0, 0.0), (0.0, 0.0)]]
    found = relative_errors(exact[..., 0] * (1.0 + 1e-12), exact, np.array([1.0, 4.0, 1.0]))
    assert found == pytest.approx(1e-12, rel=1e-3)


def test_wide_numbers_agree_with_mpmath() -> None:
    """Every operation of the numbers of 256 bits, near cancellation too, against 90 digits."""

    def everything(x: np.ndarray) -> np.ndarray:
        a, b, c = x
        near = (a + 1e-20 * b) - a
        return pack(
            [
                a + b,
                a - b,
                a * b * c,
                a / b,
                near / c,
                sqrt(absolute(a)),
                sin(a),
                cos(b),
                sign(c),
                minimum(a, b),
                maximum(a, b),
                where(c, a, b),
                -(a * a) / (b * b + c * c),
            ]
        )

    program = trace(everything, {"x": (3,)}).program()
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)) * 10.0 ** rng.uniform(-3.0, 1.0, (200, 3))
    x[0], x[1] = (0.0, 1.0, 2.0), (1.0, 1.0, -1.0)
    found = wide.evaluate(program, x)
    for row, own in zip(x, found, strict=True):
        theirs = wide.by_mpmath(program, row, 90)
        with mpmath.workdps(90):
            for parts, exact in zip(own, theirs, strict=True):
                total = mpmath.fsum(mpmath.mpf(part) for part in parts)
                assert abs(total - exact) <= mpmath.mpf("1e-50") * max(abs(exact), mpmath.mpf("1e-3"))


def test_difference_is_exact() -> None:
    """A double less an unevaluated sum does not lose the small parts."""
    exact = np.array([[1.0, 1e-17, 1e-34, 0.0]])
    assert wide.difference(np.array([1.0]), exact)[0] == pytest.approx(-1e-17, rel=1e-15)

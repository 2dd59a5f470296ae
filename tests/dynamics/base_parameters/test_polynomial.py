"""Polynomials in coordinates: their arithmetic is that of their values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nacelle.dynamics.base_parameters.polynomial import Polynomial, polynomial_text

VALUES = {"a.x": 0.5, "a.y": -0.25, "b.x": 2.0}
polynomials = st.recursive(
    st.sampled_from([Polynomial.atom(name, value) for name, value in VALUES.items()])
    | st.sampled_from([1.0, -2.0, 0.5]).map(Polynomial.number),
    lambda parts: (
        st.tuples(parts, parts).map(lambda pair: pair[0] + pair[1])
        | st.tuples(parts, parts).map(lambda pair: pair[0] * pair[1])
    ),
    max_leaves=5,
)


@given(polynomials, polynomials)
def test_values(first, second):
    assert (first + second).value == first.value + second.value
    assert (first * second).value == first.value * second.value
    assert (first + first.scaled(-1.0)).terms == {}


def test_written():
    x, y = (Polynomial.atom(name, VALUES[name]) for name in ("a.x", "a.y"))
    assert polynomial_text(x * x + y.scaled(-2.0)) == "a.x^2 - 2 a.y"
    assert polynomial_text(Polynomial.number(0.0)) == "0"
    assert polynomial_text(x.scaled(-1.0)) == "-a.x"

"""Quantities with units."""

import contextlib
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.model.units import QUANTITIES, UnitError, axis_quantity, parse_number, parse_quantity, parse_unit


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("300 mm", "length", 0.3),
        ("300mm", "length", 0.3),
        ("-1.5e2 cm", "length", -1.5),
        ("2 in", "length", 0.0508),
        ("20 deg", "angle", math.pi / 9),
        ("20°", "angle", math.pi / 9),
        ("-pi/2", "angle", -math.pi / 2),
        ("2*π/3", "angle", 2 * math.pi / 3),
        ("0.5 rev", "angle", math.pi),
        ("9.81 m/s²", "acceleration", 9.81),
        ("9.81 m/s^2", "acceleration", 9.81),
        ("60 rpm", "angular speed", 2 * math.pi),
        ("0.1 N*m*s/rad", "angular damping", 0.1),
        ("0.1 N*m*s", "angular damping", 0.1),
        ("5 mNm", "torque", 0.005),
        ("70 GPa", "pressure", 70e9),
        ("4 mm^2", "area", 4e-6),
        ("100 g*cm^2", "inertia", 1e-5),
        ("0", "length", 0.0),
        (0, "inertia", 0.0),
        ("1.5", "number", 1.5),
        ("pi", "number", math.pi),
    ],
)
def test_reads(text, kind, value):
    assert parse_quantity(text, QUANTITIES[kind], None) == pytest.approx(value, rel=1e-15, abs=0)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("300", "length", "has no unit"),
        (0.3, "length", "has no unit"),
        ("pi", "length", "has no unit"),
        ("300 kg", "length", "is not a unit of length"),
        ("300 mmm", "length", "unknown unit 'mmm'"),
        ("300 deg", "number", "is not a unit of number"),
        ("1 rad/s", "speed", "is not a unit of speed"),
        ("1 m/s", "angular speed", "is not a unit of angular speed"),
        ("1 1/s", "angular speed", "is not a unit"),
        ("mm", "length", "is not a length"),
        ("", "length", "is not a length"),
        ("1e999 m", "length", "is not finite"),
        (float("nan"), "length", "is not finite"),
        ("1e14 m", "length", "beyond any robot"),
        ("1 m*", "length", "is not a unit"),
        (True, "length", "expected a length"),
        ([1], "length", "expected a length"),
        (None, "length", "expected a length"),
        (10**400, "number", "is not finite"),
        ("pi/0", "angle", "is not an angle"),
    ],
)
def test_refuses(text, kind, words):
    with pytest.raises(UnitError, match=re.escape(words)):
        parse_quantity(text, QUANTITIES[kind], None)


def test_decimal_prefixes_are_exact():
    """A length in millimetres is the float nearest to its value in metres, not a product."""
    for k in range(1, 3000):
        assert parse_quantity(f"{k} mm", QUANTITIES["length"], None) == float(f"{k}e-3")
        assert parse_quantity(f"{k} g", QUANTITIES["mass"], None) == float(f"{k}e-3")


# By how many lengths a quantity of a revolute axis is that of a prismatic one, radians left out.
LENGTHS = {
    **{"length": -1, "speed": -1, "acceleration": -1, "mass": 2, "force": 1, "stiffness": 2, "damping": 2},
    **{"quadratic drag": 3, "cubic drag": 4, "gear ratio per length": 1, "force constant": 1},
}


@pytest.mark.parametrize("linear", LENGTHS)
def test_quantities_of_axes(linear):
    own, turning = (QUANTITIES[axis_quantity(linear, angular=k)].dimension[:4] for k in (False, True))
    kg, m, s, A = own
    assert axis_quantity(linear, angular=False) == linear
    assert turning == (kg, m + LENGTHS[linear], s, A)


def test_default_units():
    assert parse_quantity(300, QUANTITIES["length"], {"length": "mm"}) == 0.3
    assert parse_quantity(90, QUANTITIES["angle"], {"angle": "deg"}) == pytest.approx(math.pi / 2)
    assert parse_quantity(3, QUANTITIES["mass"], {"*": "SI"}) == 3.0
    with pytest.raises(UnitError, match="has no unit"):
        parse_quantity(3, QUANTITIES["mass"], {"length": "mm"})


@given(st.floats(-1e12, 1e12), st.sampled_from(sorted(QUANTITIES)))
def test_si_units_keep_the_number(value, kind):
    quantity = QUANTITIES[kind]
    assert parse_quantity(f"{value!r} {quantity.si}", quantity, None) == value


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_text_is_a_number_or_not(text):
    number = parse_number(text)
    assert number is None or isinstance(number, float)
    with contextlib.suppress(UnitError):
        assert len(parse_unit(text).dimension) == 5

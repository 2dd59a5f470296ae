"""Numbers as they are written, with units: "300 mm", "20 deg", "0.1 N*m*s/rad" to SI.

While a description is recorded (`model.build.parametric`), its texts and numbers are `TrackedText` and
`TrackedNumber`. They are read like any others; the number that was read, in SI units, is then handed to
`take`, which gives the one to go on with.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from nacelle.errors import shorten
from nacelle.spatial.recorded import Recorded

# Takes which number of the text it is (-1: its only one), its value in SI units and its kind of quantity.
NumberTaker = Callable[[int, float, str], float]


class TrackedText(str):
    """A text of one number or of several, with its unit."""

    __slots__ = ("part", "take")
    take: NumberTaker
    part: int

    def __new__(cls, text: str, take: NumberTaker, part: int = -1) -> TrackedText:
        """Keep who takes the number."""
        self = super().__new__(cls, text)
        self.take, self.part = take, part
        return self


class TrackedNumber(float):
    """A bare number."""

    __slots__ = ("part", "take")
    take: NumberTaker
    part: int

    def __new__(cls, value: float, take: NumberTaker) -> TrackedNumber:
        """Keep who takes the number."""
        self = super().__new__(cls, value)
        self.take, self.part = take, -1
        return self


def tracked_number(value: Any, number: float, quantity: str) -> float:
    """The number to go on with, where `number` was read from a value."""
    if isinstance(value, TrackedText | TrackedNumber):
        return value.take(value.part, number, quantity)
    return number


def split_quantities(text: str, numbers: Sequence[str], unit: str) -> list[str]:
    """The numbers of a text one by one, each with the unit."""
    each = [f"{number} {unit}".strip() for number in numbers]
    if isinstance(text, TrackedText):
        return [TrackedText(piece, text.take, k) for k, piece in enumerate(each)]
    return each


# ---- quantities with units


# Exponents of kg, m, s, A, rad. The radian is kept apart so that an angle can be distinguished from a number.
Dimension = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Quantity:
    """A kind of quantity: its dimension, its SI unit, and an example for messages."""

    name: str
    dimension: Dimension
    si: str
    example: str


QUANTITIES = {
    name: Quantity(name, dimension, si, example)
    for name, dimension, si, example in (
        ("number", (0, 0, 0, 0, 0), "", "1.5"),
        ("length", (0, 1, 0, 0, 0), "m", "300 mm"),
        ("angle", (0, 0, 0, 0, 1), "rad", "20 deg"),
        ("mass", (1, 0, 0, 0, 0), "kg", "1.2 kg"),
        ("first moment", (1, 1, 0, 0, 0), "kg*m", "0.1 kg*m"),
        ("inertia", (1, 2, 0, 0, 0), "kg*m^2", "0.01 kg*m^2"),
        ("acceleration", (0, 1, -2, 0, 0), "m/s^2", "-9.81 m/s^2"),
        ("angular acceleration", (0, 0, -2, 0, 1), "rad/s^2", "50 rad/s^2"),
        ("speed", (0, 1, -1, 0, 0), "m/s", "2 m/s"),
        ("angular speed", (0, 0, -1, 0, 1), "rad/s", "300 rpm"),
        ("force", (1, 1, -2, 0, 0), "N", "50 N"),
        ("torque", (1, 2, -2, 0, 0), "N*m", "5 N*m"),
        ("stiffness", (1, 0, -2, 0, 0), "N/m", "2000 N/m"),
        ("angular stiffness", (1, 2, -2, 0, -1), "N*m/rad", "10 N*m/rad"),
        ("damping", (1, 0, -1, 0, 0), "N*s/m", "3 N*s/m"),
        ("angular damping", (1, 2, -1, 0, -1), "N*m*s/rad", "0.1 N*m*s/rad"),
        ("quadratic drag", (1, -1, 0, 0, 0), "N*s^2/m^2", "2 N*s^2/m^2"),
        ("angular quadratic drag", (1, 2, 0, 0, -2), "N*m*s^2/rad^2", "0.1 N*m*s^2/rad^2"),
        ("cubic drag", (1, -2, 1, 0, 0), "N*s^3/m^3", "2 N*s^3/m^3"),
        ("angular cubic drag", (1, 2, 1, 0, -3), "N*m*s^3/rad^3", "0.1 N*m*s^3/rad^3"),
        ("lead", (0, 1, 0, 0, -1), "m/rad", "10 mm/rev"),
        ("gear ratio per length", (0, -1, 0, 0, 1), "rad/m", "628 rad/m"),
        ("force constant", (1, 1, -2, -1, 0), "N/A", "40 N/A"),
        ("torque constant", (1, 2, -2, -1, 0), "N*m/A", "0.1 N*m/A"),
        ("pressure", (1, -1, -2, 0, 0), "Pa", "70 GPa"),
        ("density", (1, -3, 0, 0, 0), "kg/m^3", "2800 kg/m^3"),
        ("area", (0, 2, 0, 0, 0), "m^2", "4 mm^2"),
        ("second moment of area", (0, 4, 0, 0, 0), "m^4", "1.3 mm^4"),
    )
}


def torsion_stiffness(degree: int) -> Quantity:
    """The quantity of a coefficient k in a torque k angle^degree: N m/rad^degree."""
    if degree == 1:
        return QUANTITIES["angular stiffness"]
    si = f"N*m/rad^{degree}"
    return Quantity(f"angular stiffness of degree {degree}", (1, 2, -2, 0, -degree), si, f"10 {si}")


# What a quantity of a prismatic axis is along a revolute one.
_ANGULAR = {
    "length": "angle",
    "speed": "angular speed",
    "acceleration": "angular acceleration",
    "mass": "inertia",
    "force": "torque",
    "stiffness": "angular stiffness",
    "damping": "angular damping",
    "quadratic drag": "angular quadratic drag",
    "cubic drag": "angular cubic drag",
    "gear ratio per length": "number",
    "force constant": "torque constant",
}


def axis_quantity(linear: str, *, angular: bool) -> str:
    """The kind of quantity of an axis: "force" is "torque" where it is angular, "length" is "angle"."""
    return _ANGULAR[linear] if angular else linear


_UNITS: dict[str, tuple[float, Dimension]] = {
    "m": (1.0, (0, 1, 0, 0, 0)),
    "km": (1e3, (0, 1, 0, 0, 0)),
    "cm": (1e-2, (0, 1, 0, 0, 0)),
    "mm": (1e-3, (0, 1, 0, 0, 0)),
    "um": (1e-6, (0, 1, 0, 0, 0)),
    "in": (0.0254, (0, 1, 0, 0, 0)),
    "kg": (1.0, (1, 0, 0, 0, 0)),
    "g": (1e-3, (1, 0, 0, 0, 0)),
    "t": (1e3, (1, 0, 0, 0, 0)),
    "s": (1.0, (0, 0, 1, 0, 0)),
    "ms": (1e-3, (0, 0, 1, 0, 0)),
    "us": (1e-6, (0, 0, 1, 0, 0)),
    "\N{MICRO SIGN}s": (1e-6, (0, 0, 1, 0, 0)),
    "\N{GREEK SMALL LETTER MU}s": (1e-6, (0, 0, 1, 0, 0)),
    "ns": (1e-9, (0, 0, 1, 0, 0)),
    "min": (60.0, (0, 0, 1, 0, 0)),
    "A": (1.0, (0, 0, 0, 1, 0)),
    "mA": (1e-3, (0, 0, 0, 1, 0)),
    "rad": (1.0, (0, 0, 0, 0, 1)),
    "mrad": (1e-3, (0, 0, 0, 0, 1)),
    "deg": (math.pi / 180, (0, 0, 0, 0, 1)),
    "rev": (2 * math.pi, (0, 0, 0, 0, 1)),
    "rpm": (2 * math.pi / 60, (0, 0, -1, 0, 1)),
    "Hz": (1.0, (0, 0, -1, 0, 0)),
    "kHz": (1e3, (0, 0, -1, 0, 0)),
    "N": (1.0, (1, 1, -2, 0, 0)),
    "mN": (1e-3, (1, 1, -2, 0, 0)),
    "kN": (1e3, (1, 1, -2, 0, 0)),
    "Nm": (1.0, (1, 2, -2, 0, 0)),
    "mNm": (1e-3, (1, 2, -2, 0, 0)),
    "Pa": (1.0, (1, -1, -2, 0, 0)),
    "kPa": (1e3, (1, -1, -2, 0, 0)),
    "MPa": (1e6, (1, -1, -2, 0, 0)),
    "GPa": (1e9, (1, -1, -2, 0, 0)),
}
_SPELLINGS = {
    "m": "metre metres meter meters",
    "mm": "millimetre millimetres millimeter millimeters",
    "g": "gram grams",
    "kg": "kilogram kilograms kilo",
    "s": "sec second seconds",
    "N": "newton newtons",
    "deg": "degree degrees",
    "rad": "radian radians",
}
_ALIASES = {word: unit for unit, spellings in _SPELLINGS.items() for word in spellings.split()} | {
    "°": "deg",
    "µm": "um",
    "μm": "um",
    '"': "in",
}

# Units of bare numbers where all of them are in SI units.
SI = {"*": "SI"}
# Beyond this, in SI units, no robot has a number; it keeps all later arithmetic finite.
LARGEST = 1e13
# No number with its unit takes more characters.
_LONGEST = 200

# There is one way only to match each number, so that no text makes the search take long.
NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_NUMBER = re.compile(NUMBER)
_PI = re.compile(
    rf"(?P<sign>[-+]?)\s*(?:(?P<factor>{NUMBER})\s*\*?\s*)?(?:pi|π)"
    rf"(?:\s*/\s*(?P<divisor>\d+(?:\.\d*)?))?"
)
_FACTOR = re.compile(r"(?P<name>[A-Za-z°µμ\"]+)(?:\^(?P<power>-?\d))?")


class UnitError(ValueError):
    """A text is not a quantity of the wanted kind; `hint` says what would be right."""

    def __init__(self, message: str, hint: str) -> None:
        """Keep the hint with the message."""
        self.hint = hint
        super().__init__(message)


@dataclass(frozen=True)
class Unit:
    """A unit in SI: its exact decimal factor, its irrational factor (degrees), its dimension."""

    exact: Fraction
    irrational: float
    dimension: Dimension


def with_article(word: str) -> str:
    """Put the indefinite article before a word."""
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


@lru_cache(maxsize=256)
def parse_unit(text: str) -> Unit:
    """Read a product of units such as "N*m*s/rad"."""
    exact = Fraction(1)
    irrational = 1.0
    dimension = [0, 0, 0, 0, 0]
    sign = 1
    if len(text) > 40:
        raise UnitError(f"{shorten(text)!r} is not a unit", "for example mm, deg, kg*m^2, N*m*s/rad")
    remaining = text.replace("·", "*").replace("²", "^2").replace("³", "^3").replace("**", "^").strip()
    while remaining:
        match = _FACTOR.match(remaining)
        if match is None:
            raise UnitError(f"{text!r} is not a unit", "for example mm, deg, kg*m^2, N*m*s/rad")
        name = _ALIASES.get(match["name"], match["name"])
        if name not in _UNITS:
            near = difflib.get_close_matches(name, _UNITS, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else "known: " + " ".join(_UNITS)
            raise UnitError(f"unknown unit {name!r}", hint)
        power = sign * int(match["power"] or 1)
        factor, unit_dimension = _UNITS[name]
        # Decimal prefixes are multiplied exactly, so that "300 mm" is the same float as 0.3 m.
        if name in ("deg", "rev", "rpm"):
            irrational *= factor**power
        else:
            exact *= Fraction(repr(factor)) ** power
        dimension = [d + power * u for d, u in zip(dimension, unit_dimension, strict=True)]
        remaining = remaining[match.end() :].lstrip()
        if remaining:
            if remaining[0] not in "*/" or len(remaining) == 1:
                raise UnitError(f"{text!r} is not a unit", "join units with * and /")
            sign = -1 if remaining[0] == "/" else 1
            remaining = remaining[1:].lstrip()
    kg, m, s, ampere, rad = dimension
    return Unit(exact, irrational, (kg, m, s, ampere, rad))


def parse_number(text: str) -> float | None:
    """Read a plain number or a multiple of pi ("-pi/2", "2*π/3"); None if it is neither."""
    if len(text) > _LONGEST:
        return None
    stripped = text.strip()
    if _NUMBER.fullmatch(stripped):
        return float(stripped)
    match = _PI.fullmatch(stripped)
    if match is None:
        return None
    value = math.pi * float(match["factor"] or 1.0)
    if match["divisor"]:
        if float(match["divisor"]) == 0.0:
            return None
        value /= float(match["divisor"])
    return -value if match["sign"] == "-" else value


def parse_quantity(value: object, quantity: Quantity, defaults: dict[str, str] | None) -> float:
    """Read a number in SI units.

    Args:
        value: a number, or a text of a number and a unit.
        quantity: what kind of quantity is wanted.
        defaults: unit for bare numbers by kind of quantity; {"*": "SI"} takes bare numbers as SI;
            None or a missing kind means that a bare number is an error, unless it is zero.

    Raises:
        UnitError: with a hint, if the text is not such a quantity or not finite.
    """
    if isinstance(value, Recorded):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UnitError(
            f"expected {with_article(quantity.name)}, got {_kind(value)}", f"write {quantity.example!r}"
        )
    if isinstance(value, str):
        number, unit = _split(value, quantity)
    else:
        number, unit = _finite(value, quantity), ""
    if not math.isfinite(number):
        raise UnitError(f"the {quantity.name} {_value_text(value)} is not finite", "write a finite number")
    result = (
        _convert(number, unit, quantity) if unit else _number_without_unit(value, number, quantity, defaults)
    )
    if abs(result) > LARGEST:
        raise UnitError(f"the {quantity.name} {_value_text(value)} is beyond any robot", "check its unit")
    return tracked_number(value, result, quantity.name)


def _finite(value: int | float, quantity: Quantity) -> float:
    try:
        return float(value)
    except OverflowError:
        raise UnitError(f"the {quantity.name} is not finite", "write a finite number") from None


def _kind(value: object) -> str:
    names = {dict: "a mapping", list: "a list", type(None): "nothing", bool: "true/false"}
    return names.get(type(value), repr(value))


def _split(text: str, quantity: Quantity) -> tuple[float, str]:
    """Split "300 mm" to the number and the unit."""
    number = parse_number(text)
    if number is not None:
        return number, ""
    stripped = text.strip()
    match = _PI.match(stripped) or _NUMBER.match(stripped) if len(text) <= _LONGEST else None
    if match is None:
        raise UnitError(
            f"{shorten(text)!r} is not {with_article(quantity.name)}",
            f"write a number and a unit: {quantity.example!r}",
        )
    number = parse_number(match.group())
    if number is None:
        raise UnitError(
            f"{shorten(text)!r} is not {with_article(quantity.name)}", f"write {quantity.example!r}"
        )
    return number, stripped[match.end() :].strip()


def _value_text(value: object) -> str:
    """Write a number as it was given, on one line."""
    return shorten(" ".join(str(value).split()))


def _number_without_unit(
    value: object, number: float, quantity: Quantity, defaults: dict[str, str] | None
) -> float:
    """Take a number without a unit, if that is allowed here."""
    if quantity.name == "number" or number == 0.0:
        return number
    if quantity.name == "angle" and isinstance(value, str) and ("pi" in value or "π" in value):
        return number
    if defaults is not None:
        unit = defaults.get(quantity.name)
        if unit is not None:
            return _convert(number, unit, quantity)
        if "*" in defaults:
            return number
    raise UnitError(
        f"the {quantity.name} {_value_text(value)} has no unit",
        f"write for example {quantity.example!r}, or declare 'units: SI' at the top of the file",
    )


def _convert(number: float, text: str, quantity: Quantity) -> float:
    unit = parse_unit(text)
    dimension = quantity.dimension
    # A radian may be left out of derived units ("N*m*s" for "N*m*s/rad") but never makes up an angle.
    if unit.dimension != dimension and not (
        unit.dimension[:4] == dimension[:4] and any(dimension[:4]) and quantity.name != "angular speed"
    ):
        raise UnitError(
            f"{text!r} is not a unit of {quantity.name}", f"write for example {quantity.example!r}"
        )
    try:
        value = float(Fraction(repr(number)) * unit.exact) * unit.irrational
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise UnitError(f"the {quantity.name} is not finite", "write a finite number")
    return value


def check_default_units(units: dict[str, str]) -> list[tuple[str, UnitError]]:
    """Check a `units:` mapping of kinds of quantity to units; give key and fault of each bad one."""
    faults: list[tuple[str, UnitError]] = []
    for name, unit in units.items():
        if len(faults) == 20:  # more of them tell nothing new, and suggestions take time
            break
        if name not in QUANTITIES:
            near = difflib.get_close_matches(name, QUANTITIES, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "known: " + ", ".join(QUANTITIES)
            faults.append((name, UnitError(f"unknown kind of quantity {name!r}", hint)))
            continue
        try:
            _convert(1.0, unit, QUANTITIES[name])
        except UnitError as fault:
            faults.append((name, fault))
    return faults


def units_for_bare_numbers(units: object) -> dict[str, str] | None:
    """Units of bare numbers from the `units` key: "SI", a mapping, or nothing."""
    if units == "SI":
        return SI
    return dict(units) if isinstance(units, dict) and units else None

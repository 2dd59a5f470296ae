"""Entries of a description in SI units, and what is said of wrong ones."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from nacelle.model.description.fields import (
    Direction,
    Lengths3,
    Mass,
    Name,
    PositiveLength,
    Reference,
    Strict,
    message_and_hint,
)


class Sample(Strict):
    """One entry of each kind."""

    at: Lengths3 | None = None
    axis: Direction | None = None
    mass: Mass | None = None
    length: PositiveLength | None = None
    name: Name | None = None
    joint: Reference | None = None


def sample(units: dict[str, str] | None = None, **entries: Any) -> Sample:
    return Sample.model_validate(entries, context={"units": units})


def test_quantities_in_si_units() -> None:
    assert sample(at="1 -2.5 300 mm").at == pytest.approx((0.001, -0.0025, 0.3), rel=1e-15)
    assert sample(at=["1 in", "2 cm", "3 m"]).at == pytest.approx((0.0254, 0.02, 3.0), rel=1e-15)
    assert sample({"length": "mm"}, at=[1.0, 2.0, 3.0]).at == pytest.approx((1e-3, 2e-3, 3e-3), rel=1e-15)
    assert sample(mass="250 g").mass == pytest.approx(0.25)


def test_axes_are_unit_vectors() -> None:
    assert sample(axis="-y").axis == (0.0, -1.0, 0.0)
    assert sample(axis=[0.0, 3.0, 4.0]).axis == pytest.approx((0.0, 0.6, 0.8), rel=1e-15)
    assert sample(axis="0 0 -7").axis == (0.0, 0.0, -1.0)
    # A unit vector stays bit for bit: the sum of these squares is 1 in floating point.
    assert sample(axis=[0.6, 0.8, 0.0]).axis == (0.6, 0.8, 0.0)


@pytest.mark.parametrize(
    ("entries", "message", "hint"),
    [
        ({"at": "1 2 mm"}, "expected 3 numbers, got 2", "0 0"),
        ({"at": "1 2 3"}, "unit", ""),
        ({"at": "1 2 3 kg"}, "kg", ""),
        ({"axis": [0.0, 0.0, 0.0]}, "no length", "x, y, z"),
        ({"axis": "up"}, "expected an axis", "x, y, z"),
        ({"mass": "-1 kg"}, "must not be below 0", ""),
        ({"length": "0 m"}, "must be above zero", ""),
        ({"name": "a.b"}, "not a name", "letters"),
        ({"joint": "leg1..arm"}, "expected a name", "leg1.arm"),
        ({"masss": "1 kg"}, "unknown key 'masss'", "did you mean 'mass'"),
    ],
)
def test_what_is_wrong(entries: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(ValidationError) as caught:
        sample(**entries)
    (error,) = caught.value.errors(include_url=False)
    words, help_ = message_and_hint(error)
    assert message in words
    assert hint in help_
    assert error["loc"][0] == next(iter(entries))


def test_names_of_bodies_in_legs() -> None:
    assert sample(joint="leg1.arm").joint == "leg1.arm"
    assert sample(name=3).name == "3"

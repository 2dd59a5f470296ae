"""Sections and materials that a flexible link may have, and those that cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from nacelle.model.description.beam import BeamSpec, MaterialSpec, SectionSpec, Strict
from nacelle.model.description.fields import message_and_hint


def test_units_and_defaults() -> None:
    context = {"units": None}
    section = SectionSpec.model_validate({"tube": ["30 mm", "26 mm"]}, context=context)
    assert section.tube == pytest.approx((0.03, 0.026), rel=1e-15)
    material = MaterialSpec.model_validate({"E": "70 GPa", "density": "2.7 g/cm^3"}, context=context)
    assert (material.E, material.density, material.nu) == pytest.approx((70e9, 2700.0, 0.3), rel=1e-14)
    beam = BeamSpec.model_validate({"from": "0 0 0 m", "to": "0 0 1 m", "damping": 0.02}, context=context)
    assert beam.end == (0.0, 0.0, 1.0)
    assert beam.damping is not None
    assert beam.damping.ratio == 0.02


@pytest.mark.parametrize(
    ("spec", "written", "words"),
    [
        (SectionSpec, {"circle": 0.01, "square": 0.01}, "circle are given"),
        (SectionSpec, {}, "none is given"),
        (SectionSpec, {"area": 1e-4, "Iy": 1e-8, "Iz": 1e-8}, "belong together"),
        (SectionSpec, {"circle": 0.01, "J": 1e-8}, "belong together"),
        (SectionSpec, {"area": 1e-4, "Iy": 0.0, "Iz": 1e-8, "J": 1e-8}, "must be above zero"),
        (SectionSpec, {"tube": [0.02, 0.03]}, "outer diameter is not above"),
        (SectionSpec, {"rectangle": [0.02, -0.03]}, "both numbers must be above zero"),
        (MaterialSpec, {"E": 0.0, "density": 1.0}, "must be above zero"),
        (MaterialSpec, {"E": 1.0, "density": 1.0, "nu": 0.6}, "between -1 and 0.5"),
        (BeamSpec, {"shapes": "hermite", "number": 0}, "at least one element"),
        (BeamSpec, {"damping": -0.1}, "must not be negative"),
        (BeamSpec, {"damping": {"ratio": 0.1, "rayleigh": {"mass": 1.0}}}, "exactly one of ratio, rayleigh"),
    ],
)
def test_what_is_no_beam(spec: type[Strict], written: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        spec.model_validate(written)
    said = [message_and_hint(error)[0] for error in caught.value.errors(include_url=False)]
    assert any(words in text for text in said), said

"""Flexible links, as they may be written: cross-section, material, and how their deformation is described."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from nacelle.model.description.fields import (
    Area,
    Density,
    Direction,
    Lengths2,
    Lengths3,
    Number,
    PositiveLength,
    Pressure,
    SecondMoment,
    Strict,
    fault,
    one_of,
    raise_at,
)


class SectionSpec(Strict):
    """Cross-section of a flexible link, about its axis x; by shape or by its moments.

    A rectangle is given by its sides along y and z, a tube by its outer and inner diameter. `shear` are the
    shear correction factors along y and z; those of the shape, or 5/6, where they are not given.
    """

    square: PositiveLength | None = None
    circle: PositiveLength | None = None
    rectangle: Lengths2 | None = None
    tube: Lengths2 | None = None
    area: Area | None = None
    Iy: SecondMoment | None = None
    Iz: SecondMoment | None = None
    J: SecondMoment | None = None
    shear: tuple[Number, Number] | None = None

    @model_validator(mode="after")
    def _check(self) -> SectionSpec:
        one_of(self, "square", "circle", "rectangle", "tube", "area")
        moments = (self.Iy, self.Iz, self.J)
        if (self.area is not None) != all(m is not None for m in moments) or (
            self.area is None and any(m is not None for m in moments)
        ):
            raise fault("area, Iy, Iz and J belong together")
        for key in ("area", "Iy", "Iz", "J"):
            value = getattr(self, key)
            if value is not None and not value > 0.0:
                raise_at(key, f"must be above zero, is {value:g}", "a beam without a section cannot bend")
        for key in ("rectangle", "tube", "shear"):
            value = getattr(self, key)
            if value is not None and not all(number > 0.0 for number in value):
                raise_at(key, f"both numbers must be above zero, got {value[0]:g} and {value[1]:g}")
        if self.tube is not None and not self.tube[0] > self.tube[1]:
            raise_at("tube", "the outer diameter is not above the inner one", "write outer, then inner")
        return self


class MaterialSpec(Strict):
    """Material of a flexible link."""

    name: str | None = None
    E: Pressure
    density: Density
    nu: Number = 0.3

    @model_validator(mode="after")
    def _check(self) -> MaterialSpec:
        for key in ("E", "density"):
            if not getattr(self, key) > 0.0:
                raise_at(key, f"must be above zero, is {getattr(self, key):g}")
        if not -1.0 < self.nu <= 0.5:
            raise_at("nu", f"Poisson's ratio is between -1 and 0.5, is {self.nu:g}")
        return self


class RayleighSpec(Strict):
    """Damping by mass (1/s) and stiffness (s): C = mass M + stiffness K."""

    mass: Number = 0.0
    stiffness: Number = 0.0


class DampingSpec(Strict):
    """Damping of a flexible link: a ratio of critical damping for its own modes, or Rayleigh's."""

    ratio: Number | None = None
    rayleigh: RayleighSpec | None = None

    @model_validator(mode="after")
    def _check(self) -> DampingSpec:
        one_of(self, "ratio", "rayleigh")
        numbers = (self.ratio,) if self.rayleigh is None else (self.rayleigh.mass, self.rayleigh.stiffness)
        if any(number is not None and number < 0.0 for number in numbers):
            raise fault("damping must not be negative")
        return self


def _damping(value: Any) -> Any:
    return {"ratio": value} if isinstance(value, int | float | str) else value


Damping = Annotated[DampingSpec, BeforeValidator(_damping, json_schema_input_type=DampingSpec | float | str)]


class BeamSpec(Strict):
    """How a flexible link deforms; without it as the defaults say.

    `from` and `to` are the ends of the straight beam in the body's frame: by default the joint that carries
    the body, and the centre of its other joints. Joints beside an end sit on it by a rigid piece.
    """

    start: Lengths3 | None = Field(default=None, alias="from")
    end: Lengths3 | None = Field(default=None, alias="to")
    y: Direction | None = None
    shapes: Literal["modes", "hermite"] = "modes"
    number: int = Field(default=2, ge=0, le=64)
    frame: Literal["pinned", "clamped"] = "pinned"
    shear: bool = False
    geometric: bool = True
    damping: Damping | None = None

    @model_validator(mode="after")
    def _check(self) -> BeamSpec:
        if self.shapes == "hermite" and self.number < 1:
            raise_at("number", "at least one element is needed", "write 'number: 1'")
        return self

"""Bodies, as they may be written: inertia, shapes to draw, and what makes them flexible."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from nacelle.model.description.fields import (
    Area,
    Density,
    Direction,
    InertiaMoment,
    Length,
    Lengths2,
    Lengths3,
    Mass,
    Moments3,
    Number,
    PositiveLength,
    Pressure,
    SecondMoment,
    Strict,
    fault,
    raise_all,
    raise_at,
    require_one_of,
)
from nacelle.model.description.frame import Frame, FrameSpec
from nacelle.model.units import NUMBER, TrackedNumber, TrackedText, split_quantities
from nacelle.spatial.inertia import inertia_faults, parameters_from_com, parameters_from_frame
from nacelle.spatial.recorded import is_recorded
from nacelle.spatial.scalar import Array, pack


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
        require_one_of(self, "square", "circle", "rectangle", "tube", "area")
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
        require_one_of(self, "ratio", "rayleigh")
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
    the body, and the centre of its other joints. Joints off an end are rigidly connected to it.
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


# ---- inertia, shapes to draw, bodies


class InertiaSpec(Strict):
    """Inertia in the axes of the body frame, about the centre of mass or the frame's origin.

    Written as mapping, as three numbers (xx yy zz) or as six (xx xy yy xz yz zz).
    """

    xx: InertiaMoment = 0.0
    xy: InertiaMoment = 0.0
    yy: InertiaMoment = 0.0
    xz: InertiaMoment = 0.0
    yz: InertiaMoment = 0.0
    zz: InertiaMoment = 0.0
    about: Literal["com", "frame"] = "com"

    def matrix(self) -> Array:
        """Give the matrix (3, 3), kg m^2."""
        return pack([[self.xx, self.xy, self.xz], [self.xy, self.yy, self.yz], [self.xz, self.yz, self.zz]])


def _inertia(value: Any) -> Any:
    if isinstance(value, str):
        short = value if len(value) < 300 else ""
        match = re.fullmatch(rf"\s*({NUMBER}(?:[\s,]+{NUMBER})*)\s*(.*)", short)
        if match is None:
            raise fault(f"{value[:60]!r} is not an inertia", "write '0.01 0.02 0.02 kg*m^2'")
        value = split_quantities(value, re.split(r"[\s,]+", match[1]), match[2])
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return _share_equal_moments(_named_moments(value))


def _named_moments(value: Any) -> Any:
    """Name the moments of an inertia that is written as a matrix, or as three or six numbers."""
    if isinstance(value, list | tuple):
        if len(value) == 3 and all(isinstance(row, list | tuple) and len(row) == 3 for row in value):
            names = [["xx", "xy", "xz"], ["xy", "yy", "yz"], ["xz", "yz", "zz"]]
            if any(value[i][j] != value[j][i] for i in range(3) for j in range(i)):
                raise fault("the inertia matrix is not symmetric")
            return {names[i][j]: value[i][j] for i in range(3) for j in range(i, 3)}
        orders = {3: ("xx", "yy", "zz"), 6: ("xx", "xy", "yy", "xz", "yz", "zz")}
        if len(value) not in orders:
            raise fault(f"an inertia has 3 numbers (xx yy zz) or 6 (xx xy yy xz yz zz), got {len(value)}")
        return dict(zip(orders[len(value)], value, strict=True))
    return value


def _share_equal_moments(value: Any) -> Any:
    """Principal moments that are written alike are one number: a body of revolution stays one."""
    if not isinstance(value, dict):
        return value
    first_written: dict[Any, Any] = {}
    return {
        name: first_written.setdefault(moment, moment)
        if name in ("xx", "yy", "zz") and isinstance(moment, TrackedText | TrackedNumber)
        else moment
        for name, moment in value.items()
    }


Inertia = Annotated[
    InertiaSpec, BeforeValidator(_inertia, json_schema_input_type=InertiaSpec | str | list[Any])
]


class CylinderSpec(Strict):
    """A cylinder between two points of the body."""

    start: Lengths3 = Field(alias="from")
    end: Lengths3 = Field(alias="to")
    radius: Length


class BoxSpec(Strict):
    """A box with its centre at a frame of the body."""

    size: Lengths3
    at: Frame = FrameSpec()


class SphereSpec(Strict):
    """A sphere around a point of the body."""

    radius: Length
    at: Lengths3 = (0.0, 0.0, 0.0)


class MeshSpec(Strict):
    """A mesh from a file next to the description, in metres times `scale`.

    With `mirror` its own x is turned around first, as on a leg that mirrors another.
    """

    file: str
    scale: Number = 1.0
    mirror: bool = False
    at: Frame = FrameSpec()


class DisplaySpec(Strict):
    """One shape to draw; it has no mass and no influence on the dynamics."""

    cylinder: CylinderSpec | None = None
    box: BoxSpec | None = None
    sphere: SphereSpec | None = None
    mesh: MeshSpec | None = None
    color: str | None = None

    @model_validator(mode="after")
    def _check(self) -> DisplaySpec:
        require_one_of(self, "cylinder", "box", "sphere", "mesh")
        return self


class InertialSpec(Strict):
    """Mass, centre of mass and inertia; a body without a mass has none of them."""

    mass: Mass = 0.0
    com: Lengths3 | None = None
    first_moment: Moments3 | None = None
    inertia: Inertia = InertiaSpec()

    @model_validator(mode="after")
    def _check_inertia(self) -> Self:
        if self.com is not None and self.first_moment is not None:
            raise_at("first_moment", "com and first_moment say the same", "give one of them")
        if self.first_moment is not None and np.linalg.norm(self.first_moment) > 1e6 * self.mass > 0.0:
            raise_at("first_moment", "the centre of mass is more than 1000 km away", "check the units")
        ten = self.ten()
        if not is_recorded(ten):  # a sample of numbers need not be a body that there can be
            raise_all([(("inertia",), message, "check units and axes") for message in inertia_faults(ten)])
        return self

    def ten(self) -> Array:
        """Ten inertial parameters [m, m c (3), I (6)] about the body frame: kg, kg m, kg m^2."""
        com = pack(self.com or (0.0, 0.0, 0.0))
        first = self.mass * com if self.first_moment is None else pack(self.first_moment)
        if self.inertia.about == "frame":
            return parameters_from_frame(self.mass, first, self.inertia.matrix())
        if self.first_moment is not None and self.mass > 0.0:
            com = first / self.mass
        return parameters_from_com(self.mass, com, self.inertia.matrix())


class TipsSpec(Strict):
    """Rigid masses at the two ends of a flexible link, in the frame of its body."""

    start: InertialSpec | None = Field(default=None, alias="from")
    end: InertialSpec | None = Field(default=None, alias="to")


class FlexibleSpec(BeamSpec):
    """How a flexible link deforms, with the rigid masses at its ends."""

    tips: TipsSpec | None = None


class BodySpec(InertialSpec):
    """A body; without a mass it is a massless intermediate body, with section and material flexible.

    `spin` says what becomes of an idle spin between two spherical joints that its inertia feels.
    """

    display: list[DisplaySpec] = []
    section: SectionSpec | None = None
    material: MaterialSpec | None = None
    beam: FlexibleSpec | None = None
    spin: Literal["neglect", "universal"] | None = None

    @model_validator(mode="after")
    def _check_flexible(self) -> Self:
        if self.section is not None and self.material is None:
            raise_at(
                "section", "a section without a material", "add 'material: {E: 70 GPa, density: 2700 kg/m^3}'"
            )
        if self.beam is not None and self.section is None:
            raise_at("beam", "a beam without a section", "add 'section: {circle: 10 mm}' and a material")
        return self

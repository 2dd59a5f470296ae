"""Legs, as they may be written: chains of bodies and joints, or of kinematic elements."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import ValidationInfo, model_validator

from nacelle.model.description.body import BodySpec
from nacelle.model.description.drive import DriveSpec, check_drive
from nacelle.model.description.fields import (
    Direction,
    Length,
    Lengths3,
    Name,
    RawList,
    Strict,
    fault,
    raise_at,
)
from nacelle.model.description.frame import PlacementSpec
from nacelle.model.description.joint import (
    CouplingSpec,
    DamperSpec,
    EndSpec,
    InputSpec,
    JointSpec,
    LineSpringSpec,
    TorsionSpringSpec,
)
from nacelle.model.joint import JointKind


class ElementSpec(Strict):
    """A kinematic element ([OAM] (5)-(8)): from point A along the direction x.

    A bar has a length; a spindle also turns about its axis; a telescopic element slides along it; a
    screw element does both. The frame of the body has x along the element and, for a revolute input,
    z along the joint's axis.
    """

    type: Literal["bar", "spindle", "telescopic", "screw"]
    name: Name
    at: Lengths3 | None = None
    direction: Direction = (1.0, 0.0, 0.0)
    length: Length | None = None
    input: InputSpec
    slide: DriveSpec | None = None
    spin: DriveSpec | None = None
    body: BodySpec = BodySpec()
    moving: BodySpec | None = None

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> ElementSpec:
        slides = self.type in ("telescopic", "screw")
        if slides and self.length is not None:
            raise fault(f"a {self.type} element has no length", "its slide joint gives it")
        if not slides and self.length is None:
            raise fault(f"a {self.type} element needs a length", "length: 300 mm")
        if self.length is not None and not self.length > 0.0:
            raise_at("length", "the length must be positive", "turn the direction instead")
        if not slides and (self.slide is not None or self.moving is not None):
            raise fault(f"a {self.type} element does not slide", "use telescopic or screw")
        if self.spin is not None and self.type not in ("spindle", "screw"):
            raise fault(f"a {self.type} element does not spin", "use spindle or screw")
        if self.slide is not None:
            check_drive(self.slide, JointKind.PRISMATIC, info, "slide")
        if self.spin is not None:
            check_drive(self.spin, JointKind.REVOLUTE, info, "spin")
        return self


class ChainSpec(Strict):
    """Bodies, the joints of the tree, closures, and couplings between joints."""

    bodies: dict[Name, BodySpec] = {}
    joints: dict[Name, JointSpec] = {}
    closures: dict[Name, JointSpec] = {}
    couplings: dict[Name, CouplingSpec] = {}


class LegSpec(ChainSpec):
    """A leg: a chain of bodies and joints, or of kinematic elements."""

    also: ClassVar[tuple[str, ...]] = (
        *("template", "with", "override", "parameters", "table"),
        *("repeat", "count", "angles", "placements", "names", "prefix"),
    )

    name: Name
    title: str | None = None
    elements: list[ElementSpec] = []
    end: EndSpec | None = None
    placement: PlacementSpec = PlacementSpec()
    branch: Literal[1, -1] | None = None
    guess: dict[Name, RawList] = {}
    springs: dict[Name, LineSpringSpec] = {}
    dampers: dict[Name, DamperSpec] = {}
    torsion_springs: dict[Name, TorsionSpringSpec] = {}

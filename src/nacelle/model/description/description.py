"""The description of a robot as pydantic models: the whole document, its legs and the moving platform.

The models hold what the file says, in SI units. Quantities whose unit depends on the kind of joint
(friction, limits, ...) are kept as written and read again when the robot is built.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator

from nacelle.errors import did_you_mean
from nacelle.model.description.body import BodySpec, DisplaySpec, InertiaSpec
from nacelle.model.description.drive import DriveSpec, check_drive
from nacelle.model.description.fields import (
    Accelerations3,
    Direction,
    Length,
    Lengths3,
    Name,
    RawList,
    Reference,
    Strict,
    fault,
    raise_at,
)
from nacelle.model.description.frame import Frame, FrameSpec, PlacementSpec, RotationSpec
from nacelle.model.description.joint import (
    CouplingSpec,
    DamperSpec,
    EndSpec,
    InputSpec,
    JointSpec,
    LineSpringSpec,
    TorsionSpringSpec,
)
from nacelle.model.description.version import Format
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

    suggested_keys: ClassVar[tuple[str, ...]] = (
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


class PlatformSpec(BodySpec, ChainSpec):
    """The moving platform: one rigid body, a point, or a small mechanism."""

    type: Literal["rigid", "point", "articulated"] = "rigid"
    name: Name = "platform"

    @model_validator(mode="after")
    def _check_type(self) -> PlatformSpec:
        if self.type == "articulated" and self.name not in self.bodies:
            raise fault(
                f"the platform coordinates place the body {self.name!r}, which is not among the bodies",
                "set platform.name to one of the bodies",
            )
        if self.type == "articulated" and (self.mass or self.com or self.display):
            raise fault("an articulated platform has its masses in its bodies", "move them to bodies")
        if self.type != "articulated" and self.bodies:
            raise fault(f"a {self.type} platform has no bodies of its own", "write type: articulated")
        if self.type == "rigid" and (self.joints or self.closures):
            raise fault("a rigid platform has no joints of its own", "write type: articulated")
        if self.type == "point":
            if self.com or self.first_moment or self.inertia != InertiaSpec():
                raise fault("a point has no centre of mass and no inertia", "only a mass, or none")
            if self.joints:
                raise fault(
                    "a point carries no bodies",
                    "write the joint between the last bodies of the legs under closures",
                )
        return self


class BaseSpec(Strict):
    """The base: fixed, with shapes to draw."""

    display: list[DisplaySpec] = []


class ReferenceSpec(Strict):
    """Reference pose of the platform, in which the legs must reach it; guesses of joints by name."""

    position: Lengths3 = (0.0, 0.0, 0.0)
    rotation: RotationSpec | None = None
    guess: dict[Reference, RawList] = {}


class ToolSpec(Strict):
    """A named frame on a body of the platform."""

    body: Reference | None = None
    at: Frame = FrameSpec()


class PayloadSpec(BodySpec):
    """What the robot carries: a body fixed to another at a frame, to the platform if none is named."""

    body: Reference | None = None
    at: Frame = FrameSpec()


class ModeSpec(Strict):
    """A named mode of operation: its motion, its reference pose, its branches."""

    motion: str | list[str] | None = None
    reference: ReferenceSpec | None = None
    branch: dict[Name, Literal[1, -1]] = {}
    guess: dict[Reference, RawList] = {}
    notes: str | None = None


def _check_shared_legs(value: Any) -> Any:
    """Legs that share their parameters as they are written, checked for shape."""
    if isinstance(value, str) and value not in _SHARED:
        raise fault(
            f"shared is legs, mirrored or lists of names of legs, got {value!r}", did_you_mean(value, _SHARED)
        )
    if isinstance(value, list) and any(not isinstance(legs, list) for legs in value):
        raise fault(
            "lists of names of legs share parameters, one list for each such leg",
            "[[leg1, leg2], [leg3, leg4]]",
        )
    return value


_SHARED = ("legs", "mirrored")
SharedLegs = Annotated[
    str | list[list[str]] | None,
    BeforeValidator(_check_shared_legs),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [*_SHARED, None]},
                {"type": "array", "items": {"type": "array", "items": {"type": "string"}, "minItems": 2}},
            ]
        }
    ),
]


class Description(Strict):
    """A robot, as described. All legs are written in full; templates are expanded before."""

    suggested_keys: ClassVar[tuple[str, ...]] = ("constants", "templates")

    format: Format
    name: Name
    title: str = ""
    notes: str = ""
    sources: list[str] = []
    units: Annotated[
        Literal["SI"] | dict[str, str] | None,
        WithJsonSchema({"anyOf": [{"const": "SI"}, {"type": "object"}]}),
    ] = None
    gravity: Accelerations3 = (0.0, 0.0, -9.81)
    motion: Annotated[
        str | list[str],
        WithJsonSchema({"type": ["string", "array"], "examples": ["se3", "xyz", "xyz+rz", "xy"]}),
    ]
    base: BaseSpec = BaseSpec()
    platform: PlatformSpec | None = None
    legs: list[LegSpec] = []
    closures: dict[Name, JointSpec] = {}
    couplings: dict[Name, CouplingSpec] = {}
    reference: ReferenceSpec = ReferenceSpec()
    actuators: list[Reference] | None = None
    shared: SharedLegs = None
    tools: dict[Name, ToolSpec] = {}
    payload: dict[Name, PayloadSpec] = {}
    springs: dict[Name, LineSpringSpec] = {}
    dampers: dict[Name, DamperSpec] = {}
    torsion_springs: dict[Name, TorsionSpringSpec] = {}
    modes: Annotated[dict[Name, ModeSpec], Field(max_length=8)] = {}

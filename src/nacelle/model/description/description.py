"""The description of a robot: what may stand in the YAML, as pydantic models.

The models hold what the file says, in SI units. Quantities whose unit depends on the kind of joint
(friction, limits, ...) are kept as written and read by the builder, which knows the joint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator

from nacelle.model.description.drive import drive_faults
from nacelle.model.description.fields import (
    Accelerations3,
    Angle,
    Angles3,
    Area,
    Axis,
    Density,
    InertiaMoment,
    Length,
    Lengths3,
    Mass,
    Moments3,
    Name,
    Number,
    Numbers4,
    Pressure,
    Raw,
    RawList,
    Reference,
    SecondMoment,
    Strict,
    fault,
    raise_all,
    raise_at,
    read_vector,
    units_of,
)
from nacelle.model.description.written import WrittenNumber, WrittenText, pieces
from nacelle.model.joint import JointKind
from nacelle.model.units import NUMBER, QUANTITIES
from nacelle.spatial.inertia import inertia_faults, parameters_from_com, parameters_from_frame
from nacelle.spatial.pose import Pose
from nacelle.spatial.recorded import is_recorded
from nacelle.spatial.rotation import (
    nearest_rotation,
    rotation_axis_angle,
    rotation_quat,
    rotation_rpy,
    rotation_x,
    rotation_z,
)
from nacelle.spatial.scalar import Array, norm, pack, product

FORMAT = "nacelle/1"


def _one_of(model: Strict, *names: str) -> None:
    """Demand exactly one of several keys."""
    given = [name for name in names if getattr(model, name) is not None]
    if len(given) != 1:
        told = "none is given" if not given else " and ".join(given) + " are given"
        raise fault(f"exactly one of {', '.join(names)} is needed, {told}")


def _read_matrix(value: Any) -> tuple[tuple[float, ...], ...]:
    if not isinstance(value, list | tuple | np.ndarray) or len(value) != 3:
        raise fault("a rotation matrix has 3 rows of 3 numbers")
    return tuple(read_vector(row, QUANTITIES["number"], None, 3) for row in value)


Matrix3 = Annotated[
    tuple[tuple[float, ...], ...],
    BeforeValidator(_read_matrix),
    WithJsonSchema(
        {
            "type": "array",
            "items": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3},
            "minItems": 3,
            "maxItems": 3,
        }
    ),
]


class RotationSpec(Strict):
    """A rotation, written as matrix, roll-pitch-yaw, axis and angle, or quaternion."""

    matrix: Matrix3 | None = None
    rpy: Angles3 | None = None
    axis: Axis | None = None
    angle: Angle | None = None
    quat_xyzw: Numbers4 | None = None

    @model_validator(mode="after")
    def _check(self) -> RotationSpec:
        if (self.axis is None) != (self.angle is None):
            raise fault("axis and angle belong together", "write {axis: z, angle: 30 deg}")
        _one_of(self, "matrix", "rpy", "angle", "quat_xyzw")
        if self.quat_xyzw is not None and abs(np.linalg.norm(self.quat_xyzw) - 1.0) > 1e-6:
            length = np.linalg.norm(self.quat_xyzw)
            raise_at("quat_xyzw", f"the quaternion has length {length:.6g}, not 1", "scalar last: x y z w")
        if self.matrix is not None:
            R = np.array(self.matrix)
            error = float(np.max(np.abs(R.T @ R - np.eye(3))))
            if not error < 1e-3:
                raise_at("matrix", f"not a rotation matrix: R^T R differs from 1 by {error:.2g}")
            if np.linalg.det(R) < 0:
                raise_at("matrix", "not a rotation matrix: its determinant is -1, a reflection")
        return self

    def rotation(self) -> Array:
        """Give the matrix R (3, 3); a matrix printed with few digits is made orthonormal."""
        if self.matrix is not None:
            R = np.array(self.matrix)
            return R if np.max(np.abs(product(R.T, R) - np.eye(3))) < 1e-13 else nearest_rotation(R)
        if self.rpy is not None:
            return rotation_rpy(pack(self.rpy))
        if self.quat_xyzw is not None:
            quat = np.array(self.quat_xyzw)
            return rotation_quat(quat / norm(quat))
        assert self.axis is not None
        assert self.angle is not None
        return rotation_axis_angle(pack(self.axis), self.angle)


class KhalilKleinfingerSpec(Strict):
    """The six parameters of Khalil and Kleinfinger; the joint's variable is added to theta or r."""

    gamma: Angle = 0.0
    b: Length = 0.0
    alpha: Angle = 0.0
    d: Length = 0.0
    theta: Angle = 0.0
    r: Length = 0.0

    def pose(self) -> Pose:
        """Rz(gamma) Tz(b) Rx(alpha) Tx(d) Rz(theta) Tz(r)."""
        first = Pose(rotation_z(self.gamma), pack([0.0, 0.0, self.b]))
        second = Pose(rotation_x(self.alpha), np.zeros(3)) @ Pose(np.eye(3), pack([self.d, 0.0, 0.0]))
        third = Pose(rotation_z(self.theta), pack([0.0, 0.0, self.r]))
        return first @ second @ third


class FrameSpec(Strict):
    """A frame placed in a body: translation, then rotation; or Khalil-Kleinfinger parameters.

    A bare vector is a translation.
    """

    translation: Lengths3 | None = None
    rotation: RotationSpec | None = None
    khalil_kleinfinger: KhalilKleinfingerSpec | None = None

    @model_validator(mode="after")
    def _check(self) -> FrameSpec:
        if self.khalil_kleinfinger is not None and (self.translation or self.rotation):
            raise fault("khalil_kleinfinger stands alone", "remove translation and rotation")
        return self

    def pose(self) -> Pose:
        """Give the pose of the frame in its body."""
        if self.khalil_kleinfinger is not None:
            return self.khalil_kleinfinger.pose()
        R = np.eye(3) if self.rotation is None else self.rotation.rotation()
        p = np.zeros(3) if self.translation is None else pack(self.translation)
        return Pose(R, p)


def _frame(value: Any) -> Any:
    return {"translation": value} if isinstance(value, str | list | tuple | np.ndarray) else value


Frame = Annotated[FrameSpec, BeforeValidator(_frame, json_schema_input_type=FrameSpec | Lengths3)]


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
        return pack(
            [
                [self.xx, self.xy, self.xz],
                [self.xy, self.yy, self.yz],
                [self.xz, self.yz, self.zz],
            ]
        )


def _inertia(value: Any) -> Any:
    if isinstance(value, str):
        short = value if len(value) < 300 else ""
        match = re.fullmatch(rf"\s*({NUMBER}(?:[\s,]+{NUMBER})*)\s*(.*)", short)
        if match is None:
            raise fault(f"{value[:60]!r} is not an inertia", "write '0.01 0.02 0.02 kg*m^2'")
        value = pieces(value, re.split(r"[\s,]+", match[1]), match[2])
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return _alike(_moments(value))


def _moments(value: Any) -> Any:
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


def _alike(value: Any) -> Any:
    """Principal moments that are written alike are one number: a body of revolution stays one."""
    if not isinstance(value, dict):
        return value
    found: dict[Any, Any] = {}
    return {
        name: found.setdefault(moment, moment)
        if name in ("xx", "yy", "zz") and isinstance(moment, WrittenText | WrittenNumber)
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
    """A mesh from a file beside the description."""

    file: str
    scale: Number = 1.0
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
        _one_of(self, "cylinder", "box", "sphere", "mesh")
        return self


class SectionSpec(Strict):
    """Cross-section of a flexible link, about its axis x; by shape or by its moments."""

    square: Length | None = None
    circle: Length | None = None
    rectangle: (
        Annotated[
            tuple[float, ...],
            BeforeValidator(lambda v, i: read_vector(v, QUANTITIES["length"], units_of(i), 2)),
            WithJsonSchema({"type": ["array", "string"]}),
        ]
        | None
    ) = None
    tube: (
        Annotated[
            tuple[float, ...],
            BeforeValidator(lambda v, i: read_vector(v, QUANTITIES["length"], units_of(i), 2)),
            WithJsonSchema({"type": ["array", "string"], "description": "outer and inner diameter"}),
        ]
        | None
    ) = None
    area: Area | None = None
    Iy: SecondMoment | None = None
    Iz: SecondMoment | None = None
    J: SecondMoment | None = None

    @model_validator(mode="after")
    def _check(self) -> SectionSpec:
        _one_of(self, "square", "circle", "rectangle", "tube", "area")
        moments = (self.Iy, self.Iz, self.J)
        if (self.area is not None) != all(m is not None for m in moments) or (
            self.area is None and any(m is not None for m in moments)
        ):
            raise fault("area, Iy, Iz and J belong together")
        return self


class MaterialSpec(Strict):
    """Material of a flexible link."""

    name: str | None = None
    E: Pressure
    density: Density
    nu: Number = 0.3


class BodySpec(Strict):
    """A rigid body; without a mass it is a massless intermediate body."""

    mass: Mass = 0.0
    com: Lengths3 | None = None
    first_moment: Moments3 | None = None
    inertia: Inertia = InertiaSpec()
    display: list[DisplaySpec] = []
    section: SectionSpec | None = None
    material: MaterialSpec | None = None

    @model_validator(mode="after")
    def _check(self) -> BodySpec:
        if self.com is not None and self.first_moment is not None:
            raise_at("first_moment", "com and first_moment say the same", "give one of them")
        if self.first_moment is not None and np.linalg.norm(self.first_moment) > 1e6 * self.mass > 0.0:
            raise_at("first_moment", "the centre of mass is more than 1000 km away", "check the units")
        ten = self.ten()
        if not is_recorded(ten):  # a sample of numbers need not be a body that there can be
            raise_all([(("inertia",), words, "check units and axes") for words in inertia_faults(ten)])
        return self

    def ten(self) -> Array:
        """Ten inertial parameters about the body frame."""
        com = pack(self.com or (0.0, 0.0, 0.0))
        first = self.mass * com if self.first_moment is None else pack(self.first_moment)
        if self.inertia.about == "frame":
            return parameters_from_frame(self.mass, first, self.inertia.matrix())
        if self.first_moment is not None and self.mass > 0.0:
            com = first / self.mass
        return parameters_from_com(self.mass, com, self.inertia.matrix())


class FrictionSpec(Strict):
    """Friction along one axis: a sum of basis functions of the rate ([AGH2005] (24)).

    viscous c v; coulomb c sign(v); coulomb_smooth c tanh(v / scale); stribeck c exp(-(v / scale)^2)
    sign(v); quadratic c v |v|; cubic c v^3; constant c.
    """

    viscous: Raw = None
    coulomb: Raw = None
    coulomb_smooth: Raw = None
    stribeck: Raw = None
    quadratic: Raw = None
    cubic: Raw = None
    constant: Raw = None
    scale: Raw = None


class SpringSpec(Strict):
    """A linear spring along one axis."""

    stiffness: Raw
    rest: Raw = 0.0


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) or value is None else [value]


Frictions = Annotated[
    list[FrictionSpec] | None,
    BeforeValidator(_listed, json_schema_input_type=FrictionSpec | list[FrictionSpec] | None),
]
Springs = Annotated[
    list[SpringSpec | None] | None,
    BeforeValidator(_listed, json_schema_input_type=SpringSpec | list[SpringSpec | None] | None),
]


class ActuatorLimitsSpec(Strict):
    """Limits of an actuator, on the joint's side of the gear."""

    position: RawList = None
    speed: Raw = None
    force: Raw = None


class EncoderSpec(Strict):
    """How the encoder reads: joint = sign * reading + zero."""

    zero: Raw = 0.0
    sign: Literal[1, -1] = 1


class ActuatorSpec(Strict):
    """The drive of an active joint."""

    name: Name | None = None
    gear_ratio: Raw = 1.0
    rotor_inertia: Raw = None
    torque_constant: Raw = None
    encoder: EncoderSpec = EncoderSpec()
    limits: ActuatorLimitsSpec = ActuatorLimitsSpec()


JointType = Literal[
    "revolute",
    "prismatic",
    "cylindrical",
    "universal",
    "spherical",
    "planar-spherical",
    "fixed",
]


class DriveSpec(Strict):
    """What any joint may have beside its geometry."""

    active: bool = False
    actuator: ActuatorSpec | None = None
    rotor_inertia: Raw = None
    friction: Frictions = None
    spring: Springs = None
    limits: RawList = None
    guess: RawList = None

    def check_drive(self, kind: JointKind, info: ValidationInfo, *place: str) -> None:
        """Read all quantities for a kind of joint and raise what is wrong, all at once."""
        faults = drive_faults(self, kind, units_of(info))
        raise_all([((*place, *path), message, hint) for path, message, hint in faults])


def check_axes(kind: str, axis: tuple[float, ...] | None, axes: Sequence[tuple[float, ...]] | None) -> None:
    """Demand the axes that a kind of joint has."""
    if kind == "universal":
        if axis is not None:
            raise_at("axis", "a universal joint has two axes", "write axes: [x, y]")
        if axes is not None and abs(np.dot(axes[0], axes[1])) > 1e-9:
            raise_at("axes", "the axes of a universal joint are square to each other")
    elif axes is not None:
        raise_at("axes", f"a {kind} joint has one axis", "write axis: z")
    elif axis is not None and kind in ("spherical", "fixed"):
        raise_at("axis", f"a {kind} joint has no axis", "remove axis")


class JointSpec(DriveSpec):
    """A joint between two bodies.

    `at` places the joint's frame in the parent, `child_at` in the child; `axis` is a direction in
    that frame. A universal joint has two `axes`; a planar-spherical joint slides on the plane through
    the origin of its frame, square to `axis`, of the body that `plane` names.
    """

    type: JointType
    parent: Reference
    child: Reference
    at: Frame = FrameSpec()
    child_at: Frame = FrameSpec()
    axis: Axis | None = None
    axes: Annotated[list[Axis], Field(min_length=2, max_length=2)] | None = None
    plane: Literal["parent", "child"] = "parent"

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> JointSpec:
        check_axes(self.type, self.axis, self.axes)
        self.check_drive(JointKind(self.type), info)
        return self

    def kind(self) -> JointKind:
        """Kind of the joint; the plane of a C5 joint may be on its child."""
        if self.type == "planar-spherical" and self.plane == "child":
            return JointKind.SPHERICAL_PLANAR
        return JointKind(self.type)


class InputSpec(DriveSpec):
    """The joint at the input of a kinematic element.

    `axis` is the axis of a revolute joint, or the first axis of a universal one, in the frame of the
    element before (of the base for the first).
    """

    type: Literal["revolute", "universal", "spherical", "fixed"]
    axis: Axis = (0.0, 0.0, 1.0)

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> InputSpec:
        self.check_drive(JointKind(self.type), info)
        return self


class ElementSpec(Strict):
    """A kinematic element ([OAM] (5)-(8)): from point A along the direction x.

    A bar has a length; a spindle also turns about its axis; a telescopic element slides along it; a
    screw element does both. The frame of the body has x along the element and, for a revolute input,
    z along the joint's axis.
    """

    type: Literal["bar", "spindle", "telescopic", "screw"]
    name: Name
    at: Lengths3 | None = None
    direction: Axis = (1.0, 0.0, 0.0)
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
            raise_all([(("length",), "the length must be positive", "turn the direction instead")])
        if not slides and (self.slide is not None or self.moving is not None):
            raise fault(f"a {self.type} element does not slide", "use telescopic or screw")
        if self.spin is not None and self.type not in ("spindle", "screw"):
            raise fault(f"a {self.type} element does not spin", "use spindle or screw")
        if self.slide is not None:
            self.slide.check_drive(JointKind.PRISMATIC, info, "slide")
        if self.spin is not None:
            self.spin.check_drive(JointKind.REVOLUTE, info, "spin")
        return self


class EndSpec(DriveSpec):
    """The terminal joint of a leg of elements: from the last end point to the nacelle."""

    type: JointType
    child: Reference | None = None
    axis: Axis | None = None
    axes: Annotated[list[Axis], Field(min_length=2, max_length=2)] | None = None
    rotation: RotationSpec | None = None
    child_at: Frame = FrameSpec()

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> EndSpec:
        check_axes(self.type, self.axis, self.axes)
        self.check_drive(JointKind(self.type), info)
        return self

    def kind(self) -> JointKind:
        """Kind of the joint; a C5 joint ends on a plane of the nacelle."""
        return JointKind.SPHERICAL_PLANAR if self.type == "planar-spherical" else JointKind(self.type)


class SidePlacementSpec(Strict):
    """How the frames of one side are placed: a rotation about the origin, then a translation."""

    angle: Angle | None = None
    axis: Axis | None = None
    rotation: RotationSpec | None = None
    translation: Lengths3 | None = None

    @model_validator(mode="after")
    def _check(self) -> SidePlacementSpec:
        if self.angle is not None and self.rotation is not None:
            raise fault("angle and rotation say the same", "give one of them")
        return self

    def pose(self) -> Pose:
        """Give the placement."""
        p = np.zeros(3) if self.translation is None else pack(self.translation)
        if self.rotation is not None:
            return Pose(self.rotation.rotation(), p)
        if self.angle is None:
            return Pose(np.eye(3), p)
        if self.axis is None:
            return Pose(rotation_z(self.angle), p)
        return Pose(rotation_axis_angle(pack(self.axis), self.angle), p)


class PlacementSpec(SidePlacementSpec):
    """Where a leg stands: its frames on base and nacelle turned alike, unless `nacelle` says else.

    `mirror` reflects the whole leg first, in the plane through the origin square to that axis.
    """

    mirror: Literal["x", "y", "z"] | None = None
    nacelle: SidePlacementSpec | None = None


class ChainSpec(Strict):
    """Bodies, the joints of the tree, and closures."""

    bodies: dict[Name, BodySpec] = {}
    joints: dict[Name, JointSpec] = {}
    closures: dict[Name, JointSpec] = {}


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


class NacelleSpec(BodySpec, ChainSpec):
    """The moving platform: one rigid body, a point, or a small mechanism."""

    type: Literal["rigid", "point", "articulated"] = "rigid"
    name: Name = "nacelle"

    @model_validator(mode="after")
    def _shape(self) -> NacelleSpec:
        if self.type == "articulated" and self.name not in self.bodies:
            raise fault(
                f"the platform coordinates place the body {self.name!r}, which is not among the bodies",
                "set nacelle.name to one of the bodies",
            )
        if self.type == "articulated" and (self.mass or self.com or self.display):
            raise fault("an articulated nacelle has its masses in its bodies", "move them to bodies")
        if self.type != "articulated" and self.bodies:
            raise fault(f"a {self.type} nacelle has no bodies of its own", "write type: articulated")
        if self.type == "rigid" and (self.joints or self.closures):
            raise fault("a rigid nacelle has no joints of its own", "write type: articulated")
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
    """Reference pose of the platform, in which the legs must reach it."""

    position: Lengths3 = (0.0, 0.0, 0.0)
    rotation: RotationSpec | None = None


class ToolSpec(Strict):
    """A named frame on a body of the nacelle."""

    body: Reference | None = None
    at: Frame = FrameSpec()


class PayloadSpec(BodySpec):
    """What the robot carries: a body fixed to one of the nacelle's, at a frame."""

    body: Reference | None = None
    at: Frame = FrameSpec()


class ModeSpec(Strict):
    """A named mode of operation: its motion, its reference pose, its branches."""

    motion: str | list[str] | None = None
    reference: ReferenceSpec | None = None
    branch: dict[Name, Literal[1, -1]] = {}
    guess: dict[Reference, RawList] = {}
    notes: str | None = None


class Description(Strict):
    """A robot, as described. All legs stand in full; templates are expanded before."""

    also: ClassVar[tuple[str, ...]] = ("constants", "templates")

    format: Literal["nacelle/1"]
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
    nacelle: NacelleSpec
    legs: Annotated[list[LegSpec], Field(min_length=1)]
    closures: dict[Name, JointSpec] = {}
    reference: ReferenceSpec = ReferenceSpec()
    actuators: list[Reference] | None = None
    tools: dict[Name, ToolSpec] = {}
    payload: dict[Name, PayloadSpec] = {}
    modes: Annotated[dict[Name, ModeSpec], Field(max_length=8)] = {}

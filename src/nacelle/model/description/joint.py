"""Joints as they may be written, and couplings, springs and dampers between bodies.

Couplings between joints are gears, belts, mimic joints, differentials.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, model_validator

from nacelle.model.description.drive import DriveSpec, check_drive
from nacelle.model.description.fields import (
    Angle,
    AngularDamping,
    Damping,
    Direction,
    Length,
    Lengths3,
    Raw,
    Reference,
    Stiffness,
    Strict,
    TorsionStiffness,
    fault,
    raise_at,
)
from nacelle.model.description.frame import Frame, FrameSpec, RotationSpec
from nacelle.model.joint import JointKind


class CouplingSpec(Strict):
    """A joint that follows others: q_joint = sum of ratio q_follows + offset.

    `follows` names one joint, with its `ratio`, or is a mapping of joints to their ratios. Angles are in rad:
    a prismatic joint that follows a revolute one has a ratio in m/rad, or mm/rev.
    """

    joint: Reference
    follows: Reference | Annotated[dict[Reference, Raw], Field(min_length=1)]
    ratio: Raw = None
    offset: Raw = 0.0

    @model_validator(mode="after")
    def _check(self) -> CouplingSpec:
        if isinstance(self.follows, dict) and self.ratio is not None:
            raise fault(
                "ratio and a mapping of ratios are given", "write follows: {left: 0.5, right: 0.5} alone"
            )
        if self.joint in self.ratios():
            raise fault(f"the joint {self.joint!r} follows itself", "name the other joint under follows")
        return self

    def ratios(self) -> dict[str, Any]:
        """The joints that are followed, and their ratios as written."""
        if isinstance(self.follows, dict):
            return dict(self.follows)
        return {self.follows: 1.0 if self.ratio is None else self.ratio}


class DamperSpec(Strict):
    """A damper of the relative rotation of two bodies, alike about all axes."""

    between: Annotated[list[Reference], Field(min_length=2, max_length=2)]
    damping: AngularDamping


class LineSpringSpec(Strict):
    """A spring between points of two bodies, with a parallel damper; it acts along the line between them.

    `length` is its free length.
    """

    between: Annotated[list[Reference], Field(min_length=2, max_length=2)]
    at: Annotated[list[Lengths3], Field(min_length=2, max_length=2)] = [(0.0, 0.0, 0.0), (0.0, 0.0, 0.0)]
    stiffness: Stiffness
    length: Length
    damping: Damping = 0.0


class TorsionSpringSpec(Strict):
    """A spring about an axis of one body that holds the angle of another about it, by a polynomial.

    `axis` is a direction in the spring's frame, which `rotations` places in both bodies; the angle is zero
    where the two are parallel. `stiffness` is a list, in N m/rad, N m/rad^2, ... of the angle from `rest`.
    """

    between: Annotated[list[Reference], Field(min_length=2, max_length=2)]
    axis: Direction = (0.0, 0.0, 1.0)
    rotations: Annotated[list[RotationSpec | None], Field(min_length=2, max_length=2)] = [None, None]
    stiffness: TorsionStiffness
    rest: Angle = 0.0


# ---- joints: between two bodies, at the input of an element, at the end of a leg


JointType = Literal[
    "revolute", "prismatic", "cylindrical", "universal", "spherical", "planar-spherical", "fixed"
]
AnyJointType = Literal[JointType, "screw", "constant-velocity"]
SERIES = ("screw", "constant-velocity")
"""Types that are built as a series of revolute and prismatic joints with a coupling, see `joint`."""
TWO_AXES = ("universal", "constant-velocity")
"""Types with two axes, perpendicular to each other."""


def check_axes(kind: str, axis: tuple[float, ...] | None, axes: Sequence[tuple[float, ...]] | None) -> None:
    """Demand the axes that a kind of joint has."""
    if kind in TWO_AXES:
        if axis is not None:
            raise_at("axis", f"a {kind} joint has two axes", "write axes: [x, y]")
        if axes is not None and abs(np.dot(axes[0], axes[1])) > 1e-9:
            raise_at("axes", f"the axes of a {kind} joint are perpendicular to each other")
    elif axes is not None:
        raise_at("axes", f"a {kind} joint has one axis", "write axis: z")
    elif axis is not None and kind in ("spherical", "fixed"):
        raise_at("axis", f"a {kind} joint has no axis", "remove axis")


class JointSpec(DriveSpec):
    """A joint between two bodies.

    `at` places the joint's frame in the parent, `child_at` in the child; `axis` is a direction in
    that frame. A universal joint has two `axes`; a planar-spherical joint slides on the plane through
    the origin of its frame, perpendicular to `axis`, of the body that `plane` names. A screw joint turns
    about `axis` and moves along it by `pitch` a revolution; drive, friction and limits are of the rotation.
    A constant-velocity joint turns about its two `axes` x, y by Rx(a) Ry(2b) Rx(a); friction, springs,
    limits and guess are of a and 2b.
    """

    type: AnyJointType
    parent: Reference
    child: Reference
    at: Frame = FrameSpec()
    child_at: Frame = FrameSpec()
    axis: Direction | None = None
    axes: Annotated[list[Direction], Field(min_length=2, max_length=2)] | None = None
    plane: Literal["parent", "child"] = "parent"
    pitch: Length | None = None

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> JointSpec:
        check_axes(self.type, self.axis, self.axes)
        if (self.pitch is None) == (self.type == "screw"):
            if self.pitch is None:
                raise fault("a screw joint needs its pitch, the way of one revolution", "pitch: 5 mm")
            raise_at("pitch", f"a {self.type} joint has no pitch", "type: screw")
        if self.pitch == 0.0:
            raise_at("pitch", "a screw without pitch is a revolute joint", "type: revolute")
        if self.type == "constant-velocity":
            check_drive(self, JointKind.UNIVERSAL, info, word=self.type)
        else:
            check_drive(self, JointKind.REVOLUTE if self.type == "screw" else JointKind(self.type), info)
        return self

    def kind(self) -> JointKind:
        """Kind of the joint, of a series its first; the plane of a C5 joint may be on its child."""
        if self.type in SERIES:
            return JointKind.REVOLUTE
        if self.type == "planar-spherical" and self.plane == "child":
            return JointKind.SPHERICAL_PLANAR
        return JointKind(self.type)


class InputSpec(DriveSpec):
    """The joint at the input of a kinematic element.

    `axis` is the axis of a revolute joint, or the first axis of a universal one, in the frame of the
    element before (of the base for the first).
    """

    type: Literal["revolute", "universal", "spherical", "fixed"]
    axis: Direction = (0.0, 0.0, 1.0)

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> InputSpec:
        check_drive(self, JointKind(self.type), info)
        return self


class EndSpec(DriveSpec):
    """The terminal joint of a leg of elements: from the last end point to the platform."""

    type: JointType
    child: Reference | None = None
    axis: Direction | None = None
    axes: Annotated[list[Direction], Field(min_length=2, max_length=2)] | None = None
    rotation: RotationSpec | None = None
    child_at: Frame = FrameSpec()

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> EndSpec:
        check_axes(self.type, self.axis, self.axes)
        check_drive(self, JointKind(self.type), info)
        return self

    def kind(self) -> JointKind:
        """Kind of the joint; a C5 joint ends on a plane of the platform."""
        return JointKind.SPHERICAL_PLANAR if self.type == "planar-spherical" else JointKind(self.type)

"""Joints, as they may be written: between two bodies, at the input of an element, at the end of a leg."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, model_validator

from nacelle.model.description.drive import DriveSpec
from nacelle.model.description.drive_reader import check_drive
from nacelle.model.description.fields import Direction, Length, Reference, fault, raise_at
from nacelle.model.description.frame import Frame, FrameSpec, RotationSpec
from nacelle.model.joint import JointKind

JointType = Literal[
    "revolute", "prismatic", "cylindrical", "universal", "spherical", "planar-spherical", "fixed"
]
AnyJointType = Literal[
    "revolute", "prismatic", "cylindrical", "universal", "spherical", "planar-spherical", "fixed", "screw"
]


def check_axes(kind: str, axis: tuple[float, ...] | None, axes: Sequence[tuple[float, ...]] | None) -> None:
    """Demand the axes that a kind of joint has."""
    if kind == "universal":
        if axis is not None:
            raise_at("axis", "a universal joint has two axes", "write axes: [x, y]")
        if axes is not None and abs(np.dot(axes[0], axes[1])) > 1e-9:
            raise_at("axes", "the axes of a universal joint are perpendicular to each other")
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
        check_drive(self, JointKind.REVOLUTE if self.type == "screw" else JointKind(self.type), info)
        return self

    def kind(self) -> JointKind:
        """Kind of the joint; the plane of a C5 joint may be on its child, a screw turns."""
        if self.type == "screw":
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
    """The terminal joint of a leg of elements: from the last end point to the nacelle."""

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
        """Kind of the joint; a C5 joint ends on a plane of the nacelle."""
        return JointKind.SPHERICAL_PLANAR if self.type == "planar-spherical" else JointKind(self.type)

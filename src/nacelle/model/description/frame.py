"""Frames, rotations and placements of legs, as they may be written."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, WithJsonSchema, model_validator

from nacelle.model.description.fields import (
    Angle,
    Angles3,
    Direction,
    Length,
    Lengths3,
    Numbers4,
    Strict,
    fault,
    quaternion_tolerance,
    raise_at,
    read_vector,
    require_one_of,
)
from nacelle.model.units import QUANTITIES
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import (
    nearest_rotation,
    rotation_axis_angle,
    rotation_quat,
    rotation_rpy,
    rotation_x,
    rotation_z,
)
from nacelle.spatial.scalar import Array, norm, pack, product


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
    axis: Direction | None = None
    angle: Angle | None = None
    quat_xyzw: Numbers4 | None = None

    @model_validator(mode="after")
    def _check(self) -> RotationSpec:
        if (self.axis is None) != (self.angle is None):
            raise fault("axis and angle belong together", "write {axis: z, angle: 30 deg}")
        require_one_of(self, "matrix", "rpy", "angle", "quat_xyzw")
        if self.quat_xyzw is not None:
            length = np.linalg.norm(self.quat_xyzw)
            if abs(length - 1.0) > quaternion_tolerance(self.quat_xyzw):
                raise_at(
                    "quat_xyzw", f"the quaternion has length {length:.6g}, not 1", "scalar last: x y z w"
                )
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
            raise fault("khalil_kleinfinger excludes other keys", "remove translation and rotation")
        return self

    def pose(self) -> Pose:
        """Give the pose of the frame in its body."""
        if self.khalil_kleinfinger is not None:
            return self.khalil_kleinfinger.pose()
        R = np.eye(3) if self.rotation is None else self.rotation.rotation()
        p = np.zeros(3) if self.translation is None else pack(self.translation)
        return Pose(R, p)


def _as_frame(value: Any) -> Any:
    return {"translation": value} if isinstance(value, str | list | tuple | np.ndarray) else value


Frame = Annotated[FrameSpec, BeforeValidator(_as_frame, json_schema_input_type=FrameSpec | Lengths3)]


class SidePlacementSpec(Strict):
    """How the frames of one side are placed: a rotation about the origin, then a translation."""

    angle: Angle | None = None
    axis: Direction | None = None
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
    """Where a leg is: its frames on base and platform rotated alike, unless `platform` says else.

    `mirror` reflects the whole leg first, in the plane through the origin perpendicular to that axis.
    """

    mirror: Literal["x", "y", "z"] | None = None
    platform: SidePlacementSpec | None = None

"""The pose of the platform from its reduced pose x, and back.

Translations among the motion's coordinates are coordinates of the platform frame's origin in the base.
Rotations depend on how many of them there are:

    three   R = R(quat_xyzw)
    one     R = exp(tilt) Rot_k(angle) R_0            k the axis, the angle is the coordinate
    two     R = exp(tilt) Rot_k(torsion) R_0          k the missing axis, the coordinates: the tilt across k
    none    R = exp(turn) R_0

The other numbers r (translations that are not coordinates, tilt, torsion, turn) are zero or those of the
reference, except for parasitic motion: then they depend on x, and the closures give them. The platform's
twist is V_p = B(x, r) x' + D(x, r) r' (`twists`, `dependent_twists`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nacelle.model.platform import AXES
from nacelle.model.reduced import ReducedLayout, layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import (
    left_jacobian,
    left_jacobian_bias,
    log_rotation,
    quat_conjugate,
    quat_exp,
    quat_from_matrices,
    quat_from_rotation,
    quat_log,
    quat_multiply,
    quat_rotate,
    rotation,
    rotation_quat,
    rotation_vector,
)
from nacelle.spatial.rounding import EQUALLY_GOOD, clean_rounding
from nacelle.spatial.scalar import Array, Scalar, cos, cross, pack, product, sin


@dataclass(frozen=True, eq=False)
class Chart:
    """How the numbers of x and the dependent ones place the platform of a robot."""

    robot: Robot

    @property
    def layout(self) -> ReducedLayout:
        """Places of the coordinates in x."""
        return layout_of(self.robot.motion)

    @cached_property
    def moves(self) -> tuple[int, ...]:
        """Translations that are coordinates."""
        return tuple(axis for axis in self.robot.motion.twist_axes if axis < 3)

    @cached_property
    def rotations(self) -> tuple[int, ...]:
        """Rotations that are coordinates, 0 to 2."""
        return tuple(axis - 3 for axis in self.robot.motion.twist_axes if axis >= 3)

    @cached_property
    def axis(self) -> int:
        """The axis k of one or two rotations."""
        if len(self.rotations) == 1:
            return self.rotations[0]
        return next(k for k in range(3) if k not in self.rotations)

    @cached_property
    def across(self) -> tuple[int, ...]:
        """The two axes across k, in ascending order."""
        return tuple(k for k in range(3) if k != self.axis)

    @cached_property
    def _reference_rotation(self) -> tuple[Array, float, Array]:
        """R_0, and torsion and tilt vector of the reference."""
        R = self.robot.reference.R
        if len(self.rotations) not in (1, 2):
            return R, 0.0, np.zeros(3)
        k = self.axis
        quat = quat_from_rotation(R)
        angle = 2.0 * float(np.arctan2(quat[k], quat[3])) if abs(quat[k]) + abs(quat[3]) > 1e-9 else 0.0
        angle = (angle + np.pi) % (2.0 * np.pi) - np.pi
        if angle > np.pi - EQUALLY_GOOD:
            angle -= 2.0 * np.pi
        torsion_vector = np.zeros(3)
        torsion_vector[k] = angle
        if len(self.rotations) == 1:
            return clean_rounding(product(rotation_vector(torsion_vector).T, R)), angle, np.zeros(3)
        # exp(tilt) Rot_k(torsion): the tilt takes the axis to its image.
        axis, image = np.eye(3)[k], R[:, k]
        if image[k] < -1.0 + 1e-9:
            return R, 0.0, np.zeros(3)
        n = np.cross(axis, image)
        length = float(np.linalg.norm(n))
        tilt = n * (np.arctan2(length, image[k]) / length) if length > 1e-300 else np.zeros(3)
        left = log_rotation(product(rotation_vector(tilt).T, R))
        return np.eye(3), float(left[k]), tilt

    @cached_property
    def dependent(self) -> int:
        """How many numbers place the platform in addition to those in x: 3 or 6 less the coordinates."""
        return self.robot.platform_nv - len(self.moves) - len(self.rotations)

    @cached_property
    def reference(self) -> tuple[Array, Array]:
        """The reference pose as x (nx,), joints of the platform at zero, and r (dependent,)."""
        _, torsion, tilt = self._reference_rotation
        x = np.zeros(self.layout.nx)
        for axis in self.moves:
            x[self.layout.x_index(AXES[axis])] = self.robot.reference.p[axis]
        r = [self.robot.reference.p[axis] for axis in range(3) if axis not in self.moves]
        if self.layout.quaternion is not None:
            x[self.layout.quaternion] = quat_from_rotation(self.robot.reference.R)
        elif len(self.rotations) == 1:
            x[self.layout.x_index(AXES[3 + self.axis])] = torsion
            r += [0.0, 0.0]
        elif len(self.rotations) == 2:
            for axis in self.rotations:
                x[self.layout.x_index(AXES[3 + axis])] = tilt[axis]
            r.append(torsion)
        elif self.robot.platform_nv == 6:
            r += [0.0, 0.0, 0.0]
        return x, np.array(r)

    def pose(self, x: Array, r: Array | None = None) -> Pose:
        """Pose of the platform body.

        Args:
            x: reduced pose (nx,).
            r: the dependent numbers; those of the reference if None.
        """
        fixed = r is None
        r = self.reference[1] if r is None else r
        left = iter(r)
        p = [x[self.layout.x_index(AXES[axis])] if axis in self.moves else next(left) for axis in range(3)]
        if self.robot.platform_nv == 3:
            return Pose(np.eye(3), pack(p))
        R_0 = self._reference_rotation[0]
        if self.layout.quaternion is not None:
            return Pose(rotation_quat(x[self.layout.quaternion]), pack(p))
        if not self.rotations:
            return Pose(R_0 if fixed else product(rotation_vector(pack(list(left))), R_0), pack(p))
        torsion, tilt = self._torsion_and_tilt(self._rotation_coordinates(x), list(left))
        R = product(rotation(self.axis, cos(torsion), sin(torsion)), R_0)
        # Without parasitic motion the tilt of a single rotation is zero, and costs nothing.
        if len(self.rotations) == 2 or not fixed:
            R = product(rotation_vector(tilt), R)
        return Pose(R, pack(p))

    def _rotation_coordinates(self, x: Array) -> list[Scalar]:
        """Rotations that are coordinates, rad, in the order of their axes."""
        return [x[self.layout.x_index(AXES[3 + axis])] for axis in sorted(self.rotations)]

    def _torsion_and_tilt(self, coordinates: list[Scalar], left: list[Scalar]) -> tuple[Scalar, Array]:
        """Torsion, rad, and tilt (3,), from the rotations that are coordinates and the others; or rates."""
        torsion, across = (coordinates[0], left) if len(self.rotations) == 1 else (left[0], coordinates)
        tilt: list[Scalar] = [0.0, 0.0, 0.0]
        for axis, value in zip(self.across, across, strict=True):
            tilt[axis] = value
        return torsion, pack(tilt)

    def dependent_twists(self, x: Array, r: Array) -> Array:
        """Twists [v; w] (6 or 3, dependent) of the platform, base axes, at unit rates of r."""
        m = self.robot.platform_nv
        columns: list[Array] = [
            pack([1.0 if k == axis else 0.0 for k in range(m)]) for axis in range(3) if axis not in self.moves
        ]
        if m == 6 and len(self.rotations) < 3:
            left = list(r[len(columns) :])
            if not self.rotations:
                J = left_jacobian(pack(left))
            else:
                _, tilt = self._torsion_and_tilt(self._rotation_coordinates(x), left)
                if len(self.rotations) == 1:
                    J = left_jacobian(tilt)[:, list(self.across)]
                else:
                    J = rotation_vector(tilt)[:, [self.axis]]
            columns += [pack([0.0, 0.0, 0.0, *J[:, k]]) for k in range(J.shape[1])]
        return np.stack(columns, axis=1) if columns else np.zeros((m, 0))

    def twists(self, x: Array, r: Array) -> Array:
        """Twists (6 or 3, coordinates) of the platform at unit rates of the coordinates.

        For the quaternion these are the components of the angular velocity.
        """
        m = self.robot.platform_nv
        J = np.eye(3)
        left = list(r[3 - len(self.moves) :])
        if 0 < len(self.rotations) < 3:
            _, tilt = self._torsion_and_tilt(self._rotation_coordinates(x), left)
            J = rotation_vector(tilt) if len(self.rotations) == 1 else left_jacobian(tilt)
        columns: list[Array] = []
        for name in self.robot.motion.coordinates:
            if name in self.robot.motion.joint_names:
                columns.append(np.zeros(m))
            elif AXES.index(name) < 3:
                columns.append(pack([1.0 if k == AXES.index(name) else 0.0 for k in range(m)]))
            else:
                columns.append(pack([0.0, 0.0, 0.0, *J[:, AXES.index(name) - 3]]))
        return np.stack(columns, axis=1)

    def twist_bias(self, x: Array, r: Array, x_rate: Array, r_rate: Array) -> Array:
        """Derivative (6 or 3,), base axes, of the platform's twist [v; w] at constant rates of x and r."""
        m = self.robot.platform_nv
        first = 3 - len(self.moves)
        if m == 3 or len(self.rotations) == 3:
            return np.zeros(m)
        left, left_rate = list(r[first:]), list(r_rate[first:])
        if not self.rotations:
            return pack([0.0, 0.0, 0.0, *left_jacobian_bias(pack(left), pack(left_rate))])
        _, tilt = self._torsion_and_tilt(self._rotation_coordinates(x), left)
        names = self.robot.motion.coordinates
        coordinate_rates = [x_rate[names.index(AXES[3 + axis])] for axis in sorted(self.rotations)]
        torsion_rate, tilt_rate = self._torsion_and_tilt(coordinate_rates, left_rate)
        w = left_jacobian(tilt) @ tilt_rate
        axis_turn = cross(w, rotation_vector(tilt)[:, self.axis]) * torsion_rate
        return pack([0.0, 0.0, 0.0, *(left_jacobian_bias(tilt, tilt_rate) + axis_turn)])

    def coordinates(self, pose: Pose) -> tuple[Array, Array]:
        """Reduced poses x (..., nx), joints of the platform zero, and dependent numbers of numeric poses."""
        p = np.asarray(pose.p, dtype=float)
        batch = p.shape[:-1]
        x = np.zeros((*batch, self.layout.nx))
        for axis in self.moves:
            x[..., self.layout.x_index(AXES[axis])] = p[..., axis]
        dependent = [p[..., axis] for axis in range(3) if axis not in self.moves]
        if self.robot.platform_nv == 6:
            dependent += self._set_orientation(np.asarray(pose.R, dtype=float), x)
        return x, np.stack(dependent, axis=-1) if dependent else np.zeros((*batch, 0))

    def _set_orientation(self, R: Array, x: Array) -> list[Array]:
        """Write orientations (..., 3, 3) into x, and give the dependent numbers of them."""
        if self.layout.quaternion is not None:
            x[..., self.layout.quaternion] = quat_from_matrices(R)
            return []
        quat = quat_from_matrices(R @ self._reference_rotation[0].T)
        if not self.rotations:
            return list(np.moveaxis(quat_log(quat), -1, 0))
        k, axis = self.axis, np.eye(3)[self.axis]
        image = quat_rotate(quat, np.broadcast_to(axis, (*quat.shape[:-1], 3)))
        n = np.cross(axis, image)
        length = np.linalg.norm(n, axis=-1)
        share = np.arctan2(length, image[..., k]) / np.where(length > 1e-300, length, 1.0)
        tilt = n * share[..., None]
        torsion = quat_log(quat_multiply(quat_conjugate(quat_exp(tilt)), quat))[..., k]
        for i in self.rotations:
            x[..., self.layout.x_index(AXES[3 + i])] = torsion if i == k else tilt[..., i]
        return [tilt[..., i] for i in self.across] if len(self.rotations) == 1 else [torsion]

"""Reduced pose and twist: which numbers place a platform of a motion type, and in which order.

The reduced twist v has the n entries of the motion's coordinates. The reduced pose x has the same entries,
but for one thing: where rx, ry and rz are all among them, one unit quaternion quat_xyzw stands for the three,
at the place of the first. So for "se3"

    x = [px, py, pz, qx, qy, qz, qw],   v = [vx, vy, vz, wx, wy, wz]

in metres and radians, base axes; "xy+rz" has x = [px, py, angle], v = dx/dt. Two rotations alone are two
plain numbers (a tilt vector).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from nacelle.model.platform import AXES, Motion
from nacelle.spatial.scalar import Array

ROTATIONS = ("rx", "ry", "rz")
QUATERNION = ("qx", "qy", "qz", "qw")


@dataclass(frozen=True)
class ReducedLayout:
    """Places of the coordinates in the reduced pose x and the reduced twist v of a motion.

    Raises:
        ValueError: if rx, ry, rz are all there but not side by side in this order, or if a joint of the
            platform is named as an entry of the quaternion.
    """

    motion: Motion

    def __post_init__(self) -> None:
        first = self._first_rotation
        names = self.motion.coordinates
        if first is not None and names[first : first + 3] != ROTATIONS:
            raise ValueError(f"rx, ry, rz are not side by side in this order in {self.motion.name}")
        if len(set(self.x_names)) < self.nx:
            raise ValueError(f"a name is given twice in the reduced pose of {self.motion.name}")

    @cached_property
    def _first_rotation(self) -> int | None:
        names = self.motion.coordinates
        if not set(ROTATIONS) <= set(names):
            return None
        return min(names.index(axis) for axis in ROTATIONS)

    @property
    def n(self) -> int:
        """Number of entries of v."""
        return self.motion.n

    @property
    def nx(self) -> int:
        """Number of entries of x."""
        return self.motion.n if self._first_rotation is None else self.motion.n + 1

    @cached_property
    def quaternion(self) -> slice | None:
        """Place of quat_xyzw in x; None if there is no quaternion."""
        first = self._first_rotation
        return None if first is None else slice(first, first + 4)

    @cached_property
    def angular(self) -> slice | None:
        """Place of the angular velocity that belongs to the quaternion in v; None without a quaternion."""
        first = self._first_rotation
        return None if first is None else slice(first, first + 3)

    @cached_property
    def linear_x(self) -> tuple[int, ...]:
        """Places in x of the plain coordinates: all but the quaternion."""
        return _indices_outside(self.nx, self.quaternion)

    @cached_property
    def linear_v(self) -> tuple[int, ...]:
        """Places in v of the plain coordinates, for which v = dx/dt."""
        return _indices_outside(self.n, self.angular)

    @cached_property
    def x_names(self) -> tuple[str, ...]:
        """Names of the entries of x: "x", "rz", "qx" to "qw", names of joints."""
        names = self.motion.coordinates
        first = self._first_rotation
        return names if first is None else (*names[:first], *QUATERNION, *names[first + 3 :])

    @property
    def v_names(self) -> tuple[str, ...]:
        """Names of the entries of v: "v_" before those of the coordinates ("v_x", "v_rz")."""
        return tuple(f"v_{name}" for name in self.motion.coordinates)

    @property
    def a_names(self) -> tuple[str, ...]:
        """Names of the entries of the derivative of v: "a_" before those of the coordinates."""
        return tuple(f"a_{name}" for name in self.motion.coordinates)

    def x_index(self, coordinate: str) -> int:
        """Place of a plain coordinate in x.

        Raises:
            KeyError: if it is not among them, or a part of the quaternion.
        """
        if coordinate not in self.x_names or (self.quaternion is not None and coordinate in QUATERNION):
            raise KeyError(coordinate)
        return self.x_names.index(coordinate)

    def v_index(self, coordinate: str) -> int:
        """Place of a coordinate in v.

        Raises:
            KeyError: if it is not among them.
        """
        if coordinate not in self.motion.coordinates:
            raise KeyError(coordinate)
        return self.motion.coordinates.index(coordinate)

    @property
    def units(self) -> tuple[str, ...]:
        """SI units of the entries of x: "m", "rad", "" for the quaternion and for joints of the platform."""
        return tuple(self._unit(name) for name in self.x_names)

    @property
    def v_units(self) -> tuple[str, ...]:
        """SI units of the coordinates that v is the rate of: "m", "rad", "" for joints of the platform."""
        return tuple(self._unit(name) for name in self.motion.coordinates)

    @staticmethod
    def _unit(name: str) -> str:
        if name not in AXES:
            return ""
        return "rad" if name in ROTATIONS else "m"

    def split_x(self, x: Array) -> tuple[Array, Array | None]:
        """Split x (..., nx) to the plain coordinates and the quaternion, if there is one."""
        return x[..., self.linear_x], None if self.quaternion is None else x[..., self.quaternion]

    def split_v(self, v: Array) -> tuple[Array, Array | None]:
        """Split v (..., n) to the rates of the plain coordinates and the angular velocity, if any."""
        return v[..., self.linear_v], None if self.angular is None else v[..., self.angular]

    def join_x(self, linear: Array, quat_xyzw: Array | None) -> Array:
        """Make x (..., nx) of plain coordinates and the quaternion."""
        return _join_parts(self.nx, self.linear_x, linear, self.quaternion, quat_xyzw)

    def join_v(self, linear: Array, w: Array | None) -> Array:
        """Make v (..., n) of the rates of the plain coordinates and the angular velocity."""
        return _join_parts(self.n, self.linear_v, linear, self.angular, w)


@lru_cache(maxsize=256)
def layout_of(motion: Motion) -> ReducedLayout:
    """The layout of a motion, made once.

    Raises:
        ValueError: as `ReducedLayout` does.
    """
    return ReducedLayout(motion)


def _indices_outside(count: int, without_slice: slice | None) -> tuple[int, ...]:
    """All places but those of a slice."""
    without = range(0) if without_slice is None else range(without_slice.start, without_slice.stop)
    return tuple(k for k in range(count) if k not in without)


def _join_parts(
    count: int, indices: tuple[int, ...], linear: Array, rotation: slice | None, value: Array | None
) -> Array:
    """Put the parts of a reduced vector to their places."""
    batch = linear.shape[:-1] if value is None else np.broadcast_shapes(linear.shape[:-1], value.shape[:-1])
    result = np.empty((*batch, count))
    result[..., indices] = linear
    if rotation is not None and value is not None:
        result[..., rotation] = value
    return result

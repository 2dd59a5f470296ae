"""The axes of a joint as lines in space: what moves along them, and what acts along them.

An axis s through a point P, fixed to the joint's first or second frame, has the rate and transmits the wrench

    q' = s . (w_2 - w_1)    and the moment  e s            if it turns
    q' = s . (v_2 - v_1)    and the force   e s at P       if it slides, v the velocities of both bodies at P

so that e q' is the power of the effort e on the second body and its opposite on the first. A spherical joint
has three axes at once, those of its second frame.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.dynamics.wrench import Wrench
from nacelle.model.joint import Joint, JointKind, Primitive
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, cross


class JointAxis(NamedTuple):
    """One primitive of a joint.

    Attributes:
        directions: unit vectors as columns (3, k): one, three of a spherical joint.
        point: a point of the axis (3,), m.
        is_rotation: whether it is a rotation.
    """

    directions: Array
    point: Array
    is_rotation: bool

    def along(self, linear: Array, angular: Array) -> Array:
        """Components (k, ...) along the axis: rates of relative velocities at its point, efforts of a wrench.

        Of relative accelerations they are the accelerations of a revolute or prismatic joint: what the motion
        of the axis itself adds is perpendicular to it.

        Args:
            linear: velocity, acceleration or force (3, ...), which counts if the axis slides.
            angular: angular velocity, angular acceleration or moment (3, ...), which counts if it turns.
        """
        return np.asarray(self.directions.T @ (angular if self.is_rotation else linear))

    def wrench(self, effort: Array) -> Wrench:
        """The wrench about the point of efforts (k,) along the axis."""
        along, zero = self.directions @ effort, np.zeros(3)
        return Wrench(zero, along) if self.is_rotation else Wrench(along, zero)


def relative_spin(axis: JointAxis, w: tuple[Array, Array], w_dot: tuple[Array, Array]) -> Array:
    """Derivative of the relative angular velocity of two bodies (3,), rad/s^2, as a joint's axis counts it.

    Of a spherical joint seen from the second body, w_2' - w_1' + w_2 x w_1; of one axis w_2' - w_1', whose
    component along the axis is the same.

    Args:
        axis: of the joint.
        w: angular velocities of both bodies, in common axes, rad/s.
        w_dot: their derivatives.
    """
    rate = w_dot[1] - w_dot[0]
    return rate + cross(w[1], w[0]) if axis.directions.shape[1] == 3 else rate


def joint_axes(joint: Joint, first: Pose, second: Pose) -> list[JointAxis]:
    """The axes of a joint, in the order of its primitives, from its two frames in common axes.

    The second axis of a universal joint and the slides after a spherical joint move with the second frame. A
    massless point has no orientation, so a joint to it rotates freely.
    """
    if joint.kind is JointKind.POINT:
        return []
    point = first.p if joint.kind is JointKind.SPHERICAL_PLANAR else second.p
    axes = []
    for k, primitive in enumerate(joint.primitives):
        if primitive is Primitive.SPHERICAL:
            axes.append(JointAxis(second.R, point, True))
            continue
        later = k > 0 and joint.kind in (JointKind.UNIVERSAL, JointKind.SPHERICAL_PLANAR)
        axes.append(
            JointAxis((second if later else first).R[:, [primitive.axis]], point, primitive.is_rotation)
        )
    return axes

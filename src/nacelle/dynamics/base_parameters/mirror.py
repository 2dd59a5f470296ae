"""Legs that are mirror images: which parameters of one are those of the other, and with which sign.

At a symmetric pose of the nacelle a reflection M of space, x -> x - 2 n (n . x - d), takes the frames of the
bodies of one leg to those of the other: origins to origins, and axes to axes or their opposites,

    R_b'^T M R_b = diag(s),        s = +-1 for each axis of the body,

because a reflected frame is left-handed and that of a description is not. The mirror image of a body then has

    m' = m,      (m c_i)' = s_i m c_i,      I_ij' = s_i s_j I_ij

in its own frame. Rates of joints are equal up to a sign e: rotation vectors are axial, -M a = e a' for axes
of rotation, M a = e a' for axes of translation. Friction is odd in the rate and the same, a constant force
and the rest of a spring change with e.

The plane is that between the legs' first joints on the base; where these are at one place, between the
origins of two of their bodies at the reference pose. So it is unique, and the symmetric pose is the nearest
to the reference pose at which all points of the legs are images (least squares by Gauss and Newton).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.errors import ParameterError
from nacelle.kinematics.jacobian import twist_units
from nacelle.kinematics.motion import solved
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.tree.configuration import configuration
from nacelle.model.joint import Joint, JointKind, Primitive
from nacelle.model.leg import BASE, Leg
from nacelle.model.numbers.parameters import INERTIA_NAMES
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.model.shared import structure_difference
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation_path import quat_exp, quat_multiply
from nacelle.spatial.scalar import Array

# Distances over the robot's size, and entries of directions, that are rounding of iterated poses.
_ROUNDING = 1e-6
# Iterations to the symmetric pose, and the step of its derivatives in units of the coordinates.
_ITERATIONS, _STEP = 12, 1e-6
# Parts of a step that are tried where the whole is out of reach.
_PARTS = (1.0, 0.5, 0.25, 0.125)
# Kinds of joints whose frames may lie anywhere along their axis.
_ALONG_AXIS = (JointKind.REVOLUTE, JointKind.CYLINDRICAL)


class _Reflection(NamedTuple):
    """A reflection at the plane n . x = d; n (3,) a unit vector, d in m, base axes."""

    n: Array
    d: float

    def point(self, x: Array) -> Array:
        """The image of a point (3,)."""
        return np.asarray(x - 2.0 * self.n * (self.n @ x - self.d))

    def direction(self, e: Array) -> Array:
        """The image of a direction (3,), or of the columns of (3, k)."""
        return np.asarray(e - 2.0 * np.outer(self.n, self.n) @ e)


def mirror_signs(robot: Robot, first: Leg, other: Leg) -> dict[str, float]:
    """Signs of the parameters of a leg in its mirror image, by the names that they have in the first leg.

    Only those that are -1 in some leg are listed: parameters without an entry are equal.

    Raises:
        ParameterError: if the legs are no mirror images of each other; it says why.
    """
    reason = structure_difference(robot, first, other)
    if reason:
        raise _refused(first, other, reason)
    mirror, poses = _symmetric(robot, first, other)
    signs: dict[str, float] = {}
    for body, image in zip(first.bodies, other.bodies, strict=True):
        s = _axis_signs(robot, mirror, (body, poses[body]), (image, poses[image]), (first, other))
        for part in INERTIA_NAMES:
            axes = "" if part == "m" else part[1:]
            signs[f"{robot.bodies[body].name}.{part}"] = float(np.prod([s["xyz".index(c)] for c in axes]))
    pairs = zip((*first.joints, *first.closures), (*other.joints, *other.closures), strict=True)
    for joint, image in pairs:
        own, its = robot.joints[joint], robot.joints[image]
        for axis, sign in _rate_signs(robot, mirror, poses, own, its, (first, other)).items():
            for part in ("constant", "stiffness*rest"):
                signs[f"{own.name}.{axis}.{part}"] = sign
    return signs


def _refused(first: Leg, other: Leg, reason: str) -> ParameterError:
    return ParameterError(f"{other.name} is no mirror image of {first.name}: {reason}")


def _poses(robot: Robot, x: Array) -> list[Pose]:
    """Poses of all bodies at a pose (nx,) of the nacelle."""
    with np.errstate(all="ignore"):
        pose, y, _ = solved(robot, x)
        placed = configuration(robot, pose, y).motion.poses
    return [Pose(np.asarray(part.R, dtype=float), np.asarray(part.p, dtype=float)) for part in placed]


def _symmetric(robot: Robot, first: Leg, other: Leg) -> tuple[_Reflection, list[Pose]]:
    """The reflection of one leg to another, and the poses of all bodies at the nearest symmetric pose."""
    x = reference_pose(robot)
    poses = _poses(robot, x)
    mirror = _reflection(robot, poses, first, other)

    def missed(at: list[Pose]) -> Array:
        """How far the points of one leg are from the images of the other's, over the robot's size."""
        images = [mirror.point(point) for point in _points(robot, at, first)]
        return np.ravel(np.array(images) - _points(robot, at, other)) / robot.size

    units = twist_units(robot)
    for _ in range(_ITERATIONS):
        off = missed(poses)
        if not np.max(np.abs(off)) > 0.01 * _ROUNDING:
            break
        steps = _STEP * np.diag(units)
        J = np.stack([missed(_poses(robot, _moved(robot, x, step))) - off for step in steps], axis=1) / _STEP
        if not np.all(np.isfinite(J)):
            break
        step = -units * np.linalg.lstsq(J, off, rcond=1e-6)[0]
        for part in _PARTS:
            reached = _moved(robot, x, part * step)
            placed = _poses(robot, reached)
            if np.all(np.isfinite(missed(placed))):
                x, poses = reached, placed
                break
        else:
            raise _refused(first, other, "no symmetric pose is within reach")
    return mirror, poses


def _moved(robot: Robot, x: Array, step: Array) -> Array:
    """A pose (nx,) moved by a step (n,) of its coordinates, a rotation vector where it has a quaternion."""
    layout = layout_of(robot.motion)
    plain = x[list(layout.linear_x)] + step[list(layout.linear_v)]
    if layout.quaternion is None or layout.angular is None:
        return layout.join_x(plain, None)
    return layout.join_x(plain, quat_multiply(quat_exp(step[layout.angular]), x[layout.quaternion]))


def _points(robot: Robot, poses: list[Pose], leg: Leg) -> Array:
    """Points of a leg (points, 3), base axes: origins of its bodies, and centres of its joints."""
    joints = [robot.joints[joint] for joint in (*leg.joints, *leg.closures)]
    centred = [joint for joint in joints if joint.kind not in (*_ALONG_AXIS, JointKind.PRISMATIC)]
    return np.array([*(poses[body].p for body in leg.bodies), *(_place(poses, joint) for joint in centred)])


def _reflection(robot: Robot, poses: list[Pose], first: Leg, other: Leg) -> _Reflection:
    """The reflection between the first joints of two legs on the base, or else between their bodies."""
    pairs = []
    for a, b in zip(first.joints, other.joints, strict=True):
        if robot.joints[a].predecessor == robot.joints[b].predecessor == BASE:
            pairs.append([np.asarray(robot.joints[k].frame_predecessor.p, dtype=float) for k in (a, b)])
    pairs += [[poses[a].p, poses[b].p] for a, b in zip(first.bodies, other.bodies, strict=True)]
    for start, end in pairs:
        length = float(np.linalg.norm(end - start))
        if length > _ROUNDING * robot.size:
            n = (end - start) / length
            return _Reflection(n, float(n @ (start + end)) / 2.0)
    raise _refused(
        first,
        other,
        "all their bodies have the same origins at the reference pose, so that the plane is not determined; "
        "place their frames apart",
    )


def _axis_signs(
    robot: Robot, mirror: _Reflection, own: tuple[int, Pose], image: tuple[int, Pose], legs: tuple[Leg, Leg]
) -> Array:
    """The signs s (3,) of the axes of a body in its image."""
    (_, pose), (body, placed) = own, image
    name = robot.bodies[body].name
    off = float(np.linalg.norm(mirror.point(pose.p) - placed.p))
    if not off <= _ROUNDING * robot.size:
        raise _refused(*legs, f"{name} is {off:.3g} m from where it would be")
    S = placed.R.T @ mirror.direction(pose.R)
    s = np.round(np.diag(S))
    if np.max(np.abs(S - np.diag(s))) > _ROUNDING:
        raise _refused(*legs, f"the axes of {name} are not those of its image or their opposites")
    return np.asarray(s)


def _rate_signs(
    robot: Robot, mirror: _Reflection, poses: list[Pose], own: Joint, its: Joint, legs: tuple[Leg, Leg]
) -> dict[str, float]:
    """For each axis of a joint the sign of its rate in the image; a spherical joint has none."""
    start, end = _place(poses, own), _place(poses, its)
    off = mirror.point(start) - end
    signs = {}
    for axis in own.friction_axes:
        if axis is Primitive.SPHERICAL:
            continue
        a, b = _direction(poses, own, axis), _direction(poses, its, axis)
        e = float(mirror.direction(a) @ b)
        if abs(abs(e) - 1.0) > _ROUNDING:
            raise _refused(*legs, f"the axis {axis} of {its.name} is not parallel to that of its image")
        signs[str(axis)] = float(np.sign(-e if axis.is_rotation else e))
        if own.kind in _ALONG_AXIS:
            off = off - b * (b @ off)
    if own.kind is not JointKind.PRISMATIC and np.linalg.norm(off) > _ROUNDING * robot.size:
        raise _refused(*legs, f"{its.name} is {np.linalg.norm(off):.3g} m from where it would be")
    return signs


def _place(poses: list[Pose], joint: Joint) -> Array:
    """Where a joint's frame is on its predecessor, base axes (3,)."""
    pose = poses[joint.predecessor]
    return np.asarray(pose.p + pose.R @ np.asarray(joint.frame_predecessor.p, dtype=float))


def _direction(poses: list[Pose], joint: Joint, axis: str) -> Array:
    """The direction (3,) of one of a joint's axes, base axes; the second of a universal joint moves along."""
    late = joint.kind is JointKind.SPHERICAL_PLANAR or (joint.kind is JointKind.UNIVERSAL and axis == "ry")
    body = joint.successor if late else joint.predecessor
    frame = joint.frame_successor if late else joint.frame_predecessor
    return np.asarray(poses[body].R @ np.asarray(frame.R, dtype=float)[:, "xyz".index(axis[1])])

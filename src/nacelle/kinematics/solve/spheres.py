"""Forward kinematics in closed form: where spheres or circles about the legs' driven ends meet.

While the driven joint of a leg holds still, its passive joints turn the last link about a point, so that the
end W (3,) of the leg keeps its distance from it: W lies on a sphere.

    rod on a driven joint     |W - c(q)| = |d|         c(q) the elbow, behind the driven joint; d the rod
    strut                     |W - A| = |o + q z|      A the foot; o + q z from it to the end, in the strut

q is the coordinate of the driven joint, rad or m; points in the base, m. Where the platform only translates,
the spheres, moved by the ends' constant places R b_j on it, all pass through the platform's origin p (3,):

    |p - c_j|^2 = r_j^2          c_j = centre in the base less R b_j, m

The difference of two such equations is linear in p. With e = c_2 - c_1, f = c_3 - c_1 and p = c_1 + k + g e x
f, k in the plane of the centres,

    k . e = (r_1^2 - r_2^2 + e.e) / 2,     k . f = (r_1^2 - r_3^2 + f.f) / 2,     g^2 |e x f|^2 = r_1^2 - k.k

so three of them (DELTA, Orthoglide, tripods) meet in two points, and so do two circles in a plane (five-bar,
PRRRP). The point on the side of the reference pose is taken; (r_1^2 - k.k) / r_1^2 is the margin.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.configuration import configuration
from nacelle.kinematics.kinematic_model import margin_and_way
from nacelle.kinematics.legs.chain import serial_chain
from nacelle.kinematics.legs.leg_type import FORMS, leg_type
from nacelle.kinematics.legs.parallelogram import arm_geometry
from nacelle.kinematics.legs.serial import axis_motion
from nacelle.kinematics.legs.solution import rod_chains
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.shapes import actuators_shape
from nacelle.model.joint import Joint
from nacelle.model.leg import BASE, PLATFORM, Leg
from nacelle.model.platform import AXES
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, pack, plus, product, sqrt
from nacelle.tree.spanning_tree import JointTransform, joint_transforms


class Sphere(NamedTuple):
    """Where the end of a leg can be at given coordinates of its driven joint.

    Attributes:
        centre: in the base, m.
        radius2: square of the radius, m^2.
        closure: the closure at the leg's end.
    """

    centre: Array
    radius2: Scalar
    closure: Joint


def driven_joint(robot: Robot, leg: Leg) -> int | None:
    """The joint whose coordinate sets the sphere of a leg's end; None if its closed form has no sphere."""
    form = leg_type(robot, leg).form
    if form in ("rods", "parallelogram"):
        return next(j for j in leg.joints if robot.joints[j].predecessor == BASE)
    return {"rod": leg.joints[0], "strut": leg.joints[-1]}.get(FORMS[form].kind) if form else None


def leg_sphere(robot: Robot, leg: Leg, step: JointTransform) -> Sphere:
    """The sphere on which a leg's end lies, from the step of its driven joint (`driven_joint`)."""
    kind = leg_type(robot, leg)
    if kind.form == "rods":
        root, (first, *_) = rod_chains(robot, leg)
        d = first.X[-1].p
        centre = (robot.joints[root].frame_predecessor @ axis_motion(step) @ first.X[0]).p
        return Sphere(centre, dot(d, d), first.target)
    folded = kind.parallelogram
    if folded is not None:
        X_centre, d = arm_geometry(robot, folded)
        centre = (robot.joints[folded.root].frame_predecessor @ axis_motion(step) @ X_centre).p
        return Sphere(centre, dot(d, d), robot.joints[folded.wrist])
    chain, form = serial_chain(robot, leg), FORMS[kind.form]
    assert chain is not None
    X = form.centre(chain).X
    if form.kind == "strut":
        d = X[-2].p + product(X[-2].R, X[-1].p) + step * X[-2].R[:, 2]
        return Sphere(X[0].p, dot(d, d), chain.target)
    d = X[-1].p
    return Sphere((X[0] @ axis_motion(step) @ X[1]).p, dot(d, d), chain.target)


def has_sphere_solution(mechanism: Mechanism) -> bool:
    """Whether the pose follows from the actuators by spheres or circles."""
    robot = mechanism.robot
    coordinates = robot.motion.coordinates
    if (
        not mechanism.has_closed_form
        or len(robot.legs) != len(coordinates)
        or len(robot.actuators) != len(coordinates)
    ):
        return False
    if len(coordinates) not in (2, 3) or any(name not in AXES[:3] for name in coordinates):
        return False
    driven = [driven_joint(robot, leg) for leg in robot.legs]
    return sorted(j for j in driven if j is not None) == sorted(a.joint for a in robot.actuators)


def _spheres(robot: Robot, q: Array) -> list[tuple[Array, Scalar]]:
    """Centre and square of the radius of each leg's sphere for the platform's origin."""
    mechanism = mechanism_of(robot)
    x0 = mechanism.reference[0]
    R = mechanism.chart.pose(x0).R
    actuator_of = {actuator.joint: k for k, actuator in enumerate(robot.actuators)}
    result = []
    for leg in robot.legs:
        joint = driven_joint(robot, leg)
        assert joint is not None
        step = joint_transforms(robot.joints[joint], q[actuator_of[joint] : actuator_of[joint] + 1])[0]
        centre, radius2, closure = leg_sphere(robot, leg, step)
        frame = closure.frame_predecessor if closure.predecessor == PLATFORM else closure.frame_successor
        result.append((centre - R @ frame.p, radius2))
    return result


@physics(q=actuators_shape)
def sphere_forward(robot: Robot, q: Array) -> dict[str, Array]:
    """The pose x (nx,) and a margin: below zero where the spheres do not meet, zero where they touch."""
    x, margin = _intersect(robot, q, reference_side(mechanism_of(robot)))
    return {"x": x, "margin": margin}


@physics(q=actuators_shape)
def sphere_kinematics(robot: Robot, q: Array) -> dict[str, Array]:
    """`sphere_forward` with all that decides about it: "x", "margin" and "way" as `actuators_within_limits`.

    Spheres meet on both sides of a leg's own singularity: behind it the leg is folded the other way, and its
    margin is below zero. "meeting" is that of the spheres.
    """
    x, meeting = _intersect(robot, q, reference_side(mechanism_of(robot)))
    joints = [actuator.joint for actuator in robot.actuators]
    now = configuration(robot, x, np.zeros(0), dict(zip(joints, q, strict=True)))
    return {"x": x, **margin_and_way(now), "meeting": pack([meeting])}


@lru_cache(maxsize=64)
def reference_side(mechanism: Mechanism) -> int:
    """Which of the two points is that of the reference pose."""
    x0 = mechanism.reference[0]
    q = np.array(
        [mechanism.assembly.q_tree[mechanism.robot.q_slices[a.joint]][0] for a in mechanism.robot.actuators]
    )
    with np.errstate(all="ignore"):
        errors = {
            side: float(np.max(np.abs(_intersect(mechanism.robot, q, side)[0] - x0))) for side in (1, -1)
        }
    return min(errors, key=lambda side: errors[side])


def _intersect(robot: Robot, q: Array, side: int) -> tuple[Array, Scalar]:
    spheres = _spheres(robot, q)
    if len(spheres) == 3:
        p, margin = intersect_three_spheres(spheres, side)
    else:
        p, margin = _intersect_circles(robot, spheres, side)
    return pack([p[AXES.index(name)] for name in robot.motion.coordinates]), margin


def intersect_three_spheres(spheres: list[tuple[Array, Scalar]], side: int) -> tuple[Array, Scalar]:
    """The point p, and the margin.

    With s = 2 k.e, t = 2 k.f, n = e x f and h = n.n the point is c_1 + (a e + b f + w n) / (2 h),

        a = s f.f - t e.f,     b = t e.e - s e.f,     w^2 = 4 r_1^2 h - (a s + b t)

    so that the root and the quotient do not wait for each other.
    """
    (c1, r1), (c2, r2), (c3, r3) = spheres
    e, f = c2 - c1, c3 - c1
    ee, ef, ff = dot(e, e), dot(e, f), dot(f, f)
    s, t = plus(r1, -r2) + ee, plus(r1, -r3) + ff
    a, b, h = s * ff - t * ef, t * ee - s * ef, ee * ff - ef * ef
    square = (4.0 * r1) * h - (a * s + b * t)
    half = divide(0.5, h)
    p = c1 + half * (a * e + b * f + (float(side) * sqrt(square)) * cross(e, f))
    return p, divide(square * half, 2.0 * r1)


def _intersect_circles(robot: Robot, spheres: list[tuple[Array, Scalar]], side: int) -> tuple[Array, Scalar]:
    """The same in the plane of two translations, where the third coordinate of p is the reference's."""
    i, j = (AXES.index(name) for name in robot.motion.coordinates)
    k = 3 - i - j
    height = robot.numeric.reference.p[k]
    circles = []
    for centre, radius2 in spheres:
        off = height - centre[k]
        circles.append((pack([centre[i], centre[j]]), radius2 - off * off))
    (c1, r1), (c2, r2) = circles
    e = c2 - c1
    ee = dot(e, e)
    s = plus(r1, -r2) + ee
    square, half = (4.0 * r1) * ee - s * s, divide(0.5, ee)
    flat = c1 + half * (s * e + (float(side) * sqrt(square)) * pack([-e[1], e[0]]))
    p: list[Scalar] = [0.0, 0.0, 0.0]
    p[i], p[j], p[k] = flat[0], flat[1], height
    return pack(p), divide(square * half, 2.0 * r1)


def intersect_two_circles(circles: list[tuple[Array, Scalar]], side: int) -> tuple[Array, Array]:
    """From the centres (2,) of two circles, with squares of radii, to the point where they meet (2,)."""
    (c1, r1), (c2, r2) = circles
    e = c2 - c1
    reciprocal = divide(1.0, dot(e, e))
    along = 0.5 + (0.5 * plus(r1, -r2)) * reciprocal
    across = float(side) * sqrt(r1 * reciprocal - along * along)
    first = pack([along * e[0] - across * e[1], along * e[1] + across * e[0]])
    return first, np.asarray(first - e)

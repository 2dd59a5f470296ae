"""Bars: legs between two points, which the form knows by the line between them.

A *rod* of constant length hangs at A on a driven arm or slider, a *strut* joins the base at A and changes
its length; both end on the platform at B and turn about A in a universal joint, a revolute joint across the
plane of a planar robot, or, struts, in a spherical joint. With d = B - A and v = v_B - v_A the leg has one
row,

    rod      d . v_A = d . v_B                d . a_A = d . a_B + |v|^2
    strut    l l' = d . v_B                   l l'' = d . a_B + |v|^2 - l'^2      l = |d|

and no angles: what its bodies require follows from d, its derivatives and the first axis at A. Legs with a
parallelogram are rods, too (`geometry`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nacelle.compact.line_legs.geometry import (
    LegForm,
    NotALineLegError,
    equalise_axes,
    leg_axes,
    read_leg,
    round_to_zero,
)
from nacelle.kinematics.legs.chain import TOLERANCE
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rounding import index_of_largest
from nacelle.spatial.scalar import Array, Scalar, pack, product, sample_values
from nacelle.tree.spanning_tree import joint_rate_indices


@dataclass(frozen=True, eq=False)
class LineLeg:
    """A leg that is a bar.

    Attributes:
        form: the leg, in base axes; its numbers may be symbols.
        rate: place in u of its drive.
        carrier: the body that carries A.
        A: in the frame of that body, m.
        masses: of a rod at A, at B, and between them, kg (`rods`).
        up: of a strut, the entry of its direction that never vanishes.
    """

    form: LegForm
    rate: int
    carrier: int
    A: Array
    masses: tuple[Scalar, Scalar, Scalar]
    up: int

    @property
    def is_strut(self) -> bool:
        """Whether its length changes."""
        return self.form.kind == "strut"

    def resists_rotation(self, friction: bool) -> bool:
        """Whether its rotation about A requires something beyond its masses: inertia, or friction."""
        p, inertia = self.form.passive, sample_values(self.form.rod)
        if friction and (p.first or p.second or p.spherical or p.end or p.still):
            return True
        return self.form.joint_at_a == "U" and bool(np.any(inertia[4:]) or np.any(inertia[1:3]))

    def in_frame(self, R: Array | None) -> LegForm:
        """The leg with its axes a (3,) seen from constant axes R (3, 3), columns in the base: R^T a."""
        if R is None:
            return self.form
        axis, first = (round_to_zero(product(R.T, a)) for a in (self.form.axis, self.form.first))
        return replace(self.form, axis=axis, first=first)


def project_to_plane(form: LegForm, vector: Array) -> Array:
    """A vector (3,) without its component across the plane of a planar leg; of other legs as it is."""
    if form.joint_at_a != "R":
        return vector
    k = index_of_largest(np.abs(sample_values(form.first)))
    return pack([0.0 if j == k else vector[j] for j in range(3)])


def hinge_side(mechanism: Mechanism, form: LegForm, joint: Joint) -> float:
    """1 if the axis of a joint at the point lies along that of a leg, which is parallel to it, else -1."""
    robot = mechanism.robot
    pose = mechanism.assembly.motion.poses[joint.predecessor]
    axis = product(pose.R, robot.joints[robot.joint(joint.name)].frame_predecessor.R[:, 2])
    return 1.0 if float(axis @ sample_values(form.first)) > 0.0 else -1.0


@lru_cache(maxsize=256)
def find_line_legs(mechanism: Mechanism, *, asymmetric: bool = True) -> tuple[int, ...]:
    """Legs that are bars, decided by the robot's own numbers.

    With `asymmetric` also rods on universal joints with products of inertia or a centre of mass off their
    line: of these the mass matrix is shorter, but not what a motion requires.
    """
    robot = mechanism.robot
    forms: dict[int, LegForm] = {}
    for k in range(len(robot.legs)):
        try:
            form = read_leg(robot, k)
        except NotALineLegError:
            continue
        if _is_line_leg(mechanism, form) and (asymmetric or not is_asymmetric(form)):
            forms[k] = form
    owner = {body: k for k, leg in enumerate(robot.legs) for body in leg.bodies}
    for joint in robot.closures:
        if not joint.at_point or not (any(joint.friction) or joint.has_spring_or_stop or joint.rotor_inertia):
            continue
        pair = [owner[body] for body in (joint.predecessor, joint.successor)]
        hinged = joint.kind is JointKind.REVOLUTE and not joint.has_spring_or_stop and not joint.rotor_inertia
        if not (hinged and all(k in forms and forms[k].joint_at_a == "R" for k in pair)):
            forms = {k: form for k, form in forms.items() if k not in pair}
    return tuple(forms)


def has_offset_mass(parameters: Array, entries: tuple[int, ...] = (0, 1)) -> bool:
    """Whether the centre of mass of ten parameters lies off the third axis, along the first or second one."""
    moments = np.abs(sample_values(parameters[1:4]))
    return bool(np.max(moments[list(entries)]) > TOLERANCE * max(float(np.max(moments)), 1e-300))


def is_asymmetric(form: LegForm) -> bool:
    """Whether a rod on a universal joint has products of inertia, or its centre of mass off its line."""
    inertia = np.abs(sample_values(form.rod[4:]))
    has_products = np.max(inertia[[1, 3, 4]]) > TOLERANCE * np.max(inertia, initial=1e-300)
    return form.kind == "rod" and form.joint_at_a == "U" and bool(has_products or has_offset_mass(form.rod))


def _is_line_leg(mechanism: Mechanism, form: LegForm) -> bool:
    end = form.passive
    if form.joint_at_a == "R":
        planar = form.body == PLATFORM and not mechanism.dependent and not mechanism.parasitic
        return planar and end.end_kind in (JointKind.REVOLUTE, JointKind.POINT)
    # A joint at B that holds more than the point says something of the platform's rotation.
    locks = end.end_kind not in (JointKind.SPHERICAL, JointKind.POINT)
    if locks and (mechanism.dependent or end.end):
        return False
    return not any(term.basis == "constant" for terms in (end.second, end.still) for term in terms)


def line_leg_bodies(robot: Robot, legs_by_line: tuple[int, ...]) -> frozenset[int]:
    """Bodies of bars, without those that their drives carry."""
    bodies: set[int] = set()
    for k in legs_by_line:
        leg = robot.legs[k]
        driven = next(actuator.joint for actuator in robot.actuators if actuator.joint in leg.joints)
        index = leg.joints.index(driven)
        is_rod = all(robot.joints[j].kind is JointKind.FIXED for j in leg.joints[:index])
        ahead = {BASE, *(robot.joints[j].successor for j in leg.joints[: index + 1])} if is_rod else {BASE}
        for j in leg.joints if is_rod else ():
            joint = robot.joints[j]
            if joint.kind is JointKind.FIXED and joint.predecessor in ahead:
                ahead.add(joint.successor)
        bodies |= set(leg.bodies) - ahead
    return frozenset(bodies)


def line_legs(robot: Robot, legs: tuple[int, ...], up: int = 2) -> dict[int, LineLeg]:
    """The bars of a robot with its numbers, which may be symbols; `up` as `LineLeg` has it."""
    legs_by_line: dict[int, LineLeg] = {}
    for k in legs:
        form = read_leg(robot, k)
        drive = form.drive.joint
        (rate,) = joint_rate_indices(robot, (robot.actuators[form.drive.number].joint,))
        if form.kind == "strut":
            legs_by_line[k] = LineLeg(form, rate, BASE, form.A, (0.0, 0.0, 0.0), up)
            continue
        A = (drive.frame_successor @ Pose(np.eye(3), form.A)).p
        mass, c1, c2 = form.rod[0], form.rod[3] / form.length, form.rod[4] / (form.length * form.length)
        legs_by_line[k] = LineLeg(form, rate, drive.successor, A, (mass - 2.0 * c1 + c2, c2, c1 - c2), up)
    return legs_by_line


def line_leg_axes(legs_by_line: dict[int, LineLeg]) -> dict[int, Array]:
    """For bars whose first axis is not an axis of the base, constant axes along it (columns, in the base)."""
    axes = equalise_axes([leg_axes(line_leg.form) for line_leg in legs_by_line.values()])
    return {k: Q for k, Q in zip(legs_by_line, axes, strict=True) if not np.array_equal(Q, np.eye(3))}

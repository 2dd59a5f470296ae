"""Legs that share their parameters: which parameters are one, and with which sign.

What is shared is what a caller says, or else the description's key `shared` (`nacelle.model.shared`). Of legs
that are mirror images the parameters are equal up to signs: at a symmetric pose of the platform a reflection
M of space, x -> x - 2 n (n . x - d), takes the frames of the bodies of one leg to those of the other: origins
to origins, and axes to axes or their opposites,

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

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from nacelle.errors import ParameterError, did_you_mean
from nacelle.kinematics.configuration import configuration
from nacelle.kinematics.motion import solve_loops
from nacelle.kinematics.pose_input import displace_pose, reference_pose
from nacelle.kinematics.shapes import twist_scales
from nacelle.model.joint import Joint, JointKind, Primitive
from nacelle.model.leg import BASE, Leg
from nacelle.model.linear_parameters import LinearParameters, linear_parameters
from nacelle.model.numbers import INERTIA_NAMES
from nacelle.model.robot import Robot
from nacelle.model.shared import SHARED_KINDS, SHARING_MODES, named_leg, sharing_faults, structure_difference
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import joint_axes
from nacelle.tree.closure import closure_frames
from nacelle.tree.spanning_tree import TreeKinematics

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


@dataclasses.dataclass(frozen=True, eq=False)
class _MirrorImages:
    """Two legs at a pose in which one is the mirror image of the other.

    Attributes:
        robot: the robot.
        first: one leg.
        second: the other.
        mirror: the reflection of the first to the other.
        motion: the tree at that pose.
    """

    robot: Robot
    first: Leg
    second: Leg
    mirror: _Reflection
    motion: TreeKinematics

    def refusal(self, reason: str) -> ParameterError:
        """The error that they are no mirror images."""
        return _refusal(self.first, self.second, reason)

    def axis_signs(self, body: int, image: int) -> Array:
        """The signs s (3,) of the axes of a body of the first leg in its image."""
        pose, end, name = self.motion.poses[body], self.motion.poses[image], self.robot.bodies[image].name
        off = float(np.linalg.norm(self.mirror.point(pose.p) - end.p))
        if not off <= _ROUNDING * self.robot.size:
            raise self.refusal(f"{name} is {off:.3g} m from where it would be")
        S = end.R.T @ self.mirror.direction(pose.R)
        s = np.round(np.diag(S))
        if np.max(np.abs(S - np.diag(s))) > _ROUNDING:
            raise self.refusal(f"the axes of {name} are not those of its image or their opposites")
        return np.asarray(s)

    def rate_signs(self, joint: Joint, twin: Joint) -> dict[str, float]:
        """For each axis of a joint the sign of its rate in the image; a spherical joint has none."""
        frames, image_frames = closure_frames(joint, self.motion), closure_frames(twin, self.motion)
        off = self.mirror.point(frames[0].p) - image_frames[0].p
        axes = zip(
            joint.primitives, joint_axes(joint, *frames), joint_axes(twin, *image_frames), strict=False
        )
        signs = {}
        for primitive, axis, image in axes:
            if primitive is Primitive.SPHERICAL:
                continue
            a, b = axis.directions[:, 0], image.directions[:, 0]
            e = float(self.mirror.direction(a) @ b)
            if abs(abs(e) - 1.0) > _ROUNDING:
                raise self.refusal(
                    f"the axis {primitive} of {twin.name} is not parallel to that of its image"
                )
            signs[str(primitive)] = float(np.sign(-e if primitive.is_rotation else e))
            if joint.kind in _ALONG_AXIS:
                off = off - b * (b @ off)
        if joint.kind is not JointKind.PRISMATIC and np.linalg.norm(off) > _ROUNDING * self.robot.size:
            raise self.refusal(f"{twin.name} is {np.linalg.norm(off):.3g} m from where it would be")
        return signs


def mirror_signs(robot: Robot, first: Leg, second: Leg) -> dict[str, float]:
    """Signs of the parameters of a leg in its mirror image, by the names that they have in the first leg.

    Only those that are -1 in some leg are listed: parameters without an entry are equal.

    Raises:
        ParameterError: if the legs are no mirror images of each other; it says why.
    """
    reason = structure_difference(robot, first, second)
    if reason:
        raise _refusal(first, second, reason)
    images = _find_symmetric_pose(robot, first, second)
    signs: dict[str, float] = {}
    for body, image in zip(first.bodies, second.bodies, strict=True):
        s = images.axis_signs(body, image)
        for part in INERTIA_NAMES:
            axes = "" if part == "m" else part[1:]
            signs[f"{robot.bodies[body].name}.{part}"] = float(np.prod([s["xyz".index(c)] for c in axes]))
    pairs = zip((*first.joints, *first.closures), (*second.joints, *second.closures), strict=True)
    for joint, image in pairs:
        first_joint, other_joint = robot.joints[joint], robot.joints[image]
        for axis, sign in images.rate_signs(first_joint, other_joint).items():
            for part in ("constant", "stiffness*rest"):
                signs[f"{first_joint.name}.{axis}.{part}"] = sign
    return signs


def _refusal(first: Leg, second: Leg, reason: str) -> ParameterError:
    return ParameterError(f"{second.name} is no mirror image of {first.name}: {reason}")


def _positions_at(robot: Robot, x: Array) -> TreeKinematics:
    """The tree at a pose (nx,) of the platform."""
    with np.errstate(all="ignore"):
        pose, y, _ = solve_loops(robot, x)
        return configuration(robot, pose, y).motion


def _find_symmetric_pose(robot: Robot, first: Leg, second: Leg) -> _MirrorImages:
    """Two legs at the symmetric pose that is nearest to the reference."""
    x = reference_pose(robot)
    motion = _positions_at(robot, x)
    mirror = _reflection(robot, motion, first, second)

    def residual(at: TreeKinematics) -> Array:
        """How far the points of one leg are from the images of the other's, over the robot's size."""
        images = [mirror.point(point) for point in _leg_points(robot, at, first)]
        return np.ravel(np.array(images) - _leg_points(robot, at, second)) / robot.size

    units = twist_scales(robot)
    for _ in range(_ITERATIONS):
        off = residual(motion)
        if not np.max(np.abs(off)) > 0.01 * _ROUNDING:
            break
        steps = _STEP * np.diag(units)
        changes = [residual(_positions_at(robot, displace_pose(robot, x, step))) - off for step in steps]
        J = np.stack(changes, axis=1) / _STEP
        if not np.all(np.isfinite(J)):
            break
        step = -units * np.linalg.lstsq(J, off, rcond=1e-6)[0]
        for part in _PARTS:
            reached = displace_pose(robot, x, part * step)
            there = _positions_at(robot, reached)
            if np.all(np.isfinite(residual(there))):
                x, motion = reached, there
                break
        else:
            raise _refusal(first, second, "no symmetric pose is within reach")
    return _MirrorImages(robot, first, second, mirror, motion)


def _leg_points(robot: Robot, motion: TreeKinematics, leg: Leg) -> Array:
    """Points of a leg (points, 3), base axes: origins of its bodies, and centres of its joints."""
    joints = [robot.joints[joint] for joint in (*leg.joints, *leg.closures)]
    centres = [
        closure_frames(joint, motion)[0].p
        for joint in joints
        if joint.kind not in (*_ALONG_AXIS, JointKind.PRISMATIC)
    ]
    return np.array([*(motion.poses[body].p for body in leg.bodies), *centres])


def _reflection(robot: Robot, motion: TreeKinematics, first: Leg, second: Leg) -> _Reflection:
    """The reflection between the first joints of two legs on the base, or else between their bodies."""
    pairs = []
    for a, b in zip(first.joints, second.joints, strict=True):
        if robot.joints[a].predecessor == robot.joints[b].predecessor == BASE:
            pairs.append([np.asarray(robot.joints[k].frame_predecessor.p, dtype=float) for k in (a, b)])
    pairs += [[motion.poses[k].p for k in pair] for pair in zip(first.bodies, second.bodies, strict=True)]
    for start, end in pairs:
        length = float(np.linalg.norm(end - start))
        if length > _ROUNDING * robot.size:
            n = (end - start) / length
            return _Reflection(n, float(n @ (start + end)) / 2.0)
    raise _refusal(
        first,
        second,
        "all their bodies have the same origins at the reference pose, so that the plane is not determined; "
        "place their frames apart",
    )


# Last parts of the names of inertial parameters.
_INERTIA = (*INERTIA_NAMES, "rotor_inertia")
# Values that differ by less than this part of them are one.
_EQUAL = 1e-9


class SharingLeg(NamedTuple):
    """A leg that has the parameters of another.

    Attributes:
        leg: the leg.
        signs: by names of parameters of the other leg, those that its own are multiplied with; 1 without one.
    """

    leg: Leg
    signs: dict[str, float]


class LegSharing(NamedTuple):
    """A leg, and others that have its parameters."""

    first: Leg
    others: list[SharingLeg]


class SharedParameter(NamedTuple):
    """A parameter that is another one, times a sign: places among the linear parameters."""

    leader: int
    sign: float


def shared_columns(robot: Robot, shared: object = None, share: str = "all") -> dict[int, SharedParameter]:
    """The parameters that are not their own, by place among the linear parameters.

    Args:
        robot: the robot.
        shared: "legs", "mirrored" or lists of names of legs; what the description says if None; nothing if
            False or "nothing".
        share: "all", or "inertia" for the inertia of bodies and rotors without friction and springs; then of
            identical legs where neither `shared` nor the description says of which.

    Raises:
        ParameterError: if there is no such leg, or legs that are to share parameters differ.
    """
    if share not in SHARED_KINDS:
        raise ParameterError(f"legs share all or inertia, got {share!r}; {did_you_mean(share, SHARED_KINDS)}")
    if shared is None:
        shared = "legs" if robot.shared is None and share == "inertia" else robot.shared
    parameters = linear_parameters(robot)
    tied: dict[int, SharedParameter] = {}
    for sharing in _resolve_sharing(robot, shared):
        tied |= _shared_parameters(robot, sharing, parameters)
    if share == "all":
        return tied
    return {k: leader for k, leader in tied.items() if parameters.names[k].rpartition(".")[2] in _INERTIA}


def drop_broken_sharing(robot: Robot) -> Robot:
    """The robot, without its description's key `shared` if its numbers do not agree with it."""
    try:
        shared_columns(robot)
    except ParameterError:
        return dataclasses.replace(robot, shared=None)
    return robot


def _resolve_sharing(robot: Robot, shared: object) -> list[LegSharing]:
    """Legs that share parameters."""
    if shared is None or shared is False or shared == "nothing":
        return []
    if shared is True or shared == "legs":
        alike: dict[tuple[object, ...], list[Leg]] = {}
        for leg in robot.legs:
            alike.setdefault(_signature(robot, leg), []).append(leg)
        groups = [legs for legs in alike.values() if len(legs) > 1]
        return [LegSharing(legs[0], [SharingLeg(leg, {}) for leg in legs[1:]]) for legs in groups]
    if shared == "mirrored":
        return _find_mirrored_legs(robot)
    if isinstance(shared, str) or not isinstance(shared, Iterable):
        choices = (*SHARING_MODES, "nothing")
        hint = did_you_mean(shared, choices) if isinstance(shared, str) else ""
        raise ParameterError(
            f"shared is {', '.join(map(repr, choices))} or lists of names of legs, got {shared!r}"
            + (f"; {hint}" if hint else "")
        )
    lists = [[entry] if isinstance(entry, str) else list(entry) for entry in shared]
    faults = sharing_faults(robot, lists)
    if faults:
        raise ParameterError(
            f"{robot.name}: {faults[0].message}" + f"; {faults[0].hint}" * bool(faults[0].hint)
        )
    by_name = {leg.name: leg for leg in robot.legs}
    return [_sharing_from_names([named_leg(text) for text in names], by_name, robot) for names in lists]


def _sharing_from_names(
    names: Sequence[tuple[str, bool]], by_name: dict[str, Leg], robot: Robot
) -> LegSharing:
    first = by_name[names[0][0]]
    others = []
    for name, mirrored in names[1:]:
        leg = by_name[name]
        others.append(SharingLeg(leg, mirror_signs(robot, first, leg) if mirrored else {}))
    return LegSharing(first, others)


def _find_mirrored_legs(robot: Robot) -> list[LegSharing]:
    """Legs that are mirror images of one another, directly or one after the other.

    Raises:
        ParameterError: if no legs are, with the reason for two legs that are built alike; or if the signs
            are not unique, as for three legs each of which is the image of both others.
    """
    legs, parameters = robot.legs, linear_parameters(robot)
    images: dict[tuple[int, int], dict[str, float]] = {}
    reasons = []
    for i, j in itertools.permutations(range(len(legs)), 2):
        if structure_difference(robot, legs[i], legs[j]):
            continue
        if i > j and (j, i) not in images:
            continue
        try:
            signs = mirror_signs(robot, legs[i], legs[j])
            _shared_parameters(robot, LegSharing(legs[i], [SharingLeg(legs[j], signs)]), parameters)
        except ParameterError as error:
            reasons.append(str(error))
            continue
        images[i, j] = {name.removeprefix(f"{legs[i].name}."): sign for name, sign in signs.items()}
    sharings, left = [], list(range(len(legs)))
    while left:
        start = left.pop(0)
        reached = _propagate_signs(legs, start, images)
        left = [k for k in left if k not in reached]
        first = legs[start]
        others = [
            SharingLeg(legs[k], {f"{first.name}.{name}": sign for name, sign in signs.items()})
            for k, signs in reached.items()
            if k != start
        ]
        if others:
            sharings.append(LegSharing(first, others))
    if not sharings:
        why = f": {reasons[0]}" if reasons else ""
        raise ParameterError(f"no two legs of {robot.name} are mirror images of each other{why}")
    return sharings


def _propagate_signs(
    legs: Sequence[Leg], start: int, images: dict[tuple[int, int], dict[str, float]]
) -> dict[int, dict[str, float]]:
    """Signs of all legs that reflections lead to from one, by names of parameters within the leg."""
    reached: dict[int, dict[str, float]] = {start: {}}
    waiting = [start]
    while waiting:
        i = waiting.pop(0)
        for (a, j), signs in images.items():
            if a != i:
                continue
            total = {name: sign * reached[i].get(name, 1.0) for name, sign in signs.items()}
            if j not in reached:
                reached[j] = total
                waiting.append(j)
            elif any(sign != reached[j].get(name, 1.0) for name, sign in total.items()):
                raise ParameterError(
                    f"whether {legs[j].name} is the mirror image of {legs[start].name} or has the same "
                    f"parameters is ambiguous, since both are mirror images of others: list the legs, as in "
                    f"[[{legs[start].name}, mirror {legs[j].name}]]"
                )
    return reached


def _signature(robot: Robot, leg: Leg) -> tuple[object, ...]:
    """What legs must have in common to share parameters: bodies with their inertia, kinds of joints."""
    inertia = tuple(tuple(float(f"{v:.9g}") for v in robot.bodies[body].inertia) for body in leg.bodies)
    names = tuple(robot.bodies[body].name.removeprefix(leg.name) for body in leg.bodies)
    kinds = tuple(robot.joints[joint].kind for joint in (*leg.joints, *leg.closures))
    return names, inertia, kinds


def _shared_parameters(
    robot: Robot, sharing: LegSharing, parameters: LinearParameters
) -> dict[int, SharedParameter]:
    """The parameters of legs that are those of the first one.

    Friction, rotors and springs whose values differ in one of the legs stay apart.
    """
    names, values = parameters.names, parameters.values
    index_of = {name: k for k, name in enumerate(names)}
    first = sharing.first
    bodies = {robot.bodies[body].name for body in first.bodies}
    tied: dict[int, SharedParameter] = {}
    for name in [name for name in names if name.startswith(f"{first.name}.")]:
        owner, _, part = name.rpartition(".")
        leader = index_of[name]
        followers = []
        for leg, signs in sharing.others:
            index = index_of.get(leg.name + name.removeprefix(first.name))
            if index is None:
                raise ParameterError(
                    f"{leg.name} has no {name.removeprefix(first.name)[1:]}, as {first.name} has"
                )
            followers.append((index, signs.get(name, 1.0)))
        differ = [index for index, sign in followers if not _are_equal(values[index], sign * values[leader])]
        if differ and owner in bodies and part in INERTIA_NAMES:
            mirrored = dict(followers)[differ[0]] < 0.0
            raise ParameterError(
                f"{names[differ[0]]} is {values[differ[0]]:g}, {name} is {values[leader]:g}: legs that share "
                f"parameters have {'opposite ones, as mirror images' if mirrored else 'the same'}"
            )
        if not differ:
            tied |= {index: SharedParameter(leader, sign) for index, sign in followers}
    return tied


def _are_equal(value: float, expected: float) -> bool:
    """Whether two values are one but for rounding."""
    return abs(value - expected) <= _EQUAL * max(abs(value), abs(expected))

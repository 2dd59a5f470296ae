"""One robot in the viewer: the pose that is requested, the pose that is shown, what is said about it.

The robot stays at the last pose that it can take; the request may be elsewhere, and is then drawn as a red
ghost of the platform with the reason as text: why the pose cannot be taken, or how near a singularity is.
Nothing here knows a browser.

Grips are where the platform is held with the mouse, limited to the motions that the robot has. A grip is a
frame with arrows (translations along its axes) and rings (rotations about them):

    x, y, z and a free orientation    one grip in the platform's frame: it is the pose itself
    some of x, y, z                   one grip in base axes, with the arrows that the robot has
    a free orientation                rings in the platform's axes
    single angles, joints             one ring (or arrow) each, along the z-axis of the grip; its turn (or
                                      way) since it was taken is added to the coordinate as it then was

Coordinates that follow from the others (parasitic motion) have no grip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, NacelleError, SingularError, UnreachableError
from nacelle.kinematics.dependent import dependent_coordinates
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.jacobian import NEAR_SINGULAR_MEASURE, Singularities, singularities
from nacelle.kinematics.limits import has_limit, is_beyond_limits
from nacelle.kinematics.pose_input import check_poses, is_angle, reference_pose
from nacelle.kinematics.solve.inverse import BodyPoses, InverseKinematics, inverse_kinematics
from nacelle.model.joint import Joint, JointKind, Primitive
from nacelle.model.leg import PLATFORM
from nacelle.model.platform import AXES
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import (
    quat_conjugate,
    quat_exp,
    quat_from_matrices,
    quat_multiply,
    rotation_matrices,
)
from nacelle.spatial.scalar import Array

# ---- messages with reasons


# Most joints beyond their limits that are named.
_MAX_JOINTS_NAMED = 4


def failure_message(error: KinematicsError) -> str:
    """Why a pose has no solution: the legs that do not reach, a singular leg, or loops that stay open."""
    if isinstance(error, UnreachableError) and error.legs:
        legs = ", ".join(error.legs)
        return f"out of reach: {legs} {'is' if len(error.legs) == 1 else 'are'} too short or too long"
    if isinstance(error, SingularError):
        return f"{error.kind} singularity: {_message_without_robot(error)}"
    return f"out of reach: {_message_without_robot(error)}"


def _message_without_robot(error: KinematicsError) -> str:
    """The message of an error without the robot's name before it."""
    return str(error).partition(": ")[2] or str(error)


def limit_message(solution: InverseKinematics) -> str:
    """Which joints and drives are beyond their limits at one pose, with their values; "" if none is."""
    robot = solution.robot
    beyond: dict[int, str] = {}
    for j, joint in enumerate(robot.joints):
        if has_limit(joint) and joint.kind is not JointKind.POINT:
            q = solution.joint(joint.name)
            if bool(is_beyond_limits(joint, q)):
                beyond[j] = _joint_limit_message(joint, q)
    for k, actuator in enumerate(robot.actuators):
        value, (low, high) = float(solution.q[k]), actuator.position
        angle = robot.revolute_actuators[k]
        if not low - 1e-9 <= value <= high + 1e-9:
            beyond[actuator.joint] = (
                f"{actuator.name} at {_format_coordinate(value, angle)} ({_format_range(low, high, angle)})"
            )
    more = f" and {len(beyond) - _MAX_JOINTS_NAMED} more" if len(beyond) > _MAX_JOINTS_NAMED else ""
    return ", ".join([*beyond.values()][:_MAX_JOINTS_NAMED]) + more


def branch_message(flags: int) -> str:
    """Message about a pose that has a solution on another branch; "" if it has not."""
    if flags & int(Flag.OTHER_BRANCH):
        return "the loops close only on a branch that is not connected with the reference pose"
    return ""


def nearest_singularity(measures: Singularities) -> tuple[str, float]:
    """The kind of the nearest singularity and its measure at one pose: 1 is best, 0 is singular."""
    legs = [leg.name for leg in measures.robot.legs]
    values = {"parallel": float(measures.parallel), "constraint": float(measures.constraint)}
    if measures.serial.shape[-1]:
        worst = int(np.argmin(measures.serial))
        name = f"serial ({legs[worst]})" if worst < len(legs) else "serial"
        values = {name: float(measures.serial[worst]), **values}
    kind = min(values, key=lambda key: values[key])
    return kind, values[kind]


def _joint_limit_message(joint: Joint, q: np.ndarray) -> str:
    """A joint beyond its limits: the coordinate that is, its value and the limits."""
    offset = 0
    for primitive, (low, high) in zip(joint.primitives, joint.limits, strict=False):
        if primitive is Primitive.SPHERICAL:
            tilt = math.acos(min(1.0, max(-1.0, 1.0 - 2.0 * float(q[offset] ** 2 + q[offset + 1] ** 2))))
            if tilt > high:
                return (
                    f"{joint.name} tilted by {_format_coordinate(tilt, True)} "
                    f"({_format_range(low, high, True)})"
                )
        elif not low - 1e-9 <= float(q[offset]) <= high + 1e-9:
            angle = primitive.is_rotation
            return (
                f"{joint.name} at {_format_coordinate(float(q[offset]), angle)} "
                f"({_format_range(low, high, angle)})"
            )
        offset += primitive.nq
    return joint.name


def _format_range(low: float, high: float, angle: bool) -> str:
    if math.isfinite(low) and math.isfinite(high):
        return f"limits {_format_coordinate(low, angle)} to {_format_coordinate(high, angle)}"
    return f"limit {_format_coordinate(low if math.isfinite(low) else high, angle)}"


def _format_coordinate(value: float, angle: bool) -> str:
    return f"{math.degrees(value):.1f}°" if angle else f"{value * 1e3:.1f} mm"


# ---- poses requested and shown


class PoseStatus(Enum):
    """How a requested pose is: it can be taken, a singularity is near, or it cannot be taken."""

    GOOD = "reachable"
    NEAR = "near singular"
    OUT = "unreachable"


@dataclass(frozen=True)
class Verdict:
    """What is said about a requested pose.

    Attributes:
        status: whether it can be taken.
        reason: a message that says why.
        nearest: kind of the nearest singularity.
        measure: its distance: 1 is best, 0 is singular; NaN where the pose has no solution.
    """

    status: PoseStatus
    reason: str
    nearest: str = ""
    measure: float = float("nan")


class Session:
    """A robot at a pose.

    Attributes:
        robot: the robot.
        limits: whether limits of joints and drives count.
        request: the pose x (nx,) that was asked for last.
        solution: joints and bodies of the pose that is shown.
        verdict: what is said about the request.
    """

    def __init__(self, robot: Robot, *, limits: bool = True) -> None:
        """Place a robot at its reference pose.

        Raises:
            NacelleError: if it cannot be drawn there at all.
        """
        self.robot, self.limits = robot, limits
        start = reference_pose(robot)
        self.solution = inverse_kinematics(robot, start, limits=False)
        self.request = start
        self.verdict = self._assess(self.solution, start)

    @property
    def x(self) -> Array:
        """The pose (nx,) that is shown."""
        return self.solution.x

    @property
    def bodies(self) -> BodyPoses:
        """Where all bodies are: R (bodies, 3, 3), p (bodies, 3), m, base axes."""
        return self.solution.bodies

    @property
    def platform(self) -> Pose:
        """The frame of the platform as it is shown."""
        R, p = self.bodies
        return Pose(R[PLATFORM], p[PLATFORM])

    def move(self, x: Any) -> Verdict:
        """Ask for a pose (nx,); the robot goes there if it can."""
        try:
            request, _ = check_poses(self.robot, x)
        except KinematicsError as error:
            self.verdict = Verdict(PoseStatus.OUT, str(error))
            return self.verdict
        self.request = request
        try:
            solution = self._solve(request)
        except KinematicsError as error:
            self.verdict = Verdict(PoseStatus.OUT, failure_message(error))
            return self.verdict
        self.verdict = self._assess(solution, request)
        if self.verdict.status is not PoseStatus.OUT:
            self.solution = solution
        return self.verdict

    def _solve(self, x: Array) -> InverseKinematics:
        """Joints at a pose, from those that are shown, or from the reference where that leads nowhere."""
        try:
            return inverse_kinematics(self.robot, x, guess=self.solution, limits=self.limits)
        except KinematicsError:
            if not self.solution.y.size:
                raise
            return inverse_kinematics(self.robot, x, limits=self.limits)

    def _assess(self, solution: InverseKinematics, x: Array) -> Verdict:
        """What is said about a pose that has a solution."""
        beyond = limit_message(solution) if self.limits else ""
        branch = branch_message(int(solution.flags))
        if beyond or branch:
            return Verdict(PoseStatus.OUT, f"beyond limits: {beyond}" if beyond else branch)
        try:
            measures = singularities(self.robot, x)
        except NacelleError as error:
            return Verdict(PoseStatus.NEAR, f"the distance from singularities is not determined: {error}")
        if not np.isfinite(measures.parallel):
            return Verdict(PoseStatus.NEAR, "the distance from singularities is not determined here")
        kind, measure = nearest_singularity(measures)
        near = int(Flag.NEAR_SINGULAR | Flag.SINGULAR)
        if measure < NEAR_SINGULAR_MEASURE or (int(solution.flags) | int(measures.flags)) & near:
            message = (
                f"near a {kind} singularity: {measure:.2g} (0 is singular, below "
                f"{NEAR_SINGULAR_MEASURE:g} is near)"
            )
            return Verdict(PoseStatus.NEAR, message, kind, measure)
        return Verdict(
            PoseStatus.GOOD, f"reachable; nearest singularity {kind}: {measure:.2g}", kind, measure
        )

    def ghost_pose(self) -> Pose | None:
        """Where the platform would be in a request that cannot be taken; None if it can.

        Coordinates that the request does not have (parasitic motion, joints of the platform) stay as shown.
        """
        if self.verdict.status is not PoseStatus.OUT:
            return None
        layout, platform = layout_of(self.robot.motion), self.platform
        p, rotation_vector = np.array(platform.p, dtype=float), np.zeros(3)
        for name in self.robot.motion.coordinates:
            if name in AXES[:3]:
                p[AXES.index(name)] = self.request[layout.x_index(name)]
            elif name in AXES and layout.quaternion is None:
                k = layout.x_index(name)
                rotation_vector[AXES.index(name) - 3] = self.request[k] - self.x[k]
        if layout.quaternion is not None:
            return Pose(rotation_matrices(self.request[layout.quaternion]), p)
        return Pose(rotation_matrices(quat_exp(rotation_vector)) @ platform.R, p)

    def dependent(self) -> dict[str, tuple[float, str]]:
        """Coordinates that follow from the others (parasitic motion): value and unit, mm or deg, by name."""
        values = {}
        for name, value in dependent_coordinates(self.solution).items():
            angle = is_angle(self.robot, name)
            values[name] = (float(np.degrees(value)), "deg") if angle else (1e3 * float(value), "mm")
        return values


# ---- grips


@dataclass(frozen=True, eq=False)
class Grip:
    """A grip: of the platform, for its translations and its free orientation, or of one coordinate.

    Attributes:
        at: its frame in the base.
        arrows: the axes of the frame along which it can be moved.
        ring_axes: the axes of the frame about which it can be turned.
        coordinate: the one coordinate that it sets; empty for the platform.
    """

    at: Pose
    arrows: tuple[bool, bool, bool]
    ring_axes: tuple[bool, bool, bool]
    coordinate: str = ""

    @property
    def rings(self) -> bool:
        """Whether it can be turned."""
        return any(self.ring_axes)

    @property
    def quat_xyzw(self) -> Array:
        """Its orientation in the base (4,)."""
        return quat_from_matrices(self.at.R)


_ALL, _NONE, _THIRD = (True, True, True), (False, False, False), (False, False, True)


def grips(session: Session) -> tuple[Grip, ...]:
    """The grips of a robot, at the pose that is requested."""
    robot = session.robot
    platform = session.ghost_pose() or session.platform
    moves = tuple(axis in robot.motion.coordinates for axis in AXES[:3])
    free = layout_of(robot.motion).quaternion is not None
    all_grips = []
    if free and all(moves):
        all_grips.append(Grip(platform, _ALL, _ALL))
    else:
        if any(moves):
            arrows = (moves[0], moves[1], moves[2])
            all_grips.append(Grip(Pose(np.eye(3), platform.p), arrows, _NONE))
        if free:
            all_grips.append(Grip(platform, _NONE, _ALL))
    for name in robot.motion.coordinates:
        if name in AXES[3:] and not free:
            # Its z-axis is the base axis of the rotation; the frame of rz is that of the base.
            R = np.roll(np.eye(3), AXES.index(name) - AXES.index("rz"), axis=0)
            all_grips.append(Grip(Pose(R, platform.p), _NONE, _THIRD, name))
        elif name not in AXES:
            all_grips.append(_joint_grip(session, name))
    return tuple(all_grips)


def _joint_grip(session: Session, name: str) -> Grip:
    """The grip of a joint of the platform: a ring about its axis, or an arrow along it."""
    robot, (R, p) = session.robot, session.bodies
    joint = robot.joints[robot.joint(name)]
    at = Pose(R[joint.predecessor], p[joint.predecessor]) @ joint.frame_predecessor
    if is_angle(robot, name):
        return Grip(at, _NONE, _THIRD, name)
    successor_frame = Pose(R[joint.successor], p[joint.successor]) @ joint.frame_successor
    return Grip(Pose(at.R, successor_frame.p), _THIRD, _NONE, name)


def drag_pose(robot: Robot, grip: Grip, start: Array, position: Array, quat_xyzw: Array) -> Array:
    """The pose that is asked for when a grip has been moved.

    Args:
        robot: the robot.
        grip: the grip as it was when it was taken.
        start: the pose (nx,) that was requested then.
        position: where its origin is now (3,), m, base axes.
        quat_xyzw: its orientation now (4,).
    """
    layout = layout_of(robot.motion)
    x = np.array(start, dtype=float)
    if not grip.coordinate:
        for k, axis in enumerate(AXES[:3]):
            if grip.arrows[k]:
                x[layout.x_index(axis)] = position[k]
        if grip.rings:
            x[layout.quaternion] = quat_xyzw
        return x
    if grip.rings:
        rotation = quat_multiply(quat_conjugate(grip.quat_xyzw), np.asarray(quat_xyzw, dtype=float))
        angle = 2.0 * math.atan2(float(rotation[2]), float(rotation[3]))
        step = math.remainder(angle, 2.0 * math.pi)
    else:
        step = float(grip.at.R[:, 2] @ (np.asarray(position) - grip.at.p))
    x[layout.x_index(grip.coordinate)] += step
    return x

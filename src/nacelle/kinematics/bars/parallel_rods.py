"""Legs with a parallelogram, read as a rod on a universal joint (PRPaR, RRPaR).

Hub and end turn together about the hub's axis, the two rods about axes perpendicular to it: the parallelogram
moves as one rod from the hub's centre to the wrist on a universal joint, with the hub as its cross, the
inertia of the end about the axis added to it, and the end's mass at B.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from nacelle.kinematics.bars.form import (
    ActuatedJoint,
    LegForm,
    Passive,
    UnreadError,
    carriage_of,
    clean,
    clean_parameters,
)
from nacelle.kinematics.legs.axes import TOLERANCE, on_axis, parallel
from nacelle.kinematics.legs.leg_type import leg_type
from nacelle.kinematics.legs.parallelogram import Parallelogram, arm
from nacelle.kinematics.mechanism.closed import generic_poses
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.tree.spanning_tree import TreeMotion
from nacelle.model.joint import FrictionTerm, JointKind
from nacelle.model.loaded import body_parameters
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import transform_parameters
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, at_sample, cross, divide, norm, pack, product


@lru_cache(maxsize=64)
def nearby_poses(mechanism: Mechanism) -> tuple[TreeMotion, ...]:
    """The reference and poses around it."""
    return (
        mechanism.assembly.motion,
        *(motion for motion, _ in generic_poses(mechanism.robot, mechanism.assembly)),
    )


def turns_with(mechanism: Mechanism, body: int) -> bool:
    """Whether a body of the nacelle turns when the robot moves."""
    orientations = [motion.poses[body].R for motion in nearby_poses(mechanism)]
    return any(float(np.max(np.abs(R - orientations[0]))) > 1e-9 for R in orientations)


def parallelogram_form(robot: Robot, index: int, actuator: int) -> LegForm:
    """Read a leg with a parallelogram.

    Raises:
        UnreadError: if it does not move as one rod on a universal joint.
    """
    leg = robot.legs[index]
    recipe = mechanism_of(robot).legs[index].recipe
    p = leg_type(robot, leg).parallelogram
    if p is None or recipe is None or p.root != robot.actuators[actuator].joint:
        raise UnreadError(f"leg {leg.name!r} is not driven at the root of its parallelogram")
    _check(robot, leg.name, p)
    root, wrist = robot.joints[p.root], robot.joints[p.wrist]
    revolute = root.kind is JointKind.REVOLUTE
    X0, (centre, d) = root.frame_predecessor, arm(robot, p)
    n = clean(X0.R[:, 2])
    behind = arm(robot.numeric, p)[0]
    if revolute and not parallel(behind):
        raise UnreadError(f"the hub's axis of leg {leg.name!r} turns with its arm")
    first = n * (1.0 if behind.R[2, 2] > 0.0 else -1.0) if revolute else clean(product(X0.R, centre.R[:, 2]))
    length = norm(d)
    rods, sign = _rods(robot, p, at_sample(first))
    hub = _seen(robot, robot.joints[p.hub].successor, robot.joints[p.hub].frame_successor)
    end = _seen(robot, wrist.predecessor, wrist.frame_predecessor)
    tip = pack([end[0], 0.0, 0.0, end[0] * length, *_point(end[0] * length * length)])
    whole = rods + tip + np.concatenate([hub[:1], np.zeros(9)])
    frame = root.frame_successor
    A, carriage = carriage_of(
        X0, centre.p, revolute, lambda R: _seen(robot, root.successor, frame @ Pose(R, np.zeros(3)))
    )
    terms = [_friction(robot, j) for j in (p.rod_a, p.rod_b, p.end, p.fold)]
    passive = Passive(
        first=_friction(robot, p.hub),
        second=tuple(term for listed in terms for term in listed),
        spherical=(),
        side=sign,
        end=(),
        end_kind=JointKind.REVOLUTE,
        end_side=1.0,
        still=_friction(robot, p.wrist),
    )
    return LegForm(
        name=leg.name,
        kind="rod",
        joint_at_a="U",
        A=A,
        B=wrist.frame_successor.p,
        body=wrist.successor,
        axis=n,
        first=first,
        length=length,
        rod=clean_parameters(whole),
        cross=hub[9] + end[9],
        carriage=carriage,
        drive=ActuatedJoint(actuator, root, revolute),
        passive=passive,
    )


def _point(second: Scalar) -> list[Scalar]:
    """Inertia of a mass on the third axis."""
    return [second, 0.0, second, 0.0, 0.0, 0.0]


def _seen(robot: Robot, body: int, frame: Pose) -> Array:
    """Ten parameters of a body, seen from a frame on it."""
    to = frame.inverse()
    return clean_parameters(transform_parameters(to.R, to.p, body_parameters(robot, body)))


def _friction(robot: Robot, joint: int) -> tuple[FrictionTerm, ...]:
    friction = robot.joints[joint].friction
    return friction[0] if friction else ()


def _rods(robot: Robot, p: Parallelogram, first: Array) -> tuple[Array, float]:
    """Both rods about their own hinges in e_1, e_2, e_3; 1 if the first one's axis is along e_1, else -1."""
    total: Array = np.zeros(10)
    poses = mechanism_of(robot).assembly.motion.poses
    sign = 1.0
    for number, (near, far) in enumerate(((p.rod_a, p.end), (p.rod_b, p.fold))):
        joint, other = robot.joints[near], robot.joints[far]
        own, own_far = robot.numeric.joints[near], robot.numeric.joints[far]
        d = product(joint.frame_successor.R.T, other.frame_predecessor.p - joint.frame_successor.p)
        along = product(poses[own.successor].R, own_far.frame_predecessor.p - own.frame_successor.p)
        axis = product(poses[own.successor].R, own.frame_successor.R[:, 2])
        side = 1.0 if float(np.cross(first, along) @ axis) > 0.0 else -1.0
        sign = side if number == 0 else sign
        e1, e3 = np.array([0.0, 0.0, side]), d * divide(1.0, norm(d))
        E = np.stack([e1, cross(e3, e1), e3], axis=1)
        frame = joint.frame_successor
        total = total + _seen(robot, joint.successor, Pose(product(frame.R, E), frame.p))
    return total, sign


def _check(robot: Robot, name: str, p: Parallelogram) -> None:
    """Refuse what is not one rod on a universal joint."""
    own = robot.numeric
    hub, wrist = own.joints[p.hub], own.joints[p.wrist]
    near = product(hub.frame_successor.R.T, own.joints[p.rod_a].frame_predecessor.p - hub.frame_successor.p)
    if not on_axis(near, robot.size):
        raise UnreadError(f"the rods of leg {name!r} do not start on the hub's axis")
    d = arm(own, p)[1]
    if abs(float(d[2])) > TOLERANCE * robot.size:
        raise UnreadError(f"the rods of leg {name!r} are oblique to their hinges")
    for what, body, frame in (
        ("hub", hub.successor, hub.frame_successor),
        ("end", wrist.predecessor, wrist.frame_predecessor),
    ):
        seen = _seen(own, body, frame)
        if np.max(np.abs(seen[1:3])) > TOLERANCE * max(seen[0] * robot.size, 1e-300):
            raise UnreadError(f"the {what} of leg {name!r} has its centre of mass beside its axis")
    if turns_with(mechanism_of(robot), wrist.successor):
        raise UnreadError(f"the nacelle turns at the end of leg {name!r}")
    for j in (p.hub, p.rod_a, p.rod_b, p.end, p.fold, p.wrist):
        if any(term.basis == "constant" for term in _friction(robot, j)):
            raise UnreadError(f"leg {name!r} has constant friction in a passive joint")

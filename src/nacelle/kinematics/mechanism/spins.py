"""Rods that spin idly and are not quite axisymmetric: their spin torque neglected, or their spin held.

A rod between two spherical joints spins about its axis x (3,) and nothing determines that spin unless its
inertia is axisymmetric: centre of mass c on the axis, and about it, with some A and B in kg m^2,

    I_c = A (1 - x x^T) + B x x^T

Of all such inertias the nearest to a given one (Frobenius norm) has A = (tr I_c - x . I_c x) / 2 and
B = x . I_c x; its mass is moved to the nearest point of the axis. How far a body is from it is a pure number,

    asymmetry = max(|I_c - nearest| / |I_c|, |c - nearest| / l)        largest entries; l length of the body

and what neglecting it costs is estimated with the spin held at zero: over closed configurations, along their
motions N (rates, n), mass matrix M = N^T J^T I J N and weight g of both bodies give the actuators' forces of
random accelerations z, B^T tau = M z + g, which are compared.

By choice (`spin: universal`) a spherical joint of the rod becomes universal instead: its first axis a on the
neighbour is perpendicular to the rod in the reference pose and, over motions near it, as perpendicular to the
rod x as can be: a has the least mean of (a . x)^2, which is zero farthest from the singularity a || x.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from nacelle.kinematics.actuation import actuator_rows
from nacelle.kinematics.mechanism.assembly import Assembly, rate_scale
from nacelle.kinematics.mechanism.closed import closed_near
from nacelle.kinematics.mechanism.idle import Spin
from nacelle.kinematics.mechanism.rank import null_space
from nacelle.kinematics.tree.closure import ClosureState
from nacelle.kinematics.tree.spanning_tree import TreeMotion
from nacelle.model.joint import Joint, JointKind, neutral
from nacelle.model.loaded import body_parameters
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_about_com, inertia_matrix, parameters_from_com
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import skew
from nacelle.spatial.rounding import cleaned
from nacelle.spatial.scalar import Array

# An asymmetry that is rounding, and the largest that is neglected without being asked.
EXACT = 1e-7
NEGLECTED = 1e-2
# How far configurations are moved from the reference (over the size, or rad), and accelerations at each.
_REACHES = (0.0, 0.03, 0.07, 0.07)
_STATES = 8
# Accelerations of the samples, in units of the size and rad, a second squared.
_ACCELERATION = 10.0


def asymmetry(robot: Robot, spin: Spin) -> float:
    """How far a body is from being axisymmetric about its idle spin; 0 for a massless one."""
    ten = np.asarray(body_parameters(robot, spin.body), dtype=float)
    if not ten[0]:
        return 0.0
    near = axisymmetric(ten, spin)
    c, c_near = ten[1:4] / ten[0], near[1:4] / ten[0]
    I, I_near = inertia_about_com(ten), inertia_about_com(near)
    size = max(float(np.max(np.abs(I))), 1e-300)
    ends = [frame.p for body, frame in _frames(robot) if body == spin.body]
    length = max([float(np.linalg.norm(a - b)) for a in ends for b in ends], default=0.0) or robot.size
    return max(float(np.max(np.abs(I - I_near))) / size, float(np.linalg.norm(c - c_near)) / length)


def felt_by(robot: Robot, spin: Spin) -> str:
    """What drives an idle spin: a rotor of its joints, a spring beside its axis, a damper; or empty."""
    for joint in robot.joints:
        if joint.rotor_inertia and spin.body in (joint.predecessor, joint.successor):
            return f"the rotor of {joint.name}"
    x, point = np.array(spin.axis), np.array(spin.point)
    for spring in robot.springs:
        for body, end in zip(spring.bodies, spring.points, strict=True):
            if body == spin.body and np.linalg.norm(np.cross(x, end - point)) > EXACT * robot.size:
                return f"spring {spring.name}, which is not fixed on the axis,"
    for damper in robot.dampers:
        if damper.damping and spin.body in damper.bodies:
            return f"damper {damper.name}"
    return ""


def axisymmetric(ten: Array, spin: Spin) -> Array:
    """Ten parameters of the nearest body that is axisymmetric about the axis of a spin."""
    x, point = np.array(spin.axis), np.array(spin.point)
    com = ten[1:4] / ten[0]
    on_axis = point + float(x @ (com - point)) * x
    I, along = inertia_about_com(ten), np.outer(x, x)
    B = float(x @ I @ x)
    A = 0.5 * (float(np.trace(I)) - B)
    return parameters_from_com(float(ten[0]), on_axis, A * (np.eye(3) - along) + B * along)


def with_axisymmetric(robot: Robot, spins: list[Spin]) -> Robot:
    """The robot with the nearest axisymmetric inertias for some bodies that spin idly."""
    bodies = list(robot.bodies)
    for spin in spins:
        whole, own = body_parameters(robot, spin.body), np.array(bodies[spin.body].inertia)
        # A payload on the body stays what it is: the two together are axisymmetric.
        ten = axisymmetric(np.asarray(whole, dtype=float), spin) - (whole - own)
        inertia = tuple(float(value) for value in ten)
        bodies[spin.body] = dataclasses.replace(bodies[spin.body], inertia=inertia)
    return dataclasses.replace(robot, bodies=tuple(bodies)).alike


def force_error(robot: Robot, near: Robot, start: Assembly, spins: tuple[Spin, ...]) -> float:
    """Largest error of an actuator's forces over its largest force, over sample states, all spins held.

    Args:
        robot: with its whole inertias.
        near: the same with axisymmetric ones.
        start: its closed configuration in the reference pose.
        spins: all its idle spins.
    """
    rng = np.random.default_rng(3)
    errors, sizes = [], []
    for reach in _REACHES:
        found = closed_near(robot, start, reach, rng)
        if found is None:
            continue
        motion, state = found[2:]
        N = _motions(robot, motion, state, spins)
        across = np.linalg.pinv((actuator_rows(robot, motion) @ N).T)
        z = _ACCELERATION * rng.normal(size=(N.shape[1], _STATES))
        tau, tau_near = (across @ _forces(own, motion, N, z) for own in (robot, near))
        errors.append(np.abs(tau - tau_near))
        sizes.append(np.abs(tau))
    if not errors:
        return math.nan
    error, size = (np.max(np.concatenate(parts, axis=1), axis=1) for parts in (errors, sizes))
    return float(np.max(error / np.maximum(size, 1e-300)))


def _motions(robot: Robot, motion: TreeMotion, state: ClosureState, spins: tuple[Spin, ...]) -> Array:
    """Motions N (rates, n) of the robot with its idle spins held, in units of the size and rad."""
    held = [
        (motion.poses[spin.body].R @ np.array(spin.axis)) @ motion.jacobian(spin.body)[3:] for spin in spins
    ]
    scale = rate_scale(robot)
    rows = np.vstack([state.jacobian, *(row[None] for row in held)]) * scale
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(scale[:, None] * null_space(rows / np.where(norms > 0.0, norms, 1.0)))


def _forces(robot: Robot, motion: TreeMotion, N: Array, z: Array) -> Array:
    """M z + g (n, samples): what accelerations z and the weight require along the motions N."""
    total = np.zeros((N.shape[1], z.shape[1]))
    for body, pose in enumerate(motion.poses):
        ten = np.asarray(body_parameters(robot, body), dtype=float)
        if not body or not ten.any():
            continue
        # In the body's axes, about its origin.
        R = np.kron(np.eye(2), pose.R.T)
        J = R @ motion.jacobian(body) @ N
        S = skew(ten[1:4])
        spatial = np.block([[ten[0] * np.eye(3), -S], [S, inertia_matrix(ten)]])
        up = J @ z - (R @ np.concatenate([robot.gravity, np.zeros(3)]))[:, None]
        total = total + J.T @ (spatial @ up)
    return total


def with_universal(robot: Robot, start: Assembly, spin: Spin) -> tuple[Robot, str] | None:
    """The robot with a spherical joint of a spinning body made universal, and that joint's name.

    The joint of the tree that places the body is taken, or else a closure; None if it has no spherical joint.

    Args:
        robot: the robot.
        start: its closed configuration in the reference pose.
        spin: of the body.
    """
    own = [
        k
        for k, joint in enumerate(robot.joints)
        if joint.kind is JointKind.SPHERICAL and spin.body in (joint.predecessor, joint.successor)
    ]
    if not own:
        return None
    joint = robot.joints[own[0]]
    neighbour = joint.predecessor if joint.successor == spin.body else joint.successor
    rng = np.random.default_rng(5)
    seen = [closed_near(robot, start, reach, rng) for reach in _REACHES[1:]]
    motions = [start.motion, *(found[2] for found in seen if found is not None)]
    x = np.array([_direction(motion, spin, neighbour) for motion in motions])
    # Unit vectors perpendicular to the rod in the reference pose, in the neighbour's axes.
    plane = null_space(x[:1])
    _, _, V = np.linalg.svd(x @ plane)
    a = plane @ V[-1]
    universal = _universal(robot, joint, start.motion, neighbour, np.where(np.abs(a) < 1e-12, 0.0, a))
    joints = list(robot.joints)
    joints[own[0]] = universal
    return dataclasses.replace(robot, joints=tuple(joints)).alike, joint.name


def _direction(motion: TreeMotion, spin: Spin, neighbour: int) -> Array:
    """The axis of a spin in the axes of the neighbouring body."""
    return np.asarray(motion.poses[neighbour].R.T @ motion.poses[spin.body].R @ np.array(spin.axis))


def _universal(robot: Robot, joint: Joint, motion: TreeMotion, neighbour: int, a: Array) -> Joint:
    """A universal joint in the place of a spherical one, its first axis a on the neighbour, both at zero.

    Both frames coincide in the reference pose: the axis on the neighbour is a, the one on the rod is
    perpendicular to a and to the rod.
    """
    rod = joint.successor if neighbour == joint.predecessor else joint.predecessor
    pose_near, pose_rod = motion.poses[neighbour], motion.poses[rod]
    ends = [frame.p for body, frame in _frames(robot) if body == rod]
    own = joint.frame_successor.p if rod == joint.successor else joint.frame_predecessor.p
    along = pose_rod.R @ max((end - own for end in ends), key=lambda d: float(np.linalg.norm(d)))
    first = pose_near.R @ a
    second = np.cross(along, first)
    second = second / np.linalg.norm(second)
    x, y = (first, second) if neighbour == joint.predecessor else (second, first)
    R = np.column_stack([x, y, np.cross(x, y)])
    pre = Pose(cleaned(motion.poses[joint.predecessor].R.T @ R), joint.frame_predecessor.p)
    suc = Pose(cleaned(motion.poses[joint.successor].R.T @ R), joint.frame_successor.p)
    free = (-math.inf, math.inf)
    return dataclasses.replace(
        joint,
        kind=JointKind.UNIVERSAL,
        frame_predecessor=pre,
        frame_successor=suc,
        friction=joint.friction * 2,
        springs=(None, None),
        limits=(free, free),
        guess=neutral(JointKind.UNIVERSAL),
    )


def _frames(robot: Robot) -> list[tuple[int, Pose]]:
    """Bodies and the frames of joints on them."""
    first = [(joint.predecessor, joint.frame_predecessor) for joint in robot.joints]
    return first + [(joint.successor, joint.frame_successor) for joint in robot.joints]

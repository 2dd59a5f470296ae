"""Idle motions: those that leave the platform at rest, and the bodies that spin in them.

With u (rates of the leg,) the joint rates of a leg and J (rows, rates) their columns in the Jacobian of the
closures, its idle motions are the null space J u = 0. One that moves a body (or several as one) by a twist
[v; w] (6,) at the base's origin with v . w = 0 is a pure rotation: the points r with v + w x r = 0 are the
line along w through w x v / |w|^2, the axis of the spin. Rods between two spherical joints have one, in a leg
or among the bodies of the platform's own mechanism. It does not act on anything else, so the models set it to
zero:

    (R axis)^T w = 0         R (3, 3) the body's orientation, axis (3,) in its frame, w its angular velocity

Nothing determines such a spin about x (3,) unless the inertia of the rod is axisymmetric: centre of mass c on
the axis, and about it, with some A and B in kg m^2,

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
from collections.abc import Iterable

import numpy as np

from nacelle.errors import format_count
from nacelle.kinematics.mechanism.assembly import Assembly, rate_scale, sample_closed_configuration
from nacelle.kinematics.mechanism.rank import null_space, rank_of, unit_rows
from nacelle.model.joint import UNBOUNDED, Joint, JointKind, neutral_coordinates
from nacelle.model.leg import BASE, PLATFORM, Leg
from nacelle.model.robot import Robot, body_parameters
from nacelle.spatial.inertia import inertia_about_com, inertia_matrix, parameters_from_com
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import skew
from nacelle.spatial.rounding import clean_rounding
from nacelle.spatial.scalar import Array, norm, product
from nacelle.tree.actuation import actuator_rows
from nacelle.tree.closure import ClosureState
from nacelle.tree.rates import InternalFreedom
from nacelle.tree.spanning_tree import TreeKinematics, joint_rate_indices

# Entries of a spin's axis below this are rounding of the null space that it is read from.
_AXIS_ROUNDING = 1e-12


def internal_count(J: Array, top: Array) -> int:
    """Number of motions with the platform at rest: dim ker of J (rows, rates) without the columns `top`."""
    joints = np.delete(np.arange(J.shape[1]), top)
    return int(null_space(J[:, joints]).shape[1]) if joints.size else 0


def internal_freedom_row(motion: TreeKinematics, spin: InternalFreedom) -> Array:
    """The spin of a body about its own axis as a row (rates,) over the rates of the tree: (R axis)^T J_w."""
    axis = motion.poses[spin.body].R @ np.array(spin.axis)
    return np.asarray(axis @ motion.jacobian(spin.body)[3:])


def select_internal_freedoms(
    M: Array, spins: Iterable[tuple[InternalFreedom, Array]]
) -> tuple[list[InternalFreedom], Array]:
    """Of some spins with their rows (rates,) those that hold what equations M (rows, rates) leave free.

    Bodies that spin together are held by one of them. The rows next to M are given with them.
    """
    chosen: list[InternalFreedom] = []
    rank = rank_of(M)
    for spin, row in spins:
        more = np.vstack([M, row])
        if rank < M.shape[1] and rank_of(more) > rank:
            M, rank = more, rank + 1
            chosen.append(spin)
    return chosen, M


def internal_motions(
    robot: Robot, J: Array, motion: TreeKinematics
) -> tuple[tuple[str, ...], tuple[InternalFreedom, ...]]:
    """Name the idle motions leg by leg: bodies that spin alone or together, then what is left.

    Those of the platform's own mechanism are bodies that spin between spherical joints.
    """
    messages: list[str] = []
    internal_freedoms: list[InternalFreedom] = []
    for leg in robot.legs:
        columns = list(joint_rate_indices(robot, leg.joints))
        freedom_count = null_space(J[:, columns]).shape[1] if columns else 0
        for group in _spin_groups(robot, leg) if freedom_count else ():
            spins = _group_spins(robot, J, motion, group)
            if spins:
                messages.append(_describe_spins(robot, spins))
                internal_freedoms += spins
                freedom_count -= 1
        if freedom_count > 0:
            messages.append(f"{format_count(freedom_count, 'motion')} inside leg {leg.name}")
    for group in _groups_between_spherical(robot, robot.platform.bodies):
        spins = _group_spins(robot, J, motion, group)
        messages += [_describe_spins(robot, spins)] if spins else []
        internal_freedoms += spins
    return tuple(messages), tuple(internal_freedoms)


def _describe_spins(robot: Robot, spins: list[InternalFreedom]) -> str:
    names = ", ".join(robot.bodies[spin.body].name for spin in spins)
    return f"{names} {'spins about its own axis' if len(spins) == 1 else 'spin together about their axis'}"


def _spin_groups(robot: Robot, leg: Leg) -> list[list[int]]:
    """Bodies that may spin: single ones without others on them, or the whole of an unbranched leg."""
    carriers = {robot.joints[j].predecessor for j in leg.joints}
    single = [[body] for body in leg.bodies if body not in carriers]
    chain = len(single) == 1 and len(leg.bodies) > 1
    return [list(leg.bodies)] if chain else single


def _groups_between_spherical(robot: Robot, bodies: tuple[int, ...]) -> list[list[int]]:
    """Groups of bodies that two or more spherical joints, and nothing else, join to all others."""
    joints = [joint for joint in robot.joints if not joint.is_coupling]
    group = np.arange(len(robot.bodies))
    for joint in joints:
        if joint.kind is not JointKind.SPHERICAL:
            group[group == group[joint.successor]] = group[joint.predecessor]
    fixed = {group[body] for body in range(len(group)) if body in (BASE, PLATFORM) or body not in bodies}
    spherical = [joint for joint in joints if joint.kind is JointKind.SPHERICAL]
    ends = [group[body] for joint in spherical for body in (joint.predecessor, joint.successor)]
    between: dict[int, list[int]] = {}
    for body in bodies:
        if group[body] not in fixed and ends.count(group[body]) > 1:
            between.setdefault(int(group[body]), []).append(body)
    return list(between.values())


def _group_spins(robot: Robot, J: Array, motion: TreeKinematics, bodies: list[int]) -> list[InternalFreedom]:
    """Spins of bodies while all others stand still; empty if the motion is not one spin about one line."""
    successor_of = {j: joint.successor for j, joint in enumerate(robot.tree_joints)}
    outer_joints = [
        j for j, body in successor_of.items() if robot.joints[j].predecessor in bodies and body not in bodies
    ]
    columns = list(
        joint_rate_indices(robot, [*(j for j, body in successor_of.items() if body in bodies), *outer_joints])
    )
    scale = rate_scale(robot)
    # What hangs on them stays where it is.
    rest = [np.where(motion.movers[successor_of[j]], motion.columns, 0.0) * scale for j in outer_joints]
    alone = null_space(np.vstack([J, *rest])[:, columns]) if columns else np.zeros((0, 0))
    if alone.shape[1] != 1:
        return []
    rates = np.zeros(motion.columns.shape[1])
    rates[columns] = alone[:, 0] * scale[columns]
    twists = {b: motion.columns @ np.where(motion.movers[b], rates, 0.0) for b in bodies}
    moving = [b for b in bodies if np.linalg.norm(twists[b][3:]) > 1e-9]
    if not moving:
        return []
    v0, w = twists[moving[0]][:3], twists[moving[0]][3:]
    size = float(np.linalg.norm(w))
    same = all(np.linalg.norm(twists[b] - twists[moving[0]]) < 1e-7 * size for b in moving)
    still = all(np.linalg.norm(twists[b]) < 1e-7 * size for b in bodies if b not in moving)
    if not same or not still or abs(float(v0 @ w)) > 1e-7 * size * size * robot.size:
        return []
    point = np.cross(w, v0) / size**2
    spins = []
    for b in moving:
        pose = motion.poses[b]
        # An entry that is zero but for the rounding of the null space is zero.
        axis, position = product(pose.R.T, w / size), product(pose.R.T, point - pose.p)
        axis = np.where(np.abs(axis) < _AXIS_ROUNDING, 0.0, axis)
        axis = axis / norm(axis)
        spins.append(InternalFreedom(b, tuple(float(c) for c in axis), tuple(float(c) for c in position)))
    return spins


# ---- rods that spin idly and are not quite axisymmetric: their spin torque neglected, or their spin held


# An asymmetry that is rounding, and the largest that is neglected without being asked.
EXACT_ASYMMETRY = 1e-7
NEGLECTED_ASYMMETRY = 1e-2
# How far configurations are moved from the reference (over the size, or rad), and accelerations at each.
_REACHES = (0.0, 0.03, 0.07, 0.07)
_STATES = 8
# Accelerations of the samples, in units of the size and rad, a second squared.
_ACCELERATION = 10.0


def asymmetry(robot: Robot, spin: InternalFreedom) -> float:
    """How far a body is from being axisymmetric about its idle spin; 0 for a massless one."""
    ten = np.asarray(body_parameters(robot, spin.body), dtype=float)
    if not ten[0]:
        return 0.0
    near = nearest_axisymmetric(ten, spin)
    c, c_near = ten[1:4] / ten[0], near[1:4] / ten[0]
    I, I_near = inertia_about_com(ten), inertia_about_com(near)
    size = max(float(np.max(np.abs(I))), 1e-300)
    ends = [frame.p for body, frame in _joint_frames(robot) if body == spin.body]
    length = max([float(np.linalg.norm(a - b)) for a in ends for b in ends], default=0.0) or robot.size
    return max(float(np.max(np.abs(I - I_near))) / size, float(np.linalg.norm(c - c_near)) / length)


def spin_driver(robot: Robot, spin: InternalFreedom) -> str:
    """What drives an idle spin: a rotor, a spring off its axis, a torsion spring, a damper; or empty."""
    for joint in robot.joints:
        if joint.rotor_inertia and spin.body in (joint.predecessor, joint.successor):
            return f"the rotor of {joint.name}"
    x, point = np.array(spin.axis), np.array(spin.point)
    for spring in robot.springs:
        for body, end in zip(spring.bodies, spring.points, strict=True):
            if body == spin.body and np.linalg.norm(np.cross(x, end - point)) > EXACT_ASYMMETRY * robot.size:
                return f"spring {spring.name}, which is not fixed on the axis,"
    for damper in robot.dampers:
        if damper.damping and spin.body in damper.bodies:
            return f"damper {damper.name}"
    for torsion in robot.torsion_springs:
        if any(torsion.stiffness) and spin.body in torsion.bodies:
            return f"torsion spring {torsion.name}"
    return ""


def nearest_axisymmetric(ten: Array, spin: InternalFreedom) -> Array:
    """Ten parameters of the nearest body that is axisymmetric about the axis of a spin."""
    x, point = np.array(spin.axis), np.array(spin.point)
    com = ten[1:4] / ten[0]
    on_axis = point + float(x @ (com - point)) * x
    I, along = inertia_about_com(ten), np.outer(x, x)
    B = float(x @ I @ x)
    A = 0.5 * (float(np.trace(I)) - B)
    return parameters_from_com(float(ten[0]), on_axis, A * (np.eye(3) - along) + B * along)


def with_axisymmetric(robot: Robot, spins: list[InternalFreedom]) -> Robot:
    """The robot with the nearest axisymmetric inertias for some bodies that spin idly."""
    bodies = list(robot.bodies)
    for spin in spins:
        whole, inertia_of_body = body_parameters(robot, spin.body), np.array(bodies[spin.body].inertia)
        # A payload on the body stays what it is: the two together are axisymmetric.
        ten = nearest_axisymmetric(np.asarray(whole, dtype=float), spin) - (whole - inertia_of_body)
        inertia = tuple(float(value) for value in ten)
        bodies[spin.body] = dataclasses.replace(bodies[spin.body], inertia=inertia)
    return dataclasses.replace(robot, bodies=tuple(bodies)).without_rounding_differences


def force_error(robot: Robot, near: Robot, start: Assembly, spins: tuple[InternalFreedom, ...]) -> float:
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
        closed = sample_closed_configuration(robot, start, reach, rng)
        if closed is None:
            continue
        motion, state = closed[2:]
        N = _motion_basis(robot, motion, state, spins)
        across = np.linalg.pinv((actuator_rows(robot, motion) @ N).T)
        z = _ACCELERATION * rng.normal(size=(N.shape[1], _STATES))
        tau, tau_near = (across @ _generalised_forces(variant, motion, N, z) for variant in (robot, near))
        errors.append(np.abs(tau - tau_near))
        sizes.append(np.abs(tau))
    if not errors:
        return math.nan
    error, size = (np.max(np.concatenate(parts, axis=1), axis=1) for parts in (errors, sizes))
    return float(np.max(error / np.maximum(size, 1e-300)))


def _motion_basis(
    robot: Robot, motion: TreeKinematics, state: ClosureState, spins: tuple[InternalFreedom, ...]
) -> Array:
    """Motions N (rates, n) of the robot with its idle spins held, in units of the size and rad."""
    scale = rate_scale(robot)
    rows = np.vstack([state.jacobian, *(internal_freedom_row(motion, spin)[None] for spin in spins)]) * scale
    return np.asarray(scale[:, None] * null_space(unit_rows(rows)))


def _generalised_forces(robot: Robot, motion: TreeKinematics, N: Array, z: Array) -> Array:
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


def with_universal(robot: Robot, start: Assembly, spin: InternalFreedom) -> tuple[Robot, str] | None:
    """The robot with a spherical joint of a spinning body made universal, and that joint's name.

    The joint of the tree that places the body is taken, or else a closure; None if it has no spherical joint.

    Args:
        robot: the robot.
        start: its closed configuration in the reference pose.
        spin: of the body.
    """
    spherical = [
        k
        for k, joint in enumerate(robot.joints)
        if joint.kind is JointKind.SPHERICAL and spin.body in (joint.predecessor, joint.successor)
    ]
    if not spherical:
        return None
    joint = robot.joints[spherical[0]]
    neighbour = joint.predecessor if joint.successor == spin.body else joint.successor
    rng = np.random.default_rng(5)
    seen = [sample_closed_configuration(robot, start, reach, rng) for reach in _REACHES[1:]]
    motions = [start.motion, *(closed[2] for closed in seen if closed is not None)]
    # The axis in the neighbour's axes, and unit vectors perpendicular to it in the reference pose.
    axis = np.array(spin.axis)
    x = np.array([m.poses[neighbour].R.T @ m.poses[spin.body].R @ axis for m in motions])
    plane = null_space(x[:1])
    _, _, V = np.linalg.svd(x @ plane)
    a = plane @ V[-1]
    universal = _make_universal(robot, joint, start.motion, neighbour, np.where(np.abs(a) < 1e-12, 0.0, a))
    joints = list(robot.joints)
    joints[spherical[0]] = universal
    return dataclasses.replace(robot, joints=tuple(joints)).without_rounding_differences, joint.name


def _make_universal(robot: Robot, joint: Joint, motion: TreeKinematics, neighbour: int, a: Array) -> Joint:
    """A universal joint in the place of a spherical one, its first axis a on the neighbour, both at zero.

    Both frames coincide in the reference pose: the axis on the neighbour is a, the one on the rod is
    perpendicular to a and to the rod.
    """
    rod = joint.successor if neighbour == joint.predecessor else joint.predecessor
    pose_near, pose_rod = motion.poses[neighbour], motion.poses[rod]
    ends = [frame.p for body, frame in _joint_frames(robot) if body == rod]
    origin = joint.frame_successor.p if rod == joint.successor else joint.frame_predecessor.p
    along = pose_rod.R @ max((end - origin for end in ends), key=lambda d: float(np.linalg.norm(d)))
    first = pose_near.R @ a
    second = np.cross(along, first)
    second = second / np.linalg.norm(second)
    x, y = (first, second) if neighbour == joint.predecessor else (second, first)
    R = np.column_stack([x, y, np.cross(x, y)])
    pre = Pose(clean_rounding(motion.poses[joint.predecessor].R.T @ R), joint.frame_predecessor.p)
    suc = Pose(clean_rounding(motion.poses[joint.successor].R.T @ R), joint.frame_successor.p)
    return dataclasses.replace(
        joint,
        kind=JointKind.UNIVERSAL,
        frame_predecessor=pre,
        frame_successor=suc,
        friction=joint.friction * 2,
        springs=(None, None),
        limits=(UNBOUNDED, UNBOUNDED),
        guess=neutral_coordinates(JointKind.UNIVERSAL),
    )


def _joint_frames(robot: Robot) -> list[tuple[int, Pose]]:
    """Bodies and the frames of joints on them."""
    first = [(joint.predecessor, joint.frame_predecessor) for joint in robot.joints]
    return first + [(joint.successor, joint.frame_successor) for joint in robot.joints]

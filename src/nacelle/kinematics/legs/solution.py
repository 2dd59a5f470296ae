"""Legs in closed form: the coordinates of a leg's joints from the pose of the platform.

A leg from the base to the platform is flattened to a chain of single revolute and prismatic axes along z (R,
P) and spherical joints (S), with constant frames X between them; its last joint, the closure, puts its end W
on the platform:

    W = X_0 M_1(q_1) X_1 ... M_k(q_k) X_k

The pose of the platform gives W (3,), m, in the base, and a few subproblems (`subproblem`) the q_i: rad, m,
or quaternions. Which form a leg has is recognised from numbers once (`forms`, `leg_type`); the solution runs
over any scalar.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from nacelle.kinematics.legs.chain import LegChain, flatten_joints, platform_end, serial_chain
from nacelle.kinematics.legs.leg_type import FORMS, leg_type
from nacelle.kinematics.legs.parallelogram import Parallelogram, arm_geometry, arm_offset
from nacelle.kinematics.legs.serial import (
    CHAIN_SOLVERS,
    EndPoint,
    RootSelection,
    aim,
    angle_between,
    axis_motion,
    elbow_direction,
    is_across,
    rotate_z,
    solve_elbow,
)
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import Leg
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, cross, divide, dot, norm, plus, product
from nacelle.spatial.solve import solve
from nacelle.tree.spanning_tree import CosineSine, JointTransform

# References of spherical joints are rounded to multiples of its inverse.
_QUATERNION_GRID = 2.0**32


@dataclass(frozen=True)
class ClosedFormSolution:
    """How a leg is solved.

    Attributes:
        form: name of the closed form, a key of `forms.FORMS`.
        signs: which root is taken, in the order in which roots are met.
        reference_quaternions: for each spherical joint of the leg its reference orientation, quat_xyzw.
    """

    form: str
    signs: tuple[int, ...]
    reference_quaternions: Mapping[int, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class LegSolution:
    """A solved leg.

    Attributes:
        steps: for each tree joint of the leg the steps of its primitives.
        root_margins: the margins of all roots (`subproblem`).
    """

    steps: dict[int, list[JointTransform]]
    root_margins: list[Scalar]


def rod_chains(robot: Robot, leg: Leg) -> tuple[int, list[LegChain]]:
    """The root joint of a leg with rods side by side, and their chains from the frame behind that joint."""
    kind = leg_type(robot, leg)
    root = kind.trunk[0].joints[0].joint
    start = robot.joints[root].frame_successor.inverse()
    return root, [flatten_joints(robot, [near], robot.joints[far], start) for near, far in kind.rods]


def _solve_rods(
    robot: Robot, leg: Leg, poses: Mapping[int, Pose], roots: RootSelection
) -> dict[int, list[JointTransform]]:
    """The first rod gives the root joint's coordinate, then every rod is aimed."""
    j, chains = rod_chains(robot, leg)
    root = robot.joints[j]
    points = [_end_point(leg, chain.target, poses) for chain in chains]
    d = chains[0].X[-1].p
    letter = "R" if root.kind is JointKind.REVOLUTE else "P"
    start = root.frame_predecessor
    step, frame, rod = solve_elbow(letter, start, chains[0].X[0].p, points[0], dot(d, d), roots)
    direction = elbow_direction(letter, chains[0].X[0].p)
    steps: dict[int, list[JointTransform]] = {j: [step]}
    for chain, W in zip(chains, points, strict=True):
        u = product(chain.X[0].R.T, rod) if chain is chains[0] else W.in_frame(frame @ chain.X[0])
        owner, letter = chain.joints[0], "S" if chain.letters == "S" else "U"
        across = is_across(chain.X[0].R[:, 2], direction)
        steps[owner] = aim(letter, chain.X[1].R, chain.X[-1].p, u, owner, roots, across=across)
    return steps


def _solve_parallelogram(
    robot: Robot, p: Parallelogram, W: EndPoint, roots: RootSelection
) -> dict[int, list[JointTransform]]:
    root, hub, rod_a, rod_b, end = (robot.joints[j] for j in (p.root, p.hub, p.rod_a, p.rod_b, p.end))
    letter = "R" if root.kind is JointKind.REVOLUTE else "P"
    R_hub_end, _ = arm_offset(robot, p)
    X_centre, d = arm_geometry(robot, p)
    X_rod = product(hub.frame_successor.R.T, rod_a.frame_predecessor.R)
    step, _, from_elbow = solve_elbow(letter, root.frame_predecessor, X_centre.p, W, dot(d, d), roots)
    # The hub's axis lies along the short sides: where the rods do so, too, the parallelogram is flat.
    across = is_across(X_centre.R[:, 2], elbow_direction(letter, X_centre.p))
    angle_hub, angle_a = aim("U", X_rod, d, product(X_centre.R.T, from_elbow), p.hub, roots, across=across)
    rod = product(rod_a.frame_predecessor.R, rotate_z(angle_a, d))
    fold = robot.joints[p.fold]
    d_b = product(rod_b.frame_successor.R.T, plus(fold.frame_predecessor.p, -rod_b.frame_successor.p))
    angle_b = angle_between(d_b, product(rod_b.frame_predecessor.R.T, rod))
    R_rod = product(product(rod_a.frame_predecessor.R, axis_motion(angle_a).R), rod_a.frame_successor.R.T)
    R = product(product((product(R_rod, end.frame_predecessor.R)).T, R_hub_end), end.frame_successor.R)
    angle_end = CosineSine(R[0, 0], R[1, 0])
    return {p.root: [step], p.hub: [angle_hub], p.rod_a: [angle_a], p.rod_b: [angle_b], p.end: [angle_end]}


def _sign_count(robot: Robot, leg: Leg, form: str) -> int:
    if form == "rods":
        return 1 + sum(robot.joints[j].kind is JointKind.UNIVERSAL for j in leg.joints)
    return FORMS[form].roots


def closed_form_solutions(robot: Robot, leg: Leg, q: Array) -> Iterator[ClosedFormSolution]:
    """List the recipes of a leg's closed form, one for each choice of roots.

    Args:
        robot: the robot, of floats.
        leg: the leg.
        q: coordinates of the tree, from which the reference orientations of spherical joints are taken.
    """
    form = leg_type(robot, leg).form
    if not form:
        return
    references = {
        j: _round_quaternion(q[robot.q_slices[j]])
        for j in leg.joints
        if robot.joints[j].kind is JointKind.SPHERICAL
    }
    for signs in itertools.product((1, -1), repeat=_sign_count(robot, leg, form)):
        yield ClosedFormSolution(form, signs, references)


def _round_quaternion(quat_xyzw: Array) -> tuple[float, ...]:
    """A unit quaternion near another one, rounded, so that it does not depend on the iteration that found it.

    A spherical joint is aimed from its reference by the shortest rotation: any reference near the assembled
    one is right.
    """
    rounded = np.round(quat_xyzw * _QUATERNION_GRID) / _QUATERNION_GRID
    return tuple(float(value) for value in rounded / norm(rounded))


def solve_leg(
    robot: Robot,
    leg: Leg,
    closed_form: ClosedFormSolution,
    poses: Mapping[int, Pose],
    driven: JointTransform | None = None,
) -> LegSolution:
    """Solve a leg.

    Args:
        robot: the robot; its numbers may be symbols.
        leg: the leg.
        closed_form: how to solve it.
        poses: poses of the platform's bodies in the base.
        driven: step of the driven joint of a rod or a strut, where it is known; its margin is below zero on
            the side of the leg's singularity that the signs do not choose.
    """
    roots = RootSelection(closed_form.signs, closed_form.reference_quaternions, robot.numeric.size, driven)
    if closed_form.form == "rods":
        return LegSolution(_solve_rods(robot, leg, poses, roots), roots.root_margins)
    if closed_form.form == "parallelogram":
        folded = leg_type(robot, leg).parallelogram
        assert folded is not None
        W = _end_point(leg, robot.joints[folded.wrist], poses)
        return LegSolution(_solve_parallelogram(robot, folded, W, roots), roots.root_margins)
    if closed_form.form == "three-prismatic":
        return _solve_three_prismatic(robot, leg, poses)
    chain = serial_chain(robot, leg)
    assert chain is not None
    if closed_form.form == "prismatic-planar":
        length, margin = _solve_prismatic_planar(leg, chain, poses)
        return LegSolution({leg.joints[0]: [length]}, [margin])
    W = _end_point(leg, chain.target, poses)
    form = FORMS[closed_form.form]
    solve_chain = CHAIN_SOLVERS[closed_form.form if form.kind == "other" else form.kind]
    solved_steps = solve_chain(form.centre(chain), W, roots, form.free_joint)
    steps: dict[int, list[JointTransform]] = {}
    for owner, step in zip(chain.joints, solved_steps, strict=True):
        steps.setdefault(owner, []).append(step)
    for j in leg.joints:
        steps.setdefault(j, [])
    return LegSolution(steps, roots.root_margins)


def _end_point(leg: Leg, closure: Joint, poses: Mapping[int, Pose]) -> EndPoint:
    """The point of the platform where a leg ends at a closure."""
    body, frame, _ = platform_end(leg, closure)
    pose = poses[body]
    if pose.R.dtype == object or frame.p.dtype == object:
        return EndPoint((pose @ frame).p, None)
    return EndPoint(pose.p, product(pose.R, frame.p))


def _solve_three_prismatic(robot: Robot, leg: Leg, poses: Mapping[int, Pose]) -> LegSolution:
    """Three prismatic joints, on the base and on the platform, close a spherical joint between them.

    The margin is the square of the volume that their directions span.
    """
    body_poses = dict(poses)
    directions: dict[int, dict[int, Array]] = {}
    for j in leg.joints:
        joint = robot.joints[j]
        frame = body_poses[joint.predecessor] @ joint.frame_predecessor
        body_poses[joint.successor] = frame @ joint.frame_successor.inverse()
        direction = {j: frame.R[:, 2]} if joint.kind is JointKind.PRISMATIC else {}
        directions[joint.successor] = directions.get(joint.predecessor, {}) | direction
    closure = robot.joints[leg.closures[0]]
    first = (body_poses[closure.predecessor] @ closure.frame_predecessor).p
    second = (body_poses[closure.successor] @ closure.frame_successor).p
    before, behind = directions.get(closure.predecessor, {}), directions.get(closure.successor, {})
    slides = [j for j in leg.joints if robot.joints[j].kind is JointKind.PRISMATIC]
    none = np.zeros(3)
    A = np.stack([before.get(j, none) - behind.get(j, none) for j in slides], axis=1)
    lengths = dict(zip(slides, solve(A, second - first), strict=True))
    volume = dot(A[:, 0], cross(A[:, 1], A[:, 2]))
    steps: dict[int, list[JointTransform]] = {j: [lengths[j]] if j in lengths else [] for j in leg.joints}
    return LegSolution(steps, [volume * volume])


def _solve_prismatic_planar(leg: Leg, chain: LegChain, poses: Mapping[int, Pose]) -> tuple[Scalar, Scalar]:
    """Slide until the two frames of a C5 joint lie in its plane: n . (W - X_0 (q z) X_1) = 0.

    The margin is the square of n . z, zero where the slide runs along the plane.
    """
    X0, X1 = chain.X
    body, frame, outward = platform_end(leg, chain.target)
    there, here = poses[body] @ frame, X0 @ X1
    n = here.R[:, 2] if outward else there.R[:, 2]
    along = dot(n, X0.R[:, 2])
    return divide(dot(n, there.p - here.p), along), along * along

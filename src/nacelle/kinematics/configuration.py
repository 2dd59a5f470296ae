"""A robot at one reduced pose, by the tree: all positions, and all rates from the reduced twist.

Over any scalar, positions follow in this order:

    x (nx,) -> pose (R, p) of the platform        by the chart of the robot's motion
            -> joints of the platform              entries of x, or passive ones in y
            -> each leg on its own                q_i from the pose of its end, W = X_0 M_1(q_1) X_1 ...
            -> all bodies                         T_child = T_parent X_pre M(q) X_suc^-1

Legs with a closed form follow from x; passive coordinates of the others arrive as y (ny,)
(`nacelle.kinematics.mechanism.mechanism`), which is empty for most robots. Poses in the base, m and rad.
Rates follow linearly (`nacelle.tree.rates`): u = U(x) v, du/dt = U dv/dt + bias(x, v).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from nacelle.kinematics.legs.solution import solve_leg
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.model.joint import Joint, JointKind, Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.scalar import Array, Scalar, atan2, floor, pack
from nacelle.tree.closure import closure_transform
from nacelle.tree.rates import ClosureEquations, TreeRates, rate_equations, solve_rates, tree_rates
from nacelle.tree.spanning_tree import (
    FULL_TURN,
    CosineSine,
    JointTransform,
    TreeKinematics,
    coordinate_from_transform,
    joint_transforms,
    numeric_tree,
    transform_pose,
    tree_axes,
    tree_kinematics_from_transforms,
    tree_velocity,
)


@dataclass(frozen=True)
class Configuration:
    """A robot at one pose, with all its positions.

    Attributes:
        robot: the robot; its numbers may be symbols.
        steps: of all primitives of the tree.
        motion: poses of all bodies and the twists of all rates.
        root_margins: margins of the roots of each leg (`subproblem`), legs in order.
        angles: of numerically solved revolute joints, by joint: there a constant angle can be added to the
            angle itself.
        coordinates: of axes (joint, number) whose coordinates are known themselves, rad or m: entries of x
            and y, and what follows from them by couplings; their angles count turns.
    """

    robot: Robot
    steps: tuple[JointTransform, ...]
    motion: TreeKinematics
    root_margins: tuple[tuple[Scalar, ...], ...]
    angles: Mapping[int, Scalar] = field(default_factory=dict)
    coordinates: Mapping[tuple[int, int], Scalar] = field(default_factory=dict)

    @property
    def mechanism(self) -> Mechanism:
        """The robot's analysis."""
        return mechanism_of(self.robot)

    @property
    def q_tree(self) -> Array:
        """Coordinates of the tree (nq,): rad, m, quat_xyzw; angles as `coordinate` says."""
        entries: list[Scalar] = []
        for (j, number), step in zip(tree_axes(self.robot), self.steps, strict=True):
            if self.robot.joints[j].primitives[number] is Primitive.SPHERICAL:
                entries += list(step)
            else:
                entries.append(self.coordinate(j, number))
        return pack(entries)

    def coordinate(self, joint: int, number: int) -> Scalar:
        """Coordinate (rad or m) of an axis of a joint, in the tree or a closure.

        An angle counts its turns where it is an entry of x or y, or follows from them; any other is the one
        nearest to `Joint.centre`, so within the joint's limits if it can be.
        """
        if (joint, number) in self.coordinates:
            return self.coordinates[joint, number]
        return coordinate_from_transform(
            self.step(joint, number), self.robot.numeric.joints_within_drive_limits[joint], number
        )

    def step(self, joint: int, number: int) -> JointTransform:
        """Where an axis of a joint is, in the tree or a closure."""
        if joint >= self.robot.tree:
            return closure_transform(self.robot.joints[joint], self.motion, number)
        start = sum(len(tree_joint.primitives) for tree_joint in self.robot.tree_joints[:joint])
        return self.steps[start + number]


def configuration(
    robot: Robot, x: Array, y: Array, driven: Mapping[int, Scalar] | None = None
) -> Configuration:
    """Place all bodies.

    Args:
        robot: the robot; its numbers may be symbols.
        x: reduced pose (nx,).
        y: passive coordinates, solved numerically (ny,).
        driven: coordinates (rad, m) of the legs' driven joints, by joint, where they are known: legs that are
            rods or struts are not solved for them (`solve_leg`).
    """
    mechanism = mechanism_of(robot)
    platform = mechanism.chart.pose(x, y[: mechanism.dependent_count] if mechanism.parasitic else None)
    steps: dict[int, list[JointTransform]] = {}
    angles: dict[int, Scalar] = {}
    coordinate_of: dict[int, Scalar] = {}
    known: dict[tuple[int, int], Scalar] = {}
    for name in robot.motion.joint_names:
        j = robot.joint(name)
        index = mechanism.layout.x_index(name)
        steps[j], coordinate_of[j] = joint_transforms(robot.joints[j], x[index : index + 1]), x[index]
    start = mechanism.dependent_count
    for j in mechanism.iterated_joints:
        joint = robot.joints[j]
        steps[j] = joint_transforms(joint, y[start : start + joint.nq])
        if joint.nq == 1:
            coordinate_of[j] = y[start]
        if joint.kind is JointKind.REVOLUTE:
            angles[j] = y[start]
        for number, primitive in enumerate(joint.primitives):
            if primitive is not Primitive.SPHERICAL:
                known[j, number] = y[start]
            start += primitive.nq
    for j, value in mechanism.followers.coordinates(coordinate_of).items():
        steps[j], coordinate_of[j] = joint_transforms(robot.joints[j], pack([value])), value
    poses: dict[int, Pose] = {BASE: identity(), PLATFORM: platform}
    for j in robot.platform.joints:
        joint = robot.joints[j]
        pose = poses[joint.predecessor] @ joint.frame_predecessor
        for primitive, step in zip(joint.primitives, steps[j], strict=True):
            pose = pose @ transform_pose(primitive, step)
        poses[joint.successor] = pose @ joint.frame_successor.inverse()
    root_margins: list[tuple[Scalar, ...]] = []
    for leg, plan in zip(robot.legs, mechanism.legs, strict=True):
        if plan.closed_form is None:
            root_margins.append(())
            continue
        step = None
        for j in leg.joints:
            if driven is not None and j in driven:
                known[j, 0] = _within_half_turn(robot.numeric.joints_within_drive_limits[j], driven[j])
                step = joint_transforms(robot.joints[j], pack([driven[j]]))[0]
        solution = solve_leg(robot, leg, plan.closed_form, poses, step)
        steps |= solution.steps
        root_margins.append(tuple(solution.root_margins))
    tree_steps = tuple(step for j in range(robot.tree) for step in steps[j])
    make = (
        numeric_tree(robot).kinematics_from_transforms
        if robot.numeric is robot
        else partial(tree_kinematics_from_transforms, robot)
    )
    motion = make(platform, tree_steps)
    if robot.couplings:
        motion = replace(motion, coordinates={j: coordinate_of[j] for j in robot.coupled_joints})
    known |= {(j, 0): value for j, value in coordinate_of.items()}
    now = Configuration(robot, tree_steps, motion, tuple(root_margins), angles, known)
    for index, axis in enumerate(mechanism.counted, start=start):
        known[axis] = _angle_with_turns(now.step(*axis), y[index])
    return now


def _within_half_turn(joint: Joint, q: Scalar) -> Scalar:
    """A coordinate (rad, m), angles within half a turn of `Joint.centre`."""
    if not joint.primitives[0].is_rotation:
        return q
    return q - FULL_TURN * floor((q - joint.centre(0)) * (1.0 / FULL_TURN) + 0.5)


def _angle_with_turns(step: CosineSine, near: Scalar) -> Scalar:
    """Angle (rad) of a step with its turns: of those that differ by whole turns the nearest to an angle."""
    q = atan2(step.s, step.c)
    return q + FULL_TURN * floor((near - q) * (1.0 / FULL_TURN) + 0.5)


# ---- all rates from the reduced twist: after positions everything is linear


def chart_basis(mechanism: Mechanism, x: Array, r: Array) -> Array:
    """(nw, d): w for unit rates of the dependent numbers r of the pose and of dependent joints."""
    dependent = mechanism.selection_matrices[1]
    if not mechanism.parasitic:
        return dependent
    m = mechanism.robot.platform_nv
    twists = mechanism.chart.dependent_twists(x, r)
    joints = [k for k, rate in enumerate(mechanism.dependent) if rate >= m]
    tail = np.zeros((mechanism.platform_rate_count - m, twists.shape[1]))
    return np.concatenate([np.concatenate([twists, tail]), dependent[:, joints]], axis=1)


def coordinate_selections(mechanism: Mechanism, x: Array, r: Array) -> tuple[Array, Array]:
    """The bases of `respond` for rates of the coordinates in x, and of what depends on them.

    For a quaternion the rates are the angular velocity. They differ from `RateStructure.selections` with
    parasitic motion, where V_p = B x' + D r' (`nacelle.kinematics.mechanism.chart`).
    """
    basis, dependent = mechanism.selection_matrices[0], chart_basis(mechanism, x, r)
    if mechanism.parasitic:
        basis = np.concatenate([mechanism.chart.twists(x, r), basis[mechanism.robot.platform_nv :]])
    return basis, dependent


def closure_equations_at(now: Configuration) -> ClosureEquations:
    """The closure equations at a configuration, over all rates of the tree."""
    return rate_equations(now.robot, now.mechanism, now.motion)


def rate_map(now: Configuration) -> Array:
    """U (rates, n): all rates of the tree from the reduced twist. Its first rows are S(x) ([KI2007] (9))."""
    return solve_rates(closure_equations_at(now), *now.mechanism.selection_matrices).u


def rates_at(now: Configuration, v: Array) -> TreeRates:
    """All rates at the reduced twist v, and their derivatives where dv/dt = 0."""
    return tree_rates(now.robot, now.mechanism, now.motion, v)


def rates_at_rest(now: Configuration) -> TreeRates:
    """All rates from the reduced twist, at rest: rates and biases are 0."""
    U = rate_map(now)
    still = np.zeros(len(U))
    return TreeRates(U, still, still, tree_velocity(now.robot, now.motion, still))

"""A configuration: everything about position at one reduced pose, over any scalar.

    x (nx,) -> pose (R, p) of the platform        by the chart of the robot's motion
            -> joints of the nacelle              entries of x, or found by iteration in y
            -> each leg on its own                q_i from the pose of its end, W = X_0 M_1(q_1) X_1 ...
            -> all bodies                         T_child = T_parent X_pre M(q) X_suc^-1

Legs with a closed form follow from x; what needs iteration arrives as y (ny,)
(`nacelle.kinematics.mechanism.mechanism`), which is empty for most robots. Poses in the base, m and rad.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from nacelle.kinematics.legs.solution import solve_leg
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.tree.number_tree import number_tree
from nacelle.kinematics.tree.spanning_tree import (
    Step,
    TreeMotion,
    coordinates_from_steps,
    joint_steps,
    motion_of_steps,
    step_motion,
)
from nacelle.model.joint import JointKind
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.scalar import Array, Scalar, pack


@dataclass(frozen=True)
class Configuration:
    """A robot at one pose, with all its positions.

    Attributes:
        robot: the robot; its numbers may be symbols.
        steps: of all primitives of the tree.
        motion: poses of all bodies and the twists of all rates.
        root_margins: margins of the roots of each leg (`subproblem`), legs in order.
        angles: of revolute joints that iteration finds, by joint: there a constant angle can be added to the
            angle itself.
    """

    robot: Robot
    steps: tuple[Step, ...]
    motion: TreeMotion
    root_margins: tuple[tuple[Scalar, ...], ...]
    angles: Mapping[int, Scalar] = field(default_factory=dict)

    @property
    def mechanism(self) -> Mechanism:
        """The robot's analysis."""
        return mechanism_of(self.robot)

    @property
    def q(self) -> Array:
        """Coordinates of the tree (nq,); angles in (-pi, pi], those of coupled joints with their turns."""
        q = coordinates_from_steps(self.steps)
        if not self.motion.coordinates:
            return q
        entries = list(q)
        for j, value in self.motion.coordinates.items():
            entries[self.robot.q_slices[j].start] = value
        return pack(entries)


def configuration(robot: Robot, x: Array, y: Array) -> Configuration:
    """Place all bodies.

    Args:
        robot: the robot; its numbers may be symbols.
        x: reduced pose (nx,).
        y: what was found by iteration (ny,).
    """
    mechanism = mechanism_of(robot)
    platform = mechanism.chart.pose(x, y[: mechanism.chart_size] if mechanism.parasitic else None)
    steps: dict[int, list[Step]] = {}
    angles: dict[int, Scalar] = {}
    given: dict[int, Scalar] = {}
    for name in robot.motion.joint_names:
        j = robot.joint(name)
        place = mechanism.layout.x_index(name)
        steps[j], given[j] = joint_steps(robot.joints[j], x[place : place + 1]), x[place]
    start = mechanism.chart_size
    for j in mechanism.iterated_joints:
        joint = robot.joints[j]
        steps[j] = joint_steps(joint, y[start : start + joint.nq])
        if joint.nq == 1:
            given[j] = y[start]
        if joint.kind is JointKind.REVOLUTE:
            angles[j] = y[start]
        start += joint.nq
    for j, value in mechanism.followers.coordinates(given).items():
        steps[j], given[j] = joint_steps(robot.joints[j], pack([value])), value
    poses: dict[int, Pose] = {BASE: identity(), PLATFORM: platform}
    for j in robot.nacelle.joints:
        joint = robot.joints[j]
        pose = poses[joint.predecessor] @ joint.frame_predecessor
        for primitive, step in zip(joint.primitives, steps[j], strict=True):
            pose = pose @ step_motion(primitive, step)
        poses[joint.successor] = pose @ joint.frame_successor.inverse()
    root_margins: list[tuple[Scalar, ...]] = []
    for leg, plan in zip(robot.legs, mechanism.legs, strict=True):
        if plan.recipe is None:
            root_margins.append(())
            continue
        solution = solve_leg(robot, leg, plan.recipe, poses)
        steps |= solution.steps
        root_margins.append(tuple(solution.root_margins))
    listed = tuple(step for j in range(robot.tree) for step in steps[j])
    make = number_tree(robot).at_steps if robot.numeric is robot else partial(motion_of_steps, robot)
    motion = make(platform, listed)
    if robot.couplings:
        motion = replace(motion, coordinates={j: given[j] for j in robot.coupled_joints})
    return Configuration(robot, listed, motion, tuple(root_margins), angles)

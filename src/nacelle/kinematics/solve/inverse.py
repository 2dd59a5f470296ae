"""Inverse kinematics: from the pose of the platform to all joints and all bodies.

Leg i ends at the frame W_i(q_i) of its own joints, and the platform at pose x (nx,) puts it at P(x) B_i, B_i
constant on its body; the closure joint makes some of its coordinates agree,

    r_i(q_i, x) = 0          for each leg on its own, q_i its coordinates: rad, m, quaternions

    x -> checked poses -> y by iteration where there is no closed form -> q, actuators, margins -> flags

The margins say how far each leg is from a serial singularity (`nacelle.kinematics.margins`), where dr_i/dq_i
loses rank: below zero the pose is out of reach, near zero two solutions meet. One ordinary pose takes a
shorter way to the same bits (`nacelle.kinematics.solve.one_state`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile.compiled import cores
from nacelle.emit.jit.target import run_in_blocks
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.flags import Flag, Flagged, has_failed, is_finite
from nacelle.kinematics.limits import (
    angle_mask,
    closure_coordinates,
    has_limit,
    is_beyond_actuator_limits,
    is_beyond_limits,
    relative_pose,
)
from nacelle.kinematics.margins import (
    failure_error,
    leg_condition,
    margin_flags,
)
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose_input import check_poses
from nacelle.kinematics.solve.ill_conditioned import reevaluate_with_pivoting
from nacelle.kinematics.solve.one_state import single_sample
from nacelle.kinematics.solve.unknowns import BLOCK, SearchStart, search_start, solve_unknowns
from nacelle.model.robot import Robot
from nacelle.results import Plottable, html
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import unwrap_path


class BodyPoses(NamedTuple):
    """Where all bodies are: rotations R (..., bodies, 3, 3), origins p (..., bodies, 3), m, in the base."""

    R: Array
    p: Array

    def _repr_html_(self) -> str:
        """The table for notebooks."""
        return html(self)


@dataclass(frozen=True, eq=False, repr=False)
class InverseKinematics(Flagged, Plottable):
    """All joints at given poses.

    Attributes:
        robot: the robot.
        x: the poses (..., nx).
        y: passive coordinates, solved numerically (..., ny); empty for robots in closed form.
        q_tree: coordinates of all tree joints (..., nq); NaN where a pose has none.
        q: coordinates of the actuators (..., actuators), rad or m.
        margins: how far every leg, and the platform where it has dependent coordinates, is from a serial
            singularity (..., legs): about the squared inverse condition of the leg's own Jacobian
            (`nacelle.kinematics.margins`); 0 where two solutions meet, below 0 out of reach.
        flags: for every pose what was found (`Flag`).
        path: whether the poses, in order, are a path: then angles have no jumps by whole turns along it. Else
            each is within half a turn of the middle of its joint's limits (`Joint.centre`), unless x or a
            guess say how often the joint has turned.
    """

    robot: Robot
    x: Array
    y: Array
    q_tree: Array
    q: Array
    margins: Array
    flags: Array
    path: bool = False

    @property
    def leg_condition(self) -> Array:
        """Condition number (...) of the worst leg's own Jacobian, up to a small factor."""
        return leg_condition(self.margins)

    @property
    def reachable(self) -> Array:
        """Whether each pose (...) has a solution."""
        return np.asarray(~has_failed(self.flags))

    @cached_property
    def bodies(self) -> BodyPoses:
        """Poses of all bodies in the base: R (..., bodies, 3, 3) and p (..., bodies, 3), m."""
        poses = compile_native(kinematic_model.body_poses, self.robot)(self.x, self.y)
        return BodyPoses(poses["R"], poses["p"])

    def joint(self, name: str) -> Array:
        """Coordinates (..., nq) of a joint by name, in the tree or a closure: rad, m, quat_xyzw."""
        j = self.robot.joint(name)
        if j < self.robot.tree:
            return np.asarray(self.q_tree[..., self.robot.q_slices[j]])
        joint = self.robot.joints_within_drive_limits[j]
        q = closure_coordinates(joint, *relative_pose(joint, *self.bodies))
        mechanism = mechanism_of(self.robot)
        for index, (counted, number) in enumerate(mechanism.counted, start=mechanism.iterated_count):
            if counted == j:
                q[..., number] = self.y[..., index]
        return unwrap_path(q, angle_mask((joint,))) if self.path else q

    @property
    def joints(self) -> dict[str, Array]:
        """Coordinates (..., nq) of all joints, active and passive, by name: rad, m, quat_xyzw."""
        return {joint.name: self.joint(joint.name) for joint in self.robot.joints}

    def as_path(self, start: Any = None, *, limits: bool = True) -> InverseKinematics:
        """The same poses, in order, as a path: angles without jumps by whole turns.

        Args:
            start: the joints at the pose before, as this function or `inverse_kinematics` gives them; without
                them the first pose stays as it is.
            limits: whether to check limits, with the turns.
        """
        known = isinstance(start, InverseKinematics) and start.q_tree.ndim == 1
        before = (start.q_tree, start.q) if known else (None, None)
        result = replace(
            self,
            q_tree=unwrap_path(self.q_tree, angle_mask(self.robot.tree_joints), before[0]),
            q=unwrap_path(self.q, self.robot.revolute_actuators, before[1]),
            flags=self.flags.copy(),
            path=True,
        )
        beyond = int(Flag.OUT_OF_LIMITS)
        if limits:
            flags = self.flags & ~beyond
            result.flags[...] = flags | np.where(_is_beyond_limits(result) & ~has_failed(flags), beyond, 0)
        return result


def inverse_kinematics(
    robot: Robot, x: Any, *, guess: Any = None, follow: bool = False, limits: bool = True
) -> InverseKinematics:
    """Find all joints at poses of the platform.

    Solves phi(x, q) = 0 for all joints q.

    Legs with a closed form are solved by it, on the branch of the reference pose; others by continuation from
    the reference pose, or from the solution `guess`. Solutions that are not connected with the reference are
    flagged `OTHER_BRANCH`.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame; see `nacelle.pose`.
        guess: solutions at one pose, or at as many poses, to start from: a result of this function or of
            `inverse_dynamics`, or its y.
        follow: whether the poses, in order, are a path: each starts from the solution before it, and angles
            have no jumps by whole turns (`InverseKinematics.as_path`).
        limits: whether to check the limits of joints and actuators.

    Returns:
        Coordinates of all joints of the tree (..., nq) and of the actuators (..., actuators), rad and m,
        with margins and flags.

    Raises:
        KinematicsError: if x has the wrong shape, or a single pose is not finite.
        UnreachableError: if a single pose is out of reach; in a batch it is flagged, and its numbers are NaN.
        SingularError: if a single pose is a serial singularity; likewise.
    """
    sample = None
    if not follow:
        sample = single_sample(kinematic_model.joint_positions_within_limits, robot)(x, guess)
    if sample is not None:
        q, active, margins, way = (sample.results[name] for name in ("q", "active", "margins", "way"))
        result = InverseKinematics(robot, sample.x, sample.y, q, active, margins, sample.flags)
        if limits and way[0] < 0.0:
            result.flags[...] = int(Flag.OUT_OF_LIMITS)
        return result
    poses, valid = check_poses(robot, x)
    start, rows = search_start(robot, guess), poses.reshape(-1, poses.shape[-1])
    if start is not None or follow or len(rows) <= BLOCK:
        result = _inverse_kinematics(robot, poses, valid, start, follow=follow, limits=limits)
        if poses.ndim == 1 and has_failed(result.flags):
            raise failure_error(robot, poses, result.margins, result.flags)
        return result.as_path(guess, limits=limits) if follow else result
    blocks = _in_blocks(robot, rows, valid.reshape(-1), limits=limits)
    batch = poses.shape[:-1]
    x, y, q_tree, q, margins, flags = (array.reshape(*batch, *array.shape[1:]) for array in blocks)
    return InverseKinematics(robot, x, y, q_tree, q, margins, flags)


def _in_blocks(robot: Robot, x: Array, valid: Array, *, limits: bool) -> list[Array]:
    """The arrays of inverse kinematics at many poses (N, nx), by blocks that fit caches."""

    def evaluate(a: int, b: int) -> list[Array]:
        block = _inverse_kinematics(robot, x[a:b], valid[a:b], limits=limits)
        return [block.x, block.y, block.q_tree, block.q, block.margins, block.flags]

    def part(a: int, b: int) -> None:
        for array, values in zip(whole, first if (a, b) == (0, BLOCK) else evaluate(a, b), strict=True):
            array[a:b] = values

    first = evaluate(0, BLOCK)
    whole = [np.empty((len(x), *values.shape[1:]), values.dtype) for values in first]
    run_in_blocks(part, len(x), BLOCK, cores())
    return whole


def _inverse_kinematics(
    robot: Robot,
    poses: Array,
    valid: Array,
    start: SearchStart | None = None,
    *,
    limits: bool,
    follow: bool = False,
) -> InverseKinematics:
    """Inverse kinematics at checked poses."""
    y, branch = solve_unknowns(mechanism_of(robot), poses, start, follow=follow)
    flags = np.where(valid, branch, int(Flag.INVALID))
    outputs = compile_native(kinematic_model.joint_positions, robot)(poses, y)
    outputs = reevaluate_with_pivoting(robot, outputs, (poses, y), flags)
    q, active, margins = outputs["q"], outputs["active"], outputs["margins"]
    flags |= margin_flags(margins, flags)
    flags |= np.where(is_finite(q) | has_failed(flags), 0, int(Flag.SINGULAR))
    bad = has_failed(flags)
    q[bad], active[bad] = np.nan, np.nan
    result = InverseKinematics(robot, poses, y, q, active, margins, flags)
    if limits and not follow:
        flags |= np.where(_is_beyond_limits(result) & ~bad, int(Flag.OUT_OF_LIMITS), 0)
    return result


def _is_beyond_limits(result: InverseKinematics) -> Array:
    robot = result.robot
    beyond = is_beyond_actuator_limits(robot, result.q)
    for j, joint in enumerate(robot.joints):
        if has_limit(joint) and joint.kind.value != "point":
            q = result.q_tree[..., robot.q_slices[j]] if j < robot.tree else result.joint(joint.name)
            beyond |= is_beyond_limits(joint, q)
    return np.asarray(beyond)

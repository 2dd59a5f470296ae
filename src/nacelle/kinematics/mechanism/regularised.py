"""Loops that close only to the digits of a file: the smallest change of joint frames that closes them.

An overconstrained loop (a planar one in space, a parallelogram, a spherical one) moves only where its axes
are exactly parallel or meet exactly, and numbers with six digits are neither. With the independent
coordinates held, the closures leave open r(q, theta) (rows,) at the dependent coordinates q; theta are small
twists of the joints' constant frames. Over configurations k, each brought to the least |r|,

    J_k dq_k + D_k dtheta = -r_k    for all k,       |theta| as small as possible

The dependent coordinates take up what lies in the range of J_k. With W_k a basis of the rest, W_k^T J_k = 0
(as many columns as the loops are overconstrained),

    W_k^T D_k theta = W_k^T (D_k theta_old - r_k)         stacked over k, least norm

is solved and repeated from the changed frames. What holds at enough configurations holds at all: the closures
are algebraic in q. New configurations confirm it, or are added. Parallel axes become parallel and meeting
ones meet because the loop would not move otherwise; no rule names them.

Frames are those of the tree's joints on their predecessors and both of every closure; lengths over the
robot's size, angles in rad.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, replace

import numpy as np

from nacelle.kinematics.mechanism.assembly import (
    Assembly,
    independent_rate_mask,
    integrate_tree,
    rate_scale,
    row_scale,
    scaled_closures,
    solve_closures,
)
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import nearest_rotation, quat_from_vector, rotation_quat, skew
from nacelle.spatial.rounding import clean_rounding
from nacelle.spatial.scalar import Array
from nacelle.tree.closure import ClosureState, closure_frames, lock_rates
from nacelle.tree.spanning_tree import TreeKinematics

# The largest change of a frame, over the robot's size or in rad, and how much larger a gap is worth a try.
LARGEST_CORRECTION = 1e-4
_LARGEST_GAP = 5.0
# Gaps (over the size, or rad) of frames that are left as they are, and of loops that are closed.
_CLOSED = 1e-13
_CONFIRMED = 1e-11
# Configurations at first for each independent coordinate (loops are moved together: of at most how many),
# how many confirm them, how often these are added.
_CONFIGURATIONS = 8
_MOST_MOTIONS = 6
_CONFIRMING = 4
# How far configurations are from the start: in how many steps of at most how much, rad or over the robot's
# size.
_STEPS_OF_WAYS, _STEP_OF_WAYS = (1, 2, 4, 8), 0.15
# Ways end where dependent rates act on the closures by less than this part of what they do at the start.
_SINGULAR = 0.2
_ROUNDS = 6
# Equal lengths of parallelograms are double roots, of whose error each step leaves a half.
_STEPS, _WHOLE_STEPS = 14, 3
# Singular values of the closures below this part of the largest are not acted on by the coordinates.
_RANK = 1e-5

FrameIndex = tuple[int, str]
Configuration = tuple[Pose, Array]


@dataclass(frozen=True)
class FrameCorrection:
    """How a joint frame was changed: its joint by index, on which side, by how much (m, rad)."""

    joint: int
    side: str
    length: float
    angle: float


@dataclass(frozen=True)
class LoopClosingCorrection:
    """The changes of joint frames that close all loops.

    Attributes:
        robot: the robot with the changed frames.
        frames: how each frame was changed.
    """

    robot: Robot
    frames: tuple[FrameCorrection, ...]

    @property
    def largest_shift(self) -> FrameCorrection:
        """The frame with the largest shift."""
        return max(self.frames, key=lambda frame: frame.length)

    @property
    def largest_rotation(self) -> FrameCorrection:
        """The frame with the largest rotation."""
        return max(self.frames, key=lambda frame: frame.angle)

    def name(self, frame: FrameCorrection) -> str:
        """The name of a frame's joint."""
        return self.robot.joints[frame.joint].name


@dataclass(frozen=True)
class CorrectionOptions:
    """What a correction of joint frames may change, and what it changes rather.

    Attributes:
        largest: change of a frame that is accepted, over the robot's size or in rad.
        angle_weight: a rotation by this angle (rad) counts as a shift by the robot's size.
        held: rates (rates,) that the closures leave independent; those of the motion if None.
    """

    largest: float = LARGEST_CORRECTION
    angle_weight: float = 1.0
    held: Array | None = None


def regularise_geometry(
    robot: Robot, start: Assembly, options: CorrectionOptions | None = None
) -> LoopClosingCorrection | None:
    """The smallest change of a robot's joint frames with which its loops close; None if it is not small.

    Args:
        robot: the robot, whose loops stay open by little, or move less than they are meant to.
        start: its configuration in the reference pose with the smallest gaps.
        options: what may be changed.
    """
    options = options or CorrectionOptions()
    if not robot.closures or _largest_gap(robot, start.closures.residual) > _LARGEST_GAP * options.largest:
        return None
    held = independent_rate_mask(robot) if options.held is None else options.held
    options = replace(options, held=held)
    rng = np.random.default_rng(7)
    frames = _correctable_frames(robot)
    theta = np.zeros((len(frames), 6))
    near: list[Configuration] = [(start.platform, start.q_tree)]
    near += _configurations(robot, start, options, rng, _CONFIGURATIONS * min(robot.motion.n, _MOST_MOTIONS))
    if all(_configuration_gap(robot, configuration, held) < _CONFIRMED for configuration in near):
        return None
    for _ in range(_ROUNDS):
        solution = _solve_corrections(robot, frames, theta, near, options)
        if solution is None:
            return None
        theta, changed = solution
        others = _configurations(changed, start, options, rng, _CONFIRMING)
        if all(_configuration_gap(changed, configuration, held) < _CONFIRMED for configuration in others):
            changed = changed.without_rounding_differences
            if _configuration_gap(changed, near[0], held) > _CONFIRMED:
                return None
            return LoopClosingCorrection(changed, _frame_corrections(frames, theta))
        near += others
    return None


def _frame_corrections(frames: list[FrameIndex], theta: Array) -> tuple[FrameCorrection, ...]:
    shifts, angles = (np.linalg.norm(part, axis=1).tolist() for part in (theta[:, 3:], theta[:, :3]))
    return tuple(
        FrameCorrection(joint, side, shift, angle)
        for (joint, side), shift, angle in zip(frames, shifts, angles, strict=True)
    )


def _correctable_frames(robot: Robot) -> list[FrameIndex]:
    """The frames that may change: of the tree's joints on predecessors, both of closures; none on a point."""
    frames = [(j, "predecessor", joint.predecessor) for j, joint in enumerate(robot.joints)]
    frames += [(j, "successor", joint.successor) for j, joint in enumerate(robot.closures, start=robot.tree)]
    fixed = {PLATFORM} if robot.platform.kind == "point" else set()
    moves = _moving_joints(robot)
    in_loops = np.any([moves[c.predecessor] != moves[c.successor] for c in robot.closures], axis=0)
    # What holds the ground of a robot without a platform is written by nobody.
    ground = set() if robot.has_platform else {robot.platform.closures[0]}
    return [
        (j, side)
        for j, side, body in frames
        if body not in fixed and j not in ground and (j >= robot.tree or in_loops[j])
    ]


def _moving_joints(robot: Robot) -> Array:
    """Which joints move which bodies: a mask (bodies, joints)."""
    moves = np.zeros((len(robot.bodies), len(robot.joints)), dtype=bool)
    for j, joint in enumerate(robot.tree_joints):
        moves[joint.successor] = moves[joint.predecessor]
        moves[joint.successor, j] = True
    return moves


def _largest_gap(robot: Robot, residual: Array) -> float:
    """The largest gap, over the size or in rad."""
    return float(np.max(np.abs(residual / row_scale(robot)), initial=0.0))


def _configuration_gap(robot: Robot, configuration: Configuration, held: Array) -> float:
    """The largest gap, over the size or in rad, that a configuration is left with by the dependent rates."""
    return _largest_gap(robot, solve_closures(robot, *configuration, held)[3].residual)


def _configurations(
    robot: Robot, start: Assembly, options: CorrectionOptions, rng: np.random.Generator, count: int
) -> list[Configuration]:
    """Configurations moved at random along the independent coordinates, their gaps as small as can be.

    They are followed from the start in steps, so that the loops stay in its assembly: the farther they are
    from it, the better tell they axes that are parallel from others.
    """
    assert options.held is not None
    result, held, scale = [], options.held, rate_scale(robot)
    regular = _least_action(robot, start.closures, held)
    for k in range(count):
        steps = _STEPS_OF_WAYS[k % len(_STEPS_OF_WAYS)]
        step = np.where(held, _STEP_OF_WAYS * rng.uniform(-1.0, 1.0, held.size) * scale, 0.0)
        pose, q = start.platform, start.q_tree
        for n in range(steps):
            displaced = integrate_tree(robot, pose, q, step)
            new_pose, new_q, _, state = solve_closures(robot, *displaced, held, patience=1)
            is_open = _largest_gap(robot, state.residual) > _LARGEST_GAP * options.largest
            if is_open or _least_action(robot, state, held) < _SINGULAR * regular:
                break
            pose, q = new_pose, new_q
            if n == steps - 1:
                result.append((pose, q))
    return result


def _least_action(robot: Robot, state: ClosureState, held: Array) -> float:
    """The smallest singular value with which dependent rates act on the closures."""
    s = np.linalg.svd(scaled_closures(robot, state)[:, ~held], compute_uv=False)
    return float(np.min(s[s > _RANK * np.max(s, initial=0.0)], initial=math.inf))


def _solve_corrections(
    robot: Robot,
    frames: list[FrameIndex],
    theta: Array,
    near: list[Configuration],
    options: CorrectionOptions,
) -> tuple[Array, Robot] | None:
    """Twists of frames (frames, 6) that close all configurations, and the robot with them, or None."""
    assert options.held is not None
    held = options.held
    units = np.tile([options.angle_weight] * 3 + [robot.size] * 3, len(frames))
    limits = np.tile([options.largest] * 3 + [options.largest * robot.size] * 3, len(frames))
    scale = row_scale(robot)
    for number in range(_STEPS):
        changed = _apply_corrections(robot, frames, theta)
        rows, right, gap = [], [], 0.0
        for k, configuration in enumerate(near):
            pose, q, motion, state = solve_closures(changed, *configuration, held, patience=1)
            near[k] = (pose, q)
            r = state.residual / scale
            gap = max(gap, float(np.max(np.abs(r))))
            J = state.jacobian[:, ~held] / scale[:, None] * rate_scale(changed)[~held]
            U, s, _ = np.linalg.svd(J)
            W = U[:, int(np.sum(s > _RANK * s[0])) :] if s.size else U
            D = _derivatives_by_corrections(changed, frames, motion) / scale[:, None] * units
            rows.append(W.T @ D)
            right.append(-W.T @ r)
        if gap < _CLOSED:
            return theta, changed
        # The matrix is itself as inexact as the loops are open. First steps give all of theta, the
        # smallest; at a double root later ones would lose what they no longer see of it.
        A, b, rank = np.concatenate(rows), np.concatenate(right), max(1e-10, 0.01 * gap)
        if number < _WHOLE_STEPS:
            b, rank, theta = b + A @ (theta.ravel() / units), max(1e-9, gap), np.zeros_like(theta)
        theta = theta + (np.linalg.lstsq(A, b, rcond=rank)[0] * units).reshape(-1, 6)
        if not np.all(np.abs(theta.ravel()) < limits):
            return None
    return (theta, changed) if gap < _CONFIRMED else None


def _apply_corrections(robot: Robot, frames: list[FrameIndex], theta: Array) -> Robot:
    """The robot with frames moved by twists [rotation; translation] in their own axes, rad and m."""
    joints = list(robot.joints)
    for (j, side), twist in zip(frames, theta, strict=True):
        if not np.any(twist):
            continue
        frame: Pose = getattr(joints[j], f"frame_{side}")
        R = nearest_rotation(frame.R @ rotation_quat(quat_from_vector(twist[:3])))
        new_frame = Pose(clean_rounding(R) if np.any(twist[:3]) else frame.R, frame.p + frame.R @ twist[3:])
        if side == "predecessor":
            joints[j] = dataclasses.replace(joints[j], frame_predecessor=new_frame)
        else:
            joints[j] = dataclasses.replace(joints[j], frame_successor=new_frame)
    return dataclasses.replace(robot, joints=tuple(joints))


def _derivatives_by_corrections(robot: Robot, keys: list[FrameIndex], motion: TreeKinematics) -> Array:
    """Derivatives D (rows, 6 frames) of what the closures leave open by the twists of the frames."""
    moves, moved_joints = _moving_joints(robot), [j for j, _ in keys]
    # Twists at the base's origin [v0; w] of frames that turn and move along their own axes.
    columns = []
    for j, side in keys:
        joint = robot.joints[j]
        body = joint.predecessor if side == "predecessor" else joint.successor
        pose = motion.poses[body] @ getattr(joint, f"frame_{side}")
        columns.append(np.block([[skew(pose.p) @ pose.R, pose.R], [pose.R, np.zeros((3, 3))]]))
    frames = replace(motion, columns=np.concatenate(columns, axis=1))
    rows = []
    for c, joint in enumerate(robot.closures, start=robot.tree):
        jacobians = []
        ends = zip(("predecessor", "successor"), (joint.predecessor, joint.successor), strict=True)
        first, second = closure_frames(joint, motion)
        for (side, body), frame in zip(ends, (first, second), strict=True):
            is_moved = moves[body, moved_joints]
            is_moved[[k for k, key in enumerate(keys) if key == (c, side)]] = True
            at_frame = replace(frames, movers=np.repeat([is_moved], 6, axis=1))
            jacobians.append(at_frame.point_jacobian(0, frame.p))
        rows += lock_rates(joint, first, second, *jacobians)
    return np.array(rows)

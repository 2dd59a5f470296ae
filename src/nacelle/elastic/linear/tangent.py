"""A deformed robot in plain numbers, its forces at rest and its tangent stiffness, exactly.

Everything at rest is a wrench F_b = [f; n] (6,) about the base's origin on a body b, or acts along a rate
itself. With the columns C_i of the tree's rates u (`spanning_tree`), i moving the bodies B(i),

    h_i = C_i . sum over B(i) of F_b
    D_j h_i = (C_j x C_i) . sum over B(i) of F_b  [where j moves the frame of axis i]  +  C_i . sum over
    B(i) of D_j F_b

D_j the derivative along rate j. Weights are constant at points that move with their body; the force of a
closure turns with its first body and acts at the second's point. For a robot in equilibrium, h = dV + A^T
lambda = 0, on the rates N that the constraints allow

    N^T (D h) N = N^T (Hessian of V + sum of lambda Hessian of the constraints) N        symmetric

is the stiffness: h is the gradient of V + lambda . phi, and what the choice of rates adds is proportional
to h. Moments that are constant in base axes have no potential; of them the symmetric part counts.

The deformed robot may be anywhere, closed or not. The pose (R, p) of the platform, coordinates q (nq,) of the
joints and elastic ones e (ne,) place all frames of the tree. A small step along the rates r = [V; q'; e'], V
= [v; w] the platform's twist in base axes, gives

    p + v,   exp(w) R,   q + q',   e + e',   and of spherical joints the rotation after exp(w_s), own axes

and what the closures then leave open, with actuators held at the coordinates of a start, are the residuals
that the iteration for equilibrium makes zero (`statics`): m and rad over their scales.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.elastic.beam.newton_euler import axial_forces, first_moment
from nacelle.elastic.beam.shapes import Shapes
from nacelle.elastic.flexible_tree import FlexibleTree, joint_offsets
from nacelle.elastic.frames import ElasticFrames
from nacelle.elastic.linear.matrices import closure_springs, spring_row
from nacelle.kinematics.configuration import configuration
from nacelle.kinematics.mechanism.assembly import row_scale
from nacelle.model.joint import Primitive
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_exp, quat_multiply, rotation_quat
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import actuator_scales, actuator_transforms, joint_axes
from nacelle.tree.closure import closure_frames, closure_residual, closure_transform
from nacelle.tree.spanning_tree import (
    CosineSine,
    JointTransform,
    coordinate_from_transform,
    numeric_tree,
    rates_moving_bodies,
    tree_transforms,
)


@dataclass(frozen=True, eq=False)
class DeformedRobot:
    """Where a robot with flexible links is.

    Attributes:
        elastic_tree: the robot as a tree of frames.
        platform: pose of the platform body.
        q_tree: coordinates of the robot's tree joints (nq,).
        qe: elastic coordinates (ne,).
    """

    elastic_tree: FlexibleTree
    platform: Pose
    q_tree: Array
    qe: Array

    def frames(self) -> ElasticFrames:
        """All frames there."""
        coordinates = self.elastic_tree.coordinates(self.q_tree, self.qe)
        motion = numeric_tree(self.elastic_tree.tree).motion(self.platform, coordinates)
        return ElasticFrames(self.elastic_tree, self.qe, motion)

    def displace(self, step: Array) -> DeformedRobot:
        """The robot after a small motion (r,): its rates r = [z; e] for a unit of time.

        The platform's twist is at its origin in base axes, the rates of spherical joints in successor axes.
        """
        robot = self.elastic_tree.robot
        R = self.platform.R
        if robot.platform_nv == 6:
            R = rotation_quat(quat_exp(step[3:6])) @ R
        q = self.q_tree.copy()
        for primitive, coordinate, rate in joint_offsets(robot):
            part, where = step[rate : rate + primitive.nv], slice(coordinate, coordinate + primitive.nq)
            if primitive is Primitive.SPHERICAL:
                rotated = quat_multiply(q[where], quat_exp(part))
                q[where] = rotated / np.linalg.norm(rotated)
            else:
                q[where] = q[where] + part
        bent = self.qe + step[len(step) - self.elastic_tree.ne :]
        return DeformedRobot(self.elastic_tree, Pose(R, self.platform.p + step[:3]), q, bent)


def undeformed_robot(flexible: FlexibleTree, x: Array, y: Array) -> DeformedRobot:
    """The robot with straight links at a pose x (nx,), with passive coordinates y (ny,)."""
    now = configuration(flexible.robot, x, y)
    q = np.asarray(now.q_tree, dtype=float)
    return DeformedRobot(flexible, now.motion.poses[PLATFORM], q, np.zeros(flexible.ne))


def constraint_gaps(state: DeformedRobot, start: DeformedRobot, frames: ElasticFrames, rows: int) -> Array:
    """What the constraints leave open (rows + actuators,), scaled as they are.

    Actuators are locked where they are at `start`; idle spins (the last of the rows) leave nothing open.
    """
    flexible = state.elastic_tree
    open_ = np.zeros(rows)
    closed = np.asarray(closure_residual(flexible.tree, frames.motion), dtype=float) / row_scale(
        flexible.tree
    )
    open_[: len(closed)] = closed
    now = _actuator_steps(state, frames)
    locked = _actuator_steps(start, start.frames())
    changes = [
        b.s * a.c - b.c * a.s if isinstance(a, CosineSine) else b - a
        for a, b in zip(locked, now, strict=True)
    ]
    return np.concatenate([open_, np.array(changes, dtype=float) / actuator_scales(flexible.robot)])


def _actuator_steps(state: DeformedRobot, frames: ElasticFrames) -> list[JointTransform]:
    tree = state.elastic_tree.tree
    steps = tree_transforms(tree, state.elastic_tree.coordinates(state.q_tree, state.qe))
    return actuator_transforms(tree, frames.motion, steps)


# ---- forces at rest along all rates, and how they change


@dataclass(frozen=True)
class ExternalLoads:
    """What acts from outside.

    Attributes:
        gravity: acceleration (3,), m/s^2.
        wrenches: [f; n] (6,) in base axes on bodies and, after them, tools, by index.
    """

    gravity: Array
    wrenches: Mapping[int, Array]

    def scale(self, factor: float) -> ExternalLoads:
        """The same loads, multiplied."""
        return ExternalLoads(self.gravity * factor, {k: w * factor for k, w in self.wrenches.items()})


class WrenchChange(NamedTuple):
    """A wrench F (6,) about the base's origin on a body, and D F (6, u) along the tree's rates."""

    body: int
    F: Array
    DF: Array


class Forces(NamedTuple):
    """Forces h (r,) along the rates r = [z; e] and their derivatives D h (r, r), row i of h_i."""

    h: Array
    D: Array

    def plus(self, other: Forces) -> Forces:
        """The sum of two."""
        return Forces(self.h + other.h, self.D + other.D)


@lru_cache(maxsize=64)
def axis_carriers(tree: Robot) -> Array:
    """For rates i, j of a tree whether j moves the frame in which the axis of i is fixed (u, u), of bool."""
    m = tree.platform_nv
    movers = rates_moving_bodies(tree)
    result = np.zeros((movers.shape[1],) * 2, dtype=bool)
    # The platform's rotations are about its origin, with axes of the base.
    result[3:m, :3] = True
    for joint, part in zip(tree.tree_joints, tree.v_slices, strict=True):
        first = start = m + part.start
        for primitive in joint.primitives:
            columns = slice(start, start + primitive.nv)
            result[columns] = movers[joint.predecessor]
            result[columns, first:start] = True
            if primitive is Primitive.SPHERICAL:
                result[columns, columns] = True
            start += primitive.nv
    return result


def _cross(a: Array, b: Array) -> Array:
    """Cross products along the first axis (3, ...)."""
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _column(v: Array) -> Array:
    return v[:, None]


class LoadedRobot:
    """A robot in a configuration, ready to sum up forces."""

    def __init__(self, state: DeformedRobot) -> None:
        """Place its frames."""
        self.state = state
        self.elastic_tree = state.elastic_tree
        self.tree = state.elastic_tree.tree
        self.frames = frames = state.frames()
        self.C = np.asarray(frames.motion.columns, dtype=float)
        self.movers = frames.motion.movers

    def turns(self, body: int) -> Array:
        """Angular velocities (3, u) of a body along the tree's rates."""
        return np.where(self.movers[body], self.C[3:], 0.0)

    def moves(self, body: int, point: Array) -> Array:
        """Velocities (3, u) of a point of a body."""
        return np.where(self.movers[body], self.C[:3] + _cross(self.C[3:], _column(point)), 0.0)

    def force(self, body: int, point: Array, f: Array, Df: Array | None = None) -> WrenchChange:
        """A force at a point that moves with a body; Df (3, u) its own changes."""
        Df = np.zeros((3, self.C.shape[1])) if Df is None else Df
        Dn = _cross(self.moves(body, point), _column(f)) + _cross(_column(point), Df)
        return WrenchChange(body, np.concatenate([f, np.cross(point, f)]), np.concatenate([Df, Dn]))

    def couple(self, body: int, n: Array, Dn: Array | None = None) -> WrenchChange:
        """A moment n (3,), base axes, N m, on a body, with its derivatives Dn (3, r) along the rates."""
        Dn = np.zeros((3, self.C.shape[1])) if Dn is None else Dn
        return WrenchChange(body, np.concatenate([np.zeros(3), n]), np.concatenate([0.0 * Dn, Dn]))

    def pair(self, first: int, second: int, change: WrenchChange) -> list[WrenchChange]:
        """A wrench on the second body of a joint, its opposite on the first."""
        return [change._replace(body=second), WrenchChange(first, -change.F, -change.DF)]

    def sum_wrenches(self, changes: Iterable[WrenchChange]) -> Forces:
        """What wrenches on bodies give along r."""
        size = self.C.shape[1]
        total, D = np.zeros((6, size)), np.zeros((size, size))
        for change in changes:
            mask = self.movers[change.body]
            total[:, mask] += change.F[:, None]
            D[mask] += self.C[:, mask].T @ change.DF
        v, w = self.C[:3], self.C[3:]
        # (C_j x C_i) . F_i = (w_j x v_i + v_j x w_i) . f_i + (w_j x w_i) . n_i = w_j . a_i + v_j . b_i
        a, b = _cross(v, total[:3]) + _cross(w, total[3:]), _cross(w, total[:3])
        D += np.where(axis_carriers(self.tree), a.T @ w + b.T @ v, 0.0)
        B = self.elastic_tree.embedding
        return Forces(B.T @ np.sum(self.C * total, axis=0), B.T @ D @ B)

    # ---- the forces

    def outside(self, loads: ExternalLoads) -> Forces:
        """Minus gravity and external wrenches."""
        changes = []
        robot, poses = self.elastic_tree.robot, self.frames.motion.poses
        if np.any(loads.gravity):
            for body, pose, ten in self.frames.massive_bodies():
                if ten[0]:
                    centre = pose.p + pose.R @ (ten[1:4] / ten[0])
                    changes.append(self.force(body, centre, -ten[0] * loads.gravity))
        for index, wrench in loads.wrenches.items():
            body, point = index, None
            if index >= len(robot.bodies):
                tool = robot.tools[index - len(robot.bodies)]
                body = tool.body
                point = poses[body].p + poses[body].R @ tool.frame.p
            point = poses[body].p if point is None else point
            changes += [self.force(body, point, -wrench[:3]), self.couple(body, -wrench[3:])]
        total = self.sum_wrenches(changes)
        return total.plus(self._beam_weights(loads.gravity)) if np.any(loads.gravity) else total

    def _beam_weights(self, gravity: Array) -> Forces:
        """Minus gravity on beams: at the centre of mass, which moves with the elastic coordinates, too."""
        flexible, changes = self.elastic_tree, []
        B = flexible.embedding
        size = B.shape[1]
        h, D = np.zeros(size), np.zeros((size, size))
        for k, shapes in enumerate(flexible.shapes):
            pose, beam, columns = self.frames.floating_frame(k), shapes.beam, flexible.rate_slices[k]
            moment = first_moment(shapes, self.frames.qe[flexible.slices[k]])
            changes.append(
                self.force(beam.body, pose.p + pose.R @ (moment / beam.mass), -beam.mass * gravity)
            )
            axes = pose.R @ shapes.moments
            h[columns] -= axes.T @ gravity
            # Its lever grows with the coordinates, and their axes turn with the frame: the same terms.
            mixed = B.T @ (self.turns(beam.body).T @ _cross(axes, _column(-gravity)))
            D[:, columns] += mixed
            D[columns] += mixed.T
        total = self.sum_wrenches(changes)
        return total.plus(Forces(h, D))

    def constraint_forces(self, forces: Array, efforts: Array) -> Forces:
        """Forces of closures (locks,), N or N m, and efforts of actuators (actuators,), N or N m."""
        changes: list[WrenchChange] = []
        multipliers = iter(np.asarray(forces, dtype=float))
        for joint in self.tree.closures:
            first, second = closure_frames(joint, self.frames.motion)
            for lock in joint.locks:
                value = next(multipliers)
                if value == 0.0:
                    continue
                e = first.R[:, lock[1]]
                axis_rate = _cross(self.turns(joint.predecessor), _column(e))
                if len(lock) == 2:
                    change = self.force(joint.successor, second.p, value * e, value * axis_rate)
                else:
                    f = second.R[:, lock[2]]
                    Dn = _cross(_cross(self.turns(joint.successor), _column(f)), _column(e)) + _cross(
                        _column(f), axis_rate
                    )
                    change = self.couple(joint.successor, value * np.cross(f, e), value * Dn)
                changes += self.pair(joint.predecessor, joint.successor, change)
        size = self.elastic_tree.embedding.shape[1]
        along = np.zeros(size)
        for actuator, effort in zip(self.tree.actuators, efforts, strict=True):
            if actuator.joint < self.tree.tree:
                row = self.tree.platform_nv + self.tree.v_slices[actuator.joint].start
                along += effort * self.elastic_tree.embedding[row]
            else:
                changes += self._axis_effort(actuator.joint, 0, float(effort))
        return self.sum_wrenches(changes).plus(Forces(along, np.zeros((size, size))))

    def _axis_effort(self, index: int, number: int, effort: float) -> list[WrenchChange]:
        """An effort along an axis of a joint that closes a loop."""
        joint = self.tree.joints[index]
        axis = joint_axes(joint, *closure_frames(joint, self.frames.motion))[number]
        s = axis.directions[:, 0]
        # The first axis is fixed to the first body, a second one to the second.
        axis_rate = _cross(self.turns(joint.predecessor if number == 0 else joint.successor), _column(s))
        if axis.is_rotation:
            change = self.couple(joint.successor, effort * s, effort * axis_rate)
        else:
            change = self.force(joint.successor, axis.point, effort * s, effort * axis_rate)
        return self.pair(joint.predecessor, joint.successor, change)

    def springs(self, preload: bool) -> Forces:
        """Springs in joints; without `preload` as if they were at rest here."""
        flexible, robot = self.elastic_tree, self.elastic_tree.robot
        size = flexible.embedding.shape[1]
        h, D = np.zeros(size), np.zeros((size, size))
        changes: list[WrenchChange] = []
        for joint, rate, coordinates in zip(robot.tree_joints, robot.v_slices, robot.q_slices, strict=True):
            for number, spring in enumerate(joint.springs):
                if spring is not None:
                    i = robot.platform_nv + rate.start + number
                    D[i, i] += spring.stiffness
                    h[i] += (
                        spring.holding_force(self.state.q_tree[coordinates.start + number])
                        if preload
                        else 0.0
                    )
        for index, number in closure_springs(flexible):
            joint = self.tree.joints_within_drive_limits[index]
            spring = joint.springs[number]
            assert spring is not None
            row = np.asarray(spring_row(self.frames, index, number), dtype=float)
            D += spring.stiffness * np.outer(row, row)
            if preload:
                q = coordinate_from_transform(
                    closure_transform(joint, self.frames.motion, number), joint, number
                )
                effort = float(spring.holding_force(q))
                changes += self._axis_effort(index, number, effort)
        return Forces(h, D).plus(self.sum_wrenches(changes))

    def elastic_forces(self) -> Forces:
        """Elastic forces of all beams, von Karman's stretch included, and of drives with a spring."""
        flexible, qe = self.elastic_tree, self.state.qe
        coordinates = (qe[part] for part in flexible.slices)
        beams = [_strain_derivatives(*beam) for beam in zip(flexible.shapes, coordinates, strict=False)]
        drives = np.array([drive.stiffness for drive in flexible.springs])
        still, stretched = np.zeros(len(flexible.rigid_rates)), drives * qe[flexible.ne - len(drives) :]
        h = np.concatenate([still, *(force for force, _ in beams), stretched])
        return Forces(h, flexible.elastic_matrix([stiffness for _, stiffness in beams], drives.tolist()))


def _strain_derivatives(shapes: Shapes, q: Array) -> tuple[Array, Array]:
    """Gradient (n,) and Hessian (n, n) of a beam's strain energy."""
    gradient, hessian = shapes.stiffness @ q, shapes.stiffness.copy()
    for stretch, F in zip(shapes.stretches, axial_forces(shapes, q), strict=True):
        row = stretch.row + stretch.slopes @ q
        gradient = gradient + float(F) * row
        hessian += stretch.stiffness * np.outer(row, row) + float(F) * stretch.slopes
    return gradient, hessian


def geometric_stiffness(flexible: FlexibleTree, qe: Array) -> Array:
    """Stiffness (r, r) that axial forces of small elastic coordinates (ne,) give beams: sum of F S."""
    blocks = []
    for shapes, part in zip(flexible.shapes, flexible.slices, strict=False):
        block = np.zeros((shapes.n, shapes.n))
        for stretch in shapes.stretches:
            block += stretch.stiffness * float(stretch.row @ qe[part]) * stretch.slopes
        blocks.append(block)
    return flexible.elastic_matrix(blocks, [0.0] * len(flexible.springs))

"""A deformed robot: its platform, joints and beams anywhere, closed or not, in plain numbers.

The pose (R, p) of the platform, coordinates q (nq,) of the joints and elastic ones e (ne,) place all frames
of the tree. A small step along the rates r = [V; q'; e'], V = [v; w] the platform's twist in base axes, gives

    p + v,   exp(w) R,   q + q',   e + e',   and of spherical joints the rotation after exp(w_s), own axes

and what the closures then leave open, with actuators held at the coordinates of a start, are the residuals
that the iteration for equilibrium makes zero (`equilibrium`): m and rad over their scales.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.elastic.extended import Extended
from nacelle.elastic.frames import ElasticFrames
from nacelle.elastic.linear.matrices import actuator_scale
from nacelle.kinematics.actuation import actuator_steps
from nacelle.kinematics.mechanism.assembly import row_scale
from nacelle.kinematics.tree.closure import closure_gaps
from nacelle.kinematics.tree.configuration import configuration
from nacelle.kinematics.tree.number_tree import number_tree
from nacelle.kinematics.tree.spanning_tree import CosSin, Step, steps_from_coordinates
from nacelle.model.joint import Primitive
from nacelle.model.leg import PLATFORM
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_quat
from nacelle.spatial.rotation_path import quat_exp, quat_multiply
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class Deformed:
    """Where a robot with flexible links is.

    Attributes:
        extended: the robot as a tree of frames.
        platform: pose of the platform body.
        q: coordinates of the robot's tree joints (nq,).
        qe: elastic coordinates (ne,).
    """

    extended: Extended
    platform: Pose
    q: Array
    qe: Array

    def frames(self) -> ElasticFrames:
        """All frames there."""
        coordinates = self.extended.coordinates(self.q, self.qe)
        motion = number_tree(self.extended.tree).motion(self.platform, coordinates)
        return ElasticFrames(self.extended, self.qe, motion)

    def moved(self, step: Array) -> Deformed:
        """The robot after a small motion (r,): its rates r = [z; e] for a unit of time.

        The platform's twist is at its origin in base axes, the rates of spherical joints in successor axes.
        """
        robot = self.extended.robot
        m = robot.platform_nv
        R = self.platform.R
        if m == 6:
            R = rotation_quat(quat_exp(step[3:6])) @ R
        q = self.q.copy()
        rate, place = m, 0
        for joint in robot.tree_joints:
            for primitive in joint.primitives:
                part = step[rate : rate + primitive.nv]
                where = slice(place, place + primitive.nq)
                if primitive is Primitive.SPHERICAL:
                    turned = quat_multiply(q[where], quat_exp(part))
                    q[where] = turned / np.linalg.norm(turned)
                else:
                    q[where] = q[where] + part
                rate, place = rate + primitive.nv, place + primitive.nq
        return Deformed(self.extended, Pose(R, self.platform.p + step[:3]), q, self.qe + step[rate:])


def undeformed_at(own: Extended, x: Array, y: Array) -> Deformed:
    """The robot with straight links at a pose x (nx,), y (ny,) what iteration found."""
    now = configuration(own.robot, x, y)
    q = np.asarray(now.q, dtype=float)
    return Deformed(own, now.motion.poses[PLATFORM], q, np.zeros(own.ne))


def gaps(state: Deformed, start: Deformed, frames: ElasticFrames, rows: int) -> Array:
    """What the constraints leave open (rows + actuators,), scaled as they are.

    Actuators are locked where they are at `start`; idle spins (the last of the rows) leave nothing open.
    """
    own = state.extended
    open_ = np.zeros(rows)
    closed = np.asarray(closure_gaps(own.tree, frames.motion), dtype=float) / row_scale(own.tree)
    open_[: len(closed)] = closed
    now = _actuated(state, frames)
    locked = _actuated(start, start.frames())
    moved = [
        b.s * a.c - b.c * a.s if isinstance(a, CosSin) else b - a for a, b in zip(locked, now, strict=True)
    ]
    return np.concatenate([open_, np.array(moved, dtype=float) / actuator_scale(own.robot)])


def _actuated(state: Deformed, frames: ElasticFrames) -> list[Step]:
    tree = state.extended.tree
    steps = steps_from_coordinates(tree, state.extended.coordinates(state.q, state.qe))
    return actuator_steps(tree, frames.motion, steps)

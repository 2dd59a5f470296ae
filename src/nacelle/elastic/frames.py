"""Positions, rates and forces of a robot with flexible links, over any scalar.

The rates are r = [z; e]: z (nz,) the platform's twist and the rates of the robot's tree joints, as for the
rigid robot, e (ne,) those of the elastic coordinates. With the twists of all frames from the extended tree, u
= B r,

    M = sum over rigid bodies J_b^T I_b J_b + sum over beams J_F^T M_F J_F        ([BK2013] (25), (26))
    A r = 0                                                                      closures, idle spins

J_b (6, r) is the Jacobian of a body; that of a beam's floating frame J_F (6 + n, r) has the rates of its own
coordinates below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.joint_effort import rotors
from nacelle.dynamics.state import State
from nacelle.elastic.beam.newton_euler import mass_matrix
from nacelle.elastic.flexible_tree import FlexibleTree
from nacelle.kinematics.configuration import Configuration
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.leg import BASE
from nacelle.model.robot import body_parameters, has_mass
from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, is_zero, pack, product
from nacelle.tree.actuation import joint_rate_row
from nacelle.tree.closure import closure_state
from nacelle.tree.rates import TreeRates
from nacelle.tree.spanning_tree import (
    TreeKinematics,
    axis_coordinates,
    tree_kinematics_from_transforms,
    tree_transforms,
    tree_velocity,
)


@dataclass(frozen=True)
class ElasticFrames:
    """A robot with flexible links in a configuration.

    Attributes:
        elastic_tree: the robot as a tree of frames.
        qe: elastic coordinates (ne,).
        motion: poses of all frames, and the twists of the tree's rates.
    """

    elastic_tree: FlexibleTree
    qe: Array
    motion: TreeKinematics

    def massive_bodies(self) -> Iterator[tuple[int, Pose, Array]]:
        """Index, pose and ten parameters of every rigid body with mass."""
        tree = self.elastic_tree.tree
        for body, pose in enumerate(self.motion.poses):
            if body != BASE and has_mass(tree, body):
                yield body, pose, body_parameters(tree, body)

    def floating_frame(self, beam: int) -> Pose:
        """Pose of the floating frame of a beam in the base."""
        link = self.elastic_tree.shapes[beam].beam
        return self.motion.poses[link.body] @ link.frame

    def jacobian(self, body: int, point: Array) -> Array:
        """Jacobian (6, r) of the twist [v; w] of a frame at a point, base axes, over r = [z; e]."""
        return self.over_rates(self.motion.point_jacobian(body, point))

    def over_rates(self, rows: Array) -> Array:
        """Rows (k, tree's rates) over r = [z; e]: their product with the embedding, its zeros left out."""
        B = self.elastic_tree.embedding
        if rows.dtype != object:
            return product(rows, B)
        columns = [np.flatnonzero(column) for column in B.T]
        parts = [product(rows[:, nonzero], B[nonzero, k]) for k, nonzero in enumerate(columns)]
        return np.stack(parts, axis=1)

    def beam_jacobian(self, beam: int) -> Array:
        """Jacobian (6 + n, r) of a beam.

        Twist of its floating frame in its axes, rates of its coordinates.
        """
        shapes = self.elastic_tree.shapes[beam]
        pose = self.floating_frame(beam)
        J = self.jacobian(shapes.beam.body, pose.p)
        select = np.eye(J.shape[1])[self.elastic_tree.rate_slices[beam]]
        return np.concatenate([product(pose.R.T, J[:3]), product(pose.R.T, J[3:]), select])

    def mass_matrix(self) -> Array:
        """M (r, r)."""
        elastic_tree, tree = self.elastic_tree, self.elastic_tree.tree
        size = elastic_tree.embedding.shape[1]
        total: Array = np.zeros((size, size))
        for body, pose, ten in self.massive_bodies():
            J = self.jacobian(body, pose.p)
            moving = _nonzero_columns(J)
            V, W = product(pose.R.T, J[:3, moving]), product(pose.R.T, J[3:, moving])
            h = skew(pack(list(ten[1:4])))
            MV = ten[0] * V - product(h, W)
            MW = product(h, V) + product(inertia_matrix(ten), W)
            total = _add_block(total, product(V.T, MV) + product(W.T, MW), moving)
        for k, shapes in enumerate(elastic_tree.shapes):
            # Rates of its own coordinates are themselves: only the frame's twist is multiplied.
            J = self.beam_jacobian(k)[:6]
            beam_mass = mass_matrix(shapes, self.qe[elastic_tree.slices[k]])
            moving = _nonzero_columns(J)
            J = J[:, moving]
            elastic = np.arange(size)[elastic_tree.rate_slices[k]]
            mixed = product(J.T, beam_mass[:6, 6:])
            total = _add_block(total, product(J.T, product(beam_mass[:6, :6], J)), moving)
            total = _add_block(_add_block(total, mixed, moving, elastic), mixed.T, elastic, moving)
            total = _add_block(total, beam_mass[6:, 6:], elastic)
        for index, inertia in rotors(tree):
            row = self.over_rates(joint_rate_row(tree, self.motion, index)[None])
            moving = _nonzero_columns(row)
            total = _add_block(total, inertia * product(row[:, moving].T, row[:, moving]), moving)
        return total

    def constraints(self) -> Array:
        """A (rows, r): closures, divided by the robot's size where they are lengths, and idle spins."""
        elastic_tree = self.elastic_tree
        mechanism = mechanism_of(elastic_tree.robot)
        J = self.over_rates(closure_state(elastic_tree.tree, self.motion).jacobian)
        rows = [J / mechanism.row_scale.reshape(-1, 1)]
        for spins in mechanism.spins:
            for spin in spins:
                pose = self.motion.poses[spin.body]
                W = self.jacobian(spin.body, pose.p)[3:]
                rows.append(product(W.T, product(pose.R, np.array(spin.axis)))[None])
        return np.concatenate(rows)

    def actuator_rows(self) -> Array:
        """Rates of the actuated joints (actuators, r)."""
        tree = self.elastic_tree.tree
        rows = [joint_rate_row(tree, self.motion, a.joint) for a in tree.actuators]
        return self.over_rates(np.stack(rows))


def _nonzero_columns(J: Array) -> Array:
    """Columns of a Jacobian that are not zero throughout: the others need not be multiplied."""
    return np.flatnonzero([not all(map(is_zero, column)) for column in J.T])


def _add_block(total: Array, block: Array, rows: Array, columns: Array | None = None) -> Array:
    """A matrix with a block added to some of its rows and columns, the same if None."""
    result = total.astype(object) if block.dtype == object else total.copy()
    entries = np.ix_(rows, rows if columns is None else columns)
    result[entries] = result[entries] + block
    return result


def configured_frames(
    elastic_tree: FlexibleTree, platform: Pose, q: Array, qe: Array
) -> tuple[ElasticFrames, Configuration]:
    """The robot in a configuration: its frames, and their tree as a rigid robot's configuration.

    Args:
        elastic_tree: the robot as a tree of frames.
        platform: pose of the platform body.
        q: coordinates of the robot's tree joints (nq,).
        qe: elastic coordinates (ne,).
    """
    coordinates = elastic_tree.coordinates(q, qe)
    steps = tree_transforms(elastic_tree.tree, coordinates)
    known = axis_coordinates(elastic_tree.tree, coordinates)
    motion = tree_kinematics_from_transforms(elastic_tree.tree, platform, steps)
    now = Configuration(elastic_tree.tree, tuple(steps), motion, (), coordinates=known)
    return ElasticFrames(elastic_tree, qe, motion), now


def frames_at(elastic_tree: FlexibleTree, platform: Pose, q: Array, qe: Array) -> ElasticFrames:
    """The frames alone; arguments as in `configured_frames`."""
    return configured_frames(elastic_tree, platform, q, qe)[0]


def tree_in_motion(elastic_tree: FlexibleTree, now: Configuration, r: Array) -> State:
    """The tree of frames at rates r (r,), for its rigid bodies and joints."""
    u = product(elastic_tree.embedding, r)
    velocity = tree_velocity(elastic_tree.tree, now.motion, u)
    # Of the rigid robot's rates only u counts here.
    return State(now, TreeRates(np.zeros((0, 0)), u, np.zeros(0), velocity))


def stiffness_matrix(elastic_tree: FlexibleTree) -> Array:
    """K (r, r) of the unloaded robot: its beams, and springs in joints of its tree."""
    robot = elastic_tree.robot
    beams = [shapes.linear_stiffness for shapes in elastic_tree.shapes]
    K = elastic_tree.elastic_matrix(beams, [drive.stiffness for drive in elastic_tree.springs])
    for joint, rates in zip(robot.tree_joints, robot.v_slices, strict=True):
        for number, spring in enumerate(joint.springs):
            if spring is not None:
                k = robot.platform_nv + rates.start + number
                K[k, k] += spring.stiffness
    return K

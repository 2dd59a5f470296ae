"""Small motions of an undeformed robot: compiled matrices over many poses, and the rates that are allowed.

About a pose where nothing is deformed the small motion is linear over the rates r = [z; e]
(`nacelle.elastic.frames`), z of platform and joints, e of the elastic coordinates:

    M r'' + C r' + K r + A^T lambda = B^T tau,      A r = 0

M (r, r) is the sum of J^T I J over frames, A (rows, r) locks the closures and idle spins, B (actuators, r)
has the rates of the actuators, and springs where loops are cut have rows of rates of their own. K and C of
beams and of springs in the tree are constant. SI units, base axes.

Which entries of M and of the rows of constraints can differ from zero.

A body that rates i and j both move gives M_ij = J_i . I J_j; a row of a closure has the rates of its two
bodies. So by the tree alone, whatever the numbers,

    M_ij != 0    only if some frame with mass is moved by i and by j
    A_ki != 0    only if a body of closure k is moved by i

The large matrices of a robot with flexible links have few such entries, and a program computes only these,
M's on and above the diagonal.

Rates that the constraints allow: the null space of A (rows, r), with the gap that decides its rank.

Rows and columns are made pure numbers first: translations over the robot's size, elastic coordinates by the
size of their shape functions, so that the result does not depend on units or on the size of the robot. A
has the rank of its singular values above 1e-8 of the largest; those of overconstrained and redundant robots
that are zero are of the size of rounding, and what lies between (`kept`, `dropped`) says how clear the
decision is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from nacelle.dynamics.external import load_names
from nacelle.dynamics.joint_effort import rotors
from nacelle.elastic.beam.functions import integral_of_product
from nacelle.elastic.beam.newton_euler import first_moment
from nacelle.elastic.flexible_tree import FlexibleTree, flexible_tree
from nacelle.elastic.frames import ElasticFrames, stiffness_matrix
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.configuration import Configuration, configuration
from nacelle.kinematics.flags import has_failed
from nacelle.kinematics.margins import margins
from nacelle.kinematics.mechanism.assembly import rate_scale
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import evaluate_function
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.shapes import pose_shape, unknowns_shape
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot, has_mass
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, product
from nacelle.tree.actuation import actuator_scales, rate_rows
from nacelle.tree.spanning_tree import (
    CosineSine,
    JointTransform,
    rates_moving_bodies,
    tree_kinematics_from_transforms,
)


@dataclass(frozen=True)
class SparsityPattern:
    """Places of entries, as index arrays (rows, columns).

    Attributes:
        mass: of M (r, r), on and above the diagonal.
        constraints: of A (rows, r), closures and idle spins.
        actuators: of the rates of the actuators (actuators, r).
        rates: r.
        rows: of A.
    """

    mass: tuple[Array, ...]
    constraints: tuple[Array, ...]
    actuators: tuple[Array, ...]
    rates: int
    rows: int


def body_movers(elastic_tree: FlexibleTree) -> Array:
    """For every frame of the tree which rates r = [z; e] move it (frames, r), of bool."""
    return np.asarray(rates_moving_bodies(elastic_tree.tree) @ (elastic_tree.embedding != 0.0))


def joint_pattern(elastic_tree: FlexibleTree, movers: Array, index: int) -> Array:
    """Which rates the rate of a joint may have (r,), of bool."""
    tree = elastic_tree.tree
    if index < tree.tree:
        return np.asarray(elastic_tree.embedding[tree.platform_nv + tree.v_slices[index].start] != 0.0)
    joint = tree.joints[index]
    return np.asarray(movers[joint.predecessor] | movers[joint.successor])


@lru_cache(maxsize=64)
def sparsity_pattern(elastic_tree: FlexibleTree) -> SparsityPattern:
    """The places of a robot."""
    tree, movers = elastic_tree.tree, body_movers(elastic_tree)
    size = movers.shape[1]
    masks = [movers[body] for body in range(len(tree.bodies)) if body != BASE and has_mass(tree, body)]
    for k, shapes in enumerate(elastic_tree.shapes):
        mask = movers[shapes.beam.body].copy()
        mask[elastic_tree.rate_slices[k]] = True
        masks.append(mask)
    masks += [joint_pattern(elastic_tree, movers, index) for index, _ in rotors(tree)]
    mass = np.zeros((size, size), dtype=bool)
    for mask in masks:
        mass |= np.outer(mask, mask)
    rows = [movers[j.predecessor] | movers[j.successor] for j in tree.closures for _ in j.locks]
    rows += [movers[spin.body] for spins in mechanism_of(elastic_tree.robot).spins for spin in spins]
    constraints = np.array(rows).reshape(len(rows), size)
    actuators = np.array([joint_pattern(elastic_tree, movers, a.joint) for a in tree.actuators]).reshape(
        -1, size
    )
    return SparsityPattern(
        np.nonzero(np.triu(mass)), np.nonzero(constraints), np.nonzero(actuators), size, len(rows)
    )


# ---- rates that the constraints allow


# Singular values below this part of the largest are zero.
_RANK = 1e-8


class Subspace(NamedTuple):
    """A null space.

    Attributes:
        basis: N (r, k), its columns orthonormal in scaled rates.
        kept: smallest singular value that counts, over the largest.
        largest_dropped: largest one that does not; 0 where all count.
    """

    basis: Array
    kept: float
    largest_dropped: float


@lru_cache(maxsize=64)
def rate_scales(elastic_tree: FlexibleTree) -> Array:
    """Sizes (r,) of rates: the robot's size for translations, 1 for rotations, shapes of unit size."""
    robot = elastic_tree.robot
    sizes = rate_scale(robot).tolist()
    for shapes in elastic_tree.shapes:
        for c in shapes.coordinates:
            displacement = 0.0 if c.d is None else integral_of_product(c.d, c.d) / robot.size**2
            rotation = 0.0 if c.r is None else integral_of_product(c.r, c.r)
            sizes.append(1.0 / float(np.sqrt(displacement + rotation)))
    for drive in elastic_tree.springs:
        sizes.append(1.0 if robot.joints[drive.joint].primitives[0].is_rotation else robot.size)
    return np.array(sizes)


def null_spaces(A: Array, scale: Array) -> list[Subspace]:
    """Null spaces of matrices (N, rows, r), which must be finite; `scale` (r,) are sizes of the rates."""
    if A.shape[-2] == 0:
        return [Subspace(np.diag(scale), np.inf, 0.0) for _ in A]
    _, values, right = np.linalg.svd(A * scale, full_matrices=True)
    result = []
    for sigma, V in zip(values, right, strict=True):
        size = max(float(sigma[0]), np.finfo(float).tiny)
        rank = int(np.count_nonzero(sigma > _RANK * size))
        dropped = float(sigma[rank]) / size if rank < len(sigma) else 0.0
        kept = float(sigma[rank - 1]) / size if rank else np.inf
        result.append(Subspace(scale[:, None] * V[rank:].T, kept, dropped))
    return result


# ---- mass matrix, constraints and Jacobians of an undeformed robot, compiled, over many poses


def straight_frames(flexible: FlexibleTree, now: Configuration) -> ElasticFrames:
    """The frames of a robot whose links are straight, at a configuration of the rigid robot."""
    rigid_steps, steps = iter(now.steps), list[JointTransform]()
    joints = set(flexible.joint_of)
    for index, joint in enumerate(flexible.tree.tree_joints):
        for primitive in joint.primitives:
            straight = CosineSine(1.0, 0.0) if primitive.is_rotation else 0.0
            steps.append(next(rigid_steps) if index in joints else straight)
    motion = tree_kinematics_from_transforms(flexible.tree, now.motion.poses[PLATFORM], steps)
    return ElasticFrames(flexible, np.zeros(flexible.ne), motion)


@physics(x=pose_shape, y=unknowns_shape)
def pose_matrices(robot: Robot, x: Array, y: Array, planar: bool | None = None) -> dict[str, Array]:
    """Entries of M (r, r), A (rows, r) and the actuators' rates (na, r) at their places (`pattern`).

    At a reduced pose x (nx,) with the passive coordinates y (ny,), nothing deformed. A r = 0 are the
    constraints; rows of springs in closures come in addition.
    """
    flexible = flexible_tree(robot, planar=planar)
    now = configuration(robot, x, y)
    frames = straight_frames(flexible, now)
    pattern = sparsity_pattern(flexible)
    results = {
        "mass": frames.mass_matrix()[pattern.mass],
        "constraints": frames.constraints()[pattern.constraints],
        "actuators": frames.actuator_rows()[pattern.actuators],
        "margins": margins(now),
    }
    rows = [spring_row(frames, *spring) for spring in closure_springs(flexible)]
    return results | ({"springs": np.stack(rows)} if rows else {})


@physics(x=pose_shape, y=unknowns_shape)
def pose_jacobian(
    robot: Robot, x: Array, y: Array, index: int = PLATFORM, planar: bool | None = None
) -> dict[str, Array]:
    """Twist [v; w] (6, r) of a body or tool (after the bodies), base axes."""
    frames = straight_frames(flexible_tree(robot, planar=planar), configuration(robot, x, y))
    return {"J": body_jacobian(frames, index)}


@physics(x=pose_shape, y=unknowns_shape)
def pose_mass_jacobian(robot: Robot, x: Array, y: Array, planar: bool | None = None) -> dict[str, Array]:
    """Sum of m J (3, r) over all that has mass, J of centres of mass: what gravity acts on."""
    return {
        "W": mass_jacobian(straight_frames(flexible_tree(robot, planar=planar), configuration(robot, x, y)))
    }


def mass_jacobian(frames: ElasticFrames) -> Array:
    """Sum of m J (3, r), kg, over bodies and beams, J (3, r) of their centres of mass, base axes."""
    flexible = frames.elastic_tree
    total: Array = np.zeros((3, flexible.embedding.shape[1]))
    for body, pose, ten in frames.massive_bodies():
        if ten[0]:
            total = total + ten[0] * frames.jacobian(body, pose.p + pose.R @ (ten[1:4] / ten[0]))[:3]
    for k, shapes in enumerate(flexible.shapes):
        pose, S = frames.floating_frame(k), first_moment(shapes, frames.qe[flexible.slices[k]])
        moments = np.zeros((3, total.shape[1]))
        moments[:, flexible.rate_slices[k]] = shapes.moments
        J = frames.jacobian(shapes.beam.body, pose.p + pose.R @ (S / shapes.beam.mass))[:3]
        total = total + shapes.beam.mass * J + product(pose.R, moments)
    return total


def body_index(robot: Robot, name: str | None) -> int:
    """Index of a body or, after the bodies, of a tool; the platform if None.

    Raises:
        KinematicsError: if the robot has neither.
    """
    if name is None:
        return PLATFORM
    names = load_names(robot)
    if name not in names or names.index(name) == BASE:
        raise KinematicsError(f"{robot.name} has no body or tool {name!r}; {did_you_mean(name, names[1:])}")
    return names.index(name)


def body_jacobian(frames: ElasticFrames, index: int) -> Array:
    """Twist [v; w] (6, r) of a body at its origin or of a tool at its own, base axes."""
    robot = frames.elastic_tree.robot
    if index < len(robot.bodies):
        return frames.jacobian(index, frames.motion.poses[index].p)
    tool = robot.tools[index - len(robot.bodies)]
    pose = frames.motion.poses[tool.body]
    return frames.jacobian(tool.body, pose.p + pose.R @ tool.frame.p)


def closure_springs(flexible: FlexibleTree) -> list[tuple[int, int]]:
    """Springs where loops are cut: joints of the tree's robot, and numbers of their axes."""
    tree = flexible.tree
    return [
        (index, number)
        for index in range(tree.tree, len(tree.joints))
        for number, spring in enumerate(tree.joints[index].springs)
        if spring is not None
    ]


def spring_row(frames: ElasticFrames, index: int, number: int) -> Array:
    """Row (r,) over r = [z; e] that gives the rate of one axis of a joint, rad/s or m/s."""
    return np.asarray(frames.over_rates(rate_rows(frames.elastic_tree.tree, frames.motion, index)[number])[0])


def damping_matrix(flexible: FlexibleTree) -> Array:
    """C (r, r): the damping of beams, and of drives with a spring."""
    return flexible.elastic_matrix(
        [shapes.damping for shapes in flexible.shapes], [drive.damping for drive in flexible.springs]
    )


@dataclass(frozen=True, eq=False)
class Matrices:
    """Linear models of a robot at poses (...).

    Attributes:
        elastic_tree: the robot as a tree of frames.
        x: poses (..., nx).
        y: passive coordinates (..., ny).
        M: mass matrices (..., r, r).
        K: stiffness matrices (..., r, r), or (r, r) where they are all the same.
        C: damping matrix (r, r).
        A: constraints (..., rows, r).
        actuators: rates of the actuators (..., actuators, r).
        flags: for every pose what was found (`Flag`).
    """

    elastic_tree: FlexibleTree
    x: Array
    y: Array
    M: Array
    K: Array
    C: Array
    A: Array
    actuators: Array
    flags: Array

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.elastic_tree.robot

    def rows(self, locked: bool) -> Array:
        """All constraints (..., rows, r), locked actuators too; lengths are over the robot's size."""
        if not locked:
            return self.A
        return np.concatenate([self.A, self.actuators / actuator_scales(self.robot)[:, None]], axis=-2)

    def stiffness_and_subspaces(self, locked: bool) -> Iterator[tuple[tuple[int, ...], Array, Array]]:
        """Of every pose that is reached its index in the batch, K (r, r), and N (r, k) of `null_spaces`."""
        K, rows = np.broadcast_to(self.K, self.M.shape), self.rows(locked)
        for index in np.ndindex(self.flags.shape):
            if not has_failed(self.flags[index]):
                (space,) = null_spaces(rows[index][None], rate_scales(self.elastic_tree))
                yield index, K[index], space.basis


def matrices_at(robot: Robot, x: Any, planar: bool | None = None) -> Matrices:
    """M, K, C and the constraints at undeformed poses x (..., nx); NaN where a pose is out of reach.

    Raises:
        KinematicsError, UnreachableError, SingularError: of a single pose, as in `inverse_kinematics`.
    """
    flexible = flexible_tree(robot, planar=planar)
    pattern = sparsity_pattern(flexible)
    state = evaluate_function(pose_matrices, robot, x, options=shape_options(planar))
    results, batch = state.results, state.flags.shape

    def spread(name: str, where: tuple[Array, ...], rows: int) -> Array:
        full = np.zeros((*batch, rows, pattern.rates))
        full[..., where[0], where[1]] = results[name]
        return full

    M = spread("mass", pattern.mass, pattern.rates)
    M = M + np.swapaxes(np.triu(M, 1), -1, -2)
    K = stiffness_matrix(flexible)
    if "springs" in results:
        joints = flexible.tree.joints
        springs = [joints[j].springs[number] for j, number in closure_springs(flexible)]
        k = np.array([spring.stiffness for spring in springs if spring is not None])
        rows = results["springs"]
        K = K + np.swapaxes(rows, -1, -2) @ (k[:, None] * rows)
    return Matrices(
        elastic_tree=flexible,
        x=state.x,
        y=state.y,
        M=M,
        K=K,
        C=damping_matrix(flexible),
        A=spread("constraints", pattern.constraints, pattern.rows),
        actuators=spread("actuators", pattern.actuators, len(robot.actuators)),
        flags=state.flags,
    )


def shape_options(planar: bool | None) -> dict[str, Any]:
    """The options of a program that say in which directions links deform."""
    return {} if planar is None else {"planar": planar}


def jacobian_at(model: Matrices, index: int, planar: bool | None = None) -> Array:
    """Jacobian (..., 6, r) of a body or tool at the model's poses."""
    program = compile_native(pose_jacobian, model.robot, index=index, **shape_options(planar))
    return np.asarray(program(model.x, model.y))


def mass_jacobian_at(model: Matrices, planar: bool | None = None) -> Array:
    """What gravity acts on (..., 3, r) at the model's poses (`weights`)."""
    return np.asarray(
        compile_native(pose_mass_jacobian, model.robot, **shape_options(planar))(model.x, model.y)
    )

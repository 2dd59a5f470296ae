"""Which rates of a robot with flexible links are independent.

The closures demand A r = 0, r = [z; e] ([BK2013] (31)). Rates that are zero in every solution (out of the
plane of a planar robot) are left out. Of the others dependent ones are chosen, as many as A has rank: passive
joints and the platform first ([BK2013] (32)), elastic coordinates where those do not suffice (overconstrained
robots: their closures strain the links), actuators last. All others are independent, actuators in their order
first:

    r = J y + ...,   y = [q_a'; others]          J from A_D r_D = -A_I r_I       ([BK2013] (33), (34))

The choice is made once and the same on every machine: columns are taken in order, not by size, where they are
clearly independent of those before, both in the reference pose and near it with every link bent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.elastic.dynamics import positions
from nacelle.elastic.flexible_tree import FlexibleTree, cache_by_numbers, flexible_tree, plane_normal
from nacelle.elastic.frames import frames_at
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_from_rotation
from nacelle.spatial.scalar import Array
from nacelle.tree.closure import closure_residual

# Columns and rows are independent if this much of them is left after those before are taken off: the more the
# better, so that what depends on them is not large.
_INDEPENDENT = (0.1, 1e-3)
_RANK = 1e-9


@dataclass(frozen=True, eq=False)
class RatePlan:
    """Which rates are independent.

    Attributes:
        elastic_tree: the robot as a tree of frames.
        independent: places in r: the actuators' rates, then the others.
        dependent: places in r of the rates that follow from the closures.
        rows: closure rows that determine them, as many.
        reference: positions at the reference pose, nothing deformed.
    """

    elastic_tree: FlexibleTree
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    rows: tuple[int, ...]
    reference: Array

    @property
    def n(self) -> int:
        """Number of independent rates."""
        return len(self.independent)

    @property
    def na(self) -> int:
        """Number of actuators."""
        return len(self.elastic_tree.robot.actuators)

    @property
    def elastic(self) -> tuple[int, ...]:
        """Places in r of the independent rates that are not actuators'."""
        return self.independent[self.na :]


@cache_by_numbers
def choose_independent_rates(robot: Robot) -> RatePlan:
    """The choice of independent rates of a robot.

    Raises:
        KinematicsError: if an actuator closes a loop, or actuators depend on each other.
    """
    frame = flexible_tree(robot)
    assembly = mechanism_of(robot).assembly
    reference = undeformed_positions(frame, assembly.platform, assembly.q_tree)
    generic = _generic_positions(frame, reference)
    driven = _actuator_rates(frame)
    nz = len(frame.rigid_rates)
    scaled = _scaled_constraints(frame, generic)
    free = _nonzero_rates(scaled)
    passive = [k for k in range(nz) if free[k] and k not in driven]
    elastic = [k for k in range(nz, scaled.shape[1]) if free[k]]
    rank = _rank(scaled[:, free])
    poses = [scaled]
    straight = _scaled_constraints(frame, reference)
    if _rank(straight[:, free]) == rank:
        poses.append(straight)
    dependent = _choose_independent([A.T for A in poses], [passive, elastic], rank)
    if len(dependent) < rank:
        raise KinematicsError(
            f"the actuators of {robot.name} depend on each other: its flexible links are too few to let them "
            "move apart (redundant actuation needs a flexible link in every leg)"
        )
    rows = _choose_independent([A[:, dependent] for A in poses], [list(range(len(scaled)))], rank)
    others = [k for k in range(scaled.shape[1]) if free[k] and k not in dependent and k not in driven]
    return RatePlan(frame, (*driven, *others), tuple(dependent), tuple(rows), reference)


def _scaled_constraints(frame: FlexibleTree, p: Array) -> Array:
    """The closures' rows A (rows, r) at positions p, columns of size one."""
    A = frames_at(frame, *positions.split_positions(frame, p)).constraints().astype(float)
    return np.asarray(A / np.maximum(np.max(np.abs(A), axis=0), 1e-12))


def _generic_positions(frame: FlexibleTree, reference: Array) -> Array:
    """Positions that close all loops near the reference, with every link bent.

    No accident of symmetry is left.
    """
    robot = frame.robot
    random = np.random.default_rng(0)
    p = reference.copy()
    tree = frame.tree
    scale = mechanism_of(robot).row_scale
    # Any change of all positions, then the smallest one that closes the loops.
    p = positions.step_positions(
        frame, p, 0.03 * robot.size * random.standard_normal(frame.embedding.shape[1]) * _planar_mask(frame)
    )
    for _ in range(30):
        now = frames_at(frame, *positions.split_positions(frame, p))
        gaps = closure_residual(tree, now.motion) / scale
        A = now.constraints().astype(float)
        step = -np.linalg.lstsq(A[: len(gaps)], gaps, rcond=1e-12)[0]
        p = positions.step_positions(frame, p, step)
        if float(np.max(np.abs(step), initial=0.0)) < 1e-13:
            break
    return p


def _planar_mask(frame: FlexibleTree) -> Array:
    """1 for every rate, but 0 for those of the platform out of the plane of a planar robot."""
    m = frame.robot.platform_nv
    mask = np.ones(frame.embedding.shape[1])
    normal = plane_normal(frame.robot)
    if normal is not None and frame.in_plane:
        mask[:3] -= np.abs(normal)
        if m == 6:
            mask[3:6] = np.abs(normal)
    return np.where(mask > 0.5, 1.0, 0.0)


def undeformed_positions(frame: FlexibleTree, platform: Pose, q: Array) -> Array:
    """Positions [p (3,), quaternion (4,), q (nq,), 0 (ne,)] of the rigid robot, nothing deformed."""
    parts = [platform.p] if frame.robot.platform_nv == 3 else [platform.p, quat_from_rotation(platform.R)]
    return np.concatenate([*parts, q, np.zeros(frame.ne)]).astype(float)


def _actuator_rates(frame: FlexibleTree) -> list[int]:
    robot = frame.robot
    indices = []
    for actuator in robot.actuators:
        if actuator.joint >= robot.tree:
            raise KinematicsError(
                f"actuator {actuator.name!r} sits where a loop is cut; models of flexible robots need it "
                "in the legs: name the joint among the joints of its leg, and another one as the closure"
            )
        indices.append(robot.platform_nv + robot.v_slices[actuator.joint].start)
    return indices


def _nonzero_rates(A: Array) -> Array:
    """Which rates are not zero in every solution of A r = 0."""
    _, values, V = np.linalg.svd(A)
    rank = int(np.sum(values > _RANK * values[0])) if values.size else 0
    return np.asarray(np.max(np.abs(V[rank:]), axis=0, initial=0.0) > 1e-7)


def _rank(A: Array) -> int:
    return int(np.linalg.matrix_rank(A, tol=_RANK * max(A.shape)))


def _choose_independent(poses: list[Array], groups: list[list[int]], count: int) -> list[int]:
    """The first vectors (rows) of one group after the other that are clearly independent, then any.

    They are so in every one of `places`, the same vectors in several poses.
    """
    order = [k for group in groups for k in group]
    left = [{k: vectors[k].astype(float) for k in order} for vectors in poses]
    sizes = []
    for vectors in left:
        norms = {k: float(np.linalg.norm(v)) for k, v in vectors.items()}
        # What is small compared with the largest is rounding.
        least = 1e-6 * max(norms.values(), default=0.0)
        sizes.append({k: max(norm, least) for k, norm in norms.items()})
    chosen: list[int] = []
    passes = [(group, margin) for group in groups for margin in _INDEPENDENT]
    for group, margin in (*passes, (order, 100.0 * _RANK)):
        for k in group:
            lengths = [float(np.linalg.norm(vectors[k])) for vectors in left]
            small = any(norm < margin * size[k] for norm, size in zip(lengths, sizes, strict=True))
            if len(chosen) == count or k in chosen or small:
                continue
            chosen.append(k)
            for vectors, norm in zip(left, lengths, strict=True):
                direction = vectors[k] / norm
                for j in order:
                    vectors[j] = vectors[j] - direction * float(direction @ vectors[j])
    return sorted(chosen)

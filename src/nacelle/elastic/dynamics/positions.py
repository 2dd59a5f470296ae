"""Positions of a robot with flexible links as one vector, and how rates change them.

    p = [platform position (3); platform quat_xyzw (4), unless it is a point; joints of the tree (nq); elastic
    (ne)]

The rates r = [z; e] change positions, platform twists and spherical joints as rotations:

    quat' = [w; 0] o quat / 2     platform, w in base axes
    quat' = quat o [w; 0] / 2     spherical joints, w in their own
"""

from __future__ import annotations

import numpy as np

from nacelle.elastic.flexible_tree import FlexibleTree, joint_offsets
from nacelle.model.joint import Primitive
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_product, rotation_quat
from nacelle.spatial.scalar import Array, Scalar, divide, dot, pack, sqrt


def platform_size(elastic_tree: FlexibleTree) -> int:
    """How many numbers place the platform: 3, or 7 with a quaternion."""
    return 3 if elastic_tree.robot.platform_nv == 3 else 7


def position_count(elastic_tree: FlexibleTree) -> int:
    """Length of the vector of positions."""
    return platform_size(elastic_tree) + elastic_tree.robot.nq + elastic_tree.ne


def split_positions(elastic_tree: FlexibleTree, p: Array) -> tuple[Pose, Array, Array]:
    """Platform pose, joints of the tree (nq,) and elastic coordinates (ne,)."""
    m = platform_size(elastic_tree)
    platform = Pose(np.eye(3), p[:3]) if m == 3 else Pose(rotation_quat(p[3:7]), p[:3])
    return platform, p[m : m + elastic_tree.robot.nq], p[m + elastic_tree.robot.nq :]


def _quaternions(elastic_tree: FlexibleTree) -> list[tuple[int, int, bool]]:
    """Quaternions in p: where they are, where their angular velocity is in r, whether in base axes."""
    m = platform_size(elastic_tree)
    quaternions = [] if m == 3 else [(3, 3, True)]
    joints = joint_offsets(elastic_tree.robot)
    return quaternions + [(m + q, r, False) for primitive, q, r in joints if primitive is Primitive.SPHERICAL]


def _single(elastic_tree: FlexibleTree) -> list[tuple[int, int]]:
    """Places in p of the coordinates that change by their rate, and the places of these in r."""
    m, joints = platform_size(elastic_tree), joint_offsets(elastic_tree.robot)
    pairs = [(k, k) for k in range(3)]
    pairs += [(m + q, r) for primitive, q, r in joints if primitive is not Primitive.SPHERICAL]
    nq, nz = elastic_tree.robot.nq, len(elastic_tree.rigid_rates)
    return pairs + [(m + nq + k, nz + k) for k in range(elastic_tree.ne)]


def position_rates(elastic_tree: FlexibleTree, p: Array, r: Array) -> Array:
    """dp/dt (size,) at rates r (nz + ne,), m/s and rad/s; quaternions as at the head of this file."""
    result: list[Scalar] = [0.0] * position_count(elastic_tree)
    for index, rate in _single(elastic_tree):
        result[index] = r[rate]
    for index, rate, base in _quaternions(elastic_tree):
        quat = p[index : index + 4]
        half = pack([0.5 * r[rate], 0.5 * r[rate + 1], 0.5 * r[rate + 2], 0.0])
        result[index : index + 4] = list(quat_product(half, quat) if base else quat_product(quat, half))
    return pack(result)


def normalise_positions(elastic_tree: FlexibleTree, p: Array) -> Array:
    """Positions p (size,) with quaternions of length one."""
    result = list(p)
    for index, _, _ in _quaternions(elastic_tree):
        quat = pack(result[index : index + 4])
        result[index : index + 4] = list(quat * divide(1.0, sqrt(dot(quat, quat))))
    return pack(result)


def step_positions(elastic_tree: FlexibleTree, p: Array, step: Array) -> Array:
    """Positions p (size,) after a small step (rates,) along the rates; quaternions of length one."""
    return normalise_positions(elastic_tree, p + position_rates(elastic_tree, p, step))

"""Nodes of a chain: vectors up and down, and axes that may be chosen."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from nacelle.kinematics.general.tree_node import TreeNode, even, is_aligned, rotated_node, split_own, together
from nacelle.kinematics.tree.spanning_tree import CosSin
from nacelle.model.joint import Primitive
from nacelle.spatial.pose import Pose


def revolute(angle: float, R: np.ndarray, parent: int = 0) -> TreeNode:
    return TreeNode(
        parent,
        (3,),
        Pose(R, np.array([0.1, 0.2, 0.3])),
        Primitive.RZ,
        CosSin(np.cos(angle), np.sin(angle)),
        False,
    )


def test_vectors_go_up_and_come_down() -> None:
    R = Rotation.from_rotvec([0.3, -0.2, 0.5]).as_matrix()
    node, u = revolute(0.7, R), np.array([1.0, 2.0, 3.0])
    E = R @ Rotation.from_euler("z", 0.7).as_matrix()
    np.testing.assert_allclose(node.E, E, atol=1e-15)
    np.testing.assert_allclose(node.up(u), E @ u, atol=1e-14)
    np.testing.assert_allclose(node.down(node.up(u)), u, atol=1e-14)
    np.testing.assert_allclose(node.o, [0.1, 0.2, 0.3], atol=1e-15)
    np.testing.assert_allclose(node.axes[0], [0.0, 0.0, 1.0], atol=1e-15)


def test_parallel_axes_rotate_as_one() -> None:
    """R_z(q) G R_z(p) with G about z: one rotation, for vectors."""
    G = Rotation.from_euler("z", 0.4).as_matrix()
    first, second = revolute(0.3, np.eye(3)), revolute(0.5, G, parent=1)
    both = together(first, second)
    assert both is not None
    u = np.array([0.3, -1.0, 2.0])
    np.testing.assert_allclose(both.up(u), first.up(second.up(u)), atol=1e-14)
    across = revolute(0.5, Rotation.from_euler("x", 0.4).as_matrix(), parent=1)
    assert together(first, across) is None


def test_own_axes_may_be_rotated() -> None:
    turn = Rotation.from_euler("z", 0.9).as_matrix()
    node = revolute(0.2, np.eye(3))
    moved = rotated_node(node, turn)
    np.testing.assert_allclose(moved.E, node.E @ turn, atol=1e-14)
    split = split_own(revolute(0.2, turn))
    np.testing.assert_allclose(split.E, revolute(0.2, turn).E, atol=1e-14)


def test_constants_lose_their_rounding() -> None:
    R = Rotation.from_euler("x", 90, degrees=True).as_matrix() + 1e-17
    assert is_aligned(even(Pose(R, np.zeros(3))).R, 2)
    assert set(np.abs(even(Pose(R, np.zeros(3))).R).ravel()) == {0.0, 1.0}

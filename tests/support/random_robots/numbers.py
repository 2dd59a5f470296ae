"""Choices and numbers at random, and what the coordinates of a joint mean, with SciPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose

T = TypeVar("T")
Array = np.ndarray


class Choices(Protocol):
    """Where the structure of a random robot comes from."""

    def pick(self, options: Sequence[T]) -> T:
        """One of several."""

    def count(self, low: int, high: int) -> int:
        """A number from low to high, both included."""

    def numbers(self) -> np.random.Generator:
        """A generator of real numbers."""


class SeededChoices:
    """Choices from a seed."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self._rng.integers(len(options)))]

    def count(self, low: int, high: int) -> int:
        return int(self._rng.integers(low, high + 1))

    def numbers(self) -> np.random.Generator:
        return self._rng


class DrawnChoices:
    """Choices drawn by hypothesis, which shrinks towards the first option and the lowest count."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self._draw = draw
        self._rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def pick(self, options: Sequence[T]) -> T:
        return self._draw(st.sampled_from(options))

    def count(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def numbers(self) -> np.random.Generator:
        return self._rng


def unit(v: Sequence[float]) -> Array:
    return np.asarray(v, dtype=float) / np.linalg.norm(v)


def random_rotation(rng: np.random.Generator) -> Array:
    """A rotation matrix, uniformly distributed."""
    return Rotation.random(random_state=rng).as_matrix()


def random_position(rng: np.random.Generator, size: float = 0.4) -> Array:
    return rng.uniform(-size, size, 3)


def random_pose(rng: np.random.Generator) -> Pose:
    return Pose(random_rotation(rng), random_position(rng))


def random_coordinates(robot: Robot, rng: np.random.Generator) -> Array:
    """Coordinates of the tree: angles over the full turn, slides of 0.3 m, any quaternion."""
    values: list[float] = []
    for joint in robot.tree_joints:
        values += coordinates(str(joint.kind), rng, np.pi)
    return np.array(values)


def coordinates(kind: str, rng: np.random.Generator, turn: float = 1.2) -> list[float]:
    def angle() -> float:
        return float(rng.uniform(-turn, turn))

    def slide() -> float:
        return float(rng.uniform(-0.3, 0.3))

    def ball() -> list[float]:
        return [float(c) for c in Rotation.random(random_state=rng).as_quat()]

    if kind in ("spherical", "point"):
        return ball()
    return {
        "revolute": lambda: [angle()],
        "prismatic": lambda: [slide()],
        "cylindrical": lambda: [slide(), angle()],
        "universal": lambda: [angle(), angle()],
        "planar-spherical": lambda: [slide(), slide(), *ball()],
        "spherical-planar": lambda: [*ball(), slide(), slide()],
        "fixed": list,
    }[kind]()


def relative_pose(kind: str, q: Sequence[float]) -> Pose:
    """Pose of a joint's second frame in its first: the table of `nacelle.model.joint`, with SciPy."""

    def turn(axis: str, angle: float) -> Array:
        return Rotation.from_euler(axis, angle).as_matrix()

    still = np.zeros(3)
    if kind == "revolute":
        return Pose(turn("z", q[0]), still)
    if kind == "prismatic":
        return Pose(np.eye(3), np.array([0.0, 0.0, q[0]]))
    if kind == "cylindrical":
        return Pose(turn("z", q[1]), np.array([0.0, 0.0, q[0]]))
    if kind == "universal":
        return Pose(turn("x", q[0]) @ turn("y", q[1]), still)
    if kind in ("spherical", "point"):
        return Pose(Rotation.from_quat(q).as_matrix(), still)
    if kind == "planar-spherical":
        return Pose(Rotation.from_quat(q[2:]).as_matrix(), np.array([q[0], q[1], 0.0]))
    if kind == "spherical-planar":
        R = Rotation.from_quat(q[:4]).as_matrix()
        return Pose(R, R @ np.array([q[4], q[5], 0.0]))
    assert kind == "fixed"
    return Pose(np.eye(3), still)


def cloud_about_com(rng: np.random.Generator, extents: Array) -> Array:
    """Inertia of a unit mass with these lengths of extent, about any principal axes: that of a body."""
    Q = random_rotation(rng)
    return Q @ np.diag(np.sum(extents**2) - extents**2) @ Q.T

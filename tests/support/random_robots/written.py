"""Pieces of descriptions: bodies, joints and places, with numbers that are changed or drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from support.random_robots.numbers import cloud_about_com, random_position, unit

Array = np.ndarray
Data = dict[str, Any]
VARIATION = 0.01


class VariedNumbers:
    """Numbers of a description, each changed by about 1 %."""

    def __init__(self, seed: int) -> None:
        """Draw the changes from a seed."""
        self.rng = np.random.default_rng(seed)

    def __call__(self, value: float) -> float:
        """One number; zero stays zero."""
        return float(value * (1.0 + VARIATION * self.rng.uniform(-1.0, 1.0)))

    def vector(self, *values: float) -> list[float]:
        """Several numbers, each on its own."""
        return [self(value) for value in values]

    def body(self, mass: float, com: Sequence[float], radii: Sequence[float]) -> Data:
        """A body with any principal axes: mass, centre of mass (m) and three lengths of its extent (m)."""
        cloud = np.array(self.vector(*radii)) ** 2
        Q = Rotation.from_rotvec(self.rng.uniform(-0.4, 0.4, 3)).as_matrix()
        mass = self(mass)
        J = mass * Q @ np.diag(np.sum(cloud) - cloud) @ Q.T
        return {"mass": mass, "com": self.vector(*com), "inertia": (0.5 * (J + J.T)).tolist()}


def random_body(rng: np.random.Generator) -> Data:
    """A body with any inertia."""
    J = cloud_about_com(rng, rng.uniform(0.06, 0.1, 3))
    mass, com = float(rng.uniform(0.3, 2.0)), random_position(rng, 0.1).tolist()
    return {"mass": mass, "com": com, "inertia": (0.5 * (J + J.T)).tolist()}


def random_friction(rng: np.random.Generator, size: float = 0.1) -> Data:
    return {"viscous": float(size * rng.uniform(0.1, 1.0)), "coulomb": float(2.0 * size * rng.uniform())}


def random_joint(rng: np.random.Generator, parent: str, child: str, kinds: tuple[str, ...]) -> Data:
    """A joint of one of some kinds, anywhere, with friction and a rotor."""
    kind, axis = str(rng.choice(kinds)), unit(rng.normal(size=3)).tolist()
    written = joint(kind, parent, child, random_position(rng, 0.3).tolist(), axis)
    if kind == "screw":
        written["pitch"] = float(rng.uniform(0.05, 0.3) * rng.choice([-1, 1]))
    rotor, guess = float(rng.uniform(0.0, 0.05)), float(rng.uniform(-0.5, 0.5))
    return {**written, "friction": random_friction(rng), "rotor_inertia": rotor, "guess": guess}


def joint(kind: str, parent: str, child: str, at: Any = None, axis: Any = "z", **more: Any) -> Data:
    """A joint with its axis, or its two axes if it is universal."""
    written: Data = {"type": kind, "parent": parent, "child": child, **more}
    if at is not None:
        written["at"] = at
    if kind == "universal":
        written["axes"] = axis
    elif kind not in ("spherical", "fixed"):
        written["axis"] = axis
    return written


def revolute(*places: Any, **more: Any) -> Data:
    """A revolute joint: parent, child, at, axis."""
    return joint("revolute", *places, **more)


def prismatic(*places: Any, **more: Any) -> Data:
    """A prismatic joint: parent, child, at, axis."""
    return joint("prismatic", *places, **more)


def spherical(*places: Any, **more: Any) -> Data:
    """A spherical joint: parent, child, at."""
    return joint("spherical", *places, **more)


def point_on_circle(radius: float, angle: float, height: float = 0.0) -> Array:
    """A point on a circle, the angle in degrees."""
    return np.array([radius * np.cos(np.radians(angle)), radius * np.sin(np.radians(angle)), height])


def rotation_to_direction(direction: Array) -> Rotation:
    """A rotation that brings z to a direction."""
    return Rotation.align_vectors([direction], [[0.0, 0.0, 1.0]])[0]


def leg(name: str, bodies: Data, joints: Data, closures: Data, **more: Any) -> Data:
    return {"name": name, "bodies": bodies, "joints": joints, "closures": closures, **more}

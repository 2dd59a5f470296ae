"""A mirrored leg is the mirror image with its springs, friction and modes, not only with its frames."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from nacelle.model.joint import Joint, Primitive
from nacelle.model.read import read_data
from nacelle.model.robot import Robot

SPRINGS = {
    "revolute": [{"stiffness": 2.0, "rest": 0.3}],
    "prismatic": [{"stiffness": 50.0, "rest": 0.2}],
    "cylindrical": [{"stiffness": 50.0, "rest": 0.2}, {"stiffness": 2.0, "rest": 0.3}],
    "universal": [{"stiffness": 1.0, "rest": -0.2}, {"stiffness": 2.0, "rest": 0.3}],
}
CONSTANT = {
    "revolute": [{"constant": 0.5}],
    "prismatic": [{"constant": 3.0}],
    "cylindrical": [{"constant": 3.0}, {"constant": 0.5}],
    "universal": [{"constant": 0.4}, {"constant": 0.5}],
    "planar-spherical": [{"constant": 3.0}, {"constant": 2.0}, {"viscous": 0.5}],
}
GUESS = {
    "revolute": 0.4,
    "prismatic": 0.1,
    "cylindrical": [0.1, 0.4],
    "universal": [0.4, -0.3],
    "spherical": [0.6, 0.0, 0.0, 0.8],
    "planar-spherical": [0.1, -0.2, 0.6, 0.0, 0.0, 0.8],
}


def two_legs(kind: str, *, plane: str = "parent", modes: Any = None, **drive: Any) -> Robot:
    """A leg and its mirror image, each with the joint under test."""

    def leg(name: str, placement: dict[str, Any]) -> dict[str, Any]:
        joint = {"type": kind, "parent": "arm", "child": "rod", "guess": GUESS[kind], **drive}
        if kind == "planar-spherical":
            joint["plane"] = plane
        return {
            "name": name,
            "placement": placement,
            "bodies": {"arm": {"mass": 1.0}, "rod": {"mass": 1.0}},
            "joints": {
                "motor": {"type": "revolute", "parent": "base", "child": "arm", "active": True},
                "test": joint,
            },
            "closures": {"end": {"type": "spherical", "parent": "rod", "child": "plate"}},
        }

    robot, _ = read_data(
        copy.deepcopy(
            {
                "name": "pair",
                "motion": "xyz",
                "platform": {"name": "plate", "mass": 1.0},
                "legs": [leg("plain", {}), leg("image", {"mirror": "x"})],
                "modes": modes or {},
            }
        )
    )
    return robot


def pair(robot: Robot) -> tuple[Joint, Joint]:
    return robot.joints[robot.joint("plain.test")], robot.joints[robot.joint("image.test")]


def signs(plain: Joint, image: Joint) -> np.ndarray:
    """How each coordinate of the image goes with that of the leg: from the guesses, which are images."""
    return np.sign(image.guess) * np.sign(plain.guess)


def single(joint: Joint, numbers: np.ndarray) -> np.ndarray:
    """The entries of a vector over coordinates that belong to single turns and slides, one an axis."""
    result, start = [], 0
    for primitive in joint.primitives:
        result.append(1.0 if primitive is Primitive.SPHERICAL else float(numbers[start]))
        start += primitive.nq
    return np.array(result)


@pytest.mark.parametrize("kind", SPRINGS)
def test_springs(kind: str) -> None:
    """Leg and image at their guesses store the same energy, and so at every pair of images."""
    plain, image = pair(two_legs(kind, spring=SPRINGS[kind]))
    s = signs(plain, image)
    for shift in (0.0, 0.15, -0.4):
        q = np.array(plain.guess) + shift
        energies = [
            sum(
                0.5 * spring.stiffness * (value - spring.rest) ** 2
                for spring, value in zip(joint.springs, values, strict=True)
                if spring is not None
            )
            for joint, values in ((plain, q), (image, s * q))
        ]
        assert energies[1] == pytest.approx(energies[0], rel=1e-14)


@pytest.mark.parametrize("kind", CONSTANT)
@pytest.mark.parametrize("plane", ["parent", "child"])
def test_constant_friction(kind: str, plane: str) -> None:
    """A constant force acts in the image along the image of the rate: it has the same power."""
    plain, image = pair(two_legs(kind, plane=plane, friction=CONSTANT[kind]))
    s = single(plain, signs(plain, image))
    for k, (mine, other) in enumerate(zip(plain.friction, image.friction, strict=True)):
        for term, mirrored in zip(mine, other, strict=True):
            assert term.basis == mirrored.basis
            flips = s[k] if term.basis == "constant" else 1.0
            assert mirrored.coefficient == flips * term.coefficient


@pytest.mark.parametrize("kind", GUESS)
@pytest.mark.parametrize("plane", ["parent", "child"])
def test_guesses_of_modes(kind: str, plane: str) -> None:
    """A mode's guess means the same as the joint's own guess, written in the same order."""
    both = {"plain.test": GUESS[kind], "image.test": GUESS[kind]}
    robot = two_legs(kind, plane=plane, modes={"other": {"guess": both}})
    guesses = dict(robot.modes[0].guess)
    for name in ("plain.test", "image.test"):
        index = robot.joint(name)
        assert guesses[index] == robot.joints[index].guess

"""Robots of the element form and states of them."""

from __future__ import annotations

from functools import cache

import numpy as np

from nacelle.dynamics.state import State, state_at
from nacelle.model.robot import Robot
from nacelle.spatial.screw import Wrench
from support.random_robots import random_robot
from support.random_robots.loads import with_random_loads
from support.uncompiled import ALL, named_robot, poses_around, solve_uncompiled

Array = np.ndarray


# The robots of the library and of the tests that are written as elements, and what they are made of.
ELEMENT_ROBOTS = {
    "3rps": "3 T",
    "3rrr": "3 BB",
    "c5": "6 T",
    "delta": "3 BBB",
    "delta-codourey": "3 BB",
    "delta4": "3 BBB, 1 SpS",
    "fivebar": "2 BB",
    "gough-stewart": "6 T",
    "h4": "4 BBB",
    "hexa": "6 BB",
    "hexaglide": "6 TB",
    "orthoglide": "3 TBB",
    "palida": "6 T",
    "prrrp": "2 TB",
    "quattro": "4 BBB",
    "space": "3 T",
    "everything": "6 T",
    "fivebar-mirror": "2 BB",
    "redundant": "3 BB",
}


REFUSED_LEGS = ("URS", "PSPP", "PCS", "RUPU", "RRRS", "URU", "with a pair first")


def is_element_case(name: str) -> bool:
    """Whether a random robot of some leg types is covered."""
    kinds = name.replace(" + ", " ").replace("RRRS with axes that meet", "").replace("PRRS", "").split(" ", 1)
    return not any(word in kinds[1] for word in REFUSED_LEGS)


@cache
def furnished_robot(name: str, seed: int = 3) -> Robot:
    """A robot with general inertias, gravity, friction, rotors, springs and a payload."""
    return with_random_loads(named_robot(name) if name in ALL else random_robot(name, seed), seed)


def samples(robot: Robot, count: int = 2, seed: int = 0) -> list[tuple[State, Array, dict[int, Wrench]]]:
    """States near the reference with an acceleration, and wrenches on all bodies."""
    rng = np.random.default_rng(seed)
    x = poses_around(robot, count, seed, 0.02, 0.04)
    y = solve_uncompiled(robot, x)
    found = []
    for k in range(count):
        v, a = rng.normal(size=(2, robot.motion.n))
        external = {body: Wrench(*rng.normal(size=(2, 3))) for body in range(1, len(robot.bodies))}
        found.append((state_at(robot, x[k], y[k], v), a, external))
    return found

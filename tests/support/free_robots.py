"""Random mechanisms on a free base: trees of bodies, a rod that closes a loop, a spring, some drives."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

import nacelle
from nacelle.errors import DescriptionError
from nacelle.model.robot import Robot
from support.coupled_robots import random_body, random_joint


def random_free(seed: int, *, spins: bool = False) -> Robot:
    """A trunk that flies with a tree of bodies on it; one joint is moved by a rod across, none drives it all.

    The rod hangs on one body by a universal joint and ends on another with a spherical one; of the joints
    between these two the first is what the rod decides. A spring is stretched between two more bodies, and
    about half of the joints have drives. With `spins` both ends of the rod are spherical and it is round.
    """
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 6))
    names = [f"b{k}" for k in range(count)]
    # The first two bodies are a chain, so that the rod from the trunk to the second one spans two joints.
    parents = ["trunk", "b0", *(str(rng.choice(["trunk", *names[:k]])) for k in range(2, count))]
    kinds = ("revolute", "revolute", "prismatic")
    joints = {f"j{k}": random_joint(rng, parents[k], names[k], kinds) for k in range(count)}
    joints["j0"]["type"] = "revolute"
    joints["across"] = {
        "type": "universal",
        "parent": "trunk",
        "child": "rod",
        "at": rng.uniform(-0.4, 0.4, 3).tolist(),
        "axes": ["x", "y"],
        "friction": {"viscous": 0.02},
    }
    if spins:
        del joints["across"]["axes"]
        joints["across"]["type"] = "spherical"
    decided = "j0" if seed % 2 else "j1"
    free = [name for name in joints if name not in (decided, "across")]
    for name in free:
        if rng.random() < 0.5:
            joints[name]["active"] = True
    ends = rng.choice(["trunk", "base", *names], size=2, replace=False).tolist()
    leg: dict[str, Any] = {
        "name": "arm",
        "bodies": {name: random_body(rng) for name in [*names, "rod"]},
        "joints": joints,
        "closures": {
            "end": {
                "type": "spherical",
                "parent": "rod",
                "at": [0.0, 0.0, 0.5],
                "child": "b1",
                "child_at": rng.uniform(-0.2, 0.2, 3).tolist(),
                "friction": {"viscous": 0.01},
            }
        },
        "springs": {
            "band": {
                "between": ends,
                "at": [rng.uniform(-0.3, 0.3, 3).tolist() for _ in range(2)],
                "stiffness": float(rng.uniform(10.0, 100.0)),
                "length": 0.1,
                "damping": 0.5,
            }
        },
    }
    if spins:
        leg["bodies"]["rod"] = {"mass": 0.4, "com": [0.0, 0.0, 0.2], "inertia": [0.02, 0.02, 0.0003]}
    data = {
        "format": "nacelle/2",
        "name": f"free-{seed}",
        "units": "SI",
        "gravity": rng.uniform(-10.0, 10.0, 3).tolist(),
        "motion": ["se3", *(f"arm.{name}" for name in free)],
        "nacelle": {"name": "trunk", **random_body(rng)},
        "legs": [leg],
    }
    for length in np.linspace(0.2, 1.0, 17).tolist():
        leg["closures"]["end"]["at"][2] = length
        # Some lengths are too short or too long for the joints' positions in the reference.
        with contextlib.suppress(DescriptionError):
            return nacelle.build(data)
    raise AssertionError(f"no rod closes the loop of free-{seed}")

"""Random trees of bodies: with coupled joints, and on a free base with a rod that closes a loop."""

from __future__ import annotations

import contextlib

import numpy as np

import nacelle
from nacelle.errors import DescriptionError
from nacelle.model.robot import Robot
from support.random_robots.numbers import random_position
from support.random_robots.written import joint, leg, random_body, random_joint


def coupled_tree(seed: int) -> Robot:
    """A tree of bodies without a platform: revolute, prismatic and screw joints, some of them coupled.

    The couplings have two or three terms and are independent; the joints that are left are the motion, and
    as many others are driven.
    """
    rng = np.random.default_rng(seed)
    count, tied = int(rng.integers(4, 7)), int(rng.integers(1, 3))
    names = [f"b{k}" for k in range(count)]
    parents = ["base", *(str(rng.choice(["base", *names[:k]])) for k in range(1, count))]
    kinds = ("revolute", "prismatic", "screw")
    joints = {f"j{k}": random_joint(rng, parents[k], names[k], kinds) for k in range(count)}
    order = rng.permutation(count).tolist()
    followers, leaders = order[:tied], order[tied:]
    couplings = {}
    for k in followers:
        chosen = rng.choice(leaders, size=min(len(leaders), int(rng.integers(1, 3))), replace=False)
        couplings[f"c{k}"] = {
            "joint": f"j{k}",
            "follows": {f"j{j}": float(rng.uniform(0.3, 3.0) * rng.choice([-1, 1])) for j in chosen},
            "offset": float(rng.uniform(-0.2, 0.2)),
        }
        del joints[f"j{k}"]["guess"]
    # A follower may be driven in the place of one that it follows.
    driven = [f"j{j}" for j in leaders]
    for k in followers[:1]:
        driven[driven.index(next(iter(couplings[f"c{k}"]["follows"])))] = f"j{k}"
    for name in driven:
        joints[name]["active"] = True
    bodies = {name: random_body(rng) for name in names}
    return nacelle.build(
        {
            "format": "nacelle/2",
            "name": f"coupled-{seed}",
            "units": "SI",
            "gravity": rng.uniform(-10.0, 10.0, 3).tolist(),
            "motion": [f"arm.j{j}" for j in sorted(leaders)],
            "legs": [{"name": "arm", "bodies": bodies, "joints": joints, "couplings": couplings}],
        }
    )


def free_base_tree(seed: int, *, spins: bool = False) -> Robot:
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
    foot = random_position(rng).tolist()
    across = "spherical" if spins else "universal"
    joints["across"] = joint(across, "trunk", "rod", foot, ["x", "y"], friction={"viscous": 0.02})
    decided = "j0" if seed % 2 else "j1"
    free = [name for name in joints if name not in (decided, "across")]
    for name in free:
        if rng.random() < 0.5:
            joints[name]["active"] = True
    bodies = {name: random_body(rng) for name in [*names, "rod"]}
    if spins:
        bodies["rod"] = {"mass": 0.4, "com": [0.0, 0.0, 0.2], "inertia": [0.02, 0.02, 0.0003]}
    band = {
        "between": rng.choice(["trunk", "base", *names], size=2, replace=False).tolist(),
        "at": [random_position(rng, 0.3).tolist() for _ in range(2)],
        "stiffness": float(rng.uniform(10.0, 100.0)),
        "length": 0.1,
        "damping": 0.5,
    }
    tip = random_position(rng, 0.2).tolist()
    end = joint("spherical", "rod", "b1", child_at=tip, friction={"viscous": 0.01})
    data = {
        "format": "nacelle/2",
        "name": f"free-{seed}",
        "units": "SI",
        "gravity": rng.uniform(-10.0, 10.0, 3).tolist(),
        "motion": ["se3", *(f"arm.{name}" for name in free)],
        "platform": {"name": "trunk", **random_body(rng)},
        "legs": [leg("arm", bodies, joints, {"end": end}, springs={"band": band})],
    }
    for length in np.linspace(0.2, 1.0, 17).tolist():
        end["at"] = [0.0, 0.0, length]
        # Some lengths are too short or too long for the joints' positions in the reference.
        with contextlib.suppress(DescriptionError):
            return nacelle.build(data)
    raise AssertionError(f"no rod closes the loop of free-{seed}")

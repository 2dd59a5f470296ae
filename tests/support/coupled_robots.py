"""Random mechanisms with coupled joints, and a few that are built: belts, ball screws, a differential."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import nacelle
from nacelle.model.robot import Robot

FOLDER = Path(__file__).parent / "described"
NAMES = ("belt_fivebar", "ball_screws", "differential_wrist", "coupled_gripper")
_INERTIA = ("xx", "xy", "yy", "xz", "yz", "zz")


@cache
def coupled_robot(name: str) -> Robot:
    """One of the robots that are written in files."""
    return nacelle.load(FOLDER / f"{name}.yaml")


def random_body(rng: np.random.Generator) -> dict[str, Any]:
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    I = axes @ np.diag(rng.uniform(0.01, 0.013, 3)) @ axes.T
    return {
        "mass": float(rng.uniform(0.3, 2.0)),
        "com": rng.uniform(-0.1, 0.1, 3).tolist(),
        "inertia": {key: float(I["xyz".index(key[0]), "xyz".index(key[1])]) for key in _INERTIA},
    }


def random_joint(rng: np.random.Generator, parent: str, child: str, kinds: tuple[str, ...]) -> dict[str, Any]:
    kind, axis = str(rng.choice(kinds)), rng.normal(size=3)
    friction = {"viscous": float(rng.uniform(0.01, 0.1)), "coulomb": float(rng.uniform(0.0, 0.2))}
    joint: dict[str, Any] = {
        "type": kind,
        "parent": parent,
        "child": child,
        "at": rng.uniform(-0.3, 0.3, 3).tolist(),
        "axis": (axis / np.linalg.norm(axis)).tolist(),
        "friction": friction,
        "rotor_inertia": float(rng.uniform(0.0, 0.05)),
        "guess": float(rng.uniform(-0.5, 0.5)),
    }
    return joint | ({"pitch": float(rng.uniform(0.05, 0.3) * rng.choice([-1, 1]))} if kind == "screw" else {})


def random_coupled(seed: int) -> Robot:
    """A tree of bodies without a nacelle: revolute, prismatic and screw joints, some of them coupled.

    The couplings have two or three terms and are independent; the joints that are left are the motion, and
    as many others are driven.
    """
    rng = np.random.default_rng(seed)
    count, tied = int(rng.integers(4, 7)), int(rng.integers(1, 3))
    names = [f"b{k}" for k in range(count)]
    parents = ["base", *(str(rng.choice(["base", *names[:k]])) for k in range(1, count))]
    joints = {
        f"j{k}": random_joint(rng, parents[k], names[k], ("revolute", "prismatic", "screw"))
        for k in range(count)
    }
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
    return nacelle.build(
        {
            "format": "nacelle/2",
            "name": f"coupled-{seed}",
            "units": "SI",
            "gravity": rng.uniform(-10.0, 10.0, 3).tolist(),
            "motion": [f"arm.j{j}" for j in sorted(leaders)],
            "legs": [
                {
                    "name": "arm",
                    "bodies": {name: random_body(rng) for name in names},
                    "joints": joints,
                    "couplings": couplings,
                }
            ],
        }
    )

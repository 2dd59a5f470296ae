"""Robots with a loop inside a leg, and with one motion alone."""

from __future__ import annotations

import numpy as np

import nacelle
from support.rigid_robots import Numbers, revolute
from support.stress_robots.friction import DRY, STRIBECK, VISCOUS


def inner_loops(seed: int) -> nacelle.Robot:
    """A leg whose knee is driven by a four-bar from a motor on the thigh, and a point as its foot."""
    n = Numbers(seed)
    lengths = dict(zip(("thigh", "shank", "crank", "rod"), n.vector(0.35, 0.35, 0.06, 0.35), strict=True))
    drive = {"gear_ratio": n(9.0), "rotor_inertia": n(1e-4)}
    leg = {
        "name": "leg",
        "bodies": {
            "thigh": n.body(3.0, (0.15, 0.012, 0.006), (0.1, 0.04, 0.03)),
            "crank": n.body(0.2, (0.02, 0.004, 0.003), (0.02, 0.01, 0.012)),
            "rod": n.body(0.3, (0.15, -0.006, 0.002), (0.1, 0.01, 0.012)),
            "shank": n.body(1.2, (0.14, 0.009, -0.004), (0.1, 0.03, 0.02)),
        },
        "joints": {
            "hip": revolute("base", "thigh", None, "z", guess=-1.05, actuator=drive, friction=DRY),
            "knee": revolute(
                "thigh",
                "shank",
                [lengths["thigh"], 0, 0],
                "z",
                guess=-0.87,
                spring={"stiffness": n(3.0), "rest": n(-0.5)},
                friction=VISCOUS,
            ),
            "motor": revolute("thigh", "crank", None, "z", guess=1.4, actuator=drive, friction=DRY),
            "pin": revolute("crank", "rod", [lengths["crank"], 0, 0], "z", guess=-1.4),
        },
        "closures": {
            "pull": revolute(
                "rod",
                "shank",
                [lengths["rod"], 0, 0],
                "z",
                child_at=n.vector(0.004, 0.06, 0),
                friction=VISCOUS,
            ),
            "sole": revolute("shank", "foot", [lengths["shank"], 0, 0], "z"),
        },
    }
    return nacelle.build(
        {
            "name": "inner-loops",
            "motion": "xy",
            "gravity": [0.0, -9.81, 0.0],
            "reference": {"position": [0.05, -0.6, 0.0]},
            "nacelle": {"name": "foot", "type": "point", "mass": n(0.1)},
            "legs": [leg],
        }
    )


def one_motion(seed: int) -> nacelle.Robot:
    """A Sarrus linkage of legs that differ: one motion, one motor, closures that repeat each other."""
    n = Numbers(seed)
    legs = []
    for name, angle in (("x-leg", 0.0), ("y-leg", np.pi / 2)):
        legs.append(
            {
                "name": name,
                "placement": {"angle": angle},
                "bodies": {
                    "lower": n.body(1.0, (0.14, 0.01, 0.02), (0.08, 0.03, 0.02)),
                    "upper": n.body(0.8, (0.15, -0.012, 0.01), (0.08, 0.02, 0.03)),
                },
                "joints": {
                    "foot": revolute(
                        "base",
                        "lower",
                        n.vector(0.2, 0, 0),
                        "y",
                        guess=-1.0,
                        active=name == "x-leg",
                        friction=DRY,
                    ),
                    "knee": revolute(
                        "lower",
                        "upper",
                        n.vector(0.3, 0, 0),
                        "y",
                        guess=-1.2,
                        friction=STRIBECK,
                        spring={"stiffness": n(2.0), "rest": n(-1.0)},
                    ),
                },
                "closures": {
                    "head": revolute(
                        "upper",
                        "plate",
                        n.vector(0.31, 0, 0),
                        "y",
                        child_at=n.vector(0.21, 0, 0),
                        friction=VISCOUS,
                    )
                },
            }
        )
    return nacelle.build(
        {
            "name": "one-motion",
            "motion": ["z"],
            "reference": {"position": [0.0, 0.0, 0.45]},
            "nacelle": {"name": "plate", **n.body(1.5, (0.012, -0.02, 0.01), (0.06, 0.07, 0.03))},
            "legs": legs,
        }
    )

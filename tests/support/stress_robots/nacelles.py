"""Robots with a nacelle that folds or tilts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import nacelle
from support.rigid_robots import Data, Numbers, around, joint, prismatic, revolute, spherical
from support.stress_robots.friction import DRY, VISCOUS
from support.stress_robots.hexapod_legs import along
from support.stress_robots.planar import planar_leg


def folding_nacelle(seed: int) -> nacelle.Robot:
    """A planar nacelle of four bars in a loop, an RRR leg on each: x, y, rz and the swing of the loop."""
    n = Numbers(seed)
    corners = [
        np.array([*n.vector(x, y), 0.0]) for x, y in ((0.1, 0.08), (-0.1, 0.09), (-0.09, -0.1), (0.11, -0.09))
    ]
    bodies = {f"bar{k + 1}": n.body(0.5, (0.09, 0.012, 0.004), (0.06, 0.02, 0.01)) for k in range(4)}
    sides = [corners[(k + 1) % 4] - corners[k] for k in range(4)]
    headings = [float(np.arctan2(side[1], side[0])) for side in sides]
    lengths = [float(np.linalg.norm(side)) for side in sides]

    def hinge(a: int, b: int, **more: Any) -> Data:
        return revolute(f"bar{a + 1}", f"bar{b + 1}", [lengths[a], 0, 0], "z", friction=VISCOUS, **more)

    def turned(a: int) -> float:
        return float(np.remainder(headings[a + 1] - headings[a] + np.pi, 2 * np.pi) - np.pi)

    legs = []
    for k in range(4):
        mid = corners[k] + 0.5 * sides[k]
        root = mid / np.linalg.norm(mid) * n(0.42)
        root = Rotation.from_euler("z", n(0.6)).apply(root)
        legs.append(
            planar_leg(n, f"leg{k + 1}", root, mid, np.array([0.5 * lengths[k], 0, 0]), body=f"bar{k + 1}")
        )
    nacelle_data = {
        "type": "articulated",
        "name": "bar1",
        "bodies": bodies,
        "joints": {
            name: hinge(a, a + 1, guess=turned(a)) for a, name in enumerate(("swing", "second", "third"))
        },
        "closures": {"last": hinge(3, 0)},
    }
    return nacelle.build(
        {
            "name": "folding-nacelle",
            "motion": ["x", "y", "rz", "swing"],
            "gravity": [0.0, -9.81, 0.0],
            "reference": {
                "position": corners[0].tolist(),
                "rotation": {"axis": "z", "angle": headings[0]},
            },
            "nacelle": nacelle_data,
            "legs": legs,
        }
    )


def tilting_head(seed: int) -> nacelle.Robot:
    """3-UPS and a passive UP leg whose prismatic joint closes it: the head tilts as it moves in x, y, z."""
    n = Numbers(seed)
    legs: list[Data] = []
    for k in range(3):
        A, B = around(n(0.45), n(120.0 * k + 15.0)), around(n(0.2), n(120.0 * k + 20.0))
        angles = along(B - [0, 0, 1.0] - A).as_euler("XYZ")
        legs.append(
            {
                "name": f"strut{k + 1}",
                "bodies": {
                    "tube": n.body(25.0, (0.01, -0.008, 0.25), (0.05, 0.06, 0.15)),
                    "rod": n.body(12.0, (0.006, 0.007, -0.3), (0.03, 0.04, 0.15)),
                },
                "joints": {
                    "foot": joint(
                        "universal",
                        "base",
                        "tube",
                        A,
                        ["x", "y"],
                        guess=angles[:2].tolist(),
                        friction=[VISCOUS, DRY],
                    ),
                    "screw": prismatic(
                        "tube",
                        "rod",
                        None,
                        "z",
                        guess=1.03,
                        friction={"viscous": n(300.0), "coulomb": n(50.0)},
                        actuator={"rotor_inertia": n(0.001), "gear_ratio": n(628.3)},
                    ),
                },
                "closures": {"head": spherical("rod", "head", child_at=B)},
            }
        )
    legs.append(
        {
            "name": "centre",
            "bodies": {
                "cross": n.body(2.0, (0.01, 0.006, -0.004), (0.05, 0.06, 0.04)),
                "tube": n.body(15.0, (0.02, -0.01, -0.1), (0.06, 0.07, 0.12)),
            },
            "joints": {
                "first": revolute("base", "cross", None, "x", spring={"stiffness": n(30.0), "rest": 0.0}),
                "second": revolute("cross", "tube", None, "y"),
            },
            "closures": {
                "ram": prismatic("tube", "head", None, "z", guess=-1.0, friction={"viscous": n(100.0)})
            },
        }
    )
    return nacelle.build(
        {
            "name": "tilting-head",
            "motion": "xyz",
            "reference": {"position": [0.05, -0.04, -1.0]},
            "nacelle": {"name": "head", **n.body(60.0, (0.02, -0.03, -0.15), (0.12, 0.14, 0.1))},
            "legs": legs,
        }
    )

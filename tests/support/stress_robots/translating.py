"""A robot that only translates."""

from __future__ import annotations

import nacelle
from support.rigid_robots import Numbers, joint, prismatic
from support.stress_robots.friction import DRY, STRIBECK, VISCOUS


def three_upu(seed: int) -> nacelle.Robot:
    """3-UPU that only translates: general bodies, friction in all universal joints."""
    n = Numbers(seed)
    leg = {
        "bodies": {
            "tube": n.body(2.0, (0.01, -0.008, 0.15), (0.03, 0.04, 0.08)),
            "rod": n.body(1.0, (0.006, 0.007, -0.15), (0.02, 0.03, 0.09)),
        },
        "joints": {
            "foot": joint(
                "universal", "base", "tube", n.vector(0.3, 0, 0), ["y", "x"], friction=[DRY, VISCOUS]
            ),
            "slide": prismatic(
                "tube", "rod", None, "z", active=True, guess=0.5, friction={"viscous": n(30.0)}
            ),
        },
        "closures": {
            "head": joint(
                "universal",
                "rod",
                "plate",
                None,
                ["x", "y"],
                child_at=n.vector(0.12, 0, 0),
                friction=[VISCOUS, STRIBECK],
            )
        },
    }
    return nacelle.build(
        {
            "name": "three-upu",
            "motion": "xyz",
            "reference": {"position": [0.02, -0.01, 0.5]},
            "nacelle": {"name": "plate", **n.body(3.0, (0.01, -0.02, 0.015), (0.06, 0.07, 0.03))},
            "templates": {"leg": leg},
            "legs": [{"repeat": "leg", "count": 3}],
        }
    )

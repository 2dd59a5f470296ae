"""Six legs of one template: faces that are pushed, mirrored pairs."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import nacelle
from support.rigid_robots import Numbers, joint, prismatic, revolute, spherical
from support.stress_robots.friction import DRY, VISCOUS


def pushed_faces(seed: int) -> nacelle.Robot:
    """Six prismatic drives with planar-spherical joints, planes on sliders and on the plate."""
    n = Numbers(seed)
    axes = np.eye(3)[[0, 0, 1, 1, 2, 2]]
    places = ((0.05, 0.1), (0.15, 0.1), (0.1, 0.05), (0.1, 0.15), (0.05, 0.1), (0.15, 0.1))
    legs = []
    for k, (axis, place) in enumerate(zip(axes, places, strict=True)):
        push = np.array(n.vector(*(axis + 0.12 * np.roll(axis, 1))))
        touch = np.insert(np.array(n.vector(*place)), int(np.argmax(axis)), 0.0)
        face = Rotation.from_rotvec(n.vector(0.1, -0.15, 0.2)).apply(axis)
        legs.append(
            {
                "name": f"leg{k + 1}",
                "bodies": {"slider": n.body(1.5, (0.02, -0.01, 0.015), (0.03, 0.04, 0.05))},
                "joints": {
                    "slide": prismatic(
                        "base",
                        "slider",
                        touch - 0.4 * push,
                        push.tolist(),
                        guess=float(0.4 * np.linalg.norm(push)),
                        actuator={"rotor_inertia": n(0.5)},
                        friction={"viscous": n(20.0), "coulomb": n(8.0)},
                    )
                },
                "closures": {
                    "face": joint(
                        "planar-spherical",
                        "slider",
                        "cube",
                        None,
                        face.tolist(),
                        child_at=touch,
                        plane="child" if k % 2 else "parent",
                        friction=[{"viscous": n(5.0)}, {"viscous": n(4.0)}, {"coulomb": n(0.02)}],
                    )
                },
            }
        )
    return nacelle.build(
        {
            "name": "pushed-faces",
            "motion": "se3",
            "nacelle": {"name": "cube", **n.body(6.0, (0.1, 0.11, 0.09), (0.07, 0.08, 0.06))},
            "legs": legs,
        }
    )


def mirrored_legs(seed: int) -> nacelle.Robot:
    """Six RUS legs of one template in mirrored pairs, with springs in the motors and limits nowhere."""
    n = Numbers(seed)
    leg = {
        "bodies": {
            "arm": n.body(0.6, (0.08, 0.006, -0.008), (0.05, 0.02, 0.03)),
            "rod": n.body(0.15, (0.004, -0.003, -0.24), (0.01, 0.012, 0.13)),
        },
        "joints": {
            "motor": revolute(
                "base",
                "arm",
                n.vector(0.23, 0.04, 0),
                "y",
                guess=0.5,
                active=True,
                friction=DRY,
                spring={"stiffness": n(5.0), "rest": n(-0.3)},
            ),
            "cardan": joint(
                "universal", "arm", "rod", n.vector(0.2, 0, 0), ["y", "x"], friction=[VISCOUS, DRY]
            ),
        },
        "closures": {
            "ball": spherical(
                "rod", "plate", n.vector(0, 0, -0.5), child_at=n.vector(0.08, 0.1, 0), friction=DRY
            )
        },
    }
    placements = [{"angle": 2 * np.pi * (k // 2) / 3, **({} if k % 2 else {"mirror": "y"})} for k in range(6)]
    return nacelle.build(
        {
            "name": "mirrored-legs",
            "motion": "se3",
            "reference": {"position": [0.02, -0.015, -0.48], "rotation": {"rpy": [0.05, -0.07, 0.14]}},
            "nacelle": {"name": "plate", **n.body(2.0, (0.01, -0.006, -0.012), (0.06, 0.07, 0.03))},
            "templates": {"leg": leg},
            "legs": [{"repeat": "leg", "placements": placements}],
        }
    )

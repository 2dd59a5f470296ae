"""Robots in a plane: legs RRR and RPR, more motors than motions, drives at closures, fixed joints."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import nacelle
from support.rigid_robots import Array, Data, Numbers, around, joint, prismatic, revolute
from support.stress_robots.friction import DRY, STRIBECK, VISCOUS


def planar_leg(
    n: Numbers, name: str, root: Array, end: Array, plate: Array, *, body: str = "plate", **drive: Any
) -> Data:
    """An RRR leg in the plane z = 0, closed where its end is at a point of the base's plane."""
    lengths = n.vector(0.25, 0.26)
    reach = end - root
    distance = float(np.hypot(*reach[:2]))
    cosine = (distance**2 - lengths[0] ** 2 - lengths[1] ** 2) / (2 * lengths[0] * lengths[1])
    knee = float(np.arccos(cosine))
    first = float(
        np.arctan2(reach[1], reach[0])
        - np.arctan2(lengths[1] * np.sin(knee), lengths[0] + lengths[1] * np.cos(knee))
    )
    return {
        "name": name,
        "bodies": {
            "crank": n.body(0.9, (0.11, 0.013, 0.004), (0.06, 0.02, 0.02)),
            "coupler": n.body(0.6, (0.12, -0.011, -0.006), (0.07, 0.015, 0.02)),
        },
        "joints": {
            "root": revolute("base", "crank", root, "z", guess=first, active=True, **drive),
            "knee": revolute("crank", "coupler", [lengths[0], 0, 0], "z", guess=knee, friction=STRIBECK),
        },
        "closures": {
            "end": revolute("coupler", body, [lengths[1], 0, 0], "z", child_at=plate, friction=VISCOUS)
        },
    }


def redundant_planar(seed: int) -> nacelle.Robot:
    """4-RRR in a plane: four motors for three motions, friction in every joint."""
    n = Numbers(seed)
    legs = []
    for k in range(4):
        plate = around(n(0.1), n(90.0 * k + 50.0))
        root = around(n(0.4), n(90.0 * k + 20.0))
        legs.append(planar_leg(n, f"leg{k + 1}", root, plate, plate, friction=DRY))
    return nacelle.build(
        {
            "name": "redundant-planar",
            "motion": "xy+rz",
            "gravity": [1.5, -9.6, 0.0],
            "nacelle": {"name": "plate", **n.body(1.5, (0.012, -0.017, 0.006), (0.06, 0.07, 0.03))},
            "legs": legs,
        }
    )


def driven_closures(seed: int) -> nacelle.Robot:
    """Planar 3-RPR cut at its drives: prismatic closures with rotor, gear, spring and friction."""
    n = Numbers(seed)
    legs = []
    for k in range(3):
        root, plate = around(n(0.5), n(120.0 * k + 10.0)), around(n(0.12), n(120.0 * k + 55.0))
        reach = plate - root
        angle = float(np.arctan2(reach[1], reach[0]))
        legs.append(
            {
                "name": f"leg{k + 1}",
                "bodies": {
                    "tube": n.body(1.2, (0.12, 0.011, 0.005), (0.07, 0.02, 0.03)),
                    "rod": n.body(0.7, (-0.14, -0.008, 0.006), (0.08, 0.02, 0.015)),
                },
                "joints": {
                    "root": revolute("base", "tube", root, "z", guess=angle, friction=DRY),
                    "end": revolute("plate", "rod", plate, "z", guess=angle, friction=VISCOUS),
                },
                "closures": {
                    "drive": prismatic(
                        "tube",
                        "rod",
                        None,
                        "x",
                        actuator={"gear_ratio": n(300.0), "rotor_inertia": n(2e-5)},
                        spring={"stiffness": n(80.0), "rest": n(0.35)},
                        friction={"viscous": n(20.0), "coulomb": n(6.0)},
                    )
                },
            }
        )
    return nacelle.build(
        {
            "name": "driven-closures",
            "motion": "xy+rz",
            "gravity": [0.0, -9.81, 0.0],
            "nacelle": {"name": "plate", **n.body(1.5, (0.012, -0.017, 0.006), (0.06, 0.07, 0.03))},
            "legs": legs,
        }
    )


def fixed_joints(seed: int) -> nacelle.Robot:
    """Planar 3-RRR: couplers of two parts that are fixed together, a leg fixed to the plate, a payload."""
    n = Numbers(seed)
    legs = []
    for k in range(3):
        plate = around(n(0.1), n(120.0 * k + 50.0))
        leg = planar_leg(n, f"leg{k + 1}", around(n(0.4), n(120.0 * k + 20.0)), plate, plate)
        leg["bodies"]["fork"] = n.body(0.2, (0.01, 0.006, -0.003), (0.02, 0.01, 0.015))
        end = leg["closures"]["end"]
        turned = {"translation": end["at"], "rotation": {"rpy": n.vector(0.3, -0.2, 0.4)}}
        leg["joints"]["weld"] = joint("fixed", "coupler", "fork", turned)
        R = Rotation.from_euler("xyz", turned["rotation"]["rpy"])
        if k == 0:
            # The end body turns with the plate: a hinge in the tree, a weld as the closure.
            leg["bodies"]["lug"] = n.body(0.15, (0.005, 0.008, 0.004), (0.01, 0.012, 0.015))
            total = sum(leg["joints"][name]["guess"] for name in ("root", "knee"))
            leg["joints"]["pin"] = revolute("fork", "lug", _unturned(R), "z", guess=-total)
            leg["closures"] = {"end": joint("fixed", "lug", "plate", child_at=end["child_at"])}
        else:
            leg["closures"]["end"] = {**end, "parent": "fork", "at": _unturned(R)}
        legs.append(leg)
    load = {**n.body(0.5, (0.01, 0.02, 0.03), (0.03, 0.04, 0.05)), "at": [0.03, -0.02, 0.0]}
    return nacelle.build(
        {
            "name": "fixed-joints",
            "motion": "xy+rz",
            "gravity": [0.0, -9.81, 0.0],
            "nacelle": {"name": "plate", **n.body(1.5, (0.012, -0.017, 0.006), (0.06, 0.07, 0.03))},
            "payload": {"load": load},
            "legs": legs,
        }
    )


def _unturned(R: Rotation) -> Data:
    return {"rotation": {"quat_xyzw": R.inv().as_quat().tolist()}}

"""Robots that stress what the format can describe, each a function of a seed.

Those that are written here have general bodies and friction, springs, rotors and payloads where they are
about them; numbers are changed by about 1 % from seed to seed. Hexapods, the point on sliders and the leg
with an inner loop are drawn (`support.random_robots`) and furnished with everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import nacelle
from support import mechanisms
from support.random_robots import random_robot
from support.random_robots.legs import hexapod
from support.random_robots.loads import with_random_loads
from support.random_robots.written import (
    Array,
    Data,
    VariedNumbers,
    joint,
    leg,
    point_on_circle,
    prismatic,
    revolute,
    rotation_to_direction,
    spherical,
)

VISCOUS: Data = {"viscous": 0.12}
DRY: Data = {"viscous": 0.05, "coulomb": 0.3}
STRIBECK: Data = {"coulomb_smooth": 0.4, "stribeck": 0.2, "scale": 0.15}
_FILES = Path(__file__).parents[1] / "robots"


def _varied_file_robot(name: str) -> Callable[[int], nacelle.Robot]:
    """A robot of the files beside the tests; all inertias and friction changed by 1 %."""

    def make(seed: int) -> nacelle.Robot:
        robot = nacelle.load(_FILES / f"{name}.yaml")
        n = VariedNumbers(seed)
        for kind in ("inertia", "friction"):
            values = robot.parameter_vector(kind)
            robot = robot.with_parameters(np.array(n.vector(*values)), kind)
        return robot

    return make


def _furnished_from_text(make: Callable[[int], nacelle.Robot]) -> Callable[[int], nacelle.Robot]:
    """A drawn robot with everything, as it is read from its text."""
    return lambda seed: nacelle.loads(replace(with_random_loads(make(seed), seed), name="drawn").to_yaml())


# ---- in a plane


def _planar(name: str, n: VariedNumbers, legs: list[Data], **more: Any) -> nacelle.Robot:
    """A robot in a vertical plane."""
    plate = {"name": "plate", **n.body(1.5, (0.012, -0.017, 0.006), (0.06, 0.07, 0.03))}
    data = {"name": name, "motion": "xy+rz", "gravity": [0.0, -9.81, 0.0], "platform": plate, "legs": legs}
    return nacelle.build({**data, **more})


def planar_leg(
    n: VariedNumbers, name: str, root: Array, end: Array, plate: Array, *, body: str = "plate", **drive: Any
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
    bodies = {
        "crank": n.body(0.9, (0.11, 0.013, 0.004), (0.06, 0.02, 0.02)),
        "coupler": n.body(0.6, (0.12, -0.011, -0.006), (0.07, 0.015, 0.02)),
    }
    joints = {
        "root": revolute("base", "crank", root, "z", guess=first, active=True, **drive),
        "knee": revolute("crank", "coupler", [lengths[0], 0, 0], "z", guess=knee, friction=STRIBECK),
    }
    closed = revolute("coupler", body, [lengths[1], 0, 0], "z", child_at=plate, friction=VISCOUS)
    return leg(name, bodies, joints, {"end": closed})


def redundant_planar(seed: int) -> nacelle.Robot:
    """4-RRR in a plane: four motors for three motions, friction in every joint."""
    n = VariedNumbers(seed)
    legs = []
    for k in range(4):
        plate = point_on_circle(n(0.1), n(90.0 * k + 50.0))
        root = point_on_circle(n(0.4), n(90.0 * k + 20.0))
        legs.append(planar_leg(n, f"leg{k + 1}", root, plate, plate, friction=DRY))
    return _planar("redundant-planar", n, legs, gravity=[1.5, -9.6, 0.0])


def driven_closures(seed: int) -> nacelle.Robot:
    """Planar 3-RPR cut at its drives: prismatic closures with rotor, gear, spring and friction."""
    n = VariedNumbers(seed)
    legs = []
    for k in range(3):
        root, plate = (
            point_on_circle(n(0.5), n(120.0 * k + 10.0)),
            point_on_circle(n(0.12), n(120.0 * k + 55.0)),
        )
        reach = plate - root
        angle = float(np.arctan2(reach[1], reach[0]))
        bodies = {
            "tube": n.body(1.2, (0.12, 0.011, 0.005), (0.07, 0.02, 0.03)),
            "rod": n.body(0.7, (-0.14, -0.008, 0.006), (0.08, 0.02, 0.015)),
        }
        joints = {
            "root": revolute("base", "tube", root, "z", guess=angle, friction=DRY),
            "end": revolute("plate", "rod", plate, "z", guess=angle, friction=VISCOUS),
        }
        drive = {
            "actuator": {"gear_ratio": n(300.0), "rotor_inertia": n(2e-5)},
            "spring": {"stiffness": n(80.0), "rest": n(0.35)},
            "friction": {"viscous": n(20.0), "coulomb": n(6.0)},
        }
        closures = {"drive": prismatic("tube", "rod", None, "x", **drive)}
        legs.append(leg(f"leg{k + 1}", bodies, joints, closures))
    return _planar("driven-closures", n, legs)


def fixed_joints(seed: int) -> nacelle.Robot:
    """Planar 3-RRR: couplers of two parts that are fixed together, a leg fixed to the plate, a payload."""
    n = VariedNumbers(seed)
    legs = []
    for k in range(3):
        plate = point_on_circle(n(0.1), n(120.0 * k + 50.0))
        made = planar_leg(n, f"leg{k + 1}", point_on_circle(n(0.4), n(120.0 * k + 20.0)), plate, plate)
        made["bodies"]["fork"] = n.body(0.2, (0.01, 0.006, -0.003), (0.02, 0.01, 0.015))
        end = made["closures"]["end"]
        rpy = n.vector(0.3, -0.2, 0.4)
        made["joints"]["weld"] = joint(
            "fixed", "coupler", "fork", {"translation": end["at"], "rotation": {"rpy": rpy}}
        )
        unturned = {"rotation": {"quat_xyzw": Rotation.from_euler("xyz", rpy).inv().as_quat().tolist()}}
        if k == 0:
            # The end body turns with the plate: a hinge in the tree, a weld as the closure.
            made["bodies"]["lug"] = n.body(0.15, (0.005, 0.008, 0.004), (0.01, 0.012, 0.015))
            total = sum(made["joints"][name]["guess"] for name in ("root", "knee"))
            made["joints"]["pin"] = revolute("fork", "lug", unturned, "z", guess=-total)
            made["closures"] = {"end": joint("fixed", "lug", "plate", child_at=end["child_at"])}
        else:
            made["closures"]["end"] = {**end, "parent": "fork", "at": unturned}
        legs.append(made)
    load = {**n.body(0.5, (0.01, 0.02, 0.03), (0.03, 0.04, 0.05)), "at": [0.03, -0.02, 0.0]}
    return _planar("fixed-joints", n, legs, payload={"load": load})


def sprung_five_bar(seed: int) -> nacelle.Robot:
    """Five-bar with a massive point: springs and rotors in passive joints, friction at the point's hinge."""
    n = VariedNumbers(seed)
    upper, lower = ([length, 0.0, 0.0] for length in n.vector(0.2, 0.25))
    legs = []
    for name, x, first, second in (("left", -0.1, 2.2, -1.4), ("right", 0.1, 0.9, 1.4)):
        bodies = {
            "upper": n.body(0.4, (0.1, 0.009, 0.004), (0.05, 0.01, 0.015)),
            "lower": n.body(0.2, (0.12, -0.007, 0.003), (0.06, 0.01, 0.012)),
        }
        motor = {"actuator": {"gear_ratio": n(9.0), "rotor_inertia": n(1e-5)}, "friction": DRY}
        spring = {"spring": {"stiffness": n(2.0), "rest": n(1.0)}, "rotor_inertia": n(2e-4)}
        joints = {
            "motor": revolute("base", "upper", [n(x), 0.0, 0.0], "z", guess=first, **motor),
            "elbow": revolute("upper", "lower", upper, "z", guess=second, friction=VISCOUS, **spring),
        }
        legs.append(leg(name, bodies, joints, {"tip": revolute("lower", "tip", lower, "z")}))
    hinge = revolute("left.lower", "right.lower", lower, "z", child_at=lower, friction=DRY)
    tip = {"type": "point", "name": "tip", "mass": n(0.5), "closures": {"hinge": hinge}}
    reference = {"position": [0.02, 0.3, 0.0]}
    return _planar("sprung-five-bar", n, legs, motion="xy", platform=tip, reference=reference)


# ---- platforms that fold, tilt or only rise


def folding_platform(seed: int) -> nacelle.Robot:
    """A planar platform of four bars in a loop, an RRR leg on each: x, y, rz and the swing of the loop."""
    n = VariedNumbers(seed)
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
        root = Rotation.from_euler("z", n(0.6)).apply(mid / np.linalg.norm(mid) * n(0.42))
        half = np.array([0.5 * lengths[k], 0, 0])
        legs.append(planar_leg(n, f"leg{k + 1}", root, mid, half, body=f"bar{k + 1}"))
    names = ("swing", "second", "third")
    bars = {
        "type": "articulated",
        "name": "bar1",
        "bodies": bodies,
        "joints": {name: hinge(a, a + 1, guess=turned(a)) for a, name in enumerate(names)},
        "closures": {"last": hinge(3, 0)},
    }
    reference = {"position": corners[0].tolist(), "rotation": {"axis": "z", "angle": headings[0]}}
    motion = ["x", "y", "rz", "swing"]
    return _planar("folding-platform", n, legs, motion=motion, platform=bars, reference=reference)


def tilting_head(seed: int) -> nacelle.Robot:
    """3-UPS and a passive UP leg whose prismatic joint closes it: the head tilts as it moves in x, y, z."""
    n = VariedNumbers(seed)
    legs: list[Data] = []
    for k in range(3):
        A, B = point_on_circle(n(0.45), n(120.0 * k + 15.0)), point_on_circle(n(0.2), n(120.0 * k + 20.0))
        angles = rotation_to_direction(B - [0, 0, 1.0] - A).as_euler("XYZ")[:2].tolist()
        bodies = {
            "tube": n.body(25.0, (0.01, -0.008, 0.25), (0.05, 0.06, 0.15)),
            "rod": n.body(12.0, (0.006, 0.007, -0.3), (0.03, 0.04, 0.15)),
        }
        cardan = {"guess": angles, "friction": [VISCOUS, DRY]}
        drive = {
            "friction": {"viscous": n(300.0), "coulomb": n(50.0)},
            "actuator": {"rotor_inertia": n(0.001), "gear_ratio": n(628.3)},
        }
        joints = {
            "foot": joint("universal", "base", "tube", A, ["x", "y"], **cardan),
            "screw": prismatic("tube", "rod", None, "z", guess=1.03, **drive),
        }
        legs.append(leg(f"strut{k + 1}", bodies, joints, {"head": spherical("rod", "head", child_at=B)}))
    bodies = {
        "cross": n.body(2.0, (0.01, 0.006, -0.004), (0.05, 0.06, 0.04)),
        "tube": n.body(15.0, (0.02, -0.01, -0.1), (0.06, 0.07, 0.12)),
    }
    joints = {
        "first": revolute("base", "cross", None, "x", spring={"stiffness": n(30.0), "rest": 0.0}),
        "second": revolute("cross", "tube", None, "y"),
    }
    ram = prismatic("tube", "head", None, "z", guess=-1.0, friction={"viscous": n(100.0)})
    legs.append(leg("centre", bodies, joints, {"ram": ram}))
    return nacelle.build(
        {
            "name": "tilting-head",
            "motion": "xyz",
            "reference": {"position": [0.05, -0.04, -1.0]},
            "platform": {"name": "head", **n.body(60.0, (0.02, -0.03, -0.15), (0.12, 0.14, 0.1))},
            "legs": legs,
        }
    )


STRESS: dict[str, Callable[[int], nacelle.Robot]] = {
    "redundant planar 4-RRR": redundant_planar,
    "redundant point on three legs": _varied_file_robot("redundant"),
    "drives, springs and rotors at closures": driven_closures,
    "SPS struts": _furnished_from_text(partial(random_robot, "6 SPS")),
    "friction in every joint": _furnished_from_text(partial(hexapod, kinds=("UPS", "PCS", "RUS"))),
    "fixed joints": fixed_joints,
    "planar-spherical joints": _furnished_from_text(partial(hexapod, kinds=("P-C5", "P-C5 on the platform"))),
    "sprung five-bar": sprung_five_bar,
    "point on sliders": _furnished_from_text(partial(random_robot, "point PRR")),
    "platform with a loop": folding_platform,
    "shared carriage": _varied_file_robot("shared"),
    "tilting head": tilting_head,
    "loop inside a leg": _furnished_from_text(partial(random_robot, "inner loop")),
    "cut at the motor": _furnished_from_text(partial(hexapod, kinds=("RUS cut at the arm", "UPS"))),
    "one motion": _furnished_from_text(lambda _: nacelle.build(mechanisms.sarrus())),
}
"""Robots that are no families: by name, each a function of a seed."""

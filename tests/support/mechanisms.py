"""Known mechanisms as descriptions, with lengths in metres; each has a body to say what it is known for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from support.random_robots.written import (
    Array,
    Data,
    joint,
    leg,
    point_on_circle,
    prismatic,
    revolute,
    rotation_to_direction,
    spherical,
)

BODY: Data = {"mass": 1.0, "com": [0.1, 0.0, 0.0], "inertia": [0.01, 0.02, 0.02]}
PLATE: Data = {"name": "plate", "mass": 1.0, "inertia": [0.01, 0.02, 0.02]}


def frame(R: Array, p: Array) -> Data:
    return {"translation": np.asarray(p).tolist(), "rotation": {"matrix": R.tolist()}}


def rotation_matrix(axis: str, angle: float) -> Array:
    return Rotation.from_euler(axis, angle).as_matrix()


def mechanism_description(
    name: str, motion: Any, legs: list[Data], place: Sequence[float] = (0.0, 0.0, 0.0), **more: Any
) -> Data:
    """A mechanism with its platform at a place."""
    reference = {"position": [float(c) for c in place]}
    return {"name": name, "motion": motion, "platform": PLATE, "legs": legs, "reference": reference, **more}


def planar_leg(
    name: str, at: Sequence[float], lengths: tuple[float, ...], guess: tuple[float, ...], **end: Any
) -> Data:
    """A chain of bars in the plane z = 0, all joints revolute about z, driven at the base."""
    bodies, joints = {}, {}
    parent, offset = "base", [float(at[0]), float(at[1]), 0.0]
    for k, length in enumerate(lengths):
        bodies[f"bar{k}"] = BODY
        joints[f"joint{k}"] = revolute(parent, f"bar{k}", offset, "z", guess=guess[k], active=k == 0)
        parent, offset = f"bar{k}", [length, 0.0, 0.0]
    return leg(name, bodies, joints, {"end": revolute(parent, "plate", offset, "z", **end)})


def legs_around_z(count: int, make: Callable[[int], tuple[Data, Data, Data]]) -> list[Data]:
    """Legs in turn about z: bodies, joints and closures of each."""
    placements = ({"angle": 2 * np.pi * k / count} for k in range(count))
    return [leg(f"leg{k + 1}", *make(k), placement=placement) for k, placement in enumerate(placements)]


def four_bar() -> Data:
    """Crank, coupler (the platform) and rocker: one motion, of x, y and rz together."""
    crank, rocker, coupler = 0.1, 0.22, 0.25
    ground = np.array([0.2, 0.0])
    angle = 1.1
    A = crank * np.array([np.cos(angle), np.sin(angle)])
    # B is where the circles about A and about the ground's end meet.
    d = ground - A
    distance = float(np.linalg.norm(d))
    part = (coupler**2 - rocker**2 + distance**2) / (2 * distance)
    normal = np.array([-d[1], d[0]]) / distance
    B = A + part * d / distance + np.sqrt(coupler**2 - part**2) * normal
    heading = float(np.arctan2(*(B - A)[::-1]))
    rocker_angle = float(np.arctan2(*(B - ground)[::-1]))
    legs = [
        planar_leg("crank", [0.0, 0.0], (crank,), (angle,)),
        planar_leg("rocker", ground, (rocker,), (rocker_angle,), child_at=[coupler, 0.0, 0.0]),
    ]
    legs[1]["joints"]["joint0"]["active"] = False
    reference = {"position": [*A.tolist(), 0.0], "rotation": {"axis": "z", "angle": heading}}
    return mechanism_description("four-bar", ["rz"], legs, reference=reference)


def planar_three_rrr() -> Data:
    """Three planar legs RRR on a rigid platform: x, y and rz."""
    legs = []
    for k in range(3):
        at, plate, guess = (
            point_on_circle(0.4, 120 * k),
            point_on_circle(0.1, 120 * k),
            (2 * np.pi * k / 3 + 2.2, 1.8),
        )
        legs.append(planar_leg(f"leg{k}", at, (0.25, 0.25), guess, child_at=plate.tolist()))
    return mechanism_description("three-rrr", "xy+rz", legs)


def point_platform(legs: list[Data], length: float) -> Data:
    """A point at the ends of planar legs; the pin at it makes a joint between each leg and the next."""
    ends, tip = [f"{leg['name']}.bar1" for leg in legs], [length, 0.0, 0.0]
    pins = {f"pin{k}": revolute(*ends[k : k + 2], tip, "z", child_at=tip) for k in range(len(legs) - 1)}
    return {"type": "point", "name": "plate", "closures": pins}


def planar_point() -> Data:
    """Three planar legs RR on one point: two motions, three actuators."""
    legs = []
    for k in range(3):
        turned = 2 * np.pi * k / 3 + 0.3
        at = point_on_circle(0.4, np.degrees(turned))
        legs.append(planar_leg(f"leg{k}", at, (0.25, 0.25), (turned + 2.5, 1.3)))
    return mechanism_description(
        "planar-point", "xy", legs, (0.02, -0.03, 0.0), platform=point_platform(legs, 0.25)
    )


def five_bar_stretched() -> Data:
    """A five-bar whose distal bars lie on one line in the reference pose: a parallel singularity."""
    legs = [
        planar_leg("left", [-0.1, 0.0], (0.2, 0.1), (np.pi / 2, -np.pi / 2)),
        planar_leg("right", [0.1, 0.0], (0.2, 0.1), (np.pi / 2, np.pi / 2)),
    ]
    return mechanism_description(
        "five-bar-stretched", "xy", legs, (0.0, 0.2, 0.0), platform=point_platform(legs, 0.1)
    )


def three_rps(active: tuple[bool, ...] = (True, True, True)) -> Data:
    """3-RPS: the balls stay in three vertical planes; x, y and rz are parasitic."""

    def made(k: int) -> tuple[Data, Data, Data]:
        joints = {
            "hinge": revolute("base", "tube", [0.5, 0.0, 0.0], "y", guess=-0.3),
            "slide": prismatic("tube", "rod", None, "z", guess=0.6, active=active[k]),
        }
        return {"tube": BODY, "rod": BODY}, joints, {"ball": spherical("rod", "plate", child_at=[0.3, 0, 0])}

    return mechanism_description("three-rps", ["z", "rx", "ry"], legs_around_z(3, made), (0.0, 0.0, 0.6))


def gough_stewart(foot: str = "spherical") -> Data:
    """Six struts between ball joints: each strut spins idly about its own axis."""
    legs = []
    for k, (a, b) in enumerate(zip((10, 110, 130, 230, 250, 350), (50, 70, 170, 190, 290, 310), strict=True)):
        A, B = point_on_circle(0.6, a), point_on_circle(0.3, b)
        strut = point_on_circle(0.3, b, 0.7) - A
        R = rotation_to_direction(strut)
        guess = R.as_quat().tolist() if foot == "spherical" else R.as_euler("XYZ").tolist()[:2]
        tube = {"mass": 2.0, "com": [0.0, 0.0, 0.2], "inertia": [0.05, 0.05, 0.001]}
        joints = {
            "foot": joint(foot, "base", "tube", A.tolist(), ["x", "y"], guess=guess),
            "slide": prismatic("tube", "rod", None, "z", guess=float(np.linalg.norm(strut)), active=True),
        }
        bodies = {"tube": tube, "rod": {**tube, "com": [0.0, 0.0, -0.2]}}
        head = spherical("rod", "plate", child_at=B.tolist())
        legs.append(leg(f"strut{k + 1}", bodies, joints, {"head": head}))
    return mechanism_description("gough-stewart", "se3", legs, (0.0, 0.0, 0.7))


def sarrus() -> Data:
    """Two legs RRR with axes along y and along x: the platform only rises."""
    legs = []
    for name, angle in (("x-leg", 0.0), ("y-leg", np.pi / 2)):
        joints = {
            "foot": revolute("base", "lower", [0.2, 0.0, 0.0], "y", guess=-1.0, active=name == "x-leg"),
            "knee": revolute("lower", "upper", [0.3, 0.0, 0.0], "y", guess=-1.2),
        }
        head = revolute("upper", "plate", [0.3, 0.0, 0.0], "y", child_at=[0.2, 0.0, 0.0])
        bodies = {"lower": BODY, "upper": BODY}
        legs.append(leg(name, bodies, joints, {"head": head}, placement={"angle": angle}))
    return mechanism_description("sarrus", ["z"], legs, (0.0, 0.0, 0.45))


def bennett() -> Data:
    """Bennett: four revolutes in space, a / sin(alpha) = b / sin(beta); the coupler is the platform.

    With links of standard Denavit-Hartenberg parameters Rz(theta) Tx(a) Rx(alpha), the angles of
    opposite joints sum to a full turn and tan(theta1/2) tan(theta2/2) =
    sin((beta + alpha)/2) / sin((beta - alpha)/2).
    """
    alpha, beta, a = 0.6, 1.1, 0.2
    b = a * np.sin(beta) / np.sin(alpha)
    theta1 = 0.8
    theta2 = 2 * np.arctan(np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2) / np.tan(theta1 / 2))
    R_a, p_a = rotation_matrix("x", alpha), np.array([a, 0.0, 0.0])
    R_b, p_b = rotation_matrix("x", beta), np.array([b, 0.0, 0.0])
    R1 = rotation_matrix("z", theta1)
    # The coupler after the second joint.
    R2, p2 = R1 @ R_a @ rotation_matrix("z", theta2), R1 @ p_a
    on_crank, on_plate = frame(R_a, p_a), frame(R_b, p_b)
    before = frame(R_b.T, -R_b.T @ p_b)
    feet = {
        "first": revolute("base", "crank", None, "z", guess=theta1, active=True),
        "second": revolute("base", "crank", before, "z", child_at=on_crank, guess=theta2),
    }
    heads = {
        "first": revolute("crank", "plate", on_crank),
        "second": revolute("crank", "plate", child_at=on_plate),
    }
    legs = [leg(name, {"crank": BODY}, {"foot": feet[name]}, {"head": heads[name]}) for name in feet]
    reference = {"position": p2.tolist(), "rotation": frame(R2, p2)["rotation"]}
    return mechanism_description("bennett", ["rz"], legs, reference=reference)


def rod_pairs(*, asymmetric: bool = False, internal_freedoms: str = "spherical") -> Data:
    """A DELTA whose rods may have an inertia that is not symmetric about their axis."""
    rod = {"mass": 0.1, "com": [0.3, 0.0, 0.0], "inertia": [2e-4, 2e-3, 2.15e-3 if asymmetric else 2e-3]}
    half_turn = [0.0, float(np.sin(0.7)), 0.0, float(np.cos(0.7))]
    guess: Any = half_turn if internal_freedoms == "spherical" else [0.0, 1.4]

    def made(_: int) -> tuple[Data, Data, Data]:
        joints = {"shoulder": revolute("base", "arm", [0.2, 0.0, 0.0], "y", guess=0.4, active=True)}
        closures = {}
        for side, y in (("a", 0.05), ("b", -0.05)):
            elbow = joint(internal_freedoms, "arm", f"rod-{side}", [0.25, y, 0.0], ["x", "y"], guess=guess)
            wrist = spherical(f"rod-{side}", "plate", [0.6, 0.0, 0.0], child_at=[0.06, y, 0.0])
            joints[f"elbow-{side}"], closures[f"wrist-{side}"] = elbow, wrist
        return {"arm": BODY, "rod-a": rod, "rod-b": rod}, joints, closures

    return mechanism_description("rod-pairs", "xyz", legs_around_z(3, made), (0.0, 0.0, -0.6))

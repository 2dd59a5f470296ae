"""Known mechanisms as descriptions, with lengths in metres; each has a body to say what it is known for."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

Data = dict[str, Any]
Array = np.ndarray

BODY: Data = {"mass": 1.0, "com": [0.1, 0.0, 0.0], "inertia": [0.01, 0.02, 0.02]}
PLATE: Data = {"name": "plate", "mass": 1.0, "inertia": [0.01, 0.02, 0.02]}


def frame(R: Array, p: Array) -> Data:
    return {
        "translation": [float(c) for c in p],
        "rotation": {"matrix": [[float(c) for c in row] for row in R]},
    }


def turn(axis: str, angle: float) -> Array:
    return Rotation.from_euler(axis, angle).as_matrix()


def planar_leg(
    name: str, at: list[float], lengths: tuple[float, ...], end: Data, guess: tuple[float, ...], active: bool
) -> Data:
    """A chain of bars in the plane z = 0, all joints revolute about z, ending with `end`."""
    leg: Data = {"name": name, "bodies": {}, "joints": {}, "closures": {}}
    parent, place = "base", [*at, 0.0]
    for k, length in enumerate(lengths):
        leg["bodies"][f"bar{k}"] = BODY
        leg["joints"][f"joint{k}"] = {
            "type": "revolute",
            "parent": parent,
            "child": f"bar{k}",
            "at": place,
            "axis": "z",
            "guess": guess[k],
            "active": active and k == 0,
        }
        parent, place = f"bar{k}", [length, 0.0, 0.0]
    leg["closures"]["end"] = {"parent": parent, "at": place, "child": "plate", **end}
    return leg


def four_bar() -> Data:
    """Crank, coupler (the platform) and rocker: one motion, of x, y and rz together."""
    crank, rocker, coupler = 0.1, 0.22, 0.25
    ground = np.array([0.2, 0.0])
    angle = 1.1
    A = crank * np.array([np.cos(angle), np.sin(angle)])
    # B is where the circles about A and about the ground's end meet.
    d = ground - A
    distance = float(np.linalg.norm(d))
    along = (coupler**2 - rocker**2 + distance**2) / (2 * distance)
    across = np.sqrt(coupler**2 - along**2)
    normal = np.array([-d[1], d[0]]) / distance
    B = A + along * d / distance + across * normal
    heading = float(np.arctan2(*(B - A)[::-1]))
    rocker_angle = float(np.arctan2(*(B - ground)[::-1]))
    end = {"type": "revolute", "axis": "z"}
    return {
        "name": "four-bar",
        "motion": ["rz"],
        "reference": {"position": [*A, 0.0], "rotation": {"axis": "z", "angle": heading}},
        "nacelle": PLATE,
        "legs": [
            planar_leg("crank", [0.0, 0.0], (crank,), {**end, "child_at": [0.0, 0.0, 0.0]}, (angle,), True),
            planar_leg(
                "rocker",
                [*ground],
                (rocker,),
                {**end, "child_at": [coupler, 0.0, 0.0]},
                (rocker_angle,),
                False,
            ),
        ],
    }


def planar_three_rrr() -> Data:
    """Three planar legs RRR on a rigid platform: x, y and rz."""
    legs = []
    for k in range(3):
        turned = 2 * np.pi * k / 3
        c, s = np.cos(turned), np.sin(turned)
        end = {"type": "revolute", "axis": "z", "child_at": [0.1 * c, 0.1 * s, 0.0]}
        legs.append(
            planar_leg(f"leg{k}", [0.4 * c, 0.4 * s], (0.25, 0.25), end, (turned + 2.2, 1.8), active=True)
        )
    return {"name": "three-rrr", "motion": "xy+rz", "nacelle": PLATE, "legs": legs}


def planar_point(actuated: tuple[bool, ...] = (True, True, True)) -> Data:
    """Three planar legs RR on one point: two motions, three actuators.

    The pin at the point joins three bars, which makes two joints between them.
    """
    legs = []
    for k, active in enumerate(actuated):
        turned = 2 * np.pi * k / 3 + 0.3
        at = [0.4 * np.cos(turned), 0.4 * np.sin(turned)]
        legs.append(
            planar_leg(
                f"leg{k}", at, (0.25, 0.25), {"type": "revolute", "axis": "z"}, (turned + 2.5, 1.3), active
            )
        )
    pins = {
        f"pin{k}": {
            "type": "revolute",
            "parent": f"leg{k}.bar1",
            "at": [0.25, 0.0, 0.0],
            "child": f"leg{k + 1}.bar1",
            "child_at": [0.25, 0.0, 0.0],
            "axis": "z",
        }
        for k in range(2)
    }
    return {
        "name": "planar-point",
        "motion": "xy",
        "reference": {"position": [0.02, -0.03, 0.0]},
        "nacelle": {"type": "point", "name": "plate", "closures": pins},
        "legs": legs,
    }


def five_bar_stretched() -> Data:
    """A five-bar whose distal bars lie on one line in the reference pose: a parallel singularity."""
    end = {"type": "revolute", "axis": "z"}
    pin = {
        "type": "revolute",
        "parent": "left.bar1",
        "at": [0.1, 0.0, 0.0],
        "child": "right.bar1",
        "child_at": [0.1, 0.0, 0.0],
        "axis": "z",
    }
    return {
        "name": "five-bar-stretched",
        "motion": "xy",
        "reference": {"position": [0.0, 0.2, 0.0]},
        "nacelle": {"type": "point", "name": "plate", "closures": {"pin": pin}},
        "legs": [
            planar_leg("left", [-0.1, 0.0], (0.2, 0.1), end, (np.pi / 2, -np.pi / 2), True),
            planar_leg("right", [0.1, 0.0], (0.2, 0.1), end, (np.pi / 2, np.pi / 2), True),
        ],
    }


def three_rps(active: tuple[bool, ...] = (True, True, True)) -> Data:
    """3-RPS: the balls stay in three vertical planes; x, y and rz are parasitic."""
    legs = []
    for k in range(3):
        legs.append(
            {
                "name": f"leg{k}",
                "placement": {"angle": 2 * np.pi * k / 3},
                "bodies": {"tube": BODY, "rod": BODY},
                "joints": {
                    "hinge": {
                        "type": "revolute",
                        "parent": "base",
                        "child": "tube",
                        "at": [0.5, 0.0, 0.0],
                        "axis": "y",
                        "guess": -0.3,
                    },
                    "slide": {
                        "type": "prismatic",
                        "parent": "tube",
                        "child": "rod",
                        "axis": "z",
                        "guess": 0.6,
                        "active": active[k],
                    },
                },
                "closures": {
                    "ball": {
                        "type": "spherical",
                        "parent": "rod",
                        "child": "plate",
                        "child_at": [0.3, 0.0, 0.0],
                    }
                },
            }
        )
    return {
        "name": "three-rps",
        "motion": ["z", "rx", "ry"],
        "reference": {"position": [0.0, 0.0, 0.6]},
        "nacelle": PLATE,
        "legs": legs,
    }


def gough_stewart(foot: str = "spherical") -> Data:
    """Six struts between ball joints: each strut spins idly about its own axis."""
    base = np.deg2rad([10, 110, 130, 230, 250, 350])
    top = np.deg2rad([50, 70, 170, 190, 290, 310])
    legs = []
    for k, (a, b) in enumerate(zip(base, top, strict=True)):
        A = np.array([0.6 * np.cos(a), 0.6 * np.sin(a), 0.0])
        B = np.array([0.3 * np.cos(b), 0.3 * np.sin(b), 0.7])
        direction = (B - A) / np.linalg.norm(B - A)
        R = Rotation.align_vectors([direction], [[0.0, 0.0, 1.0]])[0]
        guess: Any = R.as_quat().tolist()
        if foot == "universal":
            guess = R.as_euler("XYZ").tolist()[:2]
        strut = {"mass": 2.0, "com": [0.0, 0.0, 0.2], "inertia": [0.05, 0.05, 0.001]}
        legs.append(
            {
                "name": f"strut{k + 1}",
                "bodies": {"tube": strut, "rod": {**strut, "com": [0.0, 0.0, -0.2]}},
                "joints": {
                    "foot": {
                        "type": foot,
                        "parent": "base",
                        "child": "tube",
                        "at": A.tolist(),
                        "guess": guess,
                    },
                    "slide": {
                        "type": "prismatic",
                        "parent": "tube",
                        "child": "rod",
                        "axis": "z",
                        "guess": float(np.linalg.norm(B - A)),
                        "active": True,
                    },
                },
                "closures": {
                    "head": {
                        "type": "spherical",
                        "parent": "rod",
                        "child": "plate",
                        "child_at": [B[0], B[1], 0.0],
                    }
                },
            }
        )
    return {
        "name": "gough-stewart",
        "motion": "se3",
        "reference": {"position": [0.0, 0.0, 0.7]},
        "nacelle": PLATE,
        "legs": legs,
    }


def sarrus() -> Data:
    """Two legs RRR with axes along y and along x: the platform only rises."""
    legs = []
    for name, angle in (("x-leg", 0.0), ("y-leg", np.pi / 2)):
        legs.append(
            {
                "name": name,
                "placement": {"angle": angle},
                "bodies": {"lower": BODY, "upper": BODY},
                "joints": {
                    "foot": {
                        "type": "revolute",
                        "parent": "base",
                        "child": "lower",
                        "at": [0.2, 0.0, 0.0],
                        "axis": "y",
                        "guess": -1.0,
                        "active": name == "x-leg",
                    },
                    "knee": {
                        "type": "revolute",
                        "parent": "lower",
                        "child": "upper",
                        "at": [0.3, 0.0, 0.0],
                        "axis": "y",
                        "guess": -1.2,
                    },
                },
                "closures": {
                    "head": {
                        "type": "revolute",
                        "parent": "upper",
                        "at": [0.3, 0.0, 0.0],
                        "child": "plate",
                        "child_at": [0.2, 0.0, 0.0],
                        "axis": "y",
                    }
                },
            }
        )
    return {
        "name": "sarrus",
        "motion": ["z"],
        "reference": {"position": [0.0, 0.0, 0.45]},
        "nacelle": PLATE,
        "legs": legs,
    }


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
    theta3, theta4 = -theta1, -theta2

    def link(length: float, twist: float) -> tuple[Array, Array]:
        return turn("x", twist), np.array([length, 0.0, 0.0])

    R_a, p_a = link(a, alpha)
    R_b, p_b = link(b, beta)
    R1 = turn("z", theta1)
    # The coupler after the second joint.
    R2, p2 = R1 @ R_a @ turn("z", theta2), R1 @ p_a
    R3, p3 = R2 @ R_b @ turn("z", theta3), p2 + R2 @ p_b
    R4, p4 = R3 @ R_a @ turn("z", theta4), p3 + R3 @ p_a
    R_end, p_end = R4 @ R_b, p4 + R4 @ p_b
    assert np.allclose(R_end, np.eye(3), atol=1e-14)
    assert np.allclose(p_end, 0.0, atol=1e-14)
    here = np.eye(3), np.zeros(3)
    first = {
        "name": "first",
        "bodies": {"crank": BODY},
        "joints": {
            "foot": {
                "type": "revolute",
                "parent": "base",
                "child": "crank",
                "axis": "z",
                "guess": theta1,
                "active": True,
            }
        },
        "closures": {
            "head": {
                "type": "revolute",
                "parent": "crank",
                "at": frame(R_a, p_a),
                "child": "plate",
                "child_at": frame(*here),
            }
        },
    }
    second = {
        "name": "second",
        "bodies": {"crank": BODY},
        "joints": {
            "foot": {
                "type": "revolute",
                "parent": "base",
                "child": "crank",
                "at": frame(R_b.T, -R_b.T @ p_b),
                "child_at": frame(R_a, p_a),
                "guess": -theta4,
            }
        },
        "closures": {
            "head": {
                "type": "revolute",
                "parent": "crank",
                "at": frame(*here),
                "child": "plate",
                "child_at": frame(R_b, p_b),
            }
        },
    }
    return {
        "name": "bennett",
        "motion": ["rz"],
        "reference": {"position": p2.tolist(), "rotation": frame(R2, p2)["rotation"]},
        "nacelle": PLATE,
        "legs": [first, second],
    }


def rod_pairs(*, asymmetric: bool = False, spinning: str = "spherical") -> Data:
    """A DELTA whose rods may have an inertia that is not symmetric about their axis."""
    rod = {"mass": 0.1, "com": [0.3, 0.0, 0.0], "inertia": [2e-4, 2e-3, 2.15e-3 if asymmetric else 2e-3]}
    legs = []
    half_turn = [0.0, float(np.sin(0.7)), 0.0, float(np.cos(0.7))]
    guess: Any = half_turn if spinning == "spherical" else [0.0, 1.4]
    for k in range(3):
        joints: Data = {
            "shoulder": {
                "type": "revolute",
                "parent": "base",
                "child": "arm",
                "at": [0.2, 0.0, 0.0],
                "axis": "y",
                "guess": 0.4,
                "active": True,
            }
        }
        closures: Data = {}
        for side, y in (("a", 0.05), ("b", -0.05)):
            joints[f"elbow-{side}"] = {
                "type": spinning,
                "parent": "arm",
                "child": f"rod-{side}",
                "at": [0.25, y, 0.0],
                "guess": guess,
            }
            closures[f"wrist-{side}"] = {
                "type": "spherical",
                "parent": f"rod-{side}",
                "at": [0.6, 0.0, 0.0],
                "child": "plate",
                "child_at": [0.06, y, 0.0],
            }
        legs.append(
            {
                "name": f"leg{k + 1}",
                "placement": {"angle": 2 * np.pi * k / 3},
                "bodies": {"arm": BODY, "rod-a": rod, "rod-b": rod},
                "joints": joints,
                "closures": closures,
            }
        )
    return {
        "name": "rod-pairs",
        "motion": "xyz",
        "reference": {"position": [0.0, 0.0, -0.6]},
        "nacelle": PLATE,
        "legs": legs,
    }

"""What robots with six legs have in common: anchors, legs UPS, PCS and RUS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import nacelle
from support.rigid_robots import Array, Data, Numbers, around, joint, prismatic, revolute, spherical

_BASE_ANGLES = (20.0, 100.0, 140.0, 220.0, 260.0, 340.0)
_TOP_ANGLES = (45.0, 75.0, 165.0, 195.0, 285.0, 315.0)


def hexapod_anchors(n: Numbers) -> list[tuple[Array, Array]]:
    pairs = []
    for k, (base, top) in enumerate(zip(_BASE_ANGLES, _TOP_ANGLES, strict=True)):
        A = around(n(0.5), n(base), n(0.02 * (-1) ** k))
        pairs.append((A, around(n(0.17), n(top), n(0.013 * (-1) ** (k // 2)))))
    return pairs


_HEIGHT = 0.7
UP = np.array([0.0, 0.0, _HEIGHT])


def hexapod(n: Numbers, name: str, legs: Sequence[Data], **more: Any) -> nacelle.Robot:
    return nacelle.build(
        {
            "name": name,
            "motion": "se3",
            "reference": {"position": [0.0, 0.0, _HEIGHT]},
            "nacelle": {"name": "plate", **n.body(8.0, (0.01, -0.014, 0.022), (0.09, 0.11, 0.05))},
            "legs": list(legs),
            **more,
        }
    )


def along(direction: Array) -> Rotation:
    """A rotation that brings z to a direction."""
    return Rotation.align_vectors([direction], [[0.0, 0.0, 1.0]])[0]


def axisymmetric(n: Numbers, mass: float, com: float, across: float, along: float) -> Data:
    """A body that is symmetric about z: mass, height of the centre of mass, two moments of inertia."""
    side = n(across)
    return {"mass": n(mass), "com": [0.0, 0.0, n(com)], "inertia": [side, side, n(along)]}


def ups(n: Numbers, name: str, A: Array, B: Array) -> Data:
    angles = along(B + UP - A).as_euler("XYZ")
    return {
        "name": name,
        "bodies": {
            "tube": n.body(4.0, (0.012, -0.008, 0.15), (0.03, 0.04, 0.11)),
            "rod": n.body(2.2, (-0.007, 0.01, -0.24), (0.02, 0.03, 0.14)),
        },
        "joints": {
            "foot": joint("universal", "base", "tube", A, ["x", "y"], guess=angles[:2].tolist()),
            "slide": prismatic("tube", "rod", None, "z", active=True, guess=0.78),
        },
        "closures": {"head": spherical("rod", "plate", child_at=B)},
    }


def pcs(n: Numbers, name: str, A: Array, B: Array) -> Data:
    """A driven prismatic joint, a cylindrical and a spherical one."""
    top = B + UP
    out = np.array([*(A[:2] / np.linalg.norm(A[:2])), 0.0])
    tangent = np.cross([0.0, 0.0, 1.0], out)
    shaft = np.array(n.vector(*(0.9 * tangent + 0.2 * out)))
    elbow = top - 0.35 * np.array([0.0, 0.0, 1.0]) + 0.2 * out
    R = along(shaft)
    # The arm's frame is on the shaft, at the foot of the perpendicular from the end, its axes the shaft's.
    unit = shaft / np.linalg.norm(shaft)
    foot = elbow + ((top - elbow) @ unit) * unit
    return {
        "name": name,
        "bodies": {
            "carriage": n.body(1.8, (0.012, -0.01, 0.02), (0.04, 0.05, 0.03)),
            "arm": n.body(0.9, (0.05, -0.08, 0.03), (0.05, 0.06, 0.03)),
        },
        "joints": {
            "slide": prismatic("base", "carriage", elbow, [0.1, 0.05, 1.0], active=True),
            "shaft": joint(
                "cylindrical",
                "carriage",
                "arm",
                {"rotation": {"quat_xyzw": R.as_quat().tolist()}},
                guess=[float((foot - elbow) @ unit), 0.0],
            ),
        },
        "closures": {
            "head": spherical("arm", "plate", R.inv().apply(top - foot).tolist(), child_at=B),
        },
    }


def rus(n: Numbers, name: str, A: Array, B: Array) -> Data:
    """A driven arm, a universal and a spherical joint."""
    top = B + UP
    out = np.array([*(A[:2] / np.linalg.norm(A[:2])), 0.0])
    tangent = np.cross([0.0, 0.0, 1.0], out)
    elbow = A + np.array([0.0, 0.0, 0.05]) + 0.2 * out
    rod = top - elbow
    R = along(rod)
    return {
        "name": name,
        "bodies": {
            "arm": n.body(0.9, (0.09, 0.006, -0.008), (0.06, 0.02, 0.03)),
            "rod": n.body(0.4, (0.005, -0.004, 0.24), (0.01, 0.012, 0.14)),
        },
        "joints": {
            "motor": revolute("base", "arm", A, tangent.tolist(), active=True),
            "cardan": joint(
                "universal",
                "arm",
                "rod",
                {"translation": (elbow - A).tolist(), "rotation": {"quat_xyzw": R.as_quat().tolist()}},
                ["x", "y"],
            ),
        },
        "closures": {
            "head": spherical("rod", "plate", [0, 0, float(np.linalg.norm(rod))], child_at=B),
        },
    }

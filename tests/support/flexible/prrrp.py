"""The PRRRP of [BK2013]: its working modes, and the natural frequencies that the paper prints."""

from __future__ import annotations

import dataclasses
import math
from functools import cache

import numpy as np

import nacelle
from nacelle import robots
from nacelle.model.robot import Robot

# Table II of [BK2013], rows "model": f_1 to f_6, Hz, by q_4 in m, with q_1 = 0.
TABLE_2: dict[float, tuple[float, ...]] = {
    -0.5: (31.414, 31.455, 40.799, 144.139, 144.181, 183.588),
    -0.25: (31.454, 31.455, 109.664, 144.041, 144.201, 152.949),
    0.0: (31.454, 31.455, 124.389, 140.757, 144.225, 144.496),
    0.25: (31.454, 31.455, 109.664, 144.041, 144.201, 152.949),
    0.5: (31.414, 31.455, 40.799, 144.139, 144.181, 183.588),
}
BEAM, DISTANCE = 0.4, 0.6
# Beams of [BK2013]: 0.4 m, 2 mm square, 70 GPa, 2800 kg/m^3; their direction at sliders 0 and 0 (x, z).
EA, EI = 70e9 * 4e-6, 70e9 * 16e-12 / 12.0
EULER = math.pi**2 * EI / BEAM**2
DIRECTION = np.array([0.3, math.sqrt(0.4**2 - 0.3**2)]) / 0.4


def tip_position(q_1: float, q_4: float) -> np.ndarray:
    """Position (x, z) of P, m, from the sliders, on the side of the reference pose."""
    chord = np.array([DISTANCE, q_4 - q_1])
    L = float(np.linalg.norm(chord))
    across = np.array([-chord[1], chord[0]]) / L
    return np.array([0.0, q_1]) + 0.5 * chord + np.sqrt(BEAM**2 - 0.25 * L**2) * across


def robot_at(q_1: float, q_4: float) -> tuple[Robot, np.ndarray]:
    """The library's robot in the working mode of these slider positions, and its reduced pose.

    A beam that has passed the direction across its rail is in the other mode of its leg.
    """
    P = tip_position(q_1, q_4)
    return _in_mode(bool(P[1] >= q_1), bool(P[1] >= q_4)), P


@cache
def _in_mode(first: bool, second: bool) -> Robot:
    text = robots.text("prrrp")
    if not first:
        text = _replace_text(
            text, "name: leg1, d: 0 mm, start: 41 deg", "name: leg1, branch: -1, d: 0 mm, start: -30 deg"
        )
    if not second:
        text = _replace_text(
            text, "name: leg2, d: $a, start: 139 deg", "name: leg2, branch: -1, d: $a, start: 210 deg"
        )
    if not (first and second):
        P = tip_position(0.0, 0.5 if first else -0.5)
        text = _replace_text(text, "[300 mm, 0 mm, 264.575131106459 mm]", f"[{P[0]} m, 0 m, {P[1]} m]")
    return nacelle.loads(text)


def _replace_text(text: str, old: str, new: str) -> str:
    assert old in text, f"the description has changed: {old!r} is gone"
    return text.replace(old, new)


def robot_under_gravity(g: float) -> tuple[Robot, np.ndarray]:
    """The robot at its reference pose with gravity g along z."""
    robot, x = robot_at(0.0, 0.0)
    return dataclasses.replace(robot, gravity=(0.0, 0.0, g)), x

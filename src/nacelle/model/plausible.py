"""Masses that cannot be meant: a slip of kilograms, grams and tonnes shows in the density of a body.

A body of mass m whose inertia about its centre of mass has the trace tr I_c has the second moment
∫ r^2 dm = tr I_c / 2 = m g^2. Of all bodies with this mass and this g the ball is the densest that is evenly
filled: 3/5 R^2 = g^2, so

    density = m / (4/3 pi R^3),   R = sqrt(5/3) g.

Real bodies are near it where they are compact (1 to 8000 kg/m^3) and below it where they are slender: a tube
of carbon fibre of 10 m has 0.005. A mass that is wrong by 1000 beside a right inertia moves it by 3e7, so the
limits below are far from both. Where the inertia is none (a point mass) the robot's size is its bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_about_com
from nacelle.spatial.scalar import Array

# Densities in kg/m^3: osmium, the densest of all materials; far below the most slender of bodies.
DENSEST = 22_600.0
LIGHTEST = 1e-3


class Implausible(NamedTuple):
    """A mass that cannot be meant.

    Attributes:
        bodies: the bodies that have it, by index.
        message: what is wrong.
        hint: what could be meant.
    """

    bodies: tuple[int, ...]
    message: str
    hint: str


def implausible_masses(robot: Robot) -> list[Implausible]:
    """Bodies whose masses do not fit their inertia or, for points, the robot's size; alike ones together."""
    alike: dict[tuple[float, float], list[int]] = {}
    for index, body in enumerate(robot.bodies[1:], start=1):
        mass = float(body.inertia[0])
        density = _density(robot, np.array(body.inertia))
        if mass > 0.0 and not LIGHTEST <= density <= DENSEST:
            alike.setdefault((mass, density), []).append(index)
    return [_words(robot, tuple(bodies), *figures) for figures, bodies in alike.items()]


def _density(robot: Robot, inertia: Array) -> float:
    """Density (kg/m^3) of a ball with a body's mass and inertia; of a point by the robot's size."""
    mass = np.float64(inertia[0])
    if mass <= 0.0:
        return 1.0
    # Numbers at the ends of the range of floats come out as zero or infinite, which is as telling.
    with np.errstate(all="ignore"):
        second = 0.5 * np.trace(inertia_about_com(inertia)) / mass
        # What remains of the inertia of a point after Steiner's part is taken off is rounding.
        if second > 1e-12 * robot.size**2:
            return float(mass / (4.0 / 3.0 * np.pi * (5.0 / 3.0 * second) ** 1.5))
        return max(LIGHTEST, float(mass / (4.0 / 3.0 * np.pi * np.float64(robot.size) ** 3)))


def _words(robot: Robot, bodies: tuple[int, ...], mass: float, density: float) -> Implausible:
    name = robot.bodies[bodies[0]].name
    others = f" (and {len(bodies) - 1} more like it)" if len(bodies) > 1 else ""
    heavy = density > DENSEST
    what = "denser than any material" if heavy else "lighter than any structure"
    size = "its inertia" if np.any(np.array(robot.bodies[bodies[0]].inertia[4:])) else "the robot's size"
    less, more = f"{mass / 1000.0:g} kg", f"{mass * 1000.0:g} kg"
    return Implausible(
        bodies,
        f"body {name!r}{others} has a mass of {mass:g} kg, which with {size} is {what}: {density:.2g} kg/m^3",
        f"is {less if heavy else more} meant? check the units of mass (g, kg, t) and inertia (kg*m^2)",
    )

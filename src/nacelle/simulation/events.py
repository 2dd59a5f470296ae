"""Events: what ends a run. Each is a function of the state that is positive while all is well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.kinematics import functions
from nacelle.kinematics.jacobian import conditioning, scaled_inverse
from nacelle.kinematics.native import native
from nacelle.simulation.plant import RigidPlant
from nacelle.spatial.scalar import Array

# Squared ratios below which a run ends: a leg near its stretched position, a pose near a singularity.
STRETCHED = 1e-6
SINGULAR = 1e-6


@dataclass(frozen=True)
class Event:
    """Something that ends a run.

    Attributes:
        name: what it is, in words.
        value: function of times (N,) and states (N, size) that gives (N,) numbers, positive before it.
    """

    name: str
    value: Callable[[Array, Array], Array]


def standard_events(plant: RigidPlant, *, limits: bool = True) -> list[Event]:
    """Joint limits, legs at full stretch, and the approach to a parallel singularity."""
    robot = plant.robot
    events = [
        Event("a leg is at full stretch", lambda t, s: _gates(plant, s) - STRETCHED),
        Event("a parallel singularity is near", lambda t, s: _pivot(plant, s) - SINGULAR),
    ]
    if limits:
        for k, actuator in enumerate(robot.actuators):
            for bound, side in zip(actuator.position, (1.0, -1.0), strict=True):
                if np.isfinite(bound):
                    events.append(_limit(plant, k, actuator.name, bound, side))
    return events


def _limit(plant: RigidPlant, k: int, name: str, bound: float, side: float) -> Event:
    def value(t: Array, s: Array) -> Array:
        found = _positions(plant, s)["active"][..., k]
        turns = plant.robot.joints[plant.robot.actuators[k].joint].primitives[0].turns
        if turns:
            found = bound + (found - bound + np.pi) % (2.0 * np.pi) - np.pi
        return np.asarray(side * (found - bound))

    return Event(f"{name} is at its {'lower' if side > 0 else 'upper'} limit", value)


def _positions(plant: RigidPlant, s: Array) -> dict[str, Array]:
    x, _ = plant.split(s)
    found: dict[str, Array] = native(functions.joint_positions, plant.robot)(x, plant.unknowns(s))
    return found


def _gates(plant: RigidPlant, s: Array) -> Array:
    gates = _positions(plant, s)["gates"]
    return np.asarray(np.nan_to_num(np.min(gates, axis=-1, initial=1.0), nan=-1.0))


def _pivot(plant: RigidPlant, s: Array) -> Array:
    x, _ = plant.split(s)
    J = native(functions.inverse_jacobian, plant.robot)(x, plant.unknowns(s))["J"]
    figure = conditioning(scaled_inverse(plant.robot, J))
    return np.asarray(np.nan_to_num(figure**2, nan=-1.0))


def user_event(plant: RigidPlant, name: str, function: Callable[..., Any]) -> Event:
    """An event of the user's: a function of (t, x, v) that is positive before it."""

    def value(t: Array, s: Array) -> Array:
        x, v = plant.split(s)
        return np.array([float(function(*sample)) for sample in zip(t, x, v, strict=True)])

    return Event(name, value)

"""What ends a run of a robot: limits of joints, a leg at full stretch, the approach to a singularity."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics import functions
from nacelle.kinematics.jacobian import conditioning, scaled_inverse
from nacelle.kinematics.native import native
from nacelle.kinematics.singularity import nearest, singular_words
from nacelle.simulation.events import EventGroup
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.watch import SINGULAR, limits_of, watched, watched_names
from nacelle.spatial.scalar import Array


def standard_events(plant: RigidPlant, *, limits: bool = True) -> list[EventGroup]:
    """Limits of joints and actuators, legs at full stretch, and the approach to a singularity."""
    robot = plant.robot
    names = watched_names(robot)
    count = len(names) if limits else len(names) - len(limits_of(robot))

    def values(t: Array, s: Array) -> Array:
        found = np.asarray(native(watched, robot)(s, plant.quat_0))[:, :count]
        near = np.flatnonzero(~(found[:, 0] > 0.0))
        if near.size:
            found[near, 0] = _from_singularity(plant, s[near])
        return found

    def words(place: int, s: Array) -> str:
        if place:
            return names[place]
        return singular_words(*nearest(robot, plant.split(s)[0], plant.unknowns(s)), near=True)

    return [EventGroup(tuple(names[:count]), values, words)]


def _from_singularity(plant: RigidPlant, s: Array) -> Array:
    """The squared inverse condition of the scaled Jacobian, over what a run may come near to."""
    J = native(functions.inverse_jacobian, plant.robot)(plant.split(s)[0], plant.unknowns(s))["J"]
    return np.asarray(conditioning(scaled_inverse(plant.robot, J)) ** 2 - SINGULAR)

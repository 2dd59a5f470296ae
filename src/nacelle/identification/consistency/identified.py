"""The robot with identified parameters and its file, and why parameters belong to no robot.

`to_yaml` writes a robot in full, joint by joint in SI units, with m, m c and the inertia about each body's
frame: the numbers that are identified, without another rounding. Templates, constants, units and comments of
the user's own file are not in a robot, and so not in this one.

Messages say by body and by parameter why parameters belong to no robot.

What a description is refused for, or would make a robot gain energy from friction: a negative mass, an
inertia about the centre of mass that is not positive or breaks the triangle inequality (a pseudo-inertia
matrix that is not positive semidefinite), a point with an inertia, a body that spins idly and is not
axisymmetric, a negative coefficient of friction, rotor inertia or stiffness.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.dynamics.base_parameters.sharing import drop_broken_sharing
from nacelle.errors import DescriptionError, IdentificationError
from nacelle.files import write_atomically
from nacelle.identification.consistency.consistent import ConsistentParameters
from nacelle.identification.consistency.feasible_set import axisymmetry_rows, is_nonnegative
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.library import loads
from nacelle.model.flexible import without_mismatched_beams
from nacelle.model.leg import PLATFORM
from nacelle.model.linear_parameters import linear_parameters, with_linear_parameters
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_faults
from nacelle.spatial.scalar import Array

# How far from axisymmetric a body that spins idly may be, as in the check of descriptions.
_ASYMMETRY = 1e-7


def is_consistent(robot: Robot, values: Any = None) -> bool:
    """Whether a robot with these parameters can be built; see `consistency_faults`."""
    return not consistency_faults(robot, values)


def consistency_faults(robot: Robot, values: Any = None) -> dict[str, str]:
    """Say which bodies and parameters are impossible, and why; empty if a robot can have these parameters.

    Args:
        robot: the robot.
        values: linear parameters (parameters,) in the place of its own, SI units.

    Raises:
        IdentificationError: if there are not as many as the robot has.
    """
    nominal = linear_parameters(robot)
    checked = nominal.values if values is None else np.asarray(values, dtype=float)
    if checked.shape != nominal.values.shape:
        raise IdentificationError(
            f"{robot.name} has {len(nominal)} linear parameters, the values have shape {checked.shape}"
        )
    faults = {
        name: f"{value} is not a finite number"
        for name, value in zip(nominal.names, checked.tolist(), strict=True)
        if not np.isfinite(value)
    }
    if faults:
        return faults
    internal_freedoms = {spin.body: spin for spin in mechanism_of(robot).mobility.internal_freedoms}
    tens = checked[: 10 * (len(robot.bodies) - 1 + len(robot.payload))].reshape(-1, 10)
    for body, ten in enumerate(tens[: len(robot.bodies) - 1], start=1):
        reasons = inertia_faults(ten)
        if not reasons and body == PLATFORM and robot.platform.kind == "point" and np.any(ten[1:]):
            reasons = ["a point has a mass alone, and this one has a first moment or an inertia"]
        if (
            not reasons
            and body in internal_freedoms
            and not _is_symmetric(robot, axisymmetry_rows(robot, internal_freedoms[body]), ten)
        ):
            reasons = ["it spins idly about its axis, and its inertia is not symmetric about it"]
        if reasons:
            faults[robot.bodies[body].name] = reasons[0]
    for load, ten in zip(robot.payload, tens[len(robot.bodies) - 1 :], strict=True):
        for reason in inertia_faults(ten)[:1]:
            faults[f"payload.{load.name}"] = reason
    for name, value in zip(nominal.names, checked.tolist(), strict=True):
        if value < 0.0 and is_nonnegative(name):
            faults[name] = f"it is negative: {value:g}"
    return faults


def _is_symmetric(robot: Robot, rows: Array, ten: Array) -> bool:
    """Whether the equations of an axisymmetric body hold, moments of order k over m size^k."""
    size = robot.size * np.array([1.0] * 2 + [robot.size] * 4)
    return bool(np.all(np.abs(rows @ ten) <= _ASYMMETRY * ten[0] * size))


# ---- the robot with identified parameters, and its file


def identified_robot(robot: Robot, parameters: Any, *, name: str | None = None) -> Robot:
    """The same robot with identified parameters: geometry, payloads, limits and names are kept.

    Flexible links whose identified mass or inertia is not that of their beams become rigid bodies.

    Args:
        robot: the robot as described.
        parameters: consistent parameters, or values of all linear parameters (parameters,), SI units.
        name: of the robot; as before if None.

    Raises:
        IdentificationError: if no robot can have these parameters; it says which body, and why.
        ParameterError: if there are not as many as the robot has.
    """
    values = parameters.values if isinstance(parameters, ConsistentParameters) else parameters
    changed = with_linear_parameters(robot, values)
    faults = consistency_faults(changed)
    if faults:
        listing = "; ".join(f"{part}: {reason}" for part, reason in list(faults.items())[:10])
        raise IdentificationError(
            f"no robot can have these parameters: {listing}. Lift the estimate first (consistent_parameters, "
            "lifted)"
        )
    lost = np.asarray(values) - linear_parameters(changed).values
    for index in np.flatnonzero(np.abs(lost) > 1e-12 * np.abs(values)):
        raise IdentificationError(
            f"{linear_parameters(robot).names[int(index)]} cannot be written: a spring without stiffness has "
            "no rest; hold its stiffness by bounds"
        )
    # As the numbers are after they have been read from a file.
    result = (
        changed if name is None else dataclasses.replace(changed, name=name)
    ).without_rounding_differences
    return drop_broken_sharing(without_mismatched_beams(result))


def write_identified(robot: Robot, path: Path | str, *, new: bool = False) -> None:
    """Write a robot's file, whole or not at all, after the format has accepted it.

    Args:
        robot: the robot, from `identified_robot`.
        path: of the YAML file.
        new: whether a file that exists already is left alone.

    Raises:
        IdentificationError: if the format would refuse the file; nothing is written then.
        FileExistsError: if it exists and should be new.
        OSError: if it cannot be written.
    """
    text = robot.to_yaml()
    try:
        loads(text)
    except DescriptionError as error:
        raise IdentificationError(f"the identified robot would be refused: {error}") from error
    write_atomically(Path(path), text, new=new)

"""The robot with identified parameters, and its file.

`to_yaml` writes a robot in full, joint by joint in SI units, with m, m c and the inertia about each body's
frame: the numbers that are identified, without another rounding. Templates, constants, units and comments of
the user's own file are not in a robot, and so not in this one.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.dynamics.base_parameters.sharing import without_broken_sharing
from nacelle.errors import DescriptionError, IdentificationError
from nacelle.files import write_whole
from nacelle.identification.consistency.consistent import ConsistentParameters
from nacelle.identification.consistency.faults import consistency_faults
from nacelle.library import loads
from nacelle.model.flexible import without_wrong_beams
from nacelle.model.linear_parameters import linear_parameters, with_linear_parameters
from nacelle.model.robot import Robot


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
    moved = with_linear_parameters(robot, values)
    faults = consistency_faults(moved)
    if faults:
        listing = "; ".join(f"{place}: {reason}" for place, reason in list(faults.items())[:10])
        raise IdentificationError(
            f"no robot can have these parameters: {listing}. Lift the estimate first (consistent_parameters, "
            "lifted)"
        )
    lost = np.asarray(values) - linear_parameters(moved).values
    for place in np.flatnonzero(np.abs(lost) > 1e-12 * np.abs(values)):
        raise IdentificationError(
            f"{linear_parameters(robot).names[int(place)]} cannot be written: a spring without stiffness has "
            "no rest; hold its stiffness by bounds"
        )
    # As the numbers are after they have been read from a file.
    made = (moved if name is None else dataclasses.replace(moved, name=name)).alike
    return without_broken_sharing(without_wrong_beams(made))


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
    write_whole(Path(path), text, new=new)

"""Fewer actuators than motions: which coordinates nothing drives, and what to say where each must be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nacelle.errors import KinematicsError, UnderactuatedError, did_you_mean
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.platform import NAMED_MOTIONS
from nacelle.model.robot import Robot


def undriven_coordinates(robot: Robot) -> tuple[str, ...]:
    """Coordinates of the motion that nothing drives; none for a robot with an actuator for every motion."""
    mobility = mechanism_of(robot).mobility
    return mobility.undriven if mobility.is_underactuated else ()


def require_driven(robot: Robot, what: str, hint: Callable[[Robot], str] | None = None) -> None:
    """Demand an actuator for every motion.

    Args:
        robot: the robot.
        what: subject and verb of the sentence: "inverse dynamics needs".
        hint: says what would be right instead.

    Raises:
        UnderactuatedError: if nothing drives some of them.
    """
    left = undriven_coordinates(robot)
    if left:
        raise UnderactuatedError(
            f"nothing drives {', '.join(left)} of {robot.name}, and {what} an actuator for every motion"
            + (f"; {hint(robot)}" if hint else ""),
            left,
        )


def free_coordinates_hint(robot: Robot) -> str:
    """How to leave the motions that nothing drives to the dynamics."""
    return f"free={undriven_coordinates(robot)!r} leaves their accelerations to the dynamics"


def model_hint(_robot: Robot) -> str:
    """Which models of a robot need no actuator for every motion."""
    return "the models forward_dynamics, mass_matrix, bias_forces and gravity_forces need none"


def coordinate_indices(robot: Robot, names: Sequence[str] | str) -> tuple[int, ...]:
    """Places in v of coordinates by name; a bare name of a joint will do where it is unique, se3 is all six.

    Raises:
        KinematicsError: if a name is not a coordinate of the motion, or given twice.
    """
    coordinates = robot.motion.coordinates
    requested = [names] if isinstance(names, str) else list(names)
    chosen: list[int] = []
    for name in (part for entry in requested for part in NAMED_MOTIONS.get(entry, (entry,))):
        alike = [k for k, full in enumerate(coordinates) if full.split(".")[-1] == name]
        if name in coordinates:
            chosen.append(coordinates.index(name))
        elif len(alike) == 1:
            chosen.append(alike[0])
        else:
            hint = did_you_mean(name, coordinates) or f"they are {', '.join(coordinates)}"
            raise KinematicsError(f"{name!r} is not a coordinate of the motion of {robot.name}; {hint}")
    if len(set(chosen)) < len(chosen):
        raise KinematicsError(f"a coordinate is named twice: {', '.join(requested)}")
    return tuple(sorted(chosen))

"""Which parameters take part, and which are one: assumptions and sharing.

The chosen parameters z give all linear parameters of the robot, p = E z: a column of E for each, with a one
for every parameter of the robot that it stands for. Parameters that are assumed to be zero have no column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Protocol

import numpy as np

from nacelle.errors import ParameterError, did_you_mean
from nacelle.model.leg import Leg
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.numbers.parameters import INERTIA_NAMES
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

ASSUMPTIONS = ("undescribed", "zeros", "nothing")
# Values that differ by less than this part of them are one.
_ALIKE = 1e-9


class ParameterSet(Protocol):
    """Parameters that have columns in the linear form."""

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""

    @property
    def values(self) -> Array:
        """Their values (parameters,), SI units."""

    @property
    def columns(self) -> tuple[int, ...]:
        """For every linear parameter of the robot the column that it counts in; -1 for none."""


def column_options(parameters: ParameterSet | None) -> dict[str, Any]:
    """The options of a regressor's program for some parameters; all linear ones if None."""
    return {} if parameters is None else {"columns": parameters.columns}


@dataclass(frozen=True, eq=False)
class Choice:
    """The parameters that take part.

    Attributes:
        names: of the chosen parameters.
        E: (parameters of the robot, chosen) with p = E z.
        values: z of the robot's own numbers (chosen,).
        assumed: names of parameters of the robot that are left out as zero.
    """

    names: tuple[str, ...]
    E: Array
    values: Array
    assumed: tuple[str, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """For every linear parameter of the robot its place among the chosen ones; -1 if it has none."""
        return tuple(int(np.argmax(row)) if np.any(row) else -1 for row in self.E)

    def groups(self) -> list[list[int]]:
        """For every chosen parameter those of the robot that it stands for."""
        return [np.flatnonzero(column).tolist() for column in self.E.T]


def choose(robot: Robot, assume: str | Sequence[str] = "undescribed", shared: object = None) -> Choice:
    """Choose parameters.

    Args:
        robot: the robot.
        assume: what is zero for good: "undescribed" (rotors and bodies to which the description gives
            nothing), "zeros" (every parameter that is zero now), "nothing"; or names and patterns of
            parameters, such as "strut*.1.mx", beside or instead of such a word.
        shared: "legs", if legs with the same bodies, joints and values share their parameters; or lists of
            names of legs. What has different values in the legs of a list stays apart if it is friction, a
            rotor or a spring.

    Raises:
        ParameterError: if there is no such parameter or leg, or legs that are to share parameters differ.
    """
    parameters = linear_parameters(robot)
    names, values = parameters.names, parameters.values
    out = _assumed(robot, names, values, [assume] if isinstance(assume, str) else list(assume))
    lists = _lists(robot, shared)
    leader = {k: k for k in range(len(names))}
    for legs in lists:
        _share(robot, legs, names, values, leader)
    listed: dict[int, list[int]] = {}
    for k in range(len(names)):
        if k not in out:
            listed.setdefault(leader[k], []).append(k)
    E = np.zeros((len(names), len(listed)))
    for column, group in enumerate(listed.values()):
        E[group, column] = 1.0
    return Choice(
        tuple(_label([names[k] for k in group]) for group in listed.values()),
        E,
        values[list(listed)] if listed else np.zeros(0),
        tuple(names[k] for k in sorted(out)),
    )


def _assumed(robot: Robot, names: Sequence[str], values: Array, wanted: list[str]) -> set[int]:
    """Places of parameters that are zero for good."""
    words = [word for word in wanted if word in ASSUMPTIONS]
    patterns = [word for word in wanted if word not in ASSUMPTIONS]
    out: set[int] = set()
    if "zeros" in words:
        out |= set(np.flatnonzero(values == 0.0).tolist())
    elif "nothing" not in words:
        massless = {f"{body.name}.{part}" for body in robot.bodies if body.massless for part in INERTIA_NAMES}
        out |= {k for k, name in enumerate(names) if name in massless}
        out |= {k for k, name in enumerate(names) if name.endswith(".rotor_inertia") and values[k] == 0.0}
    for pattern in patterns:
        met = {k for k, name in enumerate(names) if fnmatchcase(name, pattern)}
        if not met:
            raise ParameterError(
                f"{robot.name} has no parameter {pattern!r}; {did_you_mean(pattern, (*ASSUMPTIONS, *names))}"
            )
        out |= met
    return out


def _lists(robot: Robot, shared: object) -> list[list[Leg]]:
    """Lists of legs that share parameters."""
    if shared is None or shared is False:
        return []
    if shared is True or shared == "legs":
        alike: dict[tuple[object, ...], list[Leg]] = {}
        for leg in robot.legs:
            alike.setdefault(_signature(robot, leg), []).append(leg)
        return [legs for legs in alike.values() if len(legs) > 1]
    if isinstance(shared, str) or not isinstance(shared, Iterable):
        raise ParameterError(f"shared is 'legs' or lists of names of legs, got {shared!r}")
    by_name = {leg.name: leg for leg in robot.legs}
    lists = []
    for given in shared:
        legs = []
        for name in [given] if isinstance(given, str) else given:
            if name not in by_name:
                raise ParameterError(f"{robot.name} has no leg {name!r}; {did_you_mean(name, by_name)}")
            legs.append(by_name[name])
        lists.append(legs)
    return lists


def _signature(robot: Robot, leg: Leg) -> tuple[object, ...]:
    """What legs must have in common to share parameters: bodies with their inertia, kinds of joints."""
    inertia = tuple(tuple(float(f"{v:.9g}") for v in robot.bodies[body].inertia) for body in leg.bodies)
    names = tuple(robot.bodies[body].name.removeprefix(leg.name) for body in leg.bodies)
    kinds = tuple(robot.joints[joint].kind for joint in (*leg.joints, *leg.closures))
    return names, inertia, kinds


def _share(
    robot: Robot, legs: list[Leg], names: Sequence[str], values: Array, leader: dict[int, int]
) -> None:
    """Give the parameters of several legs one leader."""
    place = {name: k for k, name in enumerate(names)}
    first = legs[0]
    ten = tuple(f".{part}" for part in INERTIA_NAMES)
    bodies = {robot.bodies[body].name for body in first.bodies}
    for name in [name for name in names if name.startswith(f"{first.name}.")]:
        own = place[name]
        is_inertia = name.rpartition(".")[0] in bodies and name.endswith(ten)
        others = []
        for leg in legs[1:]:
            other = place.get(leg.name + name.removeprefix(first.name))
            if other is None:
                raise ParameterError(
                    f"{leg.name} has no {name.removeprefix(first.name)[1:]}, as {first.name} has"
                )
            others.append(other)
        scale = _ALIKE * max(abs(values[own]), *(abs(values[other]) for other in others), 1e-300)
        differ = [other for other in others if abs(values[other] - values[own]) > scale]
        if differ and is_inertia:
            raise ParameterError(
                f"{names[differ[0]]} is {values[differ[0]]:g}, {name} is {values[own]:g}: legs that share "
                "parameters have the same"
            )
        if not differ:
            leader.update(dict.fromkeys(others, own))


def _label(names: list[str]) -> str:
    """One name for parameters of several legs: a star in the place of what differs."""
    if len(names) == 1:
        return names[0]
    start = next((k for k, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), None)
    backwards = zip(*(name[::-1] for name in names), strict=False)
    end = next((k for k, letters in enumerate(backwards) if len(set(letters)) > 1), None)
    return (
        names[0] if start is None or end is None else f"{names[0][:start]}*{names[0][len(names[0]) - end :]}"
    )

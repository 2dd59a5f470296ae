"""Which parameters take part, and which are one: assumptions and sharing.

The chosen parameters z give all linear parameters of the robot, p = E z: a column of E for each, with a one
for every parameter of the robot that it stands for, minus one where a mirrored leg has the opposite.
Parameters that are assumed to be zero have no column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from nacelle.dynamics.base_parameters.sharing import shared_columns
from nacelle.errors import ParameterError, did_you_mean
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.numbers import INERTIA_NAMES
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

ASSUMPTIONS = ("undescribed", "zeros", "nothing")


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

    @property
    def signs(self) -> tuple[int, ...]:
        """For every linear parameter of the robot 1 or -1, with which it counts in its column."""


def column_options(parameters: ParameterSet | None) -> dict[str, Any]:
    """The options of a regressor's program for some parameters; all linear ones if None."""
    if parameters is None:
        return {}
    negative = any(sign < 0 for sign in parameters.signs)
    return {"columns": parameters.columns} | ({"signs": parameters.signs} if negative else {})


@dataclass(frozen=True, eq=False)
class ParameterChoice:
    """The parameters that take part.

    Attributes:
        names: of the chosen parameters.
        E: (parameters of the robot, chosen) with p = E z.
        values: z of the robot's own numbers (chosen,).
        assumed_zero: names of parameters of the robot that are left out as zero.
    """

    names: tuple[str, ...]
    E: Array
    values: Array
    assumed_zero: tuple[str, ...]

    def __eq__(self, other: object) -> bool:
        """Whether the same parameters take part."""
        return isinstance(other, ParameterChoice) and self._key == other._key

    def __hash__(self) -> int:
        """Of the parameters and what they stand for."""
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return self.names, self.assumed_zero, self.E.tobytes(), self.values.tobytes()

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """For every linear parameter of the robot its place among the chosen ones; -1 if it has none."""
        return tuple(int(np.argmax(np.abs(row))) if np.any(row) else -1 for row in self.E)

    @cached_property
    def signs(self) -> tuple[int, ...]:
        """For every linear parameter of the robot its sign in its chosen parameter; 1 if it is in none."""
        return tuple(-1 if np.any(row < 0.0) else 1 for row in self.E)

    def groups(self) -> list[list[int]]:
        """For every chosen parameter those of the robot that it stands for."""
        return [np.flatnonzero(column).tolist() for column in self.E.T]


def choose_parameters(
    robot: Robot,
    assume: str | Sequence[str] = "undescribed",
    shared: object = None,
    share: str = "all",
) -> ParameterChoice:
    """Choose parameters.

    Args:
        robot: the robot.
        assume: what is always zero: "undescribed" (rotors and bodies to which the description gives
            nothing), "zeros" (every parameter that is zero now), "nothing"; or names and patterns of
            parameters, such as "strut*.1.mx", together with such a word or instead of it.
        shared: "legs", if legs with the same bodies, joints and values share their parameters; "mirrored", if
            legs that are mirror images do; or lists of names of legs, "mirror NAME" for the mirror image of
            the first (`nacelle.model.shared`). What has different values in the legs of a list stays apart if
            it is friction, a rotor or a spring. As the description says if None; nothing if False.
        share: which parameters of such legs are one: "all", or "inertia" (`shared_columns`).

    Raises:
        ParameterError: if there is no such parameter or leg, or legs that are to share parameters differ.
    """
    parameters = linear_parameters(robot)
    names, values = parameters.names, parameters.values
    out = _assumed_zero(robot, names, values, [assume] if isinstance(assume, str) else list(assume))
    tied = shared_columns(robot, shared, share)
    members_of: dict[int, list[int]] = {}
    for k in range(len(names)):
        if k not in out:
            members_of.setdefault(tied[k].leader if k in tied else k, []).append(k)
    E = np.zeros((len(names), len(members_of)))
    for column, group in enumerate(members_of.values()):
        E[group, column] = [tied[k].sign if k in tied else 1.0 for k in group]
    return ParameterChoice(
        tuple(_shared_label([names[k] for k in group]) for group in members_of.values()),
        E,
        values[list(members_of)] if members_of else np.zeros(0),
        tuple(names[k] for k in sorted(out)),
    )


def _assumed_zero(robot: Robot, names: Sequence[str], values: Array, assumptions: list[str]) -> set[int]:
    """Indices of parameters that are always zero."""
    keywords = [word for word in assumptions if word in ASSUMPTIONS]
    patterns = [word for word in assumptions if word not in ASSUMPTIONS]
    out: set[int] = set()
    if "zeros" in keywords:
        out |= set(np.flatnonzero(values == 0.0).tolist())
    elif "nothing" not in keywords:
        massless = {f"{body.name}.{part}" for body in robot.bodies if body.massless for part in INERTIA_NAMES}
        out |= {k for k, name in enumerate(names) if name in massless}
        out |= {k for k, name in enumerate(names) if name.endswith(".rotor_inertia") and values[k] == 0.0}
    for pattern in patterns:
        matching = {k for k, name in enumerate(names) if fnmatchcase(name, pattern)}
        if not matching:
            raise ParameterError(
                f"{robot.name} has no parameter {pattern!r}; {did_you_mean(pattern, (*ASSUMPTIONS, *names))}"
            )
        out |= matching
    return out


def _shared_label(names: list[str]) -> str:
    """One name for parameters of several legs: a star in the place of what differs."""
    if len(names) == 1:
        return names[0]
    start = next((k for k, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), None)
    backwards = zip(*(name[::-1] for name in names), strict=False)
    end = next((k for k, letters in enumerate(backwards) if len(set(letters)) > 1), None)
    return (
        names[0] if start is None or end is None else f"{names[0][:start]}*{names[0][len(names[0]) - end :]}"
    )

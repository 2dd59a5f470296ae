"""Variables of a study: numbers of the description that vary, each over a range or with a distribution.

A variable sets one number, or several alike, or adds a deviation to them. A point of the unit cube (P,)
becomes values z (P,) by the inverse of each distribution, and these the numbers p (k,) of a variant:

    p_j = z_i            for each number j that variable i sets
    p_j = p0_j + z_i     where z_i is a deviation
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.numbers import GROUPS
from nacelle.model.read import read_source
from nacelle.model.robot import Robot
from nacelle.model.source.node import Node, Source
from nacelle.model.units import QUANTITIES, SI, UnitError, parse_quantity
from nacelle.spatial.scalar import Array

# Beyond this many deviations a normal distribution is cut: points of the cube may be 0 or 1.
_FURTHEST = 8.0


@dataclass(frozen=True)
class Distribution:
    """How a variable is distributed.

    Attributes:
        kind: "uniform" between low and high, "log" (its logarithm uniform), "normal" with a mean and a
            standard deviation, or "values", each as likely as the others.
        a: low, or the mean.
        b: high, or the standard deviation.
        values: of the last kind.
    """

    kind: str
    a: float = 0.0
    b: float = 0.0
    values: tuple[float, ...] = ()

    def at(self, u: Array) -> Array:
        """Values (...) at parts u (...) of the probability, 0 to 1."""
        if self.kind == "values":
            index = np.minimum((u * len(self.values)).astype(int), len(self.values) - 1)
            return np.asarray(np.array(self.values, dtype=float)[index])
        if self.kind == "normal":
            from scipy.special import ndtri

            return np.asarray(self.a + self.b * np.clip(ndtri(u), -_FURTHEST, _FURTHEST))
        if self.kind == "log":
            return np.asarray(self.a * (self.b / self.a) ** u)
        return np.asarray(self.a + (self.b - self.a) * u)

    @property
    def spread(self) -> float:
        """What a change of the variable counts in: its range, or two standard deviations."""
        if self.kind == "values":
            return max(self.values) - min(self.values)
        return 2.0 * self.b if self.kind == "normal" else self.b - self.a


@dataclass(frozen=True)
class Variable:
    """A variable of a study.

    Attributes:
        name: its name.
        numbers: names of the numbers that it sets or moves (`robot.numbers`).
        distribution: of its values, SI units.
        added: whether values are deviations that are added to the numbers.
        quantity: what it is, such as "length"; "" where the description does not say it.
        levels: how many values a grid takes.
    """

    name: str
    numbers: tuple[str, ...]
    distribution: Distribution
    added: bool = False
    quantity: str = ""
    levels: int = 2

    @property
    def unit(self) -> str:
        """SI unit of its values."""
        known = QUANTITIES.get(self.quantity)
        return "" if known is None else known.si.replace("*", " ")


@dataclass(frozen=True, eq=False)
class Space:
    """The variables of a study on a robot.

    Attributes:
        robot: the nominal robot, whose numbers that vary are all free; a sample near it where its legs are
            solved otherwise as soon as numbers move (axes that meet by accident).
        variables: the variables.
        groups: groups of the numbers that vary.
        nominal: the numbers (k,) of these groups as described.
        indices: of each variable, where its numbers are among them.
    """

    robot: Robot
    variables: tuple[Variable, ...]
    groups: tuple[str, ...]
    nominal: Array
    indices: tuple[tuple[int, ...], ...]

    def values_at(self, points: Array) -> Array:
        """Values of the variables (N, P) at points of the unit cube (N, P)."""
        columns = [variable.distribution.at(points[:, k]) for k, variable in enumerate(self.variables)]
        return np.stack(columns, axis=1)

    def numbers_at(self, values: Array) -> Array:
        """Numbers of the variants (N, k) from values of the variables (N, P)."""
        numbers = np.broadcast_to(self.nominal, (len(values), len(self.nominal))).copy()
        for column, variable, indices in zip(values.T, self.variables, self.indices, strict=True):
            for index in indices:
                numbers[:, index] = column + (self.nominal[index] if variable.added else 0.0)
        return numbers

    @property
    def nominal_values(self) -> Array:
        """Values of the variables (P,) of the robot as described; of several numbers the first's."""
        values = [
            0.0 if variable.added else self.nominal[indices[0]]
            for variable, indices in zip(self.variables, self.indices, strict=True)
        ]
        return np.array(values)

    def robot_at(self, numbers: Array) -> Robot:
        """A variant from its numbers (k,), checked as a robot is when it is loaded.

        Raises:
            NacelleError: if it does not assemble.
        """
        return check_robot(self.robot.with_numbers(numbers, *self.groups)).require().robot


def make_space(robot: Robot, variables: Sequence[Variable]) -> Space:
    """The variables on a robot.

    Raises:
        KinematicsError: if two variables move the same number.
    """
    free = robot.numbers.names()
    owners: dict[str, str] = {}
    for variable in variables:
        for number in variable.numbers:
            if number in owners and not variable.added:
                raise KinematicsError(
                    f"the variables {owners[number]!r} and {variable.name!r} both set {number!r}"
                )
            owners.setdefault(number, variable.name)
    present = {robot.numbers.record.groups[free.index(number)] for number in owners}
    groups = tuple(group for group in GROUPS if group in present)
    names = robot.numbers.names(*groups) if groups else ()
    indices = tuple(tuple(names.index(number) for number in variable.numbers) for variable in variables)
    nominal = robot.numbers.vector(*groups) if groups else np.zeros(0)
    if groups:
        # Iterations start from solutions of this robot: it needs the unknowns that variants have.
        sample = robot.at_sample(*groups)
        if mechanism_of(sample).unknown_count != mechanism_of(robot).unknown_count:
            robot = sample
    return Space(robot, tuple(variables), groups, nominal, indices)


def match_numbers(robot: Robot, patterns: Sequence[str]) -> tuple[str, ...]:
    """Free numbers of a robot by names or patterns such as "strut*.A.*".

    Raises:
        KinematicsError: if a pattern fits none of them.
    """
    names = robot.numbers.names()
    matches: dict[str, None] = {}
    for pattern in patterns:
        fitting = [name for name in names if name == pattern or fnmatch.fnmatchcase(name, pattern)]
        if not fitting:
            raise KinematicsError(_reason_not_free(robot, pattern, names))
        matches |= dict.fromkeys(fitting)
    return tuple(matches)


def _reason_not_free(robot: Robot, name: str, names: Sequence[str]) -> str:
    all_names = robot.parameter_names()
    if name in all_names:
        return (
            f"{name!r} follows from other numbers of {robot.name}, or is fixed; its free numbers are "
            f"{_listing(names)}"
        )
    return f"{robot.name} has no number {name!r}; {did_you_mean(name, names)}"


def _listing(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")


def common_quantity(robot: Robot, numbers: Sequence[str]) -> str:
    """What several numbers are, such as "length".

    Raises:
        KinematicsError: if they are of different kinds.
    """
    names, quantities = robot.numbers.names(), robot.numbers.quantities()
    kinds = {number: quantities[names.index(number)] for number in numbers}
    different = sorted(set(kinds.values()))
    if len(different) > 1:
        examples = {kind: number for number, kind in kinds.items()}
        listing = ", ".join(f"{kind or 'number'} {examples[kind]}" for kind in different)
        raise KinematicsError(f"a variable has one kind of quantity: {listing}")
    return different[0] if different else ""


def read_value(value: Any, quantity: str) -> float:
    """A number in SI units from what is node, such as "0.1 mm".

    Raises:
        KinematicsError: if it is no such quantity.
    """
    try:
        number = float(parse_quantity(value, QUANTITIES.get(quantity, QUANTITIES["number"]), SI))
    except UnitError as error:
        raise KinematicsError(f"{error}; {error.hint}") from None
    if not math.isfinite(number):
        raise KinematicsError(f"{value!r} is not finite")
    return number


# ---- constants that are fixed at their present value


def with_free_constants(robot: Robot, ranges: Mapping[str, tuple[Any, Any]]) -> Robot:
    """The robot with constants of its description displaced so that they are free numbers.

    Args:
        robot: the robot.
        ranges: of every such constant two texts or numbers that it lies between.

    Raises:
        NacelleError: if the robot does not assemble there.
    """
    source = getattr(robot.declaration, "source", None)
    if source is None:
        return robot
    root = dict(source.root.value)
    constants = dict(root["constants"].value)
    for name, between in ranges.items():
        constants[name] = Node(_between(*between), constants[name].mark)
    root["constants"] = Node(constants, root["constants"].mark, root["constants"].keys)
    changed = Source(source.file, Node(root, source.root.mark, source.root.keys))
    displaced, expanded = read_source(changed)
    return check_robot(displaced, expanded).require().robot


def fixed_constants(robot: Robot) -> tuple[str, ...]:
    """Constants of the description that are no free numbers at their present value."""
    source = getattr(robot.declaration, "source", None)
    node = None if source is None else source.root.value.get("constants")
    names = () if node is None or not isinstance(node.value, dict) else tuple(node.value)
    free = robot.numbers.names()
    return tuple(name for name in names if not any(number.split(".")[0] == name for number in free))


def _between(low: Any, high: Any) -> Any:
    """A quantity between two as they are node, at no round part of the way."""
    part = 0.3819660112501051
    if isinstance(low, str) or isinstance(high, str):
        numbers, units = zip(*(_split(value) for value in (low, high)), strict=True)
        unit = next((unit for unit in units if unit), "")
        if all(unit in ("", units[0] or unit) for unit in units):
            return f"{numbers[0] + part * (numbers[1] - numbers[0])!r} {unit}".strip()
        raise KinematicsError(f"write both ends in one unit: {low!r}, {high!r}")
    return low + part * (high - low)


def _split(value: Any) -> tuple[float, str]:
    if not isinstance(value, str):
        return float(value), ""
    number, _, unit = value.strip().partition(" ")
    try:
        return float(number), unit.strip()
    except ValueError:
        raise KinematicsError(f"{value!r} is no number with a unit") from None

"""Variables of a study: numbers of the description that vary, each over a range or with a distribution.

A variable sets one number, or several alike, or adds a deviation to them. A point of the unit cube (P,)
becomes values z (P,) by the inverse of each distribution, and these the numbers p (k,) of a variant:

    p_j = z_i            for each number j that variable i sets
    p_j = p0_j + z_i     where z_i is a deviation

Constants of the description that decide limits or sections alone, and no free number, are numbers of a
variant, too (`nacelle.studies.constants`).
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, NacelleError, did_you_mean
from nacelle.kinematics.limits import BatchLimits, limit_vector
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.numbers import GROUPS
from nacelle.model.robot import Robot
from nacelle.model.units import QUANTITIES, SI, UnitError, parse_quantity
from nacelle.spatial.scalar import Array
from nacelle.studies.constants import (
    beam_numbers,
    fixed_constants,
    known_constants,
    limit_slopes,
    read_with,
)

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
        names: of the numbers (k,) of a variant: the free ones of these groups, then constants that vary and
            are no free numbers.
        nominal: the numbers (k,) as described.
        indices: of each variable, where its numbers are among them.
        nominal_robot: the robot as described.
        constants: names of those among the numbers that are constants of the description.
        followers: names of those that are read from the description with these constants.
        slopes: derivatives (k, m) of the limits (`limit_vector`) by the numbers; None if all are zero.
    """

    robot: Robot
    variables: tuple[Variable, ...]
    groups: tuple[str, ...]
    names: tuple[str, ...]
    nominal: Array
    indices: tuple[tuple[int, ...], ...]
    nominal_robot: Robot
    constants: tuple[str, ...]
    followers: tuple[str, ...]
    slopes: Array | None

    def values_at(self, points: Array) -> Array:
        """Values of the variables (N, P) at points of the unit cube (N, P)."""
        columns = [variable.distribution.at(points[:, k]) for k, variable in enumerate(self.variables)]
        return np.stack(columns, axis=1)

    def numbers_at(self, values: Array) -> Array:
        """Numbers of the variants (N, k) from values of the variables (N, P).

        They are NaN where the description makes no robot with its constants.
        """
        numbers = np.broadcast_to(self.nominal, (len(values), len(self.nominal))).copy()
        for column, variable, indices in zip(values.T, self.variables, self.indices, strict=True):
            for index in indices:
                numbers[:, index] = column + (self.nominal[index] if variable.added else 0.0)
        for row in numbers if self.followers else ():
            try:
                read = self._read(row)
            except NacelleError:
                row[:] = np.nan
                continue
            entries = dict(zip(read.parameter_names(), read.parameter_vector(), strict=True))
            row[[self.names.index(name) for name in self.followers]] = [entries[n] for n in self.followers]
        limits = self.limits_at(numbers)
        if limits is not None:
            numbers[~limits.possible] = np.nan
        return numbers

    def free_numbers(self, numbers: Array) -> Array:
        """The free ones (..., free numbers) of the numbers of variants (..., k)."""
        return numbers[..., : len(self.robot.numbers.names(*self.groups))]

    def limits_at(self, numbers: Array) -> BatchLimits | None:
        """Limits of variants with numbers (N, k); None if they are those of the nominal robot."""
        if self.slopes is None:
            return None
        with np.errstate(invalid="ignore"):
            vectors = limit_vector(self.robot) + (numbers - self.nominal) @ self.slopes
        return BatchLimits(self.robot, vectors)

    def _read(self, numbers: Array) -> Robot:
        """The robot as it is read with the constants among numbers (k,) of a variant."""
        values = dict(zip(self.names, numbers.tolist(), strict=True))
        return read_with(self.nominal_robot, {name: values[name] for name in self.constants})

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
        robot = self.robot.with_numbers(self.free_numbers(numbers), *self.groups)
        if self.constants:
            read, names = self._read(numbers), self.robot.numbers.record.names
            varied = {self.names[index] for indices in self.indices for index in indices}
            others = [names.index(name) for name in varied.difference(self.constants)]
            dependent, entries = sorted(self.robot.numbers.dependent_entries(others)), read.parameter_vector()
            entries[dependent] = robot.parameter_vector()[dependent]
            robot = read.with_parameters(entries) if dependent else read
        return check_robot(robot).require().robot


def make_space(robot: Robot, variables: Sequence[Variable]) -> Space:
    """The variables on a robot.

    Raises:
        KinematicsError: if two variables move the same number.
    """
    record, known = robot.numbers.record, known_constants(robot)
    owners: dict[str, str] = {}
    steps: dict[str, float] = {}
    for variable in variables:
        for number in variable.numbers:
            if number in owners and not variable.added:
                raise KinematicsError(
                    f"the variables {owners[number]!r} and {variable.name!r} both set {number!r}"
                )
            owners.setdefault(number, variable.name)
            if number in known:
                steps[number] = 1e-3 * (variable.distribution.spread or 1.0)
    followers = tuple(name for name in beam_numbers(robot) if name not in owners) if steps else ()
    varied = {*owners, *followers}
    present = [group for name, group in zip(record.names, record.groups, strict=True) if name in varied]
    groups = tuple(group for group in GROUPS if group in (present or record.groups[-1:]))
    others = [name for name in owners if name not in record.names]
    names = (*robot.numbers.names(*groups), *others)
    nominal = np.array([*robot.numbers.vector(*groups), *(known[name].value for name in others)])
    slopes = np.zeros((len(names), len(limit_vector(robot))))
    slopes[[names.index(name) for name in steps]] = limit_slopes(robot, steps)
    indices = tuple(tuple(names.index(number) for number in variable.numbers) for variable in variables)
    # Iterations start from solutions of this robot: it needs the unknowns that variants have.
    sample = robot.at_sample(*groups)
    same = mechanism_of(sample).unknown_count == mechanism_of(robot).unknown_count
    return Space(
        robot if same else sample,
        tuple(variables),
        groups,
        names,
        nominal,
        indices,
        nominal_robot=robot,
        constants=tuple(steps),
        followers=followers,
        slopes=slopes if np.any(slopes) else None,
    )


def match_numbers(robot: Robot, patterns: Sequence[str]) -> tuple[str, ...]:
    """Numbers of a robot that may vary by names or patterns such as "strut*.A.*".

    Raises:
        KinematicsError: if a pattern fits none of them.
    """
    names = tuple(_quantities(robot))
    matches: dict[str, None] = {}
    for pattern in patterns:
        fitting = [name for name in names if name == pattern or fnmatch.fnmatchcase(name, pattern)]
        if not fitting:
            raise KinematicsError(_reason_not_free(robot, pattern, names))
        matches |= dict.fromkeys(fitting)
    return tuple(matches)


def _reason_not_free(robot: Robot, name: str, names: Sequence[str]) -> str:
    if name in fixed_constants(robot):
        return f"the constant {name!r} decides nothing of {robot.name}"
    if name in robot.parameter_names():
        return (
            f"{name!r} follows from other numbers of {robot.name}, or is fixed; its free numbers are "
            f"{_listing(names)}"
        )
    return (
        f"{robot.name} has no number {name!r}; {did_you_mean(name, names)}; limits and sections vary where "
        "they are constants of the description: write constants: {tilt: 40 deg} and limits: [-$tilt, $tilt]"
    )


def _quantities(robot: Robot) -> dict[str, str]:
    """What each number is that may vary, by name: the free ones, and other constants."""
    quantities = {name: constant.quantity for name, constant in known_constants(robot).items()}
    return {**dict(zip(robot.numbers.names(), robot.numbers.quantities(), strict=True)), **quantities}


def _listing(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")


def common_quantity(robot: Robot, numbers: Sequence[str]) -> str:
    """What several numbers are, such as "length".

    Raises:
        KinematicsError: if they are of different kinds.
    """
    quantities = _quantities(robot)
    kinds = {number: quantities[number] for number in numbers}
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

"""One evaluation of a study: from values of its variables (N, P) to a table of quantities (N, K).

Quantities of the same states share one pass over them, by one program for the structure of the robot
(`nacelle.studies.channels`). What a variant cannot do (reach a pose, keep a limit) is an ordinary result: it
has a status, and no quantity of the motion that it cannot make.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.dynamics.physics import ALL_TERMS, Physics
from nacelle.errors import CompileError, DescriptionError, KinematicsError, NacelleError
from nacelle.kinematics.flags import Flag
from nacelle.spatial.scalar import Array
from nacelle.studies.channels import ChannelProgram, States
from nacelle.studies.device import DeviceFolds
from nacelle.studies.expression import Constraint, Expression
from nacelle.studies.pose_error import CHANNELS as POSE_ERROR_CHANNELS
from nacelle.studies.pose_error import PoseErrorQuantity, largest_error, pose_errors
from nacelle.studies.quantities import DriveQuantity, Quantity, RobotQuantity
from nacelle.studies.table import (
    FAILED,
    NOT_A_ROBOT,
    OK,
    OTHER_BRANCH,
    OUT_OF_LIMITS,
    SINGULAR,
    UNREACHABLE,
    Column,
    StudyTable,
)
from nacelle.studies.variables import Space

AnyQuantity = Quantity | PoseErrorQuantity | RobotQuantity | Expression
# Relative step of the differences that gradients come from, of what a variable counts in.
_STEP = 1e-3
# The flags that give a status, the worst first.
_STATUS_OF = (
    (Flag.UNREACHABLE | Flag.INVALID, UNREACHABLE),
    (Flag.SINGULAR, SINGULAR),
    (Flag.OTHER_BRANCH, OTHER_BRANCH),
    (Flag.OUT_OF_LIMITS, OUT_OF_LIMITS),
)


@dataclass(frozen=True, eq=False)
class StateSet:
    """Some states that quantities look at.

    Attributes:
        states: the states.
        weights: of each in means over them (S,); their sum is 1.
        required: whether a variant has to reach them all to be ok.
    """

    states: States
    weights: Array
    required: bool


@dataclass(frozen=True, eq=False)
class Evaluator:
    """The evaluation of a study's variants.

    Attributes:
        space: the variables on the robot.
        sets: states by name.
        quantities: by name, in the order of the columns; expressions use columns before them.
        columns: of the table.
        constraints: what has to hold.
        physics: what forces include.
        limits: whether limits of joints and actuators count.
        target: "jit"; or "cuda", where a device finds quantities of drives along motions.
    """

    space: Space
    sets: Mapping[str, StateSet]
    quantities: Mapping[str, AnyQuantity]
    columns: tuple[Column, ...]
    constraints: Sequence[Constraint] = ()
    physics: Physics = ALL_TERMS
    limits: bool = True
    target: str = "jit"

    def __call__(self, values: Any) -> StudyTable:
        """Evaluate variants.

        Args:
            values: of the variables (N, P), SI units.

        Raises:
            KinematicsError: if there are not as many values as variables.
        """
        rows = np.atleast_2d(np.asarray(values, dtype=float))
        if rows.ndim != 2 or rows.shape[1] != len(self.space.variables):
            raise KinematicsError(
                f"values of {len(self.space.variables)} variables are needed, got an array {np.shape(values)}"
            )
        numbers = self.space.numbers_at(rows)
        finite = np.all(np.isfinite(numbers), axis=1)
        safe = np.where(finite[:, None], numbers, self.space.nominal)
        status = np.where(finite, OK, NOT_A_ROBOT).astype(np.int64)
        results: dict[str, Array] = {}
        for name, states in self.sets.items():
            flags = self._evaluate_set(name, states, safe, results)
            if states.required:
                for flag, worse in _STATUS_OF:
                    status[(status == OK) & ((flags & int(flag)) != 0)] = worse
        reason = np.full(len(rows), "", dtype=object)
        table = {v.name: rows[:, k] for k, v in enumerate(self.space.variables)}
        for name, quantity in self.quantities.items():
            if isinstance(quantity, Expression):
                results[name] = np.broadcast_to(quantity(table), len(rows)).astype(float)
            elif isinstance(quantity, RobotQuantity):
                results[name] = self._by_robot(name, quantity, safe, table, status, reason)
            column = np.where(finite, results[name], np.nan)
            table[name] = np.where(np.isfinite(column), column, np.nan)
        kept = np.stack([table[column.name] for column in self.columns], axis=1)
        return StudyTable(self.columns, kept, status, reason.astype(str))

    def violations(self, table: StudyTable) -> Array:
        """By how much the constraints are violated (N, C); a variant that is not ok violates all of them."""
        columns = {name: table[name] for name in table.names}
        results = [constraint.violation(columns) for constraint in self.constraints]
        whole = np.stack(results, axis=1) if results else np.zeros((len(table), 0))
        return np.where(table.ok[:, None] & np.isfinite(whole), whole, np.inf)

    def gradient(self, values: Any) -> Array:
        """Derivatives of the quantities by the variables (N, K, P), through the loops.

        By central differences of fourth order of the compiled programs, with a thousandth of a variable's
        range: exact to about 1e-10 of the quantity's change over the range where it is smooth; peaks have
        kinks.
        """
        rows = np.atleast_2d(np.asarray(values, dtype=float))
        steps = _STEP * np.array([variable.distribution.spread for variable in self.space.variables])
        count, size = rows.shape
        offsets = np.array([-2.0, -1.0, 1.0, 2.0])
        weights = np.array([1.0, -8.0, 8.0, -1.0]) / 12.0
        displaced = np.repeat(rows[:, None, None], size, axis=1) * np.ones((1, 1, 4, 1))
        for k in range(size):
            displaced[:, k, :, k] += offsets * steps[k]
        table = self(displaced.reshape(-1, size))
        quantities = table.values[:, size:].reshape(count, size, 4, -1)
        return np.asarray(np.einsum("npok,o->nkp", quantities, weights) / steps)

    # ---- parts

    def _evaluate_set(self, name: str, of: StateSet, numbers: Array, results: dict[str, Array]) -> Array:
        """Quantities of some states into `results`; flags of each variant (N,)."""
        if self._is_on_device(name):
            return self._evaluate_on_device(name, of, numbers, results)
        program = self._programs[name]
        folds = {
            key: quantity.fold(program.robot, len(numbers), of.weights)
            for key, quantity in self.quantities.items()
            if isinstance(quantity, Quantity) and quantity.states == name
        }
        flags = np.zeros(len(numbers), dtype=np.int64)
        for part in program.parts(numbers, of.states):
            for fold in folds.values():
                fold.add(part)
            flags |= np.bitwise_or.reduce(part.flags, axis=1)
        results |= {key: fold.result() for key, fold in folds.items()}
        errors = {
            key: quantity
            for key, quantity in self.quantities.items()
            if isinstance(quantity, PoseErrorQuantity) and quantity.states == name
        }
        if errors:
            measured = pose_errors(self._pose_program, self.space.nominal, numbers, of.states)
            for key, quantity in errors.items():
                results[key] = largest_error(program.robot, measured, quantity.coordinate)
        return flags

    def _is_on_device(self, name: str) -> bool:
        """Whether a device finds all quantities of some states: those of drives along a motion."""
        kinds = {type(q) for q in self.quantities.values() if getattr(q, "states", None) == name}
        return self.target == "cuda" and kinds == {DriveQuantity}

    def _evaluate_on_device(
        self, name: str, of: StateSet, numbers: Array, results: dict[str, Array]
    ) -> Array:
        from nacelle.emit.cuda.device import cupy

        folds = self._device_folds[name]
        rows = cupy().asarray(np.asfortranarray(self.space.free_numbers(numbers)))
        folded = folds.fold(rows, of.states, of.weights)
        keys = [key for key, q in self.quantities.items() if getattr(q, "states", None) == name]
        results |= dict(zip(keys, folds.results(folded).values(), strict=True))
        return folds.flags(folded)

    @cached_property
    def _device_folds(self) -> dict[str, DeviceFolds]:
        if self.space.slopes is not None:
            raise CompileError(
                f"limits of {self.space.robot.name} follow from variables, which studies check on the "
                "processor alone: leave the device out"
            )
        return {
            name: DeviceFolds(
                self.space.robot,
                self.space.groups,
                tuple(
                    q for q in self.quantities.values() if isinstance(q, DriveQuantity) and q.states == name
                ),
                physics=self.physics,
                limits=self.limits,
            )
            for name in self.sets
            if self._is_on_device(name)
        }

    @cached_property
    def _programs(self) -> dict[str, ChannelProgram]:
        channels: dict[str, frozenset[str]] = {}
        for name in self.sets:
            if self._is_on_device(name):
                continue
            requests = [
                quantity.channels
                for quantity in self.quantities.values()
                if isinstance(quantity, Quantity) and quantity.states == name
            ]
            channels[name] = frozenset().union(*requests)
        return {name: self._program(requests) for name, requests in channels.items()}

    @cached_property
    def _pose_program(self) -> ChannelProgram:
        return _channel_program(self.space, POSE_ERROR_CHANNELS, self.physics, False)

    def _program(self, channels: frozenset[str]) -> ChannelProgram:
        return _channel_program(self.space, channels, self.physics, self.limits)

    def _by_robot(
        self,
        name: str,
        quantity: RobotQuantity,
        numbers: Array,
        table: Mapping[str, Array],
        status: Array,
        reason: NDArray[Any],
    ) -> Array:
        """A quantity that is results variant by variant; what goes wrong is a status and a reason."""
        results = np.full(len(numbers), np.nan)
        for n in np.flatnonzero(status == OK):
            try:
                robot = self.space.robot_at(numbers[n]) if quantity.needs_robot else None
            except NacelleError as error:
                status[n] = NOT_A_ROBOT
                reason[n] = _first_line(error)
                continue
            try:
                value = float(
                    quantity.function(robot, {key: float(column[n]) for key, column in table.items()})
                )
            except Exception as error:
                status[n] = FAILED
                reason[n] = f"{name}: {type(error).__name__}: {_first_line(error)}"
                continue
            if np.isfinite(value):
                results[n] = value
            else:
                status[n] = FAILED
                reason[n] = f"{name} gave {value}"
        return results


def _first_line(error: Exception) -> str:
    if isinstance(error, DescriptionError):
        return error.problems[0].message[:200]
    lines = str(error).splitlines()
    return lines[0][:200] if lines else ""


@lru_cache(maxsize=16)
def _channel_program(
    space: Space, channels: frozenset[str], physics: Physics, limits: bool
) -> ChannelProgram:
    """The program of some channels, compiled once in a process."""
    return ChannelProgram(
        space.robot, space.groups, channels, physics=physics, limits=limits, limits_at=space.limits_at
    )

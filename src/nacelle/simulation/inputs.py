"""What drives a plant: constants, rows of an array, functions of time, feedback in Python or compiled."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.simulation.feedback import feedback, is_law
from nacelle.simulation.protocol import ClosedLoop, Feedback, PlantInputs, PlantLike, StepRows
from nacelle.spatial.scalar import Array


def _argument_count(function: Callable[..., Any]) -> int:
    """How many arguments a function needs; 3 where it has no signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 3
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 3
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(1 for p in parameters if p.kind in plain and p.default is inspect.Parameter.empty)


def _check_size(value: Any, size: int, what: str, t: float, *, finite: bool = True) -> Array:
    """Check what a user's function gives; a feedback may be evaluated at states out of reach."""
    array = np.asarray(value, dtype=float)
    if array.shape != (size,):
        raise KinematicsError(f"{what} gives ({size},) numbers, got the shape {array.shape} at {t:g} s")
    if finite and not np.isfinite(array).all():
        raise KinematicsError(f"{what} is not finite at {t:g} s: {array}")
    return array


def _step_rows(plant: PlantLike, value: Any, size: int, what: str, steps: range | None) -> StepRows:
    """Rows from an array, one for each of the steps or one for all; None without fixed steps."""
    try:
        table = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise KinematicsError(f"{what} of {plant.name} are numbers or a function, got {value!r}") from None
    if table.ndim == 1:
        table = table[None]
    counts = (1,) if steps is None else (1, len(steps))
    if table.ndim != 2 or table.shape[1] != size or len(table) not in counts:
        if steps is None:
            raise KinematicsError(
                f"{what} of {plant.name} have the shape ({size},) or are a function, got {np.shape(value)}; "
                "one row a step goes with fixed steps, the methods 'rk4' and 'irk5'"
            )
        raise KinematicsError(
            f"{what} for {len(steps)} steps of {plant.name} have the shape ({size},) or "
            f"({len(steps)}, {size}), got {np.shape(value)}"
        )
    if not np.isfinite(table).all():
        row = int(np.argmin(np.isfinite(table).all(axis=1)))
        raise KinematicsError(f"{what} of {plant.name} are not finite: row {row}, {table[row]}")
    return StepRows(np.ascontiguousarray(table), 0 if steps is None else steps.start)


def plant_inputs(
    plant: PlantLike, force: Any, *, hold: bool = False, steps: range | None = None
) -> PlantInputs:
    """Bring what the user gives as the force to one form.

    Args:
        plant: the plant.
        force: None (zero), constant, rows, a function f(t) or f(t, x, v), a law or a `Feedback`.
        hold: whether inputs are held over each step.
        steps: fixed steps that have a row each; None without such.

    Raises:
        KinematicsError: if the force does not fit the plant.
    """
    if is_law(force):
        force = feedback(force)
    if isinstance(force, Feedback):
        return _feedback_inputs(plant, force, hold, steps)
    count = plant.inputs
    if not callable(force):
        rows = _step_rows(plant, np.zeros(count) if force is None else force, count, "forces", steps)
        return PlantInputs(plant, plant, rows, free=True, steady=True, hold=hold)
    if _argument_count(force) == 1:

        def force_of_time(k: int, t: float, s: Array) -> Array:
            return _check_size(force(t), count, "the force f(t)", t)

        return PlantInputs(plant, plant, force_of_time, free=True, steady=False, hold=hold)

    def feedback_force(k: int, t: float, s: Array) -> Array:
        return _check_size(force(t, *plant.split(s)), count, "the feedback f(t, x, v)", t, finite=False)

    return PlantInputs(plant, plant, feedback_force, free=False, steady=False, hold=hold)


def _feedback_inputs(plant: PlantLike, law: Feedback, hold: bool, steps: range | None) -> PlantInputs:
    """The drive of a compiled feedback."""
    close: Callable[[Feedback], ClosedLoop] | None = getattr(plant, "with_feedback", None)
    if close is None:
        raise KinematicsError(
            f"{plant.name} cannot be compiled with the feedback {law.name!r}: give a function f(t, x, v)"
        )
    core = close(law)
    size = core.inputs - 1
    what = f"the reference of {law.name!r}"
    if size and law.reference is None:
        raise KinematicsError(f"{what} is missing: {size} numbers, a function of time, or one row a step")
    if callable(law.reference):
        reference = law.reference

        def follow(k: int, t: float, s: Array) -> Array:
            return np.concatenate([[t], _check_size(reference(t), size, what, t)])

        return PlantInputs(plant, core, follow, free=True, steady=False, hold=hold)
    rows = _step_rows(plant, np.zeros(size) if law.reference is None else law.reference, size, what, steps)
    return PlantInputs(plant, core, replace(rows, with_time=True), free=True, steady=False, hold=hold)

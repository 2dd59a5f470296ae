"""How far the minimised programs of the named models are from the truth, state by state.

Every model runs as users run it: minimised, compiled, in double. Beside it two evaluations at 77 digits, both
of programs that no pass has touched:

- its own equations, at the same inputs: what differs is rounding inside the program;
- the equivalent tree (`support.truth`) at the state from which the inputs were made, what iteration finds
  solved again: what differs is rounding, that of the inputs, and any mistake. The inputs of a model from
  elements or encoders are computed, so it is compared with its own equations alone.

An error is the largest difference over the largest entry, lengths in the robot's size. It is counted in eps
times the condition number of the result, its sensitivity to one rounding of inputs and numbers, as defined in
`support.truth`. For comparison it is counted in eps times what the condition numbers of matrices say: the
largest of that of the scaled Jacobian (inverse and forward dynamics), the square of that of the worst leg's
own Jacobian (a rounding of a length moves the joints by it, and rates by it again), and that of the scaled
mass matrix (forward dynamics); from encoders the square of the Jacobian's, since the pose follows from the
actuators by it. These leave out that terms may cancel, and third powers that velocities bring in.

Fixed pivots may be weak. There the functions that users call take the pivoted tree; so their results are
looked at too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.dynamics.forward import bias_forces, forward_dynamics, mass_matrix
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.dynamics.jacobian import jacobian
from nacelle.dynamics.models import Model, model
from nacelle.kinematics.solve.ill_conditioned import ILL_CONDITIONED_PIVOT
from nacelle.model.robot import Robot
from nacelle.program.program import Program
from support import published_models, wide
from support.library import NAMES, library_robot
from support.model_states import Sample, inputs_of, sample
from support.operation_bars import single_output_program
from support.truth import (
    FUNCTIONS,
    Truth,
    evaluate_exactly,
    output_units,
    perturb_constants,
    perturb_inputs,
    sensitivity,
    truth,
)

Array = np.ndarray

EPS = float(np.finfo(float).eps)
BOUND = 1000.0
# Part of the states that is moved towards a singularity.
SINGULAR_SHARE = 0.3
# Where a model gives several results, which one is meant.
_RESULTS = {
    "inverse_dynamics": ("force",),
    "forward_dynamics": ("acceleration",),
    "jacobian": ("J", "A"),
    "mass_matrix": ("M",),
    "bias_forces": ("h",),
}
# The robots of the published counts: how they are changed, and whether friction counts.
_PUBLISHED_ROBOTS: dict[str, tuple[Callable[[int], Robot], bool]] = {
    "palida": (published_models.palida, True),
    "palida-general": (published_models.palida_general, True),
    "fivebar": (published_models.fivebar, True),
    "gough-stewart": (published_models.gough_stewart, False),
    "delta-codourey": (published_models.delta, False),
    "3rrr": (published_models.planar, False),
    "hexaglide": (published_models.hexaglide, False),
    "hexa": (published_models.hexa, False),
}


@dataclass(frozen=True)
class Row:
    """A model whose accuracy is looked at.

    Attributes:
        robot: name in the library; "palida-general", changed, is "palida" with general anchors.
        name: of the model.
        changed: whether numbers are changed by about 1 %: as in the published counts where the robot has a
            function there, else inertias and friction alone, alike for legs of one template.
        friction: whether friction counts.
        input: of inverse dynamics.
    """

    robot: str
    name: str = "inverse_dynamics"
    changed: bool = True
    friction: bool = True
    input: str = "pose"

    def __str__(self) -> str:
        kind = self.name.removesuffix("_dynamics").removesuffix("_forces")
        source = "" if self.input == "pose" else f" from {self.input}"
        numbers = ", changed" if self.changed else ""
        return f"{self.robot} {kind}{source}{numbers}{'' if self.friction else ', no friction'}"

    def load(self) -> Robot:
        if not self.changed:
            return library_robot(self.robot)
        if self.robot in _PUBLISHED_ROBOTS:
            return _PUBLISHED_ROBOTS[self.robot][0](1)
        return _with_varied_inertia(library_robot(self.robot))


def _with_varied_inertia(robot: Robot) -> Robot:
    """The robot with inertias and friction changed by 1 %; moments of inertia that are equal remain so."""
    found = published_models.vary_inertia(robot, np.random.default_rng(1), alike=True)
    bodies = []
    for old, new in zip(robot.bodies, found.bodies, strict=True):
        inertia = list(new.inertia)
        for first, second in ((4, 6), (4, 9), (6, 9)):
            if old.inertia[first] == old.inertia[second]:
                inertia[second] = inertia[first]
        bodies.append(dataclasses.replace(new, inertia=tuple(inertia)))
    return dataclasses.replace(found, bodies=tuple(bodies))


def _rows_of_robot(robot: str, changed: bool, friction: bool = True) -> tuple[Row, ...]:
    return tuple(Row(robot, name, changed, friction) for name in FUNCTIONS)


LIBRARY_ROWS = tuple(row for name in NAMES for row in _rows_of_robot(name, changed=False))
PUBLISHED_ROWS = (
    *(
        row
        for name, (_, friction) in _PUBLISHED_ROBOTS.items()
        for row in _rows_of_robot(name, True, friction)
    ),
    Row("fivebar", input="elements"),
    Row("fivebar", input="encoders"),
)
VARIED_ROWS = tuple(
    row for name in NAMES if name not in _PUBLISHED_ROBOTS for row in _rows_of_robot(name, changed=True)
)
ROWS = (*LIBRARY_ROWS, *PUBLISHED_ROWS, *VARIED_ROWS)


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of a model over states.

    Attributes:
        relative: by name (states,): "own" of the program against its own equations; "program" against the
            equivalent tree; "API" those of the function that users call, against the tree; where iteration
            finds an input y, "exact y" the program's at a y that is rounded once.
        condition: of the result, by which errors are counted.
        matrices: what the condition numbers of Jacobian, legs and mass matrix say.
        pivot: smallest scaled pivot; None where the model gives none.
        operations: of the minimised program.
        agreement: the largest relative difference between the references at 77 digits and mpmath at 50.
    """

    relative: dict[str, Array]
    condition: Array
    matrices: Array
    pivot: Array | None
    operations: int
    agreement: float

    def counted(self, name: str) -> Array:
        """Errors in eps times the condition number; infinite where there is no result."""
        counted = self.relative[name] / (EPS * self.condition)
        return np.where(np.isfinite(counted), counted, np.inf)

    @property
    def weak(self) -> Array:
        """Where the pivot is weak, so that users get the tree."""
        if self.pivot is None:
            return np.zeros(len(self.condition), dtype=bool)
        return ~(self.pivot >= ILL_CONDITIONED_PIVOT)


@dataclass(frozen=True, eq=False)
class _Case:
    """A robot's states and what is exact there, for all its functions."""

    states: Sample
    truth: Truth
    legs: Array
    inertia: Array


@lru_cache(maxsize=2)
def _case(row: Row, count: int, seed: int) -> _Case:
    """The row's states; rows of one robot share them."""
    states = sample(row.load(), count, seed, friction=row.friction, near=SINGULAR_SHARE)
    found = truth(states, friction=row.friction)
    return _Case(states, found, states.leg_condition(), states.inertia_condition())


def errors_of(row: Row, count: int, seed: int = 0) -> Errors:
    """Errors of a model over random states."""
    case = _case(Row(row.robot, "", row.changed, row.friction), count, seed)
    states = case.states
    robot = states.robot
    found = model(robot, row.name, input=row.input, friction=row.friction)
    inputs = inputs_of(found, states)
    compiled = found.compile()
    values = _result(compiled(**inputs), row.name)
    unit = output_units(robot)[row.name]
    literal = _single_result(found.program(minimise=False), row.name)
    flat = _flat(list(inputs.values()))
    own = evaluate_exactly(literal, wide.split_into_parts(flat))
    relative = {"own": relative_errors(values, own, unit)}
    few = np.linspace(0, count - 1, 3).astype(int)
    agreement = wide.largest_disagreement(literal, flat[few])
    if row.input == "pose":
        exact = case.truth.exact[row.name]
        relative |= {
            "program": relative_errors(values, exact, unit),
            "API": relative_errors(_from_api(row, states), exact, unit),
        }
        if "y" in inputs and inputs["y"].size:
            again = compiled(**{**inputs, "y": case.truth.y[..., 0]})
            relative["exact y"] = relative_errors(_result(again, row.name), exact, unit)
        condition = case.truth.condition[row.name]
        agreement = max(agreement, case.truth.agreement)
    else:
        condition = _own_condition(literal, flat, own, unit)
    pivot = _pivot(found, row, states)
    matrices = _matrices(row, case)
    return Errors(relative, condition, matrices, pivot, compiled.count.total, agreement)


def _result(values: Any, name: str) -> Array:
    """The result that is meant, flat (states, entries)."""
    if isinstance(values, dict):
        values = next(values[key] for key in _RESULTS[name] if key in values)
    return np.asarray(values).reshape(len(values), -1)


def _from_api(row: Row, states: Sample) -> Array:
    """What users get."""
    robot, x, v, friction = states.robot, states.x, states.v, row.friction
    calls: dict[str, Callable[[], Array]] = {
        "inverse_dynamics": lambda: inverse_dynamics(robot, x, v, states.a, friction=friction).tau,
        "forward_dynamics": lambda: forward_dynamics(robot, x, v, states.tau, friction=friction).a,
        "jacobian": lambda: jacobian(robot, x).inverse,
        "mass_matrix": lambda: mass_matrix(robot, x),
        "bias_forces": lambda: bias_forces(robot, x, v, friction=friction),
    }
    return _result(calls[row.name](), row.name)


def _flat(arrays: list[Array]) -> Array:
    return np.concatenate([array.reshape(len(array), -1) for array in arrays], axis=1)


def _single_result(program: Program, name: str) -> Program:
    """The program with the result that is meant alone, and nothing that only the others need."""
    names = [variable.name for variable in program.outputs]
    return single_output_program(program, next((key for key in _RESULTS[name] if key in names), names[0]))


def relative_errors(values: Array, exact: Array, unit: Array) -> Array:
    """The largest difference over the largest entry."""
    apart = np.max(np.abs(wide.difference(values, exact)) / unit, axis=1)
    return np.asarray(apart / np.max(np.abs(exact[..., 0]) / unit, axis=1))


def _own_condition(program: Program, flat: Array, exact: Array, unit: Array) -> Array:
    """Condition numbers of a program's result by changes of its inputs and constants."""
    inputs = wide.split_into_parts(flat)

    def changed(rng: np.random.Generator) -> dict[str, Array]:
        return {
            "own": evaluate_exactly(program, perturb_inputs(inputs, rng), perturb_constants(program, rng))
        }

    return sensitivity(changed, {"own": exact}, {"own": unit})["own"]


def _matrices(row: Row, case: _Case) -> Array:
    """What the condition numbers of matrices say about a function's result."""
    parallel = case.states.condition ** (2 if row.input == "encoders" else 1)
    condition = case.legs**2
    if row.name in ("inverse_dynamics", "forward_dynamics"):
        condition = np.maximum(condition, parallel)
    return np.maximum(condition, case.inertia) if row.name == "forward_dynamics" else condition


def _pivot(found: Model, row: Row, states: Sample) -> Array | None:
    if row.name not in ("inverse_dynamics", "bias_forces") or row.input != "pose":
        return None
    guarded = model(found.robot, row.name, friction=row.friction, guarded=True)
    return np.asarray(guarded.compile()(**inputs_of(guarded, states))["pivot"])


def summary(row: Row, errors: Errors) -> dict[str, object]:
    """What is reported of a model: worst errors, where they are, and weak pivots."""
    reported: dict[str, object] = {
        "model": str(row),
        "robot": row.robot,
        "function": row.name,
        "changed": row.changed,
        "operations": errors.operations,
        "states": len(errors.condition),
        "largest condition": float(np.max(errors.condition)),
    }
    weak = errors.weak
    for name, relative in errors.relative.items():
        counted = errors.counted(name)
        k = int(np.argmax(counted))
        reported[f"{name}: worst"] = float(counted[k])
        reported[f"{name}: condition there"] = float(errors.condition[k])
        reported[f"{name}: median"] = float(np.median(counted))
        reported[f"{name}: worst, strong pivots"] = float(np.max(counted[~weak], initial=0.0))
        reported[f"{name}: worst, relative"] = float(np.max(relative))
        reported[f"{name}: worst by matrices"] = float(np.max(relative / (EPS * errors.matrices)))
    if errors.pivot is not None:
        reported["smallest pivot"] = float(np.min(errors.pivot))
        reported["weak pivots"] = int(np.sum(weak))
    reported["77 and 50 digits differ by"] = errors.agreement
    return reported

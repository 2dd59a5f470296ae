"""How far the minimised programs of the named models are from the truth, state by state.

Every model runs as users run it: minimised, compiled, in double. Beside it two evaluations at 77 digits
(`support.wide`), both of programs that no pass has touched:

- its own equations, at the same inputs: what differs is rounding alone;
- the equivalent tree (`nacelle.dynamics.functions`), which shares no equation with the smallest form, at the
  state from which the inputs were made: what differs is rounding, that of the inputs, and any mistake. The
  inputs of a model from elements or encoders are computed, so it is held against its own equations alone.

An error is the largest difference over the largest entry, accelerations with lengths in the robot's size. It
is counted in eps times the condition number: for inverse dynamics that of the scaled Jacobian, for forward
dynamics the larger one of this and that of the scaled mass matrix. From encoders it is the square of the
first: the pose follows from the actuators by the Jacobian, and forces from the pose by it again, so that the
exact result differs by as much where the inputs differ by one rounding.

Fixed pivots may be weak. There the function that users call takes the pivoted tree; so its results, the
"door", are looked at too.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from nacelle.compile import make_program
from nacelle.dynamics import functions
from nacelle.dynamics.compact_form import WEAK_PIVOT
from nacelle.dynamics.forward import forward_dynamics
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.dynamics.models import Model, model
from nacelle.kinematics.jacobian import twist_units
from nacelle.model.robot import Robot
from nacelle.program.program import Program
from nacelle.spatial.physics import input_shapes
from support import published_models, wide
from support.model_states import Sample, inputs_of, sample

Array = np.ndarray

EPS = float(np.finfo(float).eps)
BOUND = 1000.0
# Two tests may run at once; a benchmark has the machine for itself.
THREADS = int(os.environ.get("NACELLE_THREADS", "1"))
_BATCH = 2000


@dataclass(frozen=True)
class Row:
    """A model whose accuracy is looked at: of a robot as in the published counts, its numbers changed."""

    robot: str
    name: str = "inverse_dynamics"
    friction: bool = False
    input: str = "pose"

    def __str__(self) -> str:
        kind = self.name.removesuffix("_dynamics")
        source = "" if self.input == "pose" else f" from {self.input}"
        return f"{self.robot} {kind}{source}{', friction' if self.friction else ''}"

    def load(self) -> Robot:
        robot: Robot = getattr(published_models, self.robot)(1)
        return robot


ROWS = (
    Row("palida", friction=True),
    Row("palida", "forward_dynamics", friction=True),
    Row("palida_general", friction=True),
    Row("gough_stewart"),
    Row("gough_stewart", "forward_dynamics"),
    Row("fivebar", friction=True),
    Row("fivebar", friction=True, input="elements"),
    Row("fivebar", friction=True, input="encoders"),
    Row("fivebar", "forward_dynamics", friction=True),
    Row("delta"),
    Row("delta", "forward_dynamics"),
    Row("planar"),
    Row("planar", "forward_dynamics"),
    Row("hexaglide"),
    Row("hexaglide", "forward_dynamics"),
    Row("hexa"),
    Row("hexa", "forward_dynamics"),
)


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of a model over states.

    Attributes:
        found: by name, relative (states,): "own" against its own equations; "tree" against the equivalent
            tree; "door" those of the function that users call, against the tree.
        jacobian: condition number of the scaled Jacobian.
        condition: by which errors are counted.
        pivot: smallest scaled pivot; None where the model gives none.
        operations: of the minimised program.
        agreement: the largest relative difference between the references at 77 digits and mpmath at 50.
    """

    found: dict[str, Array]
    jacobian: Array
    condition: Array
    pivot: Array | None
    operations: int
    agreement: float

    def counted(self, name: str) -> Array:
        """Errors in eps times the condition number."""
        return self.found[name] / (EPS * self.condition)

    @property
    def weak(self) -> Array:
        """Where the pivot is weak, so that the door takes the tree."""
        if self.pivot is None:
            return np.zeros(len(self.condition), dtype=bool)
        return ~(self.pivot >= WEAK_PIVOT)


def errors_of(row: Row, count: int, seed: int = 0, *, confirmed: int = 3) -> Errors:
    """Errors of a model over random states; mpmath confirms the references at some of them."""
    robot = row.load()
    states = sample(robot, count, seed, friction=row.friction)
    found = model(robot, row.name, input=row.input, friction=row.friction)
    assert found.form == "compact", found.form
    inputs = inputs_of(found, states)
    compiled = found.compile()
    values = compiled(**inputs)
    forward = row.name == "forward_dynamics"
    unit = twist_units(robot) if forward else np.ones(values.shape[1])
    literal, flat = _first_output(found.program(minimised=False)), _flat(list(inputs.values()))
    errors = {"own": relative_errors(values, _exact(literal, flat), unit)}
    few = np.linspace(0, count - 1, confirmed).astype(int)
    agreement = wide.disagreement(literal, flat[few])
    if row.input == "pose":
        program, flat = _tree(found, states, row)
        exact = _exact(program, flat)
        errors |= {
            "tree": relative_errors(values, exact, unit),
            "door": relative_errors(_door(row, states), exact, unit),
        }
        agreement = max(agreement, wide.disagreement(program, flat[few]))
    condition = states.condition
    if forward:
        condition = np.maximum(condition, states.inertia_condition())
    if row.input == "encoders":
        condition = condition**2
    pivot = _pivot(found, row, states)
    return Errors(errors, states.condition, condition, pivot, compiled.count.total, agreement)


def _door(row: Row, states: Sample) -> Array:
    """What users get at the door."""
    robot, x, v = states.robot, states.x, states.v
    if row.name == "forward_dynamics":
        return forward_dynamics(robot, x, v, states.tau, friction=row.friction).acceleration
    return inverse_dynamics(robot, x, v, states.a, friction=row.friction).force


def _flat(arrays: list[Array]) -> Array:
    return np.concatenate([array.reshape(len(array), -1) for array in arrays], axis=1)


def _first_output(program: Program) -> Program:
    """The program with its first output alone, and nothing that only the others need."""
    results = program.results[: program.outputs[0].size]
    needed = set(results)
    for k in range(len(program.code) - 1, -1, -1):
        op, *rest = program.code[k]
        if k in needed and op not in ("const", "input"):
            needed |= set(rest)
    place = {k: new for new, k in enumerate(sorted(needed))}
    code = []
    for k in place:
        op, *rest = program.code[k]
        code.append((op, *(rest if op in ("const", "input") else (place[i] for i in rest))))
    kept = tuple(place[k] for k in results)
    return Program(program.name, program.inputs, program.outputs[:1], tuple(code), kept)


def _tree(found: Model, states: Sample, row: Row) -> tuple[Program, Array]:
    """The equivalent tree, and its inputs."""
    forward = row.name == "forward_dynamics"
    function = functions.forward if forward else functions.inverse
    shapes = input_shapes(function, found.robot)
    options = {"friction": row.friction}
    program = make_program(function, found.robot, shapes, minimised=False, options=options)
    last = states.tau if forward else states.a
    return _first_output(program), _flat([states.x, states.y, states.v, last, np.zeros_like(states.v)])


def _exact(program: Program, inputs: Array) -> Array:
    """The truth."""
    parts = [inputs[start : start + _BATCH] for start in range(0, len(inputs), _BATCH)]
    with ThreadPoolExecutor(THREADS) as pool:
        return np.concatenate(list(pool.map(lambda part: wide.evaluate(program, part), parts)))


def relative_errors(values: Array, exact: Array, unit: Array) -> Array:
    """The largest difference over the largest entry."""
    apart = np.max(np.abs(wide.difference(values, exact)) / unit, axis=1)
    return np.asarray(apart / np.max(np.abs(exact[..., 0]) / unit, axis=1))


def _pivot(found: Model, row: Row, states: Sample) -> Array | None:
    if found.form != "compact" or row.name != "inverse_dynamics" or row.input != "pose":
        return None
    guarded = model(found.robot, row.name, friction=row.friction, guarded=True)
    return np.asarray(guarded.compile()(**inputs_of(guarded, states))["pivot"])


def summary(row: Row, errors: Errors) -> dict[str, object]:
    """What is told of a model: worst errors, where they are, and weak pivots."""
    told: dict[str, object] = {
        "model": str(row),
        "operations": errors.operations,
        "states": len(errors.condition),
        "largest condition": float(np.max(errors.condition)),
    }
    weak = errors.weak
    for name, relative in errors.found.items():
        counted = errors.counted(name)
        # What is not finite is worst.
        counted = np.where(np.isfinite(counted), counted, np.inf)
        k = int(np.argmax(counted))
        told[f"{name}: worst"] = float(counted[k])
        told[f"{name}: condition there"] = float(errors.condition[k])
        told[f"{name}: median"] = float(np.median(counted))
        told[f"{name}: worst, strong pivots"] = float(np.max(counted[~weak], initial=0.0))
        told[f"{name}: worst, relative"] = float(np.max(relative))
    plain = errors.found["own"] / (EPS * errors.jacobian)
    told["over 1000 eps times the Jacobian's condition"] = int(np.sum(~(plain <= BOUND)))
    if errors.pivot is not None:
        told["smallest pivot"] = float(np.min(errors.pivot))
        told["weak pivots"] = int(np.sum(weak))
    told["77 and 50 digits differ by"] = errors.agreement
    return told

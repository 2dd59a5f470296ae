"""What is exact: five functions of a robot at 77 digits, and how far one rounding of their inputs moves them.

The equivalent tree is evaluated by `support.wide` at poses, twists, accelerations and forces that are doubles
and count as exact. What iteration finds, y, is found again from the pose at the same precision.

The condition number of a result f is its sensitivity: every input and every number of the robot is changed by
a part d = 2^-80 of itself, so small that the difference is a derivative, up or down at random, and

    condition = largest of a few draws of |f' - f| / (d |f|)

with |f| the largest entry, lengths counted in the robot's size. So it has in it whatever makes a state
difficult: a parallel singularity (the Jacobian), a leg that is nearly stretched or whose inner loop is nearly
flat, parasitic motion, a mass matrix of unlike entries, terms that cancel. Numbers that are equal are changed
alike, zeros stay, and so do multiples of 1/2, which formulas have of their own: so equal legs remain equal.
Iteration in double does not keep symmetries. So y comes from a draw of its own, in which every entry of every
frame of a joint is changed for itself, by d or by d times the robot's size: it fits the pose to a rounding.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.compile import make_program
from nacelle.dynamics.actuators import least_norm_forces
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import state_at
from nacelle.dynamics.tree_form import generalised_force, mass_matrix
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.shapes import jacobian_scales
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.model.robot import Robot
from nacelle.program.program import Program
from nacelle.spatial.solve import solve
from nacelle.tree.actuation import actuator_rows
from support import wide
from support.model_states import Sample

Array = np.ndarray

FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "jacobian", "mass_matrix", "bias_forces")
PERTURBATION = 2.0**-80
DRAWS = 4
# Newton's steps double the digits, 8 or more: 16, 32, 64, and two to see that nothing changes.
_STEPS, _STEPS_OF_A_CHANGE = 6, 2
_CONVERGED = 1e-40
# Two tests may run at once; a benchmark has the machine for itself.
THREADS = int(os.environ.get("NACELLE_THREADS", "1"))
_BATCH = 64


def tree(
    robot: Robot, x: Array, y: Array, v: Array, a: Array, tau: Array, *, friction: bool
) -> dict[str, Array]:
    """The five functions by the equivalent tree, M dv/dt + h = A^T tau."""
    state = state_at(robot, x, y, v)
    h = generalised_force(state, np.zeros(robot.motion.n), Physics(friction))
    M = mass_matrix(state)
    A = actuator_rows(robot, state.now.motion) @ state.moving.U
    return {
        "inverse_dynamics": least_norm_forces(A, M @ a + h, units=jacobian_scales(robot.numeric)[1]).tau,
        "forward_dynamics": solve(M, A.T @ tau - h, "spd"),
        "jacobian": A,
        "mass_matrix": M,
        "bias_forces": h,
    }


def refine_unknowns(robot: Robot, y: Array, x: Array) -> dict[str, Array]:
    """The unknowns y after one of Newton's steps, and the step."""
    step = loop_closing_step(robot, y, x)["dy"]
    return {"y": y + step, "step": step}


@dataclass(frozen=True, eq=False)
class Truth:
    """Exact results.

    Attributes:
        exact: by function, unevaluated sums (states, entries, PARTS).
        condition: by function, of the result (states,).
        y: what iteration finds, unevaluated sums (states, ny, PARTS).
        agreement: the largest relative difference to mpmath at 50 digits, over a few states.
    """

    exact: dict[str, Array]
    condition: dict[str, Array]
    y: Array
    agreement: float


def truth(states: Sample, *, friction: bool = True, confirmed: int = 3) -> Truth:
    """Exact results and condition numbers at states; mpmath confirms some of them."""
    robot, mechanism = states.robot, mechanism_of(states.robot)
    sizes = {"x": mechanism.layout.nx, "y": mechanism.unknown_count, "v": robot.motion.n, "a": robot.motion.n}
    shapes = {name: (size,) for name, size in sizes.items()} | {"tau": (len(robot.actuators),)}
    program = make_program(tree, robot, shapes, minimise=False, options={"friction": friction})
    closing = _newton_program(robot)
    x = wide.split_into_parts(states.x)
    y = closing(wide.split_into_parts(states.y), x)

    def inputs(y: Array) -> Array:
        others = [wide.split_into_parts(values) for values in (states.v, states.a, states.tau)]
        return np.concatenate([x, y, *others], axis=1)

    exact = evaluate_exactly(program, inputs(y))

    def changed(rng: np.random.Generator) -> Array:
        other = closing(y, perturb_inputs(x, rng), rng)
        there = perturb_inputs(inputs(y), rng)
        there[:, x.shape[1] : x.shape[1] + y.shape[1]] = other
        return evaluate_exactly(program, there, perturb_constants(program, rng))

    parts, units = _split(program, exact), output_units(robot)
    condition = sensitivity(lambda rng: _split(program, changed(rng)), parts, units)
    few = np.linspace(0, len(x) - 1, confirmed).astype(int)
    return Truth(parts, condition, y, wide.largest_disagreement(program, inputs(y)[few, :, 0]))


def output_units(robot: Robot) -> dict[str, Array]:
    """What the entries of the results, flat, count in: N m, 1/s^2, 1, kg m^2 in the robot's size."""
    rows, columns = jacobian_scales(robot)
    return {
        "inverse_dynamics": 1.0 / rows,
        "forward_dynamics": columns,
        "jacobian": (rows[:, None] / columns).ravel(),
        "mass_matrix": 1.0 / np.outer(columns, columns).ravel(),
        "bias_forces": 1.0 / columns,
    }


def _split(program: Program, values: Array) -> dict[str, Array]:
    """Results by the names of the outputs."""
    ends = np.cumsum([variable.size for variable in program.outputs])
    pieces = np.split(values, ends[:-1], axis=1)
    return {variable.name: piece for variable, piece in zip(program.outputs, pieces, strict=True)}


def _newton_program(robot: Robot) -> Callable[..., Array]:
    """A function that solves for the unknowns at poses from a solution that is near, (y, x, rng) to y.

    With a random generator it does so for frames that are changed by a rounding.
    """
    mechanism = mechanism_of(robot)
    if mechanism.has_closed_form:
        return lambda y, x, rng=None: y
    frames = robot.parameter_vector("geometry")
    size = np.tile([1.0] * 9 + [robot.size] * 3, len(frames) // 12)
    shapes = {"parameters": frames.shape, "y": (mechanism.unknown_count,), "x": (mechanism.layout.nx,)}

    def at_frames(parameters, y, x):
        """The same with every entry of every frame as an input."""
        return refine_unknowns(robot.with_symbols(parameters, "geometry"), y, x)

    program = make_program(at_frames, None, shapes, minimise=False)

    def closed(y: Array, x: Array, rng: np.random.Generator | None = None) -> Array:
        further = None if rng is None else PERTURBATION * size * rng.choice([-1.0, 1.0], frames.shape)
        numbers = np.tile(wide.split_into_parts(frames, further), (len(x), 1, 1))
        for _ in range(_STEPS if rng is None else _STEPS_OF_A_CHANGE):
            found = _split(program, evaluate_exactly(program, np.concatenate([numbers, y, x], axis=1)))
            y = found["y"]
        assert np.max(np.abs(found["step"][..., 0])) < (_CONVERGED if rng is None else PERTURBATION)
        return y

    return closed


def evaluate_exactly(program: Program, inputs: Array, constants: Array | None = None) -> Array:
    """Results at 77 digits, on some threads; arguments as of `wide.evaluate`."""
    parts = [inputs[start : start + _BATCH] for start in range(0, len(inputs), _BATCH)]
    with ThreadPoolExecutor(THREADS) as pool:
        return np.concatenate(
            list(pool.map(lambda part: wide.evaluate(program, part, constants), parts)), axis=0
        )


def perturb_inputs(values: Array, rng: np.random.Generator) -> Array:
    """Numbers (..., PARTS) that are doubles, or nearly so, each changed by a part `CHANGE` of itself."""
    result = np.array(values)
    result[..., 1] += PERTURBATION * rng.choice([-1.0, 1.0], values.shape[:-1]) * values[..., 0]
    return result


def perturb_constants(program: Program, rng: np.random.Generator) -> Array:
    """The constants of a program, those of the robot changed by a part `CHANGE` of themselves."""
    values = wide.constants_of(program)
    size = np.abs(values[:, 0])
    different, index = np.unique(size, return_inverse=True)
    up = rng.choice([-1.0, 1.0], len(different))[index]
    own = 2.0 * size != np.rint(2.0 * size)
    values[:, 1] = np.where(own, PERTURBATION * up * values[:, 0], 0.0)
    return values


def sensitivity(
    changed: Callable[[np.random.Generator], dict[str, Array]],
    exact: dict[str, Array],
    units: dict[str, Any],
    draws: int = DRAWS,
) -> dict[str, Array]:
    """Condition numbers of results by name, at least 1: how far changes by a part `CHANGE` move them.

    Args:
        changed: gives results of inputs and numbers that are changed at random.
        exact: results (states, entries, PARTS).
        units: what their entries count in.
        draws: how many changes are tried.
    """
    rng = np.random.default_rng(0)
    condition = {name: np.ones(len(values)) for name, values in exact.items()}
    for _ in range(draws):
        found = changed(rng)
        for name, values in exact.items():
            # The first parts are equal or neighbours, so that nothing is lost.
            apart = np.abs(np.sum(found[name] - values, axis=-1)) / units[name]
            size = np.max(np.abs(values[..., 0]) / units[name], axis=1)
            condition[name] = np.fmax(condition[name], np.max(apart, axis=1) / (PERTURBATION * size))
    return condition

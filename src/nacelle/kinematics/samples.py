"""States and samples of a robot with 50 digits, by which identities are recognised.

Poses lie on the branch of the reference, near it and far; passive coordinates y are solved to all
digits,

    y <- y - J^+ r(x, y),    r what the closures leave open, with 50 digits, J its Jacobian in double,

which gains some nine digits a step. Everything else (twists, accelerations, forces, loads) is drawn at
random. An identity is a relation of analytic functions: one that holds at generic points of the branch holds
on all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile import make_program
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.branch import is_on_branch, pose_units, unknown_units
from nacelle.kinematics.configuration import configuration
from nacelle.kinematics.mechanism.assembly import (
    independent_rate_mask,
    integrate_tree,
    rate_scale,
    sample_closed_configuration,
)
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.shapes import pose_shape, twist_shape, unknowns_shape
from nacelle.model.joint import Primitive
from nacelle.model.robot import Robot
from nacelle.program.identities.values import PreciseInputs, Row
from nacelle.program.precise import DIGITS, decimal_context, evaluate_decimal, pi
from nacelle.program.program import Program
from nacelle.spatial.physics import input_shapes, physics
from nacelle.spatial.scalar import Array, pack
from nacelle.tree.closure import closure_residual

Decimals = list[Decimal]

# Newton's iteration: steps, the distance of the difference quotient, and long steps.
_STEPS = 16
_CONVERGED = Decimal(10) ** -(DIGITS + 2)
_DISTANCE = 1e-5
_LONG = Decimal("1e-8")
# Closures that contradict one another by the rounding of their numbers stay open by that: steps end here.
_STALLED, _CLOSED = Decimal("1e-25"), Decimal("1e-13")
# Singular values of the closures below this part of the largest belong to idle motion.
_NULL_MOTION = 1e-7


@physics(y=unknowns_shape, x=pose_shape)
def iterated_residual(robot: Robot, y: Array, x: Array) -> Array:
    """What iterated loops leave open (rows,), over the robot's size; then |q|^2 - 1 of quaternions.

    Last come angles that count turns, less their entries of y.
    """
    mechanism = mechanism_of(robot)
    now = configuration(robot, x, y)
    residual = closure_residual(robot, now.motion)
    gaps = [residual[row] / mechanism.row_scale[row] for row in mechanism.iterated_rows]
    quaternions = [y[axis.y] for axis in mechanism.iterated_axes if axis.primitive is Primitive.SPHERICAL]
    gaps += [np.sum(quat * quat) - 1.0 for quat in quaternions]
    counted = zip(y[mechanism.iterated_count :], mechanism.counted, strict=True)
    return pack(gaps + [value - now.coordinates[axis] for value, axis in counted])


class PreciseStates:
    """States of a robot; with groups, of the robot with some free numbers.

    Attributes:
        robot: the robot.
        mechanism: its analysis.
        parameters: its free numbers, where these are inputs of programs.
    """

    def __init__(self, robot: Robot, groups: tuple[str, ...] = (), values: Array | None = None) -> None:
        """States of a robot as described, or with other values of the free numbers of some groups.

        Args:
            robot: the robot.
            groups: of free numbers that are inputs of programs.
            values: of these numbers.
        """
        self._nominal, self._groups = robot, groups
        self.parameters = [] if values is None else decimals(values)
        self.robot = robot if values is None else robot.with_numbers(values, *groups)
        self.mechanism = mechanism_of(self.robot)
        self._programs: dict[str, Program] = {}
        self._states: dict[tuple[bytes, bytes], tuple[Decimals, Decimals] | None] = {}

    def at(self, x: Array, y: Array) -> tuple[Decimals, Decimals] | None:
        """The state (x, y) near one in double; None if the loops do not close there."""
        key = (x.tobytes(), y.tobytes())
        if key not in self._states:
            with localcontext(decimal_context()):
                pose = self._normalise_pose(x)
                unknowns = self._close_loops(decimals(y), pose) if len(y) else []
            self._states[key] = None if unknowns is None else (pose, unknowns)
        return self._states[key]

    def _normalise_pose(self, x: Array) -> Decimals:
        """The pose with a quaternion of unit length to all digits."""
        numbers = decimals(x)
        quaternion = self.mechanism.layout.quaternion
        if quaternion is not None:
            length = sum((value * value for value in numbers[quaternion]), Decimal(0)).sqrt()
            numbers[quaternion] = [value / length for value in numbers[quaternion]]
        return numbers

    def program(self, function: Callable[..., Any]) -> Program:
        """A function of this robot as a program."""
        program = self._programs.get(function.__name__)
        if program is None:
            shapes = input_shapes(function, self.robot)
            assert shapes is not None
            if self._groups:
                shapes = {"parameters": (len(self.parameters),), **shapes}
            program = make_program(
                function, self._nominal, shapes, groups=self._groups, minimise=False, verify=False
            )
            self._programs[function.__name__] = program
        return program

    def _close_loops(self, y: Decimals, x: Decimals) -> Decimals | None:
        """The unknowns to all digits; None if the loops do not close."""
        program = self.program(iterated_residual)

        def gaps(values: Decimals) -> Decimals:
            return evaluate_decimal(program, [*self.parameters, *values, *x])

        units, now = unknown_units(self.mechanism), gaps(y)
        inverse: Array | None = None
        last = Decimal(1)
        for _ in range(_STEPS):
            scale = max((abs(gap) for gap in now), default=Decimal(0))
            if not scale:
                return y
            # The Jacobian is computed anew as long as steps are long.
            if inverse is None or last > _LONG:
                inverse = _pseudo_inverse(program, self.parameters, y, x)
            if inverse is None or not scale.is_finite() or scale > 1:
                return None
            step = inverse @ np.array([float(gap / scale) for gap in now])
            y = [value - Decimal(float(part)) * scale for value, part in zip(y, step, strict=True)]
            size = Decimal(float(np.max(np.abs(step / units)))) * scale
            if size < _CONVERGED or (size > last / 1000 and size < _STALLED):
                break
            last, now = size, gaps(y)
        return y if max(abs(gap) for gap in gaps(y)) < _CLOSED else None


def _pseudo_inverse(program: Program, before: Decimals, y: Decimals, after: Decimals) -> Array | None:
    """Pseudo-inverse in double of the Jacobian of a program's results by some inputs, y, amid others."""
    at = np.array([float(value) for value in (*before, *y, *after)])
    count, first = len(y), len(before)
    points = np.tile(at, (2 * count, 1))
    step = np.zeros((count, at.size))
    step[:, first : first + count] = _DISTANCE * np.eye(count)
    points += np.concatenate([step, -step])
    with np.errstate(all="ignore"):
        results = [np.broadcast_to(value, 2 * count) for value in program.evaluate(list(points.T))]
    J = np.array([(values[:count] - values[count:]) / (2.0 * _DISTANCE) for values in results])
    return np.asarray(np.linalg.pinv(J, rcond=_NULL_MOTION)) if np.all(np.isfinite(J)) else None


def decimals(values: Array) -> Decimals:
    """Floats, taken as exact."""
    return [Decimal(float(value)) for value in values]


# How far samples are from the reference at first, over the robot's size or in rad; each is drawn nearer
# where the robot does not follow. Rotation vectors change their form at 0.03 rad: samples are on either
# side of it.
_PROOF_REACHES = (0.2, 0.012, 0.3, 0.015)
_CHECK_REACHES = (0.25, 0.02)
_TRIES = 8
_SEED = 11
# Seeds of the free numbers of robots, where these are inputs.
_ROBOTS = (31, 32, 33)


# Gives inputs that follow from a state: called with the states of a robot, x, y, v and a.
DerivedInputs = Callable[[PreciseStates, Decimals], dict[str, Decimals]]


def input_samples(
    robot: Robot,
    shapes: Mapping[str, tuple[int, ...]],
    groups: tuple[str, ...] = (),
    derived: DerivedInputs | None = None,
) -> PreciseInputs | None:
    """Samples of the inputs of a function; None where no states of the robot are found.

    Inputs are known by their names: x, y; q, q_dot, q_ddot. All others are independent, and drawn at random,
    or derived. With groups the first input are the robot's free numbers of these groups: rows are those of
    several robots, each number drawn on its own, at states that are solved for these robots.

    Args:
        robot: the robot.
        shapes: names and shapes of the inputs.
        groups: of free numbers that are the first input, "parameters".
        derived: gives inputs that follow from the state and its derivatives, by name.
    """
    states = _states(robot.without_rounding_differences, groups)
    if states is None:
        return None
    rng = np.random.default_rng(_SEED)
    turns = np.random.default_rng(_SEED + 1)
    rows = [_input_row(_add_turns(state, turns), shapes, derived, rng) for state in states]
    sizes = tuple(size for name, shape in shapes.items() for size in _input_sizes(states[0], name, shape))
    return PreciseInputs(tuple(rows[: len(_PROOF_REACHES)]), tuple(rows[len(_PROOF_REACHES) :]), sizes)


def values_at_reference(robot: Robot, function: Callable[..., Any]) -> Decimals | None:
    """Results of a function of x and y at the reference pose, with 50 digits.

    None where the loops do not close to all digits or a result is not finite.
    """
    states = PreciseStates(robot)
    solution = states.at(*states.mechanism.reference)
    return None if solution is None else _finite_values(_State(states, *solution), function)


def values_at_states(robot: Robot, function: Callable[..., Any]) -> list[Decimals] | None:
    """The same at the states of `input_samples`; None where these are not found."""
    states = _states(robot.without_rounding_differences, ())
    if states is None:
        return None
    values = [_finite_values(state, function) for state in states]
    complete = [row for row in values if row is not None]
    return complete if len(complete) == len(values) else None


# ---- states


class _State(NamedTuple):
    """A state with all digits: pose and unknowns, of a robot among others with its free numbers."""

    states: PreciseStates
    x: Decimals
    y: Decimals


def _finite_values(state: _State, function: Callable[..., Any]) -> Decimals | None:
    """Results of a function of x and y at a state; None if one is not finite."""
    states, x, y = state
    values = evaluate_decimal(states.program(function), [*x, *y])
    return values if all(value.is_finite() for value in values) else None


@lru_cache(maxsize=64)
def _states(robot: Robot, groups: tuple[str, ...]) -> tuple[_State, ...] | None:
    """The states of proof, then those of the check; None where the robot does not follow.

    With groups two states of proof each are of the first robots, on either side of 0.03 rad, those of the
    check of the last. They are solved once for all functions of a robot.
    """
    if groups:
        numbers = [robot.numbers.sample(*groups, seed=seed) for seed in _ROBOTS]
        solvers = [PreciseStates(robot, groups, values) for values in numbers]
    else:
        solvers = [PreciseStates(robot)] * len(_ROBOTS)
    rng = np.random.default_rng(_SEED)
    reaches = [(solvers[k // 2], reach) for k, reach in enumerate(_PROOF_REACHES)]
    reaches += [(solvers[-1], reach) for reach in _CHECK_REACHES]
    solutions = [_solve_state(states, reach, rng) for states, reach in reaches]
    complete = tuple(state for state in solutions if state is not None)
    return complete if len(complete) == len(solutions) else None


def _solve_state(states: PreciseStates, reach: float, rng: np.random.Generator) -> _State | None:
    """A state; None if the robot does not follow."""
    # Joints that couplings make fast, as those of screws, leave their branch where they are shaken.
    for shaken in (1e-2, 0.0):
        near = reach
        for _ in range(_TRIES):
            with localcontext(decimal_context()):
                start = _draw_start(states, near, rng, shaken)
                state = None if start is None else states.at(*start)
            if state is not None:
                return _State(states, *state)
            near *= 0.6
    return None


def _draw_start(
    states: PreciseStates, reach: float, rng: np.random.Generator, shaken: float
) -> tuple[Array, Array] | None:
    """A pose x and unknowns y in double on the branch of the reference; None if not found."""
    robot, mechanism = states.robot, states.mechanism
    start = mechanism.assembly
    with np.errstate(all="ignore"):
        if mechanism.has_closed_form:
            held = independent_rate_mask(robot)
            step = np.where(held, rng.uniform(-1.0, 1.0, held.size), 0.0)
            pose, q = integrate_tree(robot, start.platform, start.q_tree, reach * step * rate_scale(robot))
        else:
            closed = sample_closed_configuration(robot, start, reach, rng, perturbation=shaken)
            if closed is None:
                return None
            pose, q = closed[:2]
        x, y = mechanism.coordinates(pose, q)
        return (x, y) if is_on_branch(mechanism, x, y) else None


def _add_turns(state: _State, rng: np.random.Generator) -> _State:
    """A state with whole turns added to the angles of y, where springs tell them apart.

    Relations of angles hold but for whole turns, and so none is taken for an identity.
    """
    states, x, y = state
    y = list(y)
    if not any(joint.has_spring_or_stop for joint in states.robot.joints):
        return state
    with localcontext(decimal_context()):
        for index, _ in states.mechanism.centred_angles:
            y[index] += 2 * int(rng.integers(-1, 2)) * pi()
    return _State(states, x, y)


# ---- inputs


def _input_row(
    state: _State,
    shapes: Mapping[str, tuple[int, ...]],
    derived: DerivedInputs | None,
    rng: np.random.Generator,
) -> Row:
    """All inputs of a function at a state."""
    states, x, y = state
    known: dict[str, Decimals] = {"parameters": states.parameters, "x": x, "y": y}
    derived = _actuator_inputs if derived is None and "q_ddot" in shapes else derived
    row: Decimals = []
    with localcontext(decimal_context()):
        if derived is not None:
            n = states.robot.motion.n
            known |= derived(states, [*x, *y, *_random_decimals(rng, n), *_random_decimals(rng, n)])
        for name, shape in shapes.items():
            size = int(np.prod(shape))
            values = known.get(name)
            row += values if values is not None and len(values) == size else _random_decimals(rng, size)
    return tuple(row)


def _input_sizes(state: _State, name: str, shape: tuple[int, ...]) -> list[float]:
    """To which size the rounding of an input is relative."""
    count, mechanism = int(np.prod(shape)), state.states.mechanism
    if name == "x" and count == mechanism.layout.nx:
        return [float(unit) for unit in pose_units(mechanism)]
    if name == "y" and count == mechanism.unknown_count:
        return [float(unit) for unit in unknown_units(mechanism)]
    return [0.0] * count


def _random_decimals(rng: np.random.Generator, count: int) -> Decimals:
    """Random numbers, 0.5 to 1.5 in size, of either sign."""
    whole = rng.integers(1 << 52, 3 << 52, count)
    sign = rng.integers(0, 2, count)
    return [Decimal(int(w) * (1 if s else -1)) / (1 << 53) for w, s in zip(whole, sign, strict=True)]


def _actuator_inputs(states: PreciseStates, state: Decimals) -> dict[str, Decimals]:
    """Coordinates, rates and accelerations of the actuators."""
    flat = evaluate_decimal(states.program(_actuator_motion), [*states.parameters, *state])
    m = len(states.robot.actuators)
    return {"q": flat[:m], "q_dot": flat[m : 2 * m], "q_ddot": flat[2 * m :]}


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape, a=twist_shape)
def _actuator_motion(robot: Robot, x: Array, y: Array, v: Array, a: Array) -> dict[str, Array]:
    motion = kinematic_model.joint_motions(robot, x, y, v, a)
    return {key: motion[key] for key in ("active", "active_rate", "active_acceleration")}

"""One state: a compiled function at a single pose, as a control loop calls it.

Checks of arrays cost more than most programs. Here the buffers are bound once, and the checks are made on
plain numbers: an *ordinary* state (everything finite, all margins and pivots far from zero, on the branch of
the reference pose) comes straight to its results. Anything else is left to the code for batches, which flags
it or raises the error; both run the same programs and give the same bits.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile import Compiled
from nacelle.emit.track import FOLLOWED, TrackRules
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.branch import branch_of, pose_units
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native, compile_native_newton, compile_native_track
from nacelle.kinematics.pose_input import SHORTEST_QUATERNION
from nacelle.kinematics.solve import newton_steps
from nacelle.kinematics.solve.continuation import closed_tolerance
from nacelle.kinematics.solve.ill_conditioned import regular_thresholds
from nacelle.kinematics.solve.unknowns import guess_settings, step_units
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.tree.spanning_tree import wrap_angles

_FLOAT = np.dtype(np.float64)


class RegularSample(NamedTuple):
    """The results at an ordinary state.

    Attributes:
        x: the pose (nx,), its quaternion normalised.
        y: passive coordinates (ny,).
        results: outputs of the function by name.
    """

    x: Array
    y: Array
    results: dict[str, Array]

    @property
    def flags(self) -> Array:
        """There is nothing to say of an ordinary state: 0."""
        return np.zeros((), dtype=np.int64)


class SingleSample:
    """A compiled function of (x, y, ...) at one state; threads may share it."""

    def __init__(
        self, robot: Robot, program: Callable[[], Compiled], lowest: Mapping[str, float] | None = None
    ) -> None:
        """Prepare, without compiling yet.

        Args:
            robot: the robot.
            program: gives the compiled function; its first inputs are x and y.
            lowest: outputs of an ordinary state that lie above a number, where that is not `weak.ordinary`.
        """
        self._robot, self._program = robot, program
        self._lowest = dict(lowest or {})
        layout = layout_of(robot.motion)
        self._nx = layout.nx
        self._quaternion = None if layout.quaternion is None else layout.quaternion.start
        # Buffers that no thread uses now; None where the program does not run natively.
        self._free: deque[_Buffers] | None = deque()

    def __call__(self, x: Any, guess: Any, *others: Array) -> RegularSample | None:
        """Evaluate at a state; None if it is not ordinary, or not one state.

        Args:
            x: reduced pose.
            guess: start of the iteration: a solution near by, or its y.
            *others: the inputs after x and y, of checked sizes; those that are not given are zero.
        """
        if type(x) is not np.ndarray or x.dtype is not _FLOAT:
            try:
                if len(x) != self._nx:
                    return None
                x = np.asarray(x, dtype=float)
            except (TypeError, ValueError):
                return None
        if x.shape != (self._nx,) or self._free is None:
            return None
        for values in others:
            if values.ndim != 1:
                return None
        try:
            buffers = self._free.pop()
        except IndexError:
            mechanism_of(self._robot)  # whose errors come before anything is compiled
            program = self._program()
            if program.target != "jit":
                self._free = None
                return None
            buffers = _Buffers(self._robot, program, {**regular_thresholds(self._robot), **self._lowest})
        try:
            return self._evaluate(buffers, x, guess, others)
        finally:
            self._free.append(buffers)

    def _evaluate(
        self, buffers: _Buffers, x: Array, guess: Any, others: tuple[Array, ...]
    ) -> RegularSample | None:
        pose, y = buffers.rows[0], buffers.rows[1]
        pose[:] = x
        for row, entries in zip(buffers.rows[2:], others, strict=False):
            row[:] = entries
        solve = buffers.track if guess is None else buffers.solve
        if solve is None and y.size:  # angles count turns: the code for batches follows them
            return None
        if guess is not None:
            start = getattr(guess, "y", guess)
            if type(start) is not np.ndarray or start.shape != y.shape:
                return None
            buffers.start[:] = start
            y[:] = start
        numbers = buffers.inputs.tolist()
        # A sum is finite only if all numbers are.
        if not math.isfinite(sum(numbers)):
            return None
        k = self._quaternion
        if k is not None:
            a, b, c, d = numbers[k : k + 4]
            length = math.sqrt(a * a + b * b + c * c + d * d)
            if not SHORTEST_QUATERNION < length < math.inf:
                return None
            pose[k], pose[k + 1], pose[k + 2], pose[k + 3] = (
                a / length,
                b / length,
                c / length,
                d / length,
            )
        if solve is not None and not solve():
            return None
        buffers.run()
        values = buffers.outputs.copy()
        numbers = values.tolist()
        if not math.isfinite(sum(numbers)):
            return None
        for part, lowest in buffers.lowest:
            if min(numbers[part]) < lowest:
                return None
        results = {
            name: values[part] if shape is None else values[part].reshape(shape)
            for name, part, shape in buffers.parts
        }
        return RegularSample(pose.copy(), y.copy(), results)


class _Buffers:
    """Buffers of one call: inputs and outputs side by side, bound to programs.

    Attributes:
        inputs: all inputs.
        rows: the inputs one by one, x and y first.
        outputs: all outputs.
        parts: name and place of each output, and its shape where it is no vector.
        lowest: places of outputs, and the number that they lie above at an ordinary state.
        start: where iteration begins (ny,).
        run: evaluates the function.
        solve: finds y from `start`; says whether it is near it, and on the branch of the reference pose. None
            if there is nothing to find.
        track: finds y by following it from the reference pose in a straight way, and says so; likewise.
    """

    def __init__(self, robot: Robot, program: Compiled, lowest: Mapping[str, float]) -> None:
        self.inputs, inputs = _contiguous_arrays(program.inputs)
        self.outputs, results = _contiguous_arrays(program.outputs)
        self.rows = list(inputs.values())
        self.run = program.bind(**inputs, **results).call
        ends = np.cumsum([0, *(array.size for array in results.values())]).tolist()
        self.parts: list[tuple[str, slice, tuple[int, ...] | None]] = []
        self.lowest: list[tuple[slice, float]] = []
        for (name, array), first, last in zip(results.items(), ends, ends[1:], strict=False):
            part = slice(first, last)
            self.parts.append((name, part, None if array.ndim == 1 else array.shape))
            if name in lowest and array.size:
                self.lowest.append((part, lowest[name]))
        x, y = self.rows[:2]
        self.start = np.zeros(y.shape)
        self.solve: Callable[[], bool] | None = None
        self.track: Callable[[], bool] | None = None
        if y.size:
            on_branch = bind_branch_check(robot, x, y)
            self.solve = _bind_guess_solver(robot, self.start, x, y, on_branch)
            self.track = _bind_reference_solver(robot, x, y, on_branch)


def _contiguous_arrays(shapes: Mapping[str, tuple[int, ...]]) -> tuple[Array, dict[str, Array]]:
    """An array with room for variables of some shapes, and the parts of it that are theirs."""
    sizes = [math.prod(shape) for shape in shapes.values()]
    whole = np.zeros(sum(sizes))
    ends = np.cumsum(sizes).tolist()
    parts = zip(shapes.items(), sizes, ends, strict=True)
    return whole, {name: whole[end - size : end].reshape(shape) for (name, shape), size, end in parts}


def bind_branch_check(robot: Robot, x: Array, y: Array) -> Callable[[], bool]:
    """A function that says whether y at x is on the branch of the reference pose by its signs."""
    if not branch_of(robot).size:
        return lambda: True
    signs = compile_native(kinematic_model.branch_signs, robot).bind(x=x, y=y)
    check, numbers = signs.call, next(array for name, array in signs.arrays.items() if name not in ("x", "y"))

    def is_on_branch() -> bool:
        check()
        return bool(min(numbers.tolist()) >= 0.0)

    return is_on_branch


def _bind_guess_solver(
    robot: Robot, start: Array, x: Array, y: Array, on_branch: Callable[[], bool]
) -> Callable[[], bool]:
    """A function that finds y at x from a start near by, as `unknowns` does with a guess."""
    solver = compile_native_newton(newton_steps.loop_closing_step, robot)
    close = solver.bind(start, x, y, **guess_settings(mechanism_of(robot)))
    return lambda: close() == 0 and on_branch()


def _bind_reference_solver(
    robot: Robot, x: Array, y: Array, on_branch: Callable[[], bool]
) -> Callable[[], bool] | None:
    """A function that finds y at x from the reference pose, as `unknowns` does without a guess.

    None where angles count turns.
    """
    mechanism = mechanism_of(robot)
    if mechanism.counted:
        return None
    tracker = compile_native_track(newton_steps.closing_path_step, robot)
    (x0, y0), goal = (np.array(part, dtype=float) for part in mechanism.reference), np.zeros(x.shape)
    quaternion = mechanism.layout.quaternion
    rules = TrackRules(closed_tolerance(robot), step_units(mechanism), pose_units(mechanism))
    follow = tracker.bind(y0, x0, goal, y, rules)
    centred = mechanism.centred_angles

    def solve() -> bool:
        goal[:] = x
        if quaternion is not None and float(x0[quaternion] @ x[quaternion]) < 0.0:
            goal[quaternion] *= -1.0
        if follow.call() != FOLLOWED:
            return False
        for index, centre in centred:
            off = y[index] - centre
            if not -math.pi <= off <= math.pi:
                y[index] = wrap_angles(y[index], centre)
        return on_branch()

    return solve


@lru_cache(maxsize=512)
def single_sample(function: Callable[..., Any], robot: Robot, **options: Any) -> SingleSample:
    """A physics function at one state of a robot; arguments as in `native`."""
    return SingleSample(robot, lambda: compile_native(function, robot, **options))

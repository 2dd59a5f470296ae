"""States of a robot with 50 digits: poses, and what iteration finds there, solved to all of them.

    y <- y - J^+ r(x, y),    r what the closures leave open, with 50 digits, J its Jacobian in double,

which gains some nine digits a step.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from nacelle.compile import make_program
from nacelle.kinematics.iteration.branch import unknown_units
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.shapes import of_pose, of_unknowns
from nacelle.kinematics.tree.closure import closure_gaps
from nacelle.kinematics.tree.configuration import configuration
from nacelle.model.joint import Primitive
from nacelle.model.robot import Robot
from nacelle.program.precise import DIGITS, arithmetic, exact
from nacelle.program.program import Program
from nacelle.spatial.physics import input_shapes, physics
from nacelle.spatial.scalar import Array, pack

Numbers = list[Decimal]

# Newton's iteration: steps, the distance of the difference quotient, and long steps.
_STEPS = 16
_DISTANCE = 1e-5
_LONG = Decimal("1e-8")
# Closures that contradict one another by the rounding of their numbers stay open by that: steps end here.
_STALLED, _CLOSED = Decimal("1e-25"), Decimal("1e-13")
# Singular values of the closures below this part of the largest belong to idle motion.
_IDLE = 1e-7


@physics(y=of_unknowns, x=of_pose)
def open_loops(robot: Robot, y: Array, x: Array) -> Array:
    """What iterated loops leave open (rows,), over the robot's size; then |q|^2 - 1 of quaternions.

    Last come angles that count turns, less their entries of y.
    """
    mechanism = mechanism_of(robot)
    now = configuration(robot, x, y)
    residual = closure_gaps(robot, now.motion)
    rows = [
        *mechanism.nacelle_rows,
        *(row for k in mechanism.iterated_legs for row in mechanism.legs[k].rows),
    ]
    gaps = [residual[row] / mechanism.row_scale[row] for row in rows]
    gaps += [np.sum(y[place] * y[place]) - 1.0 for place in _quaternions(mechanism)]
    counted = zip(y[mechanism.iterated_size :], mechanism.counted, strict=True)
    return pack(gaps + [value - now.coordinates[axis] for value, axis in counted])


def _quaternions(mechanism: Mechanism) -> list[slice]:
    """Places of quaternions in y."""
    places, start = [], mechanism.chart_size
    for j in mechanism.iterated_joints:
        for primitive in mechanism.robot.joints[j].primitives:
            if primitive is Primitive.SPHERICAL:
                places.append(slice(start, start + 4))
            start += primitive.nq
    return places


class PreciseStates:
    """States of a robot; with groups, of the robot with some free numbers.

    Attributes:
        robot: the robot.
        mechanism: its analysis.
        parameters: its free numbers, where these are inputs of programs.
    """

    def __init__(
        self,
        robot: Robot,
        groups: tuple[str, ...] = (),
        values: Array | None = None,
        *,
        digits: int = DIGITS,
    ) -> None:
        """States of a robot as described, or with other values of the free numbers of some groups.

        Args:
            robot: the robot.
            groups: of free numbers that are inputs of programs.
            values: of these numbers.
            digits: to which loops are closed, 50 at most.
        """
        self._converged = Decimal(10) ** -(digits + 2)
        self._described, self._groups = robot, groups
        self.parameters = [] if values is None else as_numbers(values)
        self.robot = robot if values is None else robot.with_numbers(values, *groups)
        self.mechanism = mechanism_of(self.robot)
        self._programs: dict[str, Program] = {}
        self._states: dict[tuple[bytes, bytes], tuple[Numbers, Numbers] | None] = {}

    def at(self, x: Array, y: Array) -> tuple[Numbers, Numbers] | None:
        """The state (x, y) near one in double; None if the loops do not close there."""
        key = (x.tobytes(), y.tobytes())
        if key not in self._states:
            with localcontext(arithmetic()):
                pose = self._pose(x)
                unknowns = self._closed(as_numbers(y), pose) if len(y) else []
            self._states[key] = None if unknowns is None else (pose, unknowns)
        return self._states[key]

    def _pose(self, x: Array) -> Numbers:
        """The pose with a quaternion of unit length to all digits."""
        numbers = as_numbers(x)
        place = self.mechanism.layout.quaternion
        if place is not None:
            length = sum((value * value for value in numbers[place]), Decimal(0)).sqrt()
            numbers[place] = [value / length for value in numbers[place]]
        return numbers

    def program(self, function: Callable[..., Any]) -> Program:
        """A function of this robot as a program."""
        program = self._programs.get(function.__name__)
        if program is None:
            shapes = input_shapes(function, self._described)
            assert shapes is not None
            if self._groups:
                shapes = {"parameters": (len(self.parameters),), **shapes}
            program = make_program(
                function, self._described, shapes, groups=self._groups, minimised=False, checked=False
            )
            self._programs[function.__name__] = program
        return program

    def _closed(self, y: Numbers, x: Numbers) -> Numbers | None:
        """The unknowns to all digits; None if the loops do not close."""
        program = self.program(open_loops)

        def gaps(values: Numbers) -> Numbers:
            return exact(program, [*self.parameters, *values, *x])

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
            if size < self._converged or (size > last / 1000 and size < _STALLED):
                break
            last, now = size, gaps(y)
        return y if max(abs(gap) for gap in gaps(y)) < _CLOSED else None


def _pseudo_inverse(program: Program, before: Numbers, y: Numbers, after: Numbers) -> Array | None:
    """Pseudo-inverse in double of the Jacobian of a program's results by some inputs, y, amid others."""
    at = np.array([float(value) for value in (*before, *y, *after)])
    count, first = len(y), len(before)
    moved = np.tile(at, (2 * count, 1))
    step = np.zeros((count, at.size))
    step[:, first : first + count] = _DISTANCE * np.eye(count)
    moved += np.concatenate([step, -step])
    with np.errstate(all="ignore"):
        results = [np.broadcast_to(value, 2 * count) for value in program.evaluate(list(moved.T))]
    J = np.array([(values[:count] - values[count:]) / (2.0 * _DISTANCE) for values in results])
    return np.asarray(np.linalg.pinv(J, rcond=_IDLE)) if np.all(np.isfinite(J)) else None


def as_numbers(values: Array) -> Numbers:
    """Floats, taken as exact."""
    return [Decimal(float(value)) for value in values]

"""Samples of the inputs of a robot's functions with 50 digits, by which identities are recognised.

Poses lie on the branch of the reference, near it and far; what iteration finds there, y, is solved to all
digits:

    y <- y - J^+ r(x, y),    r what the closures leave open, with 50 digits, J its Jacobian in double,

which gains some nine digits a step. Everything else (twists, accelerations, forces, loads) is drawn at
random. An identity is a relation of analytic functions: one that holds at generic points of the branch
holds on all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from nacelle.compile import make_program
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.iteration.branch import is_on_branch, unknown_units
from nacelle.kinematics.iteration.unknowns import pose_units
from nacelle.kinematics.mechanism.assembly import advance, held_rates, rate_scale
from nacelle.kinematics.mechanism.closed import closed_near
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.shapes import of_pose, of_twist, of_unknowns
from nacelle.kinematics.tree.closure import closure_gaps
from nacelle.kinematics.tree.configuration import configuration
from nacelle.model.joint import Primitive
from nacelle.model.robot import Robot
from nacelle.program.identities.samples import Row, Samples
from nacelle.program.precise import arithmetic, exact
from nacelle.program.program import Program
from nacelle.spatial.physics import input_shapes, physics
from nacelle.spatial.scalar import Array, pack

Numbers = list[Decimal]

# How far samples are from the reference at first, over the robot's size or in rad; each is drawn nearer
# where the robot does not follow. Rotation vectors change their form at 0.03 rad: samples are on either
# side of it.
_PROOF = (0.2, 0.012, 0.3, 0.015)
_CHECK = (0.25, 0.02)
_TRIES = 8
_SEED = 11
# Seeds of the free numbers of robots, where these are inputs.
_ROBOTS = (31, 32, 33)
# Newton's iteration: steps, the distance of the difference quotient, long steps, and where it has converged.
_STEPS = 16
_DISTANCE = 1e-5
_LONG = Decimal("1e-8")
_CONVERGED = Decimal("1e-52")
# Closures that contradict one another by the rounding of their numbers stay open by that: steps end here.
_STALLED, _CLOSED = Decimal("1e-25"), Decimal("1e-13")
# Singular values of the closures below this part of the largest belong to idle motion.
_IDLE = 1e-7


@physics(y=of_unknowns, x=of_pose)
def open_loops(robot: Robot, y: Array, x: Array) -> Array:
    """What the loops that iteration closes leave open, over the robot's size; and lengths of quaternions."""
    mechanism = mechanism_of(robot)
    residual = closure_gaps(robot, configuration(robot, x, y).motion)
    rows = [
        *mechanism.nacelle_rows,
        *(row for k in mechanism.iterated_legs for row in mechanism.legs[k].rows),
    ]
    gaps = [residual[row] / mechanism.row_scale[row] for row in rows]
    return pack(gaps + [np.sum(y[place] * y[place]) - 1.0 for place in _quaternions(mechanism)])


def _quaternions(mechanism: Mechanism) -> list[slice]:
    """Places of quaternions in y."""
    places, start = [], mechanism.chart_size
    for j in mechanism.iterated_joints:
        for primitive in mechanism.robot.joints[j].primitives:
            if primitive is Primitive.BALL:
                places.append(slice(start, start + 4))
            start += primitive.nq
    return places


def samples_of(
    robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: tuple[str, ...] = ()
) -> Samples | None:
    """Samples of the inputs of a function; None where no states of the robot are found.

    Inputs are known by their names: x, y; q, q_dot, q_ddot. All others are independent, and drawn at random.
    With groups the first input are the robot's free numbers of these groups: rows are those of several
    robots, each number drawn on its own, at states that are solved for these robots.

    Args:
        robot: the robot.
        shapes: names and shapes of the inputs.
        groups: of free numbers that are the first input, "parameters".
    """
    robot = robot.alike
    if groups:
        numbers = [robot.numbers.sample(*groups, seed=seed) for seed in _ROBOTS]
        drawers = [_Drawer(robot, shapes, groups, values) for values in numbers]
        for drawer in drawers:
            drawer.rng = drawers[0].rng
    else:
        drawers = [_Drawer(robot, shapes)] * len(_ROBOTS)
    # Two rows of proof each from the first robots, on either side of 0.03 rad; those of check from the last.
    proof = [drawers[k // 2].row(reach) for k, reach in enumerate(_PROOF)]
    check = [drawers[-1].row(reach) for reach in _CHECK]
    if any(row is None for row in (*proof, *check)):
        return None
    sizes = tuple(size for name in shapes for size in drawers[0].sizes(name))
    kept = [[row for row in rows if row is not None] for rows in (proof, check)]
    return Samples(tuple(kept[0]), tuple(kept[1]), sizes)


class _Drawer:
    """Draws inputs of a function of a robot; with groups, of the robot with some free numbers."""

    def __init__(
        self,
        robot: Robot,
        shapes: Mapping[str, tuple[int, ...]],
        groups: tuple[str, ...] = (),
        values: Array | None = None,
    ) -> None:
        self.described, self.shapes, self.groups = robot, shapes, groups
        self.parameters = [] if values is None else _numbers(values)
        self.robot = robot if values is None else robot.with_numbers(values, *groups)
        self.mechanism = mechanism_of(self.robot)
        self.rng = np.random.default_rng(_SEED)
        self._programs: dict[str, Program] = {}

    def row(self, reach: float) -> Row | None:
        """One sample; None if the robot does not follow."""
        for _ in range(_TRIES):
            with localcontext(arithmetic()):
                row = self._row(reach)
            if row is not None:
                return row
            reach *= 0.6
        return None

    def _row(self, reach: float) -> Row | None:
        start = self._state(reach)
        if start is None:
            return None
        x, y = self._precise_pose(start[0]), _numbers(start[1])
        if y:
            solved = self._closed(y, x)
            if solved is None:
                return None
            y = solved
        given: dict[str, Numbers] = {"parameters": self.parameters, "x": x, "y": y}
        if "q_ddot" in self.shapes:
            given |= self._actuators(given)
        row: Numbers = []
        for name, shape in self.shapes.items():
            size = int(np.prod(shape))
            values = given.get(name)
            if values is None or len(values) != size:
                values = self._random(size)
            row += values
        return tuple(row)

    def sizes(self, name: str) -> list[float]:
        """To which size the rounding of an input is relative."""
        count = int(np.prod(self.shapes[name]))
        if name == "x" and count == self.mechanism.layout.nx:
            return [float(unit) for unit in pose_units(self.mechanism)]
        if name == "y" and count == self.mechanism.ny:
            return [float(unit) for unit in unknown_units(self.mechanism)]
        return [0.0] * count

    # ---- states

    def _state(self, reach: float) -> tuple[Array, Array] | None:
        """A pose x and unknowns y in double on the branch of the reference; None if there is none."""
        robot, mechanism, start = self.robot, self.mechanism, self.mechanism.assembly
        with np.errstate(all="ignore"):
            if mechanism.closed_form:
                held = held_rates(robot)
                step = np.where(held, self.rng.uniform(-1.0, 1.0, held.size), 0.0)
                pose, q = advance(robot, start.platform, start.q, reach * step * rate_scale(robot))
            else:
                closed = closed_near(robot, start, reach, self.rng)
                if closed is None:
                    return None
                pose, q = closed[:2]
            x, dependent = mechanism.chart.coordinates(pose)
            for name in robot.motion.joint_names:
                x[mechanism.layout.x_index(name)] = q[robot.q_slices[robot.joint(name)]][0]
            y = mechanism.unknowns(dependent, q)
            return (x, y) if is_on_branch(mechanism, x, y) else None

    def _precise_pose(self, x: Array) -> Numbers:
        """The pose with a quaternion of unit length to all digits."""
        numbers = _numbers(x)
        place = self.mechanism.layout.quaternion
        if place is not None:
            length = sum((value * value for value in numbers[place]), Decimal(0)).sqrt()
            numbers[place] = [value / length for value in numbers[place]]
        return numbers

    def _program(self, function: Callable[..., Any]) -> Program:
        """A function of this robot as a program."""
        program = self._programs.get(function.__name__)
        if program is None:
            shapes = input_shapes(function, self.described)
            assert shapes is not None
            if self.groups:
                shapes = {"parameters": (len(self.parameters),), **shapes}
            program = make_program(function, self.described, shapes, groups=self.groups, minimised=False)
            self._programs[function.__name__] = program
        return program

    def _closed(self, y: Numbers, x: Numbers) -> Numbers | None:
        """The unknowns to all digits; None if the loops do not close."""
        program = self._program(open_loops)

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
            if size < _CONVERGED or (size > last / 1000 and size < _STALLED):
                break
            last, now = size, gaps(y)
        return y if max(abs(gap) for gap in gaps(y)) < _CLOSED else None

    # ---- inputs

    def _random(self, count: int) -> Numbers:
        """Random numbers, 0.5 to 1.5 in size, of either sign."""
        whole = self.rng.integers(1 << 52, 3 << 52, count)
        sign = self.rng.integers(0, 2, count)
        return [Decimal(int(w) * (1 if s else -1)) / (1 << 53) for w, s in zip(whole, sign, strict=True)]

    def _actuators(self, given: dict[str, Numbers]) -> dict[str, Numbers]:
        """Coordinates, rates and accelerations of the actuators at random twists."""
        program = self._program(_actuator_motion)
        n = self.robot.motion.n
        flat = exact(
            program, [*self.parameters, *given["x"], *given["y"], *self._random(n), *self._random(n)]
        )
        m = len(self.robot.actuators)
        return {"q": flat[:m], "q_dot": flat[m : 2 * m], "q_ddot": flat[2 * m :]}


@physics(x=of_pose, y=of_unknowns, v=of_twist, a=of_twist)
def _actuator_motion(robot: Robot, x: Array, y: Array, v: Array, a: Array) -> dict[str, Array]:
    motion = kinematic_model.joint_motions(robot, x, y, v, a)
    return {key: motion[key] for key in ("active", "active_rate", "active_acceleration")}


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


def _numbers(values: Array) -> Numbers:
    """Floats, taken as exact."""
    return [Decimal(float(value)) for value in values]

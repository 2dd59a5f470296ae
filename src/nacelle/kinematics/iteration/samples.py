"""Samples of the inputs of a robot's functions with 50 digits, by which identities are recognised.

Poses lie on the branch of the reference, near it and far; what iteration finds there, y, is solved to all
digits (`precise_states`). Everything else (twists, accelerations, forces, loads) is drawn at random. An
identity is a relation of analytic functions: one that holds at generic points of the branch holds on all
of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext

import numpy as np

from nacelle.kinematics import kinematic_model
from nacelle.kinematics.iteration.branch import is_on_branch, pose_units, unknown_units
from nacelle.kinematics.iteration.precise_states import Numbers, PreciseStates
from nacelle.kinematics.mechanism.assembly import advance, held_rates, rate_scale
from nacelle.kinematics.mechanism.closed import closed_near
from nacelle.kinematics.shapes import of_pose, of_twist, of_unknowns
from nacelle.model.robot import Robot
from nacelle.program.identities.samples import PreciseInputs, Row
from nacelle.program.precise import arithmetic, exact
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array

# How far samples are from the reference at first, over the robot's size or in rad; each is drawn nearer
# where the robot does not follow. Rotation vectors change their form at 0.03 rad: samples are on either
# side of it.
_PROOF = (0.2, 0.012, 0.3, 0.015)
_CHECK = (0.25, 0.02)
_TRIES = 8
_SEED = 11
# Seeds of the free numbers of robots, where these are inputs.
_ROBOTS = (31, 32, 33)


# Gives inputs that follow from a state: called with the states of a robot, x, y, v and a.
Derived = Callable[[PreciseStates, Numbers], dict[str, Numbers]]


def input_samples(
    robot: Robot,
    shapes: Mapping[str, tuple[int, ...]],
    groups: tuple[str, ...] = (),
    derived: Derived | None = None,
) -> PreciseInputs | None:
    """Samples of the inputs of a function; None where no states of the robot are found.

    Inputs are known by their names: x, y; q, q_dot, q_ddot. All others are independent, and drawn at random.
    With groups the first input are the robot's free numbers of these groups: rows are those of several
    robots, each number drawn on its own, at states that are solved for these robots.

    Args:
        robot: the robot.
        shapes: names and shapes of the inputs.
        groups: of free numbers that are the first input, "parameters".
        derived: gives inputs that follow from the state and its derivatives, by name.
    """
    robot = robot.alike
    if groups:
        numbers = [robot.numbers.sample(*groups, seed=seed) for seed in _ROBOTS]
        drawers = [_Drawer(robot, shapes, groups, values, derived) for values in numbers]
        for drawer in drawers:
            drawer.rng = drawers[0].rng
    else:
        drawers = [_Drawer(robot, shapes, derived=derived)] * len(_ROBOTS)
    # Two rows of proof each from the first robots, on either side of 0.03 rad; those of check from the last.
    proof = [drawers[k // 2].row(reach) for k, reach in enumerate(_PROOF)]
    check = [drawers[-1].row(reach) for reach in _CHECK]
    if any(row is None for row in (*proof, *check)):
        return None
    sizes = tuple(size for name in shapes for size in drawers[0].sizes(name))
    kept = [[row for row in rows if row is not None] for rows in (proof, check)]
    return PreciseInputs(tuple(kept[0]), tuple(kept[1]), sizes)


class _Drawer:
    """Draws inputs of a function of a robot; with groups, of the robot with some free numbers."""

    def __init__(
        self,
        robot: Robot,
        shapes: Mapping[str, tuple[int, ...]],
        groups: tuple[str, ...] = (),
        values: Array | None = None,
        derived: Derived | None = None,
    ) -> None:
        self.derived = _actuators if derived is None and "q_ddot" in shapes else derived
        self.shapes, self.states = shapes, PreciseStates(robot, groups, values)
        self.robot, self.mechanism = self.states.robot, self.states.mechanism
        self.rng = np.random.default_rng(_SEED)

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
        state = self.states.at(*start)
        if state is None:
            return None
        x, y = state
        given: dict[str, Numbers] = {"parameters": self.states.parameters, "x": x, "y": y}
        if self.derived is not None:
            n = self.robot.motion.n
            given |= self.derived(self.states, [*x, *y, *self._random(n), *self._random(n)])
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

    # ---- inputs

    def _random(self, count: int) -> Numbers:
        """Random numbers, 0.5 to 1.5 in size, of either sign."""
        whole = self.rng.integers(1 << 52, 3 << 52, count)
        sign = self.rng.integers(0, 2, count)
        return [Decimal(int(w) * (1 if s else -1)) / (1 << 53) for w, s in zip(whole, sign, strict=True)]


def _actuators(states: PreciseStates, state: Numbers) -> dict[str, Numbers]:
    """Coordinates, rates and accelerations of the actuators."""
    flat = exact(states.program(_actuator_motion), [*states.parameters, *state])
    m = len(states.robot.actuators)
    return {"q": flat[:m], "q_dot": flat[m : 2 * m], "q_ddot": flat[2 * m :]}


@physics(x=of_pose, y=of_unknowns, v=of_twist, a=of_twist)
def _actuator_motion(robot: Robot, x: Array, y: Array, v: Array, a: Array) -> dict[str, Array]:
    motion = kinematic_model.joint_motions(robot, x, y, v, a)
    return {key: motion[key] for key in ("active", "active_rate", "active_acceleration")}

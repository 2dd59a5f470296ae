"""How geometric numbers and the direction of gravity act on the forces of a measured motion.

The encoders hold the coordinates q of the actuators; were a number p of the description larger, the platform
would be elsewhere. With the derivatives at a held motion of the platform (x, v, a), by the program of the
robot with symbols for its numbers, the change of the forces G at held q, q', q'' is

    dG/dp = dtau/dp - G_q dq/dp - G_q' dq'/dp - G_q'' dq''/dp,      A^T dtau/dp = dR/dp,   R = F - A^T tau

F the force along the reduced twist (n,), A = J_r^-1 (actuators, n), G_q the derivatives along the
coordinates (`effects`). Numbers are those of the description, each with all that follows from it. A number
that would leave closures open alone (one of the two rods of a parallelogram) is taken together with another
of its leg, and equal numbers of several legs are a direction of their own, too: the size of a part of which
there are several. Gravity is tilted about the two directions across it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import combinations

import numpy as np

from nacelle.compile import Compiled, compile_function
from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.dynamics.derivatives.derivatives import (
    POINT_SHAPES,
    DerivativeTape,
    OperatingPoint,
    force_derivatives,
    takes_operating_point,
)
from nacelle.dynamics.physics import ALL_TERMS
from nacelle.dynamics.state import state_at
from nacelle.dynamics.tree_form import generalised_force
from nacelle.identification.data.poses import PlatformMotion
from nacelle.kinematics.motion import solve_loops
from nacelle.kinematics.samples import input_samples
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.model.linear_parameters import with_linear_parameters
from nacelle.model.numbers import GROUPS
from nacelle.model.robot import Robot
from nacelle.program.identities.values import PreciseInputs
from nacelle.spatial.scalar import Array, pack
from nacelle.tree.actuation import actuator_biases
from nacelle.tree.closure import closure_residual

# Closures that a number opens by less than this part of its change stay closed.
_CLOSED = 1e-6
# States at which closures are tested.
_GAP_STATES = 10


@dataclass(frozen=True, eq=False)
class GeometryEffect:
    """What a geometric number changes.

    Attributes:
        cause: "geometry" or "gravity".
        names: of the numbers that change together.
        unit: "m" or "rad".
        force: dtau/dp (N, actuators) at a held motion of the platform, N or N m per unit.
        coordinates: dq/dp, dq'/dp, dq''/dp there, each (N, actuators).
    """

    cause: str
    names: tuple[str, ...]
    unit: str
    force: Array
    coordinates: tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class _Direction:
    """A change of the robot's numbers (numbers,) for one unit of what is named."""

    cause: str
    names: tuple[str, ...]
    unit: str
    change: Array

    def plus(self, direction: _Direction, sign: float = 1.0) -> _Direction:
        """Both together."""
        names = (*self.names, *direction.names)
        return _Direction(self.cause, names, self.unit, self.change + sign * direction.change)


def geometry_effects(
    base: BaseParameters, coef: Array, motion: PlatformMotion, tau: Array
) -> list[GeometryEffect]:
    """The effects of all geometric numbers and of gravity's direction along a motion of N sound poses.

    Args:
        base: the base parameters.
        coef: their estimates (p,).
        motion: of the platform.
        tau: forces that the estimates require there (N, actuators), N or N m.
    """
    robot = base.robot
    x, y, _ = solve_loops(robot, motion.x)
    numbers = _estimated_numbers(base, coef)
    slopes = _compiled_slopes(robot)

    def effects(directions: Sequence[_Direction], every: int = 1) -> dict[str, Array]:
        changes = np.array([direction.change for direction in directions])[:, None, :]
        states = (part[None, ::every] for part in (x, y, motion.v, motion.a, tau))
        return dict(slopes(numbers, changes, *states))

    singles = _free_directions(robot)
    # A few states show what opens closures.
    gaps = effects(singles, max(1, len(x) // _GAP_STATES))["gap"] if singles else np.zeros((0, 0))
    directions = _closed_directions(robot, singles, gaps.reshape(len(singles), -1))
    directions += _common_directions(robot, directions) + _gravity_directions(robot)
    values = effects(directions)
    forces = force_derivatives(values["A"], values["R"][..., None], None)[..., 0]
    return [
        GeometryEffect(
            direction.cause,
            direction.names,
            direction.unit,
            forces[k],
            (values["q"][k], values["rate"][k], values["acceleration"][k]),
        )
        for k, direction in enumerate(directions)
    ]


# ---- directions


def _free_directions(robot: Robot) -> list[_Direction]:
    """The free geometric numbers of the description."""
    slopes, free = robot.numbers.jacobian("geometry"), robot.numbers
    names, quantities = free.names("geometry"), free.quantities("geometry")
    return [
        _Direction("geometry", (name,), "rad" if quantity == "angle" else "m", slopes[:, k])
        for k, (name, quantity) in enumerate(zip(names, quantities, strict=True))
    ]


def _closed_directions(robot: Robot, singles: Sequence[_Direction], gaps: Array) -> list[_Direction]:
    """Numbers that leave the closures closed, alone or two of a leg together."""
    open_gaps = np.max(np.abs(gaps), axis=1, initial=0.0) > _CLOSED
    result = [direction for direction, is_open in zip(singles, open_gaps, strict=True) if not is_open]
    for i, j in combinations(np.flatnonzero(open_gaps).tolist(), 2):
        first, second = singles[i], singles[j]
        if first.unit != second.unit or _leg_of(robot, first) != _leg_of(robot, second):
            continue
        for sign in (1.0, -1.0):
            if np.max(np.abs(gaps[i] + sign * gaps[j])) < _CLOSED:
                result.append(first.plus(second, sign))
    return result


def _common_directions(robot: Robot, directions: Sequence[_Direction]) -> list[_Direction]:
    """Numbers of equal size and name in several legs, all larger together."""
    values = dict(zip(robot.numbers.names("geometry"), robot.numbers.vector("geometry"), strict=True))
    groups: dict[object, list[_Direction]] = {}
    for direction in directions:
        leg, first = _leg_of(robot, direction), values[direction.names[0]]
        if leg:
            tails = tuple(name.removeprefix(f"{leg}.") for name in direction.names)
            groups.setdefault((tails, direction.unit, round(abs(first), 9)), []).append(direction)
    result = []
    for group in groups.values():
        if len(group) > 1:
            signs = [np.sign(values[direction.names[0]]) or 1.0 for direction in group]
            total = group[0]
            for direction, sign in zip(group[1:], signs[1:], strict=True):
                total = total.plus(direction, float(sign * signs[0]))
            result.append(total)
    return result


def _leg_of(robot: Robot, direction: _Direction) -> str:
    """The leg whose number it is; empty for a number of the whole robot."""
    name = direction.names[0]
    return next((leg.name for leg in robot.legs if name.startswith(f"{leg.name}.")), "")


def _gravity_directions(robot: Robot) -> list[_Direction]:
    """Gravity tilted by 1 rad towards the two axes of the base that are most across it."""
    g = np.array(robot.gravity)
    size = float(np.linalg.norm(g))
    if size == 0.0:
        return []
    names = robot.parameter_names()
    indices = [names.index(f"gravity.{axis}") for axis in "xyz"]
    result = []
    for axis in np.argsort(np.abs(g), kind="stable")[:2]:
        across = np.eye(3)[axis] - g * g[axis] / size**2
        change = np.zeros(len(names))
        change[indices] = size * across / np.linalg.norm(across)
        result.append(_Direction("gravity", (f"gravity.{'xyz'[axis]}",), "rad", change))
    return result


# ---- derivatives by numbers


def _estimated_numbers(base: BaseParameters, coef: Array) -> Array:
    """All numbers of the robot with the estimates, and otherwise as near to its own as can be."""
    z, K = base.choice.values, base.K
    sizes = np.abs(z) + 0.1 * np.median(np.abs(z[z != 0.0])) if np.any(z) else np.ones(len(z))
    scaled = K * sizes
    nearest = z + sizes * (np.linalg.pinv(scaled) @ (coef - K @ z))
    return with_linear_parameters(base.robot, base.choice.E @ nearest).parameter_vector()


@takes_operating_point
def geometry_slopes(robot: Robot, p: Array, direction: Array, point: OperatingPoint) -> dict[str, Array]:
    """Derivatives of R, q, q', q'' and of open closures along a direction of the numbers; traced only."""
    robot, (x, y, v, a, tau) = robot.with_symbols(p, *GROUPS), point
    state = state_at(robot, x, y, v)
    now, moving = state.now, state.moving
    A = state.inverse_jacobian
    values = {
        "R": generalised_force(state, a, ALL_TERMS) - A.T @ tau,
        "q": pack([now.coordinate(actuator.joint, 0) for actuator in robot.actuators]),
        "rate": A @ v,
        "acceleration": A @ a + pack(actuator_biases(robot, now.motion, moving.velocity, moving.bias)),
        "gap": closure_residual(robot, now.motion),
    }
    tape = DerivativeTape(robot, x, y)
    seed = tape.seed(p, direction)
    if len(y):
        # Passive coordinates move with the numbers: a step of Newton is -r_y^-1 r.
        dy = tape.along(loop_closing_step(robot, y, x)["dy"], [seed])[..., 0]
        seed = seed | tape.seed(y, dy)
    return {"A": A, **{name: tape.along(value, [seed])[..., 0] for name, value in values.items()}}


@lru_cache(maxsize=32)
def _compiled_slopes(robot: Robot) -> Compiled:
    count = len(robot.parameter_names())
    inputs = {"p": (count,), "direction": (count,)}
    inputs |= {name: shape(robot) for name, shape in POINT_SHAPES.items()}

    def states(robot: Robot, shapes: Mapping[str, tuple[int, ...]]) -> PreciseInputs | None:
        """States of the robot, with its own numbers, at which the program is checked."""
        numbers = list(map(Decimal, robot.parameter_vector().tolist()))
        return input_samples(robot, shapes, derived=lambda *_: {"p": numbers})

    # Minimising so long a program takes longer than it saves.
    return compile_function(geometry_slopes, robot, inputs=inputs, minimise=False, states=states)

"""The flow and the signals of a rigid robot: the derivative of its state, what is measured, over any scalar.

The state is s = [c; v; y]: n coordinates of the pose, the reduced twist, and the passive coordinates (joints
of legs without a closed form). The coordinates c are those of x, with a rotation vector r against a fixed
orientation in the place of the quaternion, quat = exp(r) quat_0, so that quaternions have unit length by
construction; quat_0 is that of the reference pose. Loops are closed at every evaluation: in closed form, or
by a Newton step on y, which starts from a y that was integrated and so is left with the square of a rounding.

Angles that count turns (`counting`) are the last entries of y, integrated too; they only say which of the
angles a turn apart is meant, and the angle itself is that of the pose, to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from nacelle.dynamics import model_functions
from nacelle.dynamics.external import project_wrenches
from nacelle.dynamics.physics import ALL_TERMS, Physics
from nacelle.dynamics.state import state_at
from nacelle.kinematics.configuration import configuration, rate_map
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.samples import Decimals, PreciseStates, input_samples
from nacelle.kinematics.shapes import actuators_shape, pose_shape, twist_shape, unknowns_shape
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.model.joint import Primitive
from nacelle.model.robot import Robot
from nacelle.program.identities.values import PreciseInputs
from nacelle.program.precise import evaluate_decimal
from nacelle.simulation.feedback import LoopModel, refuse_motor_signals
from nacelle.spatial.physics import check_inputs_with, physics
from nacelle.spatial.rotation import left_jacobian, quat_from_rotation_vector, quat_product
from nacelle.spatial.scalar import Array, Scalar, atan2, dot, pack, sqrt, where
from nacelle.spatial.solve import solve
from nacelle.tree.actuation import rate_rows


def state_size(robot: Robot) -> tuple[int]:
    """Shape of the state s."""
    return (2 * robot.motion.n + mechanism_of(robot).unknown_count,)


def rotation_vector_between(quat_0: Array, quat: Array) -> Array:
    """The shortest rotation vector r (3,) with quat = exp(r) quat_0."""
    back = quat_0 * np.array([-1.0, -1.0, -1.0, 1.0])
    rotation = quat_product(quat, back)
    side = where(rotation[3], 1.0, -1.0)
    square = dot(rotation[:3], rotation[:3])
    small = 1e-16 - square
    length = sqrt(where(small, 1.0, square))
    scale = side * where(small, 2.0, 2.0 * atan2(length, side * rotation[3]) / length)
    return np.asarray(scale * rotation[:3])


def reference_orientation(mechanism: Mechanism) -> Array:
    """The orientation of the reference pose, from which rotations are counted: a quaternion (4,)."""
    quaternion = mechanism.layout.quaternion
    return np.array([0.0, 0.0, 0.0, 1.0] if quaternion is None else mechanism.reference[0][quaternion])


def coordinates_from_pose(mechanism: Mechanism, x: Array, quat_0: Array) -> Array:
    """The coordinates c (n,) of a reduced pose x (nx,); the opposite of `pose_from_coordinates`."""
    quaternion = mechanism.layout.quaternion
    if quaternion is None:
        return x
    return pack(
        [*x[: quaternion.start], *rotation_vector_between(quat_0, x[quaternion]), *x[quaternion.stop :]]
    )


def pose_from_coordinates(mechanism: Mechanism, c: Array, quat_0: Array) -> Array:
    """The reduced pose x (nx,) of coordinates c (n,)."""
    layout = mechanism.layout
    if layout.quaternion is None or layout.angular is None:
        return c
    quat = quat_product(quat_from_rotation_vector(c[layout.angular]), quat_0)
    first = layout.angular.start
    return pack([*c[:first], *quat, *c[first + 3 :]])


# Value of the numbers of a state that the robot does not have.
FILL_VALUE = Decimal("0.3")


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape, a=twist_shape)
def _state_at(robot: Robot, x: Array, y: Array, v: Array, a: Array) -> dict[str, Array]:
    """The state s and the orientation from which rotations are counted, at a pose and a twist."""
    del a
    mechanism = mechanism_of(robot)
    quat_0 = reference_orientation(mechanism)
    return {"s": pack([*coordinates_from_pose(mechanism, x, quat_0), *v, *y]), "quat_0": quat_0}


def state_samples(
    robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: tuple[str, ...] = ()
) -> PreciseInputs | None:
    """Samples of inputs (s, tau, quat_0), for the check of programs (`nacelle.compile.check`).

    States may go on behind those of the robot: with numbers of drives and controllers.
    """

    def derive_inputs(states: PreciseStates, state: Decimals) -> dict[str, Decimals]:
        flat = evaluate_decimal(states.program(_state_at), [*states.parameters, *state])
        more = shapes["s"][0] + 4 - len(flat) if "s" in shapes else 0
        return {"s": [*flat[:-4], *(FILL_VALUE for _ in range(more))], "quat_0": flat[-4:]}

    return input_samples(robot, shapes, groups, derive_inputs)


@check_inputs_with(state_samples)
@physics(s=state_size, tau=actuators_shape, quat_0=(4,))
def flow(
    robot: Robot,
    s: Array,
    tau: Array,
    quat_0: Array,
    *,
    physics: Physics = ALL_TERMS,
    external: tuple[tuple[int, tuple[float, ...]], ...] = (),
) -> Array:
    """Derivative of the state at actuator forces tau (actuators,).

    `external` are constant wrenches [f; n] in base axes on bodies and tools, by index.
    """
    mechanism = mechanism_of(robot)
    n = robot.motion.n
    c, v, y = s[:n], s[n : 2 * n], s[2 * n :]
    x = pose_from_coordinates(mechanism, c, quat_0)
    if not mechanism.has_closed_form:
        y = y + loop_closing_step(robot, y, x)["dy"]
    load = np.zeros(n)
    if external:
        load = project_wrenches(state_at(robot, x, y, v), {k: np.array(wrench) for k, wrench in external})
    a = model_functions.forward(robot, x, y, v, tau, load, physics=physics)["acceleration"]
    c_rate, y_rate = _coordinate_rates(robot, x, y, v, c)
    return pack([*c_rate, *a, *y_rate])


def rigid_signals(robot: Robot, s: Array, quat_0: Array, names: Sequence[str]) -> dict[str, Any]:
    """Signals of a rigid robot at its state: x, y, v, and of the actuators by inverse kinematics q and qd."""
    refuse_motor_signals(robot, names)
    mechanism, n = mechanism_of(robot), robot.motion.n
    x, v, y = pose_from_coordinates(mechanism, s[:n], quat_0), s[n : 2 * n], s[2 * n :]
    if mechanism.unknown_count:
        y = y + loop_closing_step(robot, y, x)["dy"]
    signals: dict[str, Any] = {"x": x, "y": y, "v": v}
    if "q" in names or "qd" in names:
        actuators = inverse_jacobian(robot, x, y)
        signals |= {"q": actuators["q"], "qd": actuators["J"] @ v}
    return signals


RIGID_MODEL = LoopModel(flow, rigid_signals)


def coordinate_rates_from_twist(robot: Robot, x: Array, y: Array, twist: Array) -> tuple[list[int], Array]:
    """The platform's twist (m,) or (m, k) as rates of coordinates in x and of the dependent numbers.

    With parasitic motion the rate of a coordinate in x is not the entry of the reduced twist at its place.

    Returns:
        places of the coordinates in x, and the rates: theirs first, then those of the dependent numbers.
    """
    mechanism, m = mechanism_of(robot), robot.platform_nv
    dependent = y[: mechanism.dependent_count]
    columns = [k for k, rate in enumerate(mechanism.independent) if rate < m]
    basis = np.concatenate(
        [mechanism.chart.twists(x, dependent)[:, columns], mechanism.chart.dependent_twists(x, dependent)],
        axis=1,
    )
    return columns, solve(basis, twist)


def _coordinate_rates(
    robot: Robot, x: Array, y: Array, v: Array, c: Array
) -> tuple[list[Scalar], list[Scalar]]:
    """Rates of the coordinates and of the passive coordinates."""
    mechanism = mechanism_of(robot)
    layout = mechanism.layout
    rates = list(v)
    if layout.angular is not None:
        angular = layout.angular
        rates[angular] = list(solve(left_jacobian(c[angular]), v[angular]))
    if not mechanism.unknown_count:
        return rates, []
    now = configuration(robot, x, y)
    u = rate_map(now) @ v
    y_rates: list[Scalar] = []
    if mechanism.parasitic:
        columns, numbers = coordinate_rates_from_twist(robot, x, y, u[: robot.platform_nv])
        if layout.angular is None:
            for row, k in enumerate(columns):
                rates[k] = numbers[row]
        y_rates += list(numbers[len(columns) :])
    for axis in mechanism.iterated_axes:
        w = u[axis.u]
        spherical = axis.primitive is Primitive.SPHERICAL
        y_rates += list(0.5 * quat_product(y[axis.y], pack([*w, 0.0])) if spherical else w)
    y_rates += [rate_rows(robot, now.motion, j)[number][0] @ u for j, number in mechanism.counted]
    return rates, y_rates

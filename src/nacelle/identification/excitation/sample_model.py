"""One sample of a motion: what the regressor and the limits see there, and how both change with the motion.

A motion is given by n coordinates c(t) and their derivatives c', c''. They are those of the reduced pose x,
with a rotation vector r in the place of a quaternion, q = exp(r) q_0, so

    v = c',  dv/dt = c''        w = J(r) r',  dw/dt = J r'' + bias(r, r')        (`rotation_vector`)

and, for tilts with parasitic motion, v = T(x) c' (`nacelle.trajectory.sample_trajectory`). Passive
coordinates y are constants at which the loops are closed; one Newton step y - r_y^-1 r(x, y) added to them is
zero there, but has dy/dx = -r_y^-1 r_x, the implicit function theorem. So all is a function of c, c', c''.

Rows of the regressor are weighted by the standard deviation s_i of the noise of each actuator's force. With A
= J_r^-1 and S = diag(s^2) the rows

    R = S^(1/2) A (A^T S A)^-1 A^T Y        (actuators, parameters)

hold what measured forces say along the reduced twist, A^T Gamma = A^T Y p, whatever number of actuators there
are: R^T R = (A^T Y)^T (A^T S A)^-1 A^T Y. Without redundancy they are Y / s, row by row.

Derivatives are vector-Jacobian products: of sum(w z) over all values z with weights w, one sweep backwards
over the traced graph gives the gradients by c, c' and c''.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.compile import Compiled, compile_function
from nacelle.dynamics import model_functions
from nacelle.kinematics.configuration import configuration, rates_at
from nacelle.kinematics.kinematic_model import coordinate_motions, has_tilt_coordinates, inverse_jacobian
from nacelle.kinematics.margins import margins
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.shapes import actuators_shape, jacobian_scales, twist_shape, unknowns_shape
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.model.robot import Robot
from nacelle.program.derivative import reverse
from nacelle.program.trace import Symbol, node_of
from nacelle.simulation.flow import pose_from_coordinates
from nacelle.simulation.rigid_plant import Limit, joint_limits, limited_coordinate
from nacelle.spatial.rotation import left_jacobian, left_jacobian_bias
from nacelle.spatial.scalar import Array, Scalar, atan2, dot, pack, sqrt
from nacelle.spatial.solve import solve
from nacelle.tree.actuation import actuator_biases, actuator_rows
from nacelle.tree.spanning_tree import CosineSine

Options = tuple[tuple[str, Any], ...]


def bounded_coordinates(robot: Robot) -> list[Limit]:
    """The coordinates of actuators and joints that have limits, each once; of one with two the upper one."""
    upper = {(limit.joint, limit.primitive): limit for limit in joint_limits(robot)}
    return list(upper.values())


def state_from_coordinates(
    robot: Robot, c: Array, dc: Array, ddc: Array, *others: Array
) -> tuple[Array, ...]:
    """The state (x, y, v, a) of a robot from coordinates and their derivatives; `rest` is y, quat_0."""
    y, quat_0 = others
    mechanism = mechanism_of(robot)
    x = pose_from_coordinates(mechanism, c, quat_0)
    if mechanism.unknown_count:
        y = y + loop_closing_step(robot, y, x)["dy"]
    v, a = dc, ddc
    angular = mechanism.layout.angular
    if angular is not None:
        J = left_jacobian(c[angular])
        w, w_dot = J @ dc[angular], J @ ddc[angular] + left_jacobian_bias(c[angular], dc[angular])
        v = pack([*dc[: angular.start], *w, *dc[angular.stop :]])
        a = pack([*ddc[: angular.start], *w_dot, *ddc[angular.stop :]])
    elif has_tilt_coordinates(mechanism):
        motion = coordinate_motions(robot, x, y, dc, ddc)
        v, a = motion["v"], motion["a"]
    return x, y, v, a


def limited_values(robot: Robot, c: Array, dc: Array, ddc: Array, *others: Array) -> dict[str, Array]:
    """What kinematic limits are about, as one array "values".

    Rates and accelerations of the actuators (rad or m, s); `bounded_coordinates`, each such that -1 and 1 (or
    1 alone) are its limits; margins of the legs; the inverse condition 1 / (|A| |A^-1|) of the scaled J_r^-1
    in the Frobenius norm, which is below that in the 2-norm; the angle |r|, rad, if there is a quaternion.
    """
    x, y, v, a = state_from_coordinates(robot, c, dc, ddc, *others)
    now = configuration(robot, x, y)
    state = rates_at(now, v)
    rows = actuator_rows(robot, now.motion)
    A = rows @ state.U
    biases = actuator_biases(robot, now.motion, state.velocity, state.bias)
    values: list[Scalar] = [*(rows @ state.u), *(A @ a + pack(biases))]
    values += [_position(limit, limited_coordinate(now, limit)) for limit in bounded_coordinates(robot)]
    values += list(margins(now))
    values.append(_inverse_condition(robot, A))
    angular = mechanism_of(robot).layout.angular
    if angular is not None:
        # Smooth at zero, where the angle itself has no derivative.
        values.append(sqrt(dot(c[angular], c[angular]) + 1e-12))
    return {"values": pack(values)}


def _position(limit: Limit, step: Any) -> Scalar:
    """A coordinate, -1 and 1 at its limits; with a single one 1 there and 0 a metre (sine of 1) before it."""
    low, high = limit.pair
    both = bool(np.isfinite(low) and np.isfinite(high))
    if limit.kind == "spherical":
        return (1.0 - step) / (1.0 - np.cos(high)) if limit.upper else (1.0 + step) / (1.0 + np.cos(low))
    if limit.kind in ("prismatic", "counted"):
        if both:
            return (step - 0.5 * (low + high)) / (0.5 * (high - low))
        return 1.0 + (step - high if limit.upper else low - step)
    assert isinstance(step, CosineSine)
    middle = 0.5 * (low + high) if both else low if np.isfinite(low) else high
    c = step.c * np.cos(middle) + step.s * np.sin(middle)
    s = step.s * np.cos(middle) - step.c * np.sin(middle)
    if both:
        return atan2(s, c) / (0.5 * (high - low))
    return 1.0 + (s if limit.upper else -s)


def _inverse_condition(robot: Robot, A: Array) -> Scalar:
    """1 / sqrt(tr B tr B^-1), B = A^T A of the scaled J_r^-1: at most 1 / n, 0 if singular."""
    rows, columns = jacobian_scales(robot)
    A = A / rows[:, None] * columns
    B = A.T @ A
    opposite = solve(B, np.eye(len(B)), "spd")
    return 1.0 / sqrt(np.trace(B) * np.trace(opposite))


def weighted_rows(
    robot: Robot, sigma: Array, beta: Array, c: Array, dc: Array, ddc: Array, *others: Array, **options: Any
) -> dict[str, Array]:
    """Weighted rows R (actuators, parameters) of the regressor, and the forces Y beta (actuators,), N or N m.

    Args:
        robot: the robot.
        sigma: standard deviations of the actuators' forces (actuators,), N or N m.
        beta: parameters of the columns.
        c: coordinates (n,).
        dc: their rates (n,).
        ddc: the derivatives of these (n,).
        *others: y (ny,), quat_0 (4,).
        **options: of `nacelle.dynamics.model_functions.regressor`.
    """
    x, y, v, a = state_from_coordinates(robot, c, dc, ddc, *others)
    Y = model_functions.regressor(robot, x, y, v, a, outputs="Y", **options)["Y"]
    if len(sigma) == robot.motion.n:
        return {"R": Y / sigma[:, None], "force": Y @ beta}
    A = inverse_jacobian(robot, x, y)["J"]
    weighted = sigma[:, None] * A
    R = weighted @ solve(weighted.T @ weighted, A.T @ Y, "spd")
    return {"R": R, "force": Y @ beta}


def _gradients(values: Array, weights: Array, c: Array, dc: Array, ddc: Array) -> dict[str, Array]:
    """Gradients of sum(weights * values) by traced coordinates and their derivatives; traced only."""
    graph = c[0].graph
    seeds: dict[int, int] = {}
    for value, weight in zip(np.ravel(values), np.ravel(weights), strict=True):
        node, amount = node_of(graph, value), node_of(graph, weight)
        seeds[node] = graph.add(seeds[node], amount) if node in seeds else amount
    variables = [symbol.index for symbol in (*c, *dc, *ddc)]
    nodes = reverse(graph, seeds, variables)
    result = [0.0 if node is None else Symbol(graph, node) for node in nodes]
    n = len(c)
    return {name: pack(result[k * n : k * n + n]) for k, name in enumerate(("c", "dc", "ddc"))}


def limited_gradients(robot: Robot, weights: Array, *motion: Array) -> dict[str, Array]:
    """Gradients "c", "dc", "ddc" (n,) of weights . values of `limited_values`; traced only."""
    return _gradients(limited_values(robot, *motion)["values"], weights, *motion[:3])


def row_gradients(
    robot: Robot, row_weights: Array, force_weights: Array, *motion: Array, **options: Any
) -> dict[str, Array]:
    """Gradients (n,) of sum(row_weights * R) + force_weights . force of `weighted_rows`; traced only."""
    results = weighted_rows(robot, *motion, **options)
    values = np.concatenate([np.ravel(results["R"]), results["force"]])
    weights = np.concatenate([np.ravel(row_weights), force_weights])
    return _gradients(values, weights, *motion[2:5])


def limited_value_count(robot: Robot) -> int:
    """How many numbers `limited_values` gives."""
    mechanism = mechanism_of(robot)
    margin_count = len(robot.legs) + bool(mechanism.dependent)
    turning = mechanism.layout.angular is not None
    return 2 * len(robot.actuators) + len(bounded_coordinates(robot)) + margin_count + 1 + turning


# ---- as native code


@lru_cache(maxsize=256)
def compile_sample_function(
    function: Callable[..., Any], robot: Robot, columns: int = 0, options: Options = ()
) -> Compiled:
    """One of the functions of this file as native code.

    Args:
        function: `limited_values`, `limited_gradients`, `weighted_rows` or `row_gradients`.
        robot: the robot.
        columns: number of parameters that have columns.
        options: of the regressor.
    """
    actuators = actuators_shape(robot)
    shapes: dict[str, tuple[int, ...]] = {}
    if function is limited_gradients:
        shapes = {"weights": (limited_value_count(robot),)}
    elif function is row_gradients:
        shapes = {"row_weights": (*actuators, columns), "force_weights": actuators}
    if function in (weighted_rows, row_gradients):
        shapes |= {"sigma": actuators, "beta": (columns,)}
    shapes |= dict.fromkeys(("c", "dc", "ddc"), twist_shape(robot))
    shapes |= {"y": unknowns_shape(robot), "quat_0": (4,)}
    # Minimising so long a program takes longer than it saves.
    return compile_function(function, robot, inputs=shapes, options=dict(options), minimise=False)

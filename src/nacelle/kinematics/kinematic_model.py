"""The kinematic model as physics functions: positions, margins, Jacobians and motions at a pose.

All of them take the reduced pose x and the unknowns y of the iteration (empty for robots in closed form), and
begin with the configuration there. Names of outputs: q coordinates of tree joints, active those of actuators,
margins of the legs (`margins`), pivot the smallest scaled pivot of a form with fixed ones.
"""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.branch import RELATION_TOLERANCE, branch_determinants
from nacelle.kinematics.configuration import (
    Configuration,
    closure_equations_at,
    configuration,
    coordinate_selections,
    rate_map,
    rates_at,
)
from nacelle.kinematics.limits import actuator_limits, bounds_of
from nacelle.kinematics.margins import closed_form_margin, margins
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.shapes import actuators_shape, pose_shape, twist_shape, unknowns_shape
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.physics import compact_form, physics
from nacelle.spatial.rotation import quat_product
from nacelle.spatial.scalar import Array, Scalar, dot, minimum, pack, product
from nacelle.spatial.solve import least_squares, solve
from nacelle.tree.actuation import actuator_biases, actuator_rows, rate_rows
from nacelle.tree.closure import closure_bias, closure_residual
from nacelle.tree.rates import RightHandSides, internal_freedom_biases, solve_rates
from nacelle.tree.spanning_tree import (
    point_acceleration,
    point_velocity,
    tree_velocity,
)


@physics(x=pose_shape, y=unknowns_shape)
def joint_positions(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Coordinates of all tree joints q (nq,) and of the actuators (actuators,), margins of the legs."""
    now = configuration(robot, x, y)
    return {"q": now.q_tree, "active": _actuator_coordinates(now), "margins": _margins(now)}


def _actuator_coordinates(now: Configuration) -> Array:
    return pack([now.coordinate(actuator.joint, 0) for actuator in now.robot.actuators])


@physics(x=pose_shape, y=unknowns_shape)
def angles_with_turns(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Angles that count turns (k,), rad: each within half a turn of its entry of y."""
    now = configuration(robot, x, y)
    return {"angles": pack([now.coordinates[axis] for axis in now.mechanism.counted])}


@physics(x=pose_shape, y=unknowns_shape)
def branch_signs(robot: Robot, x: Array, y: Array, wrong: float = RELATION_TOLERANCE) -> dict[str, Array]:
    """Numbers that are positive on the branch of the reference pose; see `branch`."""
    return {"branch": branch_determinants(configuration(robot, x, y), y, wrong)}


@physics(x=pose_shape, y=unknowns_shape)
def actuator_positions(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Coordinates of the actuators q (actuators,), rad or m, and the margins of the legs."""
    now = configuration(robot, x, y)
    return {"q": _actuator_coordinates(now), "margins": _margins(now)}


@physics(x=pose_shape, y=unknowns_shape)
def actuators_within_limits(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Coordinates of the actuators (actuators,), the smallest margin, and the way to the nearest limit."""
    now = configuration(robot, x, y)
    active = _actuator_coordinates(now)
    return {"active": active, **margin_and_way(now)}


def margin_and_way(now: Configuration) -> dict[str, Array]:
    """The smallest margin (1,), and the way to the nearest limit (1,)."""
    margin: Scalar = 1.0
    for k, value in enumerate(_margins(now)):
        margin = value if k == 0 else minimum(margin, value)
    return {"margin": pack([margin]), "way": _way_to_limits(now, _actuator_coordinates(now))}


@physics(x=pose_shape, y=unknowns_shape)
def joint_positions_within_limits(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """`joint_positions`, and "way" to the nearest limit."""
    now = configuration(robot, x, y)
    active = _actuator_coordinates(now)
    way = _way_to_limits(now, active)
    return {"q": now.q_tree, "active": active, "margins": _margins(now), "way": way}


def _way_to_limits(now: Configuration, active: Array) -> Array:
    """The way to the nearest limit of a joint or an actuator (1,), below 0 beyond it, 1 without limits.

    It is in rad or m, of tilts of spherical joints the difference of cosines.
    """
    robot = now.robot
    ways: list[Scalar] = []
    for low, high, value in zip(*actuator_limits(robot.numeric), active, strict=True):
        ways += _ways(value, low, high)
    for j, joint in enumerate(robot.numeric.joints):
        for bound in bounds_of(joint.kind, joint.limits) if joint.kind is not JointKind.POINT else ():
            if bound.primitive is Primitive.SPHERICAL:
                first, second = (
                    product(now.motion.poses[body].R, frame.R)
                    for body, frame in (
                        (joint.predecessor, robot.joints[j].frame_predecessor),
                        (joint.successor, robot.joints[j].frame_successor),
                    )
                )
                ways.append(dot(first[:, 2], second[:, 2]) - float(np.cos(min(bound.high, np.pi))))
            else:
                ways += _ways(now.coordinate(j, bound.axis), bound.low, bound.high)
    smallest: Scalar = 1.0
    for way in ways:
        smallest = minimum(smallest, way)
    return pack([smallest])


def _ways(value: Scalar, low: float, high: float) -> list[Scalar]:
    """The ways from a coordinate to its limits, those that there are."""
    return [*([value - low] if np.isfinite(low) else []), *([high - value] if np.isfinite(high) else [])]


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape)
def actuator_rates(robot: Robot, x: Array, y: Array, v: Array) -> dict[str, Array]:
    """Rates of the actuators (actuators,) from the reduced twist, q' = J_r^-1 v."""
    return {"q_dot": compact_form(jacobian_at)(configuration(robot, x, y))["J"] @ v}


@physics(x=pose_shape, y=unknowns_shape, q_dot=actuators_shape)
def platform_twist(robot: Robot, x: Array, y: Array, q_dot: Array) -> dict[str, Array]:
    """The reduced twist (n,) from the rates of the actuators; of redundant ones with the least error."""
    J = compact_form(jacobian_at)(configuration(robot, x, y))["J"]
    return {"v": least_squares(J, q_dot.reshape(-1, 1)).X[:, 0]}


@physics(x=pose_shape, y=unknowns_shape)
def body_poses(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Orientation R (bodies, 3, 3) and origin p (bodies, 3), m, of all bodies in the base."""
    poses = configuration(robot, x, y).motion.poses
    return {"R": np.stack([pose.R for pose in poses]), "p": np.stack([pose.p for pose in poses])}


_margins = compact_form(margins)


@physics(x=pose_shape, y=unknowns_shape)
def dense_margins(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """The margins of the legs (legs,) from their own Jacobians, at any state."""
    return {"margins": margins(configuration(robot, x, y))}


@physics(x=pose_shape, y=unknowns_shape)
def singularity_distances(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Squares that vanish at serial singularities alone: legs in closed form, then the others."""
    now = configuration(robot, x, y)
    iterated = now.mechanism.iterated_legs
    closed = [closed_form_margin(roots) for k, roots in enumerate(now.root_margins) if k not in iterated]
    return {"squares": pack([*closed, *compact_form(iterated_distances)(now)])}


def iterated_distances(now: Configuration) -> list[Scalar]:
    """Squares that vanish at serial singularities, of the legs without a closed form and of the platform."""
    mechanism, dense = now.mechanism, margins(now)
    return [dense[k] for k in (*mechanism.iterated_legs, *range(len(mechanism.legs), len(dense)))]


@physics(x=pose_shape, y=unknowns_shape)
def inverse_jacobian(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Coordinates of the actuators, and J_r^-1 (actuators, n): their rates from the reduced twist."""
    now = configuration(robot, x, y)
    return {"q": _actuator_coordinates(now), **compact_form(jacobian_at)(now)}


def jacobian_at(now: Configuration) -> dict[str, Array]:
    """J_r^-1 (actuators, n), its pivot figure (without fixed pivots 1), and margins of the legs."""
    return {"J": inverse_jacobian_matrix(now), "pivot": pack([1.0])[0], "margins": margins(now)}


@physics(x=pose_shape, y=unknowns_shape)
def dense_jacobian(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """J_r^-1 (actuators, n) with q_a' = J_r^-1 v, by solves that choose their pivots; and margins."""
    now = configuration(robot, x, y)
    return {"J": inverse_jacobian_matrix(now), "margins": margins(now)}


def inverse_jacobian_matrix(now: Configuration) -> Array:
    """J_r^-1 (actuators, n)."""
    return np.asarray(actuator_rows(now.robot, now.motion) @ rate_map(now))


@physics(x=pose_shape, y=unknowns_shape)
def rate_maps(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """U (rates, n) with u = U v: platform twist [v; w], base axes, and rates of the tree's joints."""
    now = configuration(robot, x, y)
    return {"U": rate_map(now), "margins": margins(now)}


@physics(x=pose_shape, y=unknowns_shape)
def body_jacobians(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Twists [v; w] of all bodies at their origins from the reduced twist, (bodies, 6, n)."""
    now = configuration(robot, x, y)
    U = rate_map(now)
    return {
        "J": np.stack([now.motion.jacobian(k) @ U for k in range(len(robot.bodies))]),
        "margins": margins(now),
    }


@physics(x=pose_shape, y=unknowns_shape)
def closure_residuals(robot: Robot, x: Array, y: Array) -> Array:
    """What the closures leave open (rows,), m or sines of angles."""
    return closure_residual(robot, configuration(robot, x, y).motion)


@physics(x=pose_shape, y=unknowns_shape)
def closure_equations(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """What the closures leave open (rows,), their Jacobian (rows, rates); idle spins, actuators as rows."""
    now = configuration(robot, x, y)
    system = closure_equations_at(now)
    spins = [row for rows in system.rows for row in rows]
    width = system.closures.jacobian.shape[1]
    return {
        "residual": system.closures.residual,
        "jacobian": system.closures.jacobian,
        "spins": np.stack(spins) if spins else np.zeros((0, width)),
        "actuators": actuator_rows(robot, now.motion),
    }


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape, a=twist_shape)
def body_motions(robot: Robot, x: Array, y: Array, v: Array, a: Array) -> dict[str, Array]:
    """Twists [v; w] (bodies, 6) of all bodies at their origins and [dv/dt; dw/dt], base axes, SI units."""
    now = configuration(robot, x, y)
    state = rates_at(now, v)
    u_dot = state.U @ a + state.bias
    twists, rates = [], []
    for k, pose in enumerate(now.motion.poses):
        V = state.velocity.twists[k]
        movers = now.motion.movers[k]
        A = state.velocity.biases[k] + now.motion.columns[:, movers] @ u_dot[movers]
        twists.append(pack([*point_velocity(V, pose.p), *V[3:]]))
        rates.append(pack([*point_acceleration(V, A, pose.p), *A[3:]]))
    return {"twist": np.stack(twists), "acceleration": np.stack(rates), "margins": margins(now)}


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape, a=twist_shape)
def joint_motions(robot: Robot, x: Array, y: Array, v: Array, a: Array) -> dict[str, Array]:
    """Coordinates (nq,), rates and accelerations (nv,) of tree joints: u = U v, u' = U a + bias.

    Rates of spherical joints are in the successor's axes. The same of the actuators (actuators,); rad or m.
    """
    now = configuration(robot, x, y)
    state = rates_at(now, v)
    m = robot.platform_nv
    rows = actuator_rows(robot, now.motion)
    biases = actuator_biases(robot, now.motion, state.velocity, state.bias)
    return {
        "q": now.q_tree,
        "rate": state.u[m:],
        "acceleration": (state.U @ a + state.bias)[m:],
        "active": _actuator_coordinates(now),
        "active_rate": rows @ state.u,
        "active_acceleration": (rows @ state.U) @ a + pack(biases),
        "margins": margins(now),
    }


@physics(x=pose_shape, y=unknowns_shape, dx=twist_shape, ddx=twist_shape)
def coordinate_motions(robot: Robot, x: Array, y: Array, dx: Array, ddx: Array) -> dict[str, Array]:
    """The reduced twist and its derivative from the rates of the coordinates in x, with parasitic motion.

    V_p = B x' + D r', r the dependent numbers; the derivative also has the bias of the chart.
    """
    now = configuration(robot, x, y)
    mechanism = now.mechanism
    chart, size = mechanism.chart, mechanism.dependent_count
    r = y[:size]
    index_of = {rate: k for k, rate in enumerate(mechanism.platform_rates)}
    independent, dependent = coordinate_selections(mechanism, x, r)
    system = closure_equations_at(now)
    response = solve_rates(system, independent, dependent)
    u = response.u @ dx
    velocity = tree_velocity(robot, now.motion, u)
    platform_bias = chart.twist_bias(x, r, dx, (response.dependent @ dx)[:size])
    platform_bias = pack([*platform_bias, *(0.0,) * (mechanism.platform_rate_count - robot.platform_nv)])
    w = list(mechanism.platform_rates)
    right = closure_bias(robot, now.motion, velocity) + system.closures.jacobian[:, w] @ platform_bias
    biases = internal_freedom_biases(mechanism, now.motion, velocity)
    rows_right = tuple(
        tuple(value + row[w] @ platform_bias for value, row in zip(values, rows, strict=True))
        for values, rows in zip(biases, system.rows, strict=True)
    )
    again = solve_rates(system, independent, dependent, right=RightHandSides(right, rows_right)).u
    u_dot = again[:, :-1] @ ddx + again[:, -1]
    return {
        "v": pack([u[rate] for rate in mechanism.independent]),
        "a": pack([u_dot[rate] + platform_bias[index_of[rate]] for rate in mechanism.independent]),
    }


def coordinate_rates(robot: Robot, x: Array, y: Array) -> tuple[Array, Array]:
    """All rates u (rates, n) and those of the chart's dependent numbers (d, n) at unit rates of x.

    For the quaternion these are the components of the angular velocity. Without tilts with parasitic
    motion they are the rates at unit entries of the reduced twist.
    """
    now = configuration(robot, x, y)
    size = now.mechanism.dependent_count
    response = solve_rates(closure_equations_at(now), *coordinate_selections(now.mechanism, x, y[:size]))
    return response.u, response.dependent[:size]


def has_tilt_coordinates(mechanism: Mechanism) -> bool:
    """Whether the rates of x are not the reduced twist: tilts as plain numbers with parasitic motion."""
    return mechanism.parasitic and 0 < len(mechanism.chart.rotations) < 3


@physics(x=pose_shape, y=unknowns_shape)
def pose_tangent(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """How x (nx, n) and y (ny, n) change along the entries of the reduced twist; and T, v = T x'."""
    mechanism, layout, n = mechanism_of(robot), mechanism_of(robot).layout, robot.motion.n
    T: Array = np.eye(n)
    inverse: Array = np.eye(n)
    changes: list[Array] = []
    if mechanism.unknown_count or has_tilt_coordinates(mechanism):
        u, dependent = coordinate_rates(robot, x, y)
        if has_tilt_coordinates(mechanism):
            T = np.stack([u[rate] for rate in mechanism.independent])
            inverse = solve(T, np.eye(n))
        changes = [*(dependent @ inverse), *_joint_tangent(robot, x, y, u @ inverse)]
    rows: list[Array] = []
    for name in layout.x_names:
        if layout.quaternion is not None and name == "qx":
            quat, w = x[layout.quaternion], np.eye(n)[layout.angular]
            changes_of_quat = [0.5 * quat_product(pack([*column, 0.0]), quat) for column in w.T]
            rows += list(np.stack(changes_of_quat, axis=1))
        elif layout.quaternion is None or name not in ("qy", "qz", "qw"):
            rows.append(inverse[layout.v_index(name)])
    return {"x": np.stack(rows), "y": np.stack(changes) if changes else np.zeros((0, n)), "T": T}


def _joint_tangent(robot: Robot, x: Array, y: Array, u: Array) -> list[Array]:
    """Changes of the joints' coordinates in y, rows (n,), at rates u (rates, n) of the tree."""
    changes: list[Array] = []
    mechanism = mechanism_of(robot)
    for axis in mechanism.iterated_axes:
        if axis.primitive is Primitive.SPHERICAL:
            changes_of_quat = [0.5 * quat_product(y[axis.y], pack([*w, 0.0])) for w in u[axis.u].T]
            changes += list(np.stack(changes_of_quat, axis=1))
        else:
            changes += list(u[axis.u])
    if mechanism.counted:
        motion = configuration(robot, x, y).motion
        changes += [rate_rows(robot, motion, j)[number][0] @ u for j, number in mechanism.counted]
    return changes

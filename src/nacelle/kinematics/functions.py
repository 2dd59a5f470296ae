"""Kinematics as physics functions: what is traced, minimised and run.

All of them take the reduced pose x and what iteration has found, y (empty for robots in closed form).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacelle.kinematics.actuation import (
    actuator_drifts,
    actuator_rows,
    actuator_steps,
    closing_actuators,
    joint_rate_row,
    locked_in_tree,
)
from nacelle.kinematics.forward.spheres import meet
from nacelle.kinematics.general.actuators import actuator_jacobian
from nacelle.kinematics.general.closing import Closing, applies, closing
from nacelle.kinematics.general.legs import Legs, Rates, eliminated
from nacelle.kinematics.general.margins import distances as small_distances
from nacelle.kinematics.general.margins import growth_figure
from nacelle.kinematics.general.margins import margins as small_margins
from nacelle.kinematics.general.placed import WHOLE, Way, placed_at
from nacelle.kinematics.general.plan import is_served, plan_of
from nacelle.kinematics.iteration.branch import branch_numbers
from nacelle.kinematics.margins import closed_form_margin, margins
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.shapes import of_actuators, of_pose, of_twist, of_unknowns
from nacelle.kinematics.tree.closure import closure_drift
from nacelle.kinematics.tree.configuration import Configuration, configuration
from nacelle.kinematics.tree.least_squares import eliminate
from nacelle.kinematics.tree.rates import (
    Equations,
    Response,
    equations,
    moving,
    rate_map,
    respond,
    selections,
    spin_drifts,
)
from nacelle.kinematics.tree.spanning_tree import (
    Step,
    Turn,
    coordinates_from_steps,
    motion_of_steps,
    point_acceleration,
    point_velocity,
    steps_from_coordinates,
    tree_velocity,
)
from nacelle.model.joint import Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_product, rotation_quat
from nacelle.spatial.scalar import (
    Array,
    Scalar,
    absolute,
    cos,
    divide,
    dot,
    maximum,
    pack,
    sin,
    sqrt,
)
from nacelle.spatial.solve import solve


@physics(x=of_pose, y=of_unknowns)
def joint_positions(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Coordinates of all tree joints and of the actuators, and the margins of the legs."""
    now = configuration(robot, x, y)
    return {"q": now.q, "active": _active(now), "gates": _margins(now)}


def _active(now: Configuration) -> Array:
    return coordinates_from_steps(actuator_steps(now.robot, now.motion, now.steps))


@physics(x=of_pose, y=of_unknowns)
def branch_signs(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Numbers that are positive on the branch of the reference pose; see `branch`."""
    now = configuration(robot, x, y)
    return {"branch": branch_numbers(now, y)}


@physics(x=of_pose, y=of_unknowns)
def actuator_positions(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Coordinates of the actuators, and the margins of the legs."""
    now = configuration(robot, x, y)
    return {"q": _active(now), "gates": _margins(now)}


@physics(x=of_pose, y=of_unknowns)
def body_poses(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Orientation R (bodies, 3, 3) and origin p (bodies, 3) of all bodies in the base."""
    now = configuration(robot, x, y)
    return {
        "R": np.stack([pose.R for pose in now.motion.poses]),
        "p": np.stack([pose.p for pose in now.motion.poses]),
    }


def _margins(now: Configuration) -> Array:
    """Margins of the legs: from the factors of the general form where something is found by iteration."""
    if now.mechanism.closed_form or not is_served(now.robot):
        return margins(now)
    return small_margins(_eliminated(now))


def _eliminated(now: Configuration, way: Way = WHOLE) -> Legs:
    plan = plan_of(now.robot, way)
    return eliminated(plan, placed_at(plan, now.robot, now))


@physics(x=of_pose, y=of_unknowns)
def dense_margins(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """The margins of the legs from their own Jacobians, at any state."""
    now = configuration(robot, x, y)
    return {"gates": margins(now)}


@physics(x=of_pose, y=of_unknowns)
def distances(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Squares that vanish at serial singularities alone: legs in closed form, then what iteration finds."""
    now = configuration(robot, x, y)
    mechanism = now.mechanism
    iterated = mechanism.iterated_legs
    closed = [closed_form_margin(gates) for k, gates in enumerate(now.gates) if k not in iterated]
    if is_served(robot) and plan_of(robot).complete:
        return {"squares": pack([*closed, *small_distances(_eliminated(now))])}
    dense = margins(now)
    others = [dense[k] for k in (*iterated, *range(len(mechanism.legs), len(dense)))]
    return {"squares": pack([*closed, *others])}


@physics(x=of_pose, y=of_unknowns)
def inverse_jacobian(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Coordinates of the actuators, and J_r^-1 (actuators, n): their rates from the reduced twist."""
    now = configuration(robot, x, y)
    found = {"q": _active(now)}
    if not is_served(robot, direct=True):
        figures = {"pivot": pack([1.0])[0], "gates": margins(now)}
        return {**found, "J": _inverse(now), **figures}
    legs = _eliminated(now, Way(direct=True))
    figures = {"pivot": pack([growth_figure(legs)])[0], "gates": small_margins(legs)}
    return {**found, "J": actuator_jacobian(legs), **figures}


@physics(x=of_pose, y=of_unknowns)
def dense_jacobian(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """J_r^-1 (actuators, n) without fixed pivots, and dense margins."""
    now = configuration(robot, x, y)
    return {"J": _inverse(now), "gates": margins(now)}


def _inverse(now: Configuration) -> Array:
    """J_r^-1 (actuators, n)."""
    return np.asarray(actuator_rows(now.robot, now.motion) @ rate_map(now))


@physics(x=of_pose, y=of_unknowns)
def rate_maps(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """U (rates, n): platform twist and all joint rates from the reduced twist."""
    now = configuration(robot, x, y)
    return {"U": rate_map(now), "gates": margins(now)}


@physics(x=of_pose, y=of_unknowns)
def body_jacobians(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Twists [v; w] of all bodies at their origins from the reduced twist, (bodies, 6, n)."""
    now = configuration(robot, x, y)
    U = rate_map(now)
    return {
        "J": np.stack([now.motion.jacobian(k) @ U for k in range(len(robot.bodies))]),
        "gates": margins(now),
    }


@physics(x=of_pose, y=of_unknowns)
def closure_equations(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """What the closures leave open, and their Jacobian by all rates; idle spins follow as rows."""
    now = configuration(robot, x, y)
    system = equations(robot, now.motion)
    spins = [row for rows in system.rows for row in rows]
    width = system.closures.jacobian.shape[1]
    return {
        "residual": system.closures.residual,
        "jacobian": system.closures.jacobian,
        "spins": np.stack(spins) if spins else np.zeros((0, width)),
        "actuators": actuator_rows(robot, now.motion),
    }


@physics(x=of_pose, y=of_unknowns, v=of_twist, a=of_twist)
def body_motions(robot: Robot, x: Array, y: Array, v: Array, a: Array) -> dict[str, Array]:
    """Twists and their derivatives of all bodies at their origins, [v; w] and [dv/dt; dw/dt] in base axes."""
    now = configuration(robot, x, y)
    state = moving(now, v)
    u_dot = state.U @ a + state.drift
    twists, rates = [], []
    for k, pose in enumerate(now.motion.poses):
        V = state.velocity.twists[k]
        movers = now.motion.movers[k]
        A = state.velocity.drifts[k] + now.motion.columns[:, movers] @ u_dot[movers]
        twists.append(pack([*point_velocity(V, pose.p), *V[3:]]))
        rates.append(pack([*point_acceleration(V, A, pose.p), *A[3:]]))
    return {
        "twist": np.stack(twists),
        "acceleration": np.stack(rates),
        "gates": margins(now),
    }


@physics(x=of_pose, y=of_unknowns, v=of_twist, a=of_twist)
def joint_motions(robot: Robot, x: Array, y: Array, v: Array, a: Array) -> dict[str, Array]:
    """Coordinates, rates and accelerations of all tree joints; rates of balls in the successor's axes."""
    now = configuration(robot, x, y)
    state = moving(now, v)
    m = robot.platform_nv
    rows = actuator_rows(robot, now.motion)
    drifts = actuator_drifts(robot, now.motion, state.velocity, state.drift)
    return {
        "q": now.q,
        "rate": state.u[m:],
        "acceleration": (state.U @ a + state.drift)[m:],
        "active": _active(now),
        "active_rate": rows @ state.u,
        "active_acceleration": (rows @ state.U) @ a + pack(drifts),
        "gates": margins(now),
    }


@physics(x=of_pose, y=of_unknowns, dx=of_twist, ddx=of_twist)
def coordinate_motions(robot: Robot, x: Array, y: Array, dx: Array, ddx: Array) -> dict[str, Array]:
    """The reduced twist and its derivative from the rates of the coordinates in x, with parasitic motion.

    V_p = B x' + D r', r the dependent numbers; the derivative has the drift of the chart beside.
    """
    now = configuration(robot, x, y)
    mechanism = now.mechanism
    chart, size = mechanism.chart, mechanism.chart_size
    rest = y[:size]
    place = {rate: k for k, rate in enumerate(mechanism.w_rates)}
    joints = np.zeros((mechanism.nw - robot.platform_nv, robot.motion.n))
    for column, rate in enumerate(mechanism.independent):
        if rate >= robot.platform_nv:
            joints[place[rate] - robot.platform_nv, column] = 1.0
    given = np.concatenate([chart.twists(x, rest), joints])
    dependent = _chart_basis(mechanism, x, rest)
    system = equations(robot, now.motion)
    found = respond(system, given, dependent)
    u = found.u @ dx
    velocity = tree_velocity(robot, now.motion, u)
    own = chart.drift(x, rest, dx, (found.dependent @ dx)[:size])
    own = pack([*own, *(0.0,) * (mechanism.nw - robot.platform_nv)])
    w = list(mechanism.w_rates)
    right = closure_drift(robot, now.motion, velocity) + system.closures.jacobian[:, w] @ own
    rows_right = tuple(
        tuple(value + row[w] @ own for value, row in zip(values, rows, strict=True))
        for values, rows in zip(spin_drifts(mechanism, now.motion, velocity), system.rows, strict=True)
    )
    again = respond(system, given, dependent, right, rows_right).u
    u_dot = again[:, :-1] @ ddx + again[:, -1]
    return {
        "v": pack([u[rate] for rate in mechanism.independent]),
        "a": pack([u_dot[rate] + own[place[rate]] for rate in mechanism.independent]),
    }


def _chart_basis(mechanism: Mechanism, x: Array, rest: Array) -> Array:
    """The nacelle's rates for unit rates of the dependent numbers of the pose and of dependent joints."""
    robot, joints = mechanism.robot, selections(mechanism)[1]
    basis = joints[:, joints.shape[1] - _width(robot, mechanism.dependent_joints) :]
    if not mechanism.parasitic:
        return basis
    twists = mechanism.chart.dependent_twists(x, rest)
    tail = np.zeros((mechanism.nw - robot.platform_nv, twists.shape[1]))
    return np.concatenate([np.concatenate([twists, tail]), basis], axis=1)


# ---- steps of Newton's iterations: (y, p) to (dy, error)


def _largest(values: Sequence[Scalar]) -> Scalar:
    largest: Scalar = 0.0
    for value in values:
        largest = maximum(largest, absolute(value))
    return largest


def _unit(quat: Array) -> Array:
    return np.asarray(quat * divide(1.0, sqrt(dot(quat, quat))))


def _turned(quat: Array, w: Array, *, before: bool) -> Array:
    """Change of a quaternion turned by a small rotation, in the fixed axes (before) or in its own."""
    small = pack([0.5 * w[0], 0.5 * w[1], 0.5 * w[2], 1.0])
    return np.asarray(_unit(quat_product(small, quat) if before else quat_product(quat, small)) - quat)


def _coordinate_steps(robot: Robot, joints: Sequence[int], q: Array, u: Array | Rates) -> list[Scalar]:
    """Changes of the coordinates q of some joints at steps u of all rates."""
    changes: list[Scalar] = []
    start = 0
    for j in joints:
        rate = robot.platform_nv + robot.v_slices[j].start
        for primitive in robot.joints[j].primitives:
            if primitive is Primitive.BALL:
                changes += list(
                    _turned(q[start : start + 4], pack([u[rate + k] for k in range(3)]), before=False)
                )
            else:
                changes.append(u[rate])
            start, rate = start + primitive.nq, rate + primitive.nv
    return changes


@physics(y=of_unknowns, x=of_pose)
def closing_step(robot: Robot, y: Array, x: Array) -> dict[str, Array]:
    """A step of the unknowns y towards closed loops at the pose x, and what is open, over the size."""
    now = configuration(robot, x, y)
    mechanism = now.mechanism
    basis = _chart_basis(mechanism, x, y[: mechanism.chart_size])
    if is_served(robot) and applies(plan_of(robot), basis.shape[1]):
        return _small_step(now, y, closing(_eliminated(now), basis))
    system = equations(robot, now.motion)
    nothing = np.zeros((mechanism.nw, 0))
    found: Response = respond(system, nothing, basis, system.closures.residual, legs=mechanism.iterated_legs)
    u = found.u[:, -1]
    dy = [found.dependent[k, -1] for k in range(mechanism.chart_size)]
    dy += _coordinate_steps(robot, mechanism.iterated_joints, y[mechanism.chart_size :], u)
    rows = [
        *mechanism.nacelle_rows,
        *(row for k in mechanism.iterated_legs for row in mechanism.legs[k].rows),
    ]
    return {
        "dy": pack(dy),
        "error": _largest([system.closures.residual[row] / mechanism.row_scale[row] for row in rows]),
    }


def _small_step(now: Configuration, y: Array, found: Closing) -> dict[str, Array]:
    """The step in the general form."""
    robot, mechanism = now.robot, now.mechanism
    dy = found.dependent.tolist()[: mechanism.chart_size]
    start = mechanism.chart_size
    for j in mechanism.iterated_joints:
        q = y[start : start + robot.joints[j].nq]
        if j in found.rods:
            dy += list(_turned(q, found.rods[j], before=True))
        else:
            dy += _coordinate_steps(robot, (j,), q, found.rates)
        start += len(q)
    return {"dy": pack(dy), "error": _largest(found.open)}


def _width(robot: Robot, joints: Sequence[int]) -> int:
    return sum(robot.joints[j].nv for j in joints)


def _open_by(wanted: Array, steps: Sequence[Step]) -> list[Scalar]:
    """How far actuators are from wanted coordinates: radians (2 tan of half the angle) or metres."""
    result: list[Scalar] = []
    for value, step in zip(wanted, steps, strict=True):
        if isinstance(step, Turn):
            c, s = cos(value), sin(value)
            result.append(2.0 * (s * step.c - c * step.s) / (1.0 + c * step.c + s * step.s))
        else:
            result.append(value - step)
    return result


@physics(x=of_pose, q=of_actuators)
def forward_step(robot: Robot, x: Array, q: Array) -> dict[str, Array]:
    """A step of the pose towards actuator coordinates q, for robots in closed form: J_r (q - q(x))."""
    now = configuration(robot, x, np.zeros(0))
    J = _inverse(now)
    gap = _open_by(q, actuator_steps(robot, now.motion, now.steps))
    right = pack(gap).reshape(-1, 1)
    v = (solve(J, right) if J.shape[0] == J.shape[1] else eliminate(J, right).X)[:, 0]
    dx: list[Scalar] = []
    layout = now.mechanism.layout
    for name in layout.x_names:
        if layout.quaternion is not None and name == "qx":
            dx += list(_turned(x[layout.quaternion], v[layout.angular], before=True))
        elif layout.quaternion is None or name not in ("qy", "qz", "qw"):
            dx.append(v[layout.v_index(name)])
    return {"dy": pack(dx), "error": _largest(_over_size(robot, gap))}


def _over_size(robot: Robot, gaps: Sequence[Scalar]) -> list[Scalar]:
    """Gaps of the actuators as pure numbers."""
    turns = [robot.joints[actuator.joint].primitives[0].turns for actuator in robot.actuators]
    return [gap if turn else gap / robot.numeric.size for gap, turn in zip(gaps, turns, strict=True)]


@physics(q=of_actuators)
def sphere_forward(robot: Robot, q: Array) -> dict[str, Array]:
    """The pose from the actuators where the legs' ends lie on spheres or circles; see `sphere`."""
    x, gate = meet(robot, q)
    return {"x": x, "gate": gate}


def _pose_size(robot: Robot) -> int:
    return 3 if robot.platform_nv == 3 else 7


@physics(
    y=lambda robot: (_pose_size(robot) + robot.nq,),
    q=of_actuators,
)
def assembling_step(robot: Robot, y: Array, q: Array) -> dict[str, Array]:
    """A step of the whole robot towards closed loops with its actuators held, for every robot.

    Unknowns are the platform's pose (position, quat_xyzw) and the coordinates of all tree joints; those
    of actuators are taken from q.
    """
    mechanism = mechanism_of(robot)
    size = _pose_size(robot)
    coordinates = list(y[size:])
    for value, actuator in zip(q, robot.actuators, strict=True):
        if actuator.joint < robot.tree:
            coordinates[robot.q_slices[actuator.joint].start] = value
    R = np.eye(3) if size == 3 else rotation_quat(y[3:7])
    tree = pack(coordinates)
    steps = steps_from_coordinates(robot, tree)
    motion = motion_of_steps(robot, Pose(R, y[:3]), steps)
    # Actuators where a loop is cut are held by further rows of their leg.
    gaps = _open_by(q, actuator_steps(robot, motion, steps))
    system, right = equations(robot, motion), []
    rows = []
    for leg, spins in zip(robot.legs, system.rows, strict=True):
        held = closing_actuators(robot, leg.closures)
        rows.append((*spins, *(joint_rate_row(robot, motion, robot.actuators[k].joint) for k in held)))
        right.append((*(0.0,) * len(spins), *(-gaps[k] for k in held)))
    system = Equations(mechanism, system.closures, tuple(rows))
    basis = np.concatenate(selections(mechanism), axis=1)
    nothing = np.zeros((mechanism.nw, 0))
    u = respond(
        system,
        nothing,
        basis,
        system.closures.residual,
        tuple(right),
        frozen=locked_in_tree(robot),
        hold=True,
    ).u[:, -1]
    dy = list(u[:3])
    if size == 7:
        dy += list(_turned(y[3:7], u[3:6], before=True))
    changes = _coordinate_steps(robot, range(robot.tree), tree, u)
    # An actuator's unknown moves to the value that was taken for it.
    for k, (new, old) in enumerate(zip(coordinates, y[size:], strict=True)):
        changes[k] = changes[k] + (new - old)
    listed = [*mechanism.nacelle_rows, *(row for plan in mechanism.legs for row in plan.rows)]
    open_loops = [system.closures.residual[row] / mechanism.row_scale[row] for row in listed]
    return {"dy": pack([*dy, *changes]), "error": _largest([*open_loops, *_over_size(robot, gaps)])}

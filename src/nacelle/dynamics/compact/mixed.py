"""Struts and rods in the smallest form beside everything else by the tree.

For articulated nacelles, and for robots with legs of other kinds among their struts and rods. Ends of legs
move as the nacelle's bodies do, B' = J_j v, B'' = J_j dv/dt + drift, and the balance is written along the
reduced twist:

    sum over struts and rods of f_j J_j^T r_j + sum over other actuators of Gamma_k a_k
        = F of nacelle and other legs + sum of J_j^T G_j
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.dynamics.actuators import balance
from nacelle.dynamics.bodies import generalised_force, mass_matrix
from nacelle.dynamics.compact.demand import Counts
from nacelle.dynamics.compact.form import LegForm, UnreadError, leg_axes
from nacelle.dynamics.compact.forward import end_inertia
from nacelle.dynamics.compact.model import Choice, demand_of, steepest
from nacelle.dynamics.compact.parallel_rods import around
from nacelle.dynamics.compact.points import Point
from nacelle.dynamics.compact.reading import read_leg
from nacelle.dynamics.demand import Settings
from nacelle.dynamics.state import State, state_at
from nacelle.kinematics.actuation import actuator_rows
from nacelle.kinematics.jacobian import twist_units
from nacelle.kinematics.mechanism import Mechanism, mechanism
from nacelle.kinematics.shapes import of_actuators, of_pose, of_twist, of_unknowns
from nacelle.kinematics.tree import point_acceleration
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, Scalar, pack
from nacelle.spatial.solve import solve


@lru_cache(maxsize=64)
def served_legs(known: Mechanism) -> tuple[int, ...]:
    """Legs that are struts or driven rods."""
    found = []
    for k in range(len(known.robot.legs)):
        try:
            read_leg(known.robot, known, k)
        except UnreadError:
            continue
        found.append(k)
    return tuple(found)


@lru_cache(maxsize=256)
def _up(known: Mechanism, leg: int) -> int:
    """The axis of the base that a strut stands along best."""
    form = read_leg(known.robot, known, leg)
    places = [motion.poses[form.body] for motion in around(known)]
    return steepest(np.array([pose.p + pose.R @ form.B - form.A for pose in places], dtype=float))


@lru_cache(maxsize=64)
def applies(known: Mechanism) -> str:
    """Why this form does not serve a robot; empty if it does."""
    robot = known.robot
    if known.parasitic:
        return "its platform has parasitic motion"
    if len(robot.actuators) != robot.motion.n:
        return f"it has {len(robot.actuators)} actuators for {robot.motion.n} motions"
    if any(joint.at_point for joint in robot.closures):
        return "its legs are joined at a point"
    if not served_legs(known):
        return "none of its legs is a strut or a driven rod"
    return ""


@physics(x=of_pose, y=of_unknowns, v=of_twist, a=of_twist, load=of_twist)
def inverse(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    a: Array,
    load: Array,
    *,
    friction: bool = True,
    smooth: float | None = None,
    turned: bool = False,
) -> dict[str, Any]:
    """Actuator forces at a reduced pose x, with what iteration found, y; smallest pivot and gates."""
    known = mechanism(robot)
    state = state_at(robot, x, y, v)
    forms = {k: read_leg(robot, known, k) for k in served_legs(known)}
    if turned:
        forms = {k: replace(form, own_axes=leg_axes(form)) for k, form in forms.items()}
    numbers = {k: read_leg(robot.numeric, known, k) for k in served_legs(known)}
    counts, choice = Counts(friction, smooth), Choice("body", flat=False, turned=turned)
    F = _rest(state, a, Settings(friction, smooth), set(forms)) - load
    columns: list[Array] = []
    gains: list[tuple[int, Scalar, Scalar]] = []
    gravity = np.asarray(robot.gravity)
    for k, form in forms.items():
        J, turn, end = _end(state, form, v, a)
        demand = demand_of(
            form, numbers[k], end, gravity, turn @ v, 0.0, _up(known, k), counts, choice, False
        )
        mass = form.rod[0] if form.kind == "strut" else 0.0
        F = F + J.T @ (demand.G + mass * (end.a - gravity)) + turn.T @ demand.moment
        columns.append(J.T @ demand.r)
        gains.append((form.drive.number, demand.gain, demand.own))
    driven = {number for number, _, _ in gains}
    others = [k for k in range(len(robot.actuators)) if k not in driven]
    if others:
        A = actuator_rows(robot, state.now.motion) @ state.moving.U
        for k in others:
            columns.append(A[k])
            gains.append((k, 1.0, 0.0))
    f = solve(np.stack(columns, axis=1), F)
    pivot = balance(np.stack(columns), F, units=twist_units(robot.numeric)).pivot
    force: list[Scalar] = [0.0] * len(gains)
    for value, (number, gain, own) in zip(f, gains, strict=True):
        force[number] = gain * value + own
    return {"force": pack(force), "pivot": pack([pivot])[0], "gates": state.margins()}


@physics(x=of_pose, y=of_unknowns, v=of_twist, tau=of_actuators, load=of_twist)
def forward(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    tau: Array,
    load: Array,
    *,
    friction: bool = True,
    smooth: float | None = None,
) -> dict[str, Any]:
    """Derivative of the reduced twist at actuator forces; served legs are inertia and bias at their ends."""
    known = mechanism(robot)
    state = state_at(robot, x, y, v)
    still, gravity = np.zeros(robot.motion.n), np.asarray(robot.gravity)
    served = served_legs(known)
    counts, choice = Counts(friction, smooth), Choice("body", flat=False, turned=False)
    right = load - _rest(state, still, Settings(friction, smooth), set(served))
    M = mass_matrix(state, without={body for k in served for body in robot.legs[k].bodies})
    driven = set()
    for k in served:
        form, number = read_leg(robot, known, k), read_leg(robot.numeric, known, k)
        J, turn, end = _end(state, form, v, still)
        up = _up(known, k)
        demand = demand_of(form, number, end, gravity, turn @ v, 0.0, up, counts, choice, False)
        mass = form.rod[0] if form.kind == "strut" else 0.0
        pull = demand.r * ((tau[form.drive.number] - demand.own) * demand.share) - demand.G
        right = right + J.T @ (pull - mass * (end.a - gravity)) - turn.T @ demand.moment
        A = end_inertia(form, number, end, 0.0, up, demand, choice, geared=False) + mass * np.eye(3)
        M = M + J.T @ A @ J
        driven.add(form.drive.number)
    others = [k for k in range(len(robot.actuators)) if k not in driven]
    if others:
        rows = actuator_rows(robot, state.now.motion) @ state.moving.U
        right = right + rows[others].T @ tau[others]
    return {"acceleration": solve(M, right, "spd"), "gates": state.margins()}


def _end(state: State, form: LegForm, v: Array, a: Array) -> tuple[Array, Array, Point]:
    """Jacobian (3, n) of a leg's end, that (3, n) of the turn of the body it is on, and its motion."""
    motion, moving = state.now.motion, state.moving
    pose = motion.poses[form.body]
    p = pose.p + pose.R @ form.B
    J = motion.point_jacobian(form.body, p) @ moving.U
    movers = motion.movers[form.body]
    u_dot = moving.U @ a + moving.drift
    twist = moving.velocity.twists[form.body]
    rate = moving.velocity.drifts[form.body] + motion.columns[:, movers] @ u_dot[movers]
    end = Point(np.zeros(3), p, J[:3] @ v, point_acceleration(twist, rate, p))
    return J[:3], J[3:], end


def _rest(state: State, a: Array, settings: Settings, served: set[int]) -> Array:
    """Force (n,) along the reduced twist of all bodies and joints that are not in the served legs."""
    legs = [state.robot.legs[k] for k in served]
    bodies = {body for leg in legs for body in leg.bodies}
    joints = {j for leg in legs for j in (*leg.joints, *leg.closures)}
    return generalised_force(state, a, settings, bodies, joints)


def inverse_dynamics(robot: Robot, *arrays: Array, **options: Any) -> dict[str, Any]:
    """Actuator forces alone, from x, y, v and a."""
    x, *found, v, a = arrays
    y = found[0] if found else np.zeros(0)
    return {"force": inverse(robot, x, y, v, a, np.zeros(len(v)), **options)["force"]}


def forward_dynamics(robot: Robot, *arrays: Array, **options: Any) -> dict[str, Any]:
    """The derivative of the reduced twist alone, from x, y, v and actuator forces."""
    x, *found, v, tau = arrays
    y = found[0] if found else np.zeros(0)
    return {"acceleration": forward(robot, x, y, v, tau, np.zeros(len(v)), **options)["acceleration"]}

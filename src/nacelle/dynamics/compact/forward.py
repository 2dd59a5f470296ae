"""Forward dynamics in the smallest form.

A leg at a given force of its actuator pulls its end with r (Gamma - own) / gain - G, and own and G are
linear in the acceleration of the end: a leg is a 3 x 3 inertia at its end, G(e_k) + r own(e_k) / gain
column by column, and a bias. The sum over all ends and the platform is one symmetric positive definite
solve for the platform.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.dynamics.general.bars.demand import Counts, Demand
from nacelle.kinematics.bars.form import LegForm, clean
from nacelle.dynamics.compact.model import (
    Choice,
    Legs,
    demand_of,
    gates_of,
    pivot_of,
    platform_wrench,
    read,
    upright,
)
from nacelle.dynamics.compact.points import Platform, Point, turning
from nacelle.dynamics.general.bars.strut import strut_inertia
from nacelle.kinematics.general.vectors import is_zero
from nacelle.kinematics.mechanism import mechanism
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, Scalar, cross, pack
from nacelle.spatial.solve import solve


def forward(
    robot: Robot,
    platform: Platform,
    tau: Array,
    load: Array | None = None,
    counts: Counts | None = None,
    choice: Choice | None = None,
) -> dict[str, Array]:
    """Derivative of the reduced twist at actuator forces.

    Args:
        robot: the robot; its numbers may be symbols.
        platform: how its platform moves; its acceleration is not read.
        tau: actuator forces (actuators,).
        load: force along the reduced twist (n,) from outside; none if None.
        counts: what counts.
        choice: how the form is written.

    Returns:
        "acceleration" (n,), "pivot" and "gates".
    """
    counts, choice = counts or Counts(), choice or Choice()
    still = np.zeros(3)
    # The bias is that of a pole without acceleration.
    legs = read(robot, platform._replace(a=still, dw=still), choice, still_pole=True)
    demands = legs.demands(robot, counts, choice)
    axes = robot.motion.twist_axes
    turns = any(k >= 3 for k in axes)
    force, moment = platform_wrench(robot, legs)
    force, moment = -force, -moment
    if load is not None:
        outside = _wrench(load, axes)
        force = force + outside[:3]
        moment = moment + outside[3:]
        if choice.pole >= 0 and turns:
            moment = moment + cross(platform.p - legs.platform.p, outside[:3])
    for demand, value, end in zip(demands, tau, legs.ends, strict=True):
        pull = demand.r * ((value - demand.own) * demand.share) - demand.G
        force = force + pull
        if turns:
            moment = moment + cross(end.d, pull) - demand.moment
    M = _inertia(robot, legs, demands, choice)
    right = np.concatenate([force, moment])
    found = solve(M[np.ix_(axes, axes)], right[list(axes)], "spd")
    if choice.pole >= 0 and turns:
        found = _told(found, axes, legs, platform)
    return {"acceleration": found, **_figures(robot, legs, demands)}


def inertia(robot: Robot, platform: Platform) -> dict[str, Array]:
    """Mass matrix "M" (n, n) along the reduced twist, J_r^-1 "A" (actuators, n), "pivot" and "gates".

    The rate of an actuator is share r . v of its leg's end, so a row of J_r^-1 is share [r; d x r].
    """
    still, choice, counts = np.zeros(3), Choice("masses", False, False, -1), Counts(False)
    at_rest = platform._replace(v=still, w=still, a=still, dw=still)
    legs = read(robot, at_rest, choice)
    demands = legs.demands(robot, counts, choice)
    axes = list(robot.motion.twist_axes)
    M = _inertia(robot, legs, demands, choice)
    rows = []
    for demand, end in zip(demands, legs.ends, strict=True):
        pull = demand.r * demand.share
        rows.append(np.concatenate([pull, cross(end.d, pull)])[axes])
    lower = M[np.ix_(axes, axes)]
    n = len(axes)
    full = pack([[lower[max(i, j), min(i, j)] for j in range(n)] for i in range(n)])
    return {"M": full, "A": np.stack(rows), **_figures(robot, legs, demands)}


def _figures(robot: Robot, legs: Legs, demands: list[Demand]) -> dict[str, Array]:
    """Pivot figure and margins."""
    return {"pivot": pack([pivot_of(robot, legs, demands)])[0], "gates": gates_of(demands)}


def _wrench(load: Array, axes: tuple[int, ...]) -> Array:
    entries: list[Scalar] = [0.0] * 6
    for value, k in zip(load, axes, strict=True):
        entries[k] = value
    return pack(entries)


def _told(found: Array, axes: tuple[int, ...], legs: Legs, platform: Platform) -> Array:
    """The acceleration of the platform's origin from that of the pole."""
    twist = _wrench(found, axes)
    d = platform.p - legs.platform.p
    back = twist[:3] + cross(twist[3:], d) + turning(platform.w, np.zeros(3)) @ d
    whole = np.concatenate([back, twist[3:]])
    return np.asarray(whole[list(axes)])


def _inertia(robot: Robot, legs: Legs, demands: list[Demand], choice: Choice) -> Array:
    """Inertia (6, 6) about the pole: the lower triangle is right, and is all that is read."""
    axes = robot.motion.twist_axes
    total: Array = np.zeros((6, 6))
    turns = any(k >= 3 for k in axes)
    up = upright(mechanism(robot))
    for k in range(len(legs.forms)):
        end, mass = legs.ends[k], legs.at_ends[k]
        pair = legs.forms[k], legs.numbers[k]
        A = end_inertia(*pair, end, mass, up, demands[k], choice, geared=legs.geared)
        d = end.d
        total = _add(total, A, d, turns)
    return _platform_inertia(robot, legs, total)


def _add(total: Array, A: Array, d: Array, turns: bool) -> Array:
    upper = total[:3, :3] + A
    if not turns:
        zero = np.zeros((3, 3))
        return np.concatenate([np.concatenate([upper, zero], 1), np.zeros((3, 6))])
    D = skew(d)
    P = D @ A
    low = total[3:, :3] + P
    right = total[3:, 3:] + P @ D.T
    return np.concatenate([np.concatenate([upper, low.T], axis=1), np.concatenate([low, right], axis=1)])


def end_inertia(
    form: LegForm,
    number: LegForm,
    end: Point,
    mass: Scalar,
    up: int,
    demand: Demand,
    choice: Choice,
    *,
    geared: bool,
) -> Array:
    """Inertia (3, 3) of a leg at its end, with a mass of the platform there."""
    quiet, zero, unit = Counts(False), np.zeros(3), np.eye(3)
    if form.kind == "strut":
        found = strut_inertia(form, number, end.p - clean(form.A), mass, geared=geared)
        if found is not None:
            return found
    # Springs ask for forces at rest: not here.
    bare = replace(form, drive=replace(form.drive, joint=replace(form.drive.joint, springs=())))
    columns = []
    for axis in range(3):
        moved = Point(end.d, end.p, zero, unit[axis])
        at = demand_of(bare, number, moved, zero, zero, mass, up, quiet, choice, geared)
        columns.append(at.G + demand.r * (at.own * demand.share))
    A = np.stack(columns, axis=1)
    # Symmetric: each entry is written once, from the lower triangle.
    return pack([[A[max(i, j), min(i, j)] for j in range(3)] for i in range(3)])


def _platform_inertia(robot: Robot, legs: Legs, total: Array) -> Array:
    """Add what of the platform is not at the legs' ends: wrenches at unit accelerations."""
    zero, unit = np.zeros(3), np.eye(3)
    R = legs.platform.R
    quiet = replace_gravity(robot)
    columns = []
    for axis in range(6):
        a, dw = (unit[axis], zero) if axis < 3 else (zero, unit[axis - 3])
        at = replace(legs, platform=Platform(R, legs.platform.p, zero, zero, a, dw))
        force, moment = platform_wrench(quiet, at)
        columns.append(np.concatenate([force, moment]))
    P = np.stack(columns, axis=1)
    found: list[list[Scalar]] = [[0.0] * 6 for _ in range(6)]
    for i in range(6):
        for j in range(i + 1):
            value = total[i, j] if is_zero(P[i, j]) else total[i, j] + P[i, j]
            found[i][j] = found[j][i] = value
    return pack(found)


def replace_gravity(robot: Robot) -> Robot:
    """The robot without gravity."""
    still = replace(robot, gravity=(0.0, 0.0, 0.0))
    if robot.numeric is not robot:
        object.__setattr__(still, "numeric", robot.numeric)
    return still

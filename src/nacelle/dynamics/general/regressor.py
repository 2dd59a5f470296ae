"""The linear form in the parameters: force = Y p, by virtual power.

The force of actuator k is the power of everything that the motion requires at the virtual motion in which
this actuator has unit rate and the others have none: with v_k the reduced twist of that motion, u_k the rates
of the legs and w_k those of the nacelle,

    force_k = sum over rates of legs of Gamma_r u_rk + sum over rates of the nacelle of Gamma_r w_rk.

What is required runs on linear forms in the place of the parameters (`nacelle.spatial.linear_form`): the
physics of inverse dynamics, one pass, whose results are the columns. Of a body whose origin has the
acceleration a (less gravity), in its own axes, with w' and W = w w^T, T = [w'] + W - trace(W),

    f = m a + T h          n = h x a + I w' + w x I w.

A rod between two spherical joints is known by three masses, linear in its ten parameters.

With a reference v_r, a_r the inertial part is M a_r + C(x, v) v_r + g, C = sum over particles of dm J^T J',
so that M' - 2 C is skew-symmetric. J'(v) v_r is bilinear: with Q(v) = J'(v) v,

    J'(v) v_r = Q(v + v_r) / 4 - Q(v - v_r) / 4 + J c / 2,     c = [0; w_r x w]

over the independent rates: along a rotation the derivatives of J by two motions differ by their commutator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.actuators import balance
from nacelle.dynamics.general.efforts import (
    closure_acceleration,
    require_closures,
    require_efforts,
    require_point_joints,
    require_rods,
)
from nacelle.dynamics.general.functions import _gates, is_direct, leg_pivot, legs_at
from nacelle.dynamics.general.required import Counted, Required, inward, ties_on_nacelle
from nacelle.kinematics.general.actuators import actuator_jacobian, closure_rates
from nacelle.kinematics.general.legs import Legs, Motion, Rates, merge, motion, plus_times
from nacelle.kinematics.general.motion import angular_velocity, columns, velocity, with_root
from nacelle.kinematics.general.nacelle import Frame
from nacelle.kinematics.general.plan import active_rates
from nacelle.kinematics.general.solve import determinant, eliminate
from nacelle.kinematics.general.vectors import ZERO, add, all_zero, scaled, turned
from nacelle.kinematics.jacobian import scales
from nacelle.kinematics.shapes import of_pose, of_twist, of_unknowns
from nacelle.model.linear_parameters import has_rotor, linear_parameters, with_linear_forms
from nacelle.model.loaded import body_parameters
from nacelle.model.robot import Robot
from nacelle.spatial.linear_form import coefficients
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, Scalar, dot, minimum, pack, product, sqrt
from nacelle.spatial.solve import solve

# Motions with weights: inertial forces are linear in accelerations, and those of several motions add up.
Motions = Sequence[tuple[float, Motion]]


@physics(x=of_pose, y=of_unknowns, v=of_twist, a=of_twist)
def regressor(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    a: Array,
    *,
    friction: bool = True,
    smooth: float | None = None,
) -> dict[str, Array]:
    """Y (actuators, parameters), smallest pivot and margins."""
    legs = legs_at(with_linear_forms(robot), x, y)
    moving = motion(legs, v, a)
    return _columns(legs, moving, [(1.0, moving)], Counted(friction, smooth))


@physics(x=of_pose, y=of_unknowns, v=of_twist, v_ref=of_twist, a_ref=of_twist)
def reference_regressor(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    v_ref: Array,
    a_ref: Array,
    *,
    friction: bool = True,
    smooth: float | None = None,
) -> dict[str, Array]:
    """Y (actuators, parameters) along a reference v_ref, a_ref at the twist v; friction at v."""
    legs = legs_at(with_linear_forms(robot), x, y)
    still = np.zeros(robot.motion.n)
    a = a_ref + 0.5 * commutator(legs, v, v_ref)
    motions = [
        (0.25, motion(legs, v + v_ref, 2.0 * a)),
        (-0.25, motion(legs, v - v_ref, -2.0 * a)),
        (1.0, motion(legs, still, still)),
    ]
    return _columns(legs, motion(legs, v, still), motions, Counted(friction, smooth))


def commutator(legs: Legs, v: Array, v_ref: Array) -> Array:
    """[0; w_r x w] over the independent rates, w and w_r the platform's angular velocities."""
    turns = []
    for twist in (v_ref, v):
        rates = legs.nacelle_rates(twist)
        turns.append(pack([rates.get(k, 0.0) for k in (3, 4, 5)]))
    spin = turned(*turns) if legs.placed.robot.platform_nv == 6 else ZERO
    return pack([spin[k - 3] if k in (3, 4, 5) else 0.0 for k in legs.plan.known.independent])


def _columns(legs: Legs, moving: Motion, motions: Motions, counted: Counted) -> dict[str, Array]:
    """Y from the motion that friction sees, and the motions that inertia sees."""
    robot = legs.placed.robot
    virtual, pivot = _virtual(legs)
    force: list[Scalar] = [0.0] * len(robot.actuators)

    def put(gamma: Rates, nacelle: Rates, weight: float = 1.0) -> None:
        for k, at in enumerate(virtual):
            for forces, rates in ((gamma, at.u), (nacelle, at.w)):
                for rate, value in forces.items():
                    force[k] = plus_times(force[k], rates.get(rate, 0.0), scaled(weight, pack([value]))[0])

    into = Required(legs.placed)
    friction = Counted(counted.friction, counted.smooth, inertia=False)
    for require in (require_rods, require_efforts, require_closures, require_point_joints):
        require(legs, moving, into, friction)
    put(inward(into), ties_on_nacelle(legs, into, [{} for _ in legs.factors]))
    for weight, part in motions:
        inertial = Required(legs.placed)
        require_rods(legs, part, inertial, Counted(friction=False))
        _require_rod_ends(legs, part, inertial)
        _require_rotors(legs, part, inertial)
        put(inward(inertial), ties_on_nacelle(legs, inertial, [{} for _ in legs.factors]), weight)
    _require_bodies(legs, motions, virtual, force)
    Y = coefficients(force, len(linear_parameters(robot.numeric)))
    return {"Y": Y, "pivot": pack([pivot])[0], "gates": _gates(legs)}


# ---- virtual motions


class _Virtual(NamedTuple):
    """The robot with unit rate of one actuator: frames of the nacelle, its rates, rates of the legs."""

    frames: dict[int, Frame]
    w: Rates
    u: Rates


def _virtual(legs: Legs) -> tuple[list[_Virtual], Scalar]:
    """For every actuator the virtual motion, and the smallest pivot.

    Where actuators are redundant it is that along which forces of least norm count.
    """
    robot = legs.placed.robot
    places = {k: rate for rate, k in active_rates(robot).items()}
    direct = is_direct(legs.plan)
    twists, pivot = _direct_twists(legs) if direct else _balanced_twists(legs)
    found = []
    for k, twist in enumerate(twists):
        w = legs.nacelle_rates(twist)
        frames = legs.placed.nacelle.frames(w, {}, ZERO)
        active = {rate: 1.0 if place == k else 0.0 for place, rate in places.items()} if direct else None
        found.append(_Virtual(frames, w, legs.rates(frames, active)))
    return found, pivot


def _direct_twists(legs: Legs) -> tuple[list[Array], Scalar]:
    """The twists from the rows that are left of the legs: C^T v = (their coefficients of active rates)."""
    plan, robot = legs.plan, legs.placed.robot
    keys = [(k, row) for k, factors in enumerate(legs.factors) for row, _ in factors.order.active]
    C = pack([legs.along_v(legs.felt[key]) for key in keys])
    numbers = active_rates(robot)
    right: list[list[Scalar]] = [[0.0] * len(keys) for _ in keys]
    for i, (k, row) in enumerate(keys):
        for rate, value in legs.factors[k].upper[row].items():
            right[numbers[rate]][i] = value
    if plan.solve is None:
        size = (np.ones(len(C)), np.ones(len(C)))
        pivot = determinant(C.tolist(), size) * (1.0 / plan.determinant)
        return [solve(C, pack(column)) for column in right], minimum(pivot, leg_pivot(legs))
    order = tuple((column, row) for row, column in plan.solve.pivots)
    rows, columns_ = plan.solve.units
    solved = [eliminate(C.tolist(), column, order, (columns_, rows)) for column in right]
    return [each.f for each in solved], minimum(solved[0].pivot, leg_pivot(legs))


def _balanced_twists(legs: Legs) -> tuple[list[Array], Scalar]:
    """The twists as rows of the matrix from forces along v to those of the actuators."""
    A = actuator_jacobian(legs)
    rows, units = scales(legs.placed.robot.numeric)
    weights = rows * rows if len(rows) == len(units) else None
    solved = [balance(A, unit, weights, units=units) for unit in np.eye(len(units))]
    G = np.stack([each.force for each in solved], axis=1)
    return list(G), sqrt(solved[0].pivot)


# ---- bodies


class _Accelerated(NamedTuple):
    """Acceleration of a body's origin less gravity, derivative of the angular velocity, and W = w w^T."""

    a: Array
    w_dot: Array
    W: Array


def _outer(w: Array) -> Array:
    return np.zeros((3, 3)) if all_zero(w) else pack([[p * q for q in w.tolist()] for p in w.tolist()])


def _weighted(parts: Sequence[tuple[float, Array]]) -> Array:
    """A weighted sum of arrays."""
    if len(parts) == 1:
        return parts[0][1]
    total: Array = np.zeros(parts[0][1].size)
    for weight, part in parts:
        total = add(total, scaled(weight, part.ravel()))
    return total.reshape(parts[0][1].shape)


def _node_body(legs: Legs, part: Motion, body: int) -> _Accelerated:
    """A body of a leg, its own axes."""
    node, frame = legs.placed.chains.place[body]
    moving = part.nodes[node]
    a, w, w_dot = (product(frame.R.T, v) for v in (moving.acceleration(frame.p), moving.w, moving.w_dot))
    return _Accelerated(a, w_dot, _outer(w))


def _nacelle_body(part: Motion, body: int) -> _Accelerated:
    """A body of the nacelle, its own axes."""
    frame = part.frames[body]
    a, w, w_dot = (product(frame.pose.R.T, v) for v in (frame.a, frame.w, frame.w_dot))
    return _Accelerated(a, w_dot, _outer(w))


def _wrench(p: Array, body: _Accelerated) -> tuple[Array, Array]:
    """Force and moment about a body's origin, its own axes, from ten parameters."""
    a, (x, y, z), W = body.a, body.w_dot.tolist(), body.W
    T = pack(
        [
            [-(W[1, 1] + W[2, 2]), W[0, 1] - z, W[0, 2] + y],
            [W[0, 1] + z, -(W[0, 0] + W[2, 2]), W[1, 2] - x],
            [W[0, 2] - y, W[1, 2] + x, -(W[0, 0] + W[1, 1])],
        ]
    )
    f = scaled(p[0], a)
    for k in range(3):
        f = add(f, scaled(p[1 + k], T[:, k]))
    n = turned(p[1:4], a)
    for value, part in zip(
        p[4:],
        (
            (x, W[0, 2], -W[0, 1]),
            (y - W[0, 2], x + W[1, 2], W[0, 0] - W[1, 1]),
            (-W[1, 2], y, W[0, 1]),
            (z + W[0, 1], W[2, 2] - W[0, 0], x - W[1, 2]),
            (W[1, 1] - W[2, 2], z - W[0, 1], y + W[0, 2]),
            (W[1, 2], -W[0, 2], z),
        ),
        strict=True,
    ):
        n = add(n, scaled(value, pack(part)))
    return f, n


def _require_bodies(legs: Legs, motions: Motions, virtual: list[_Virtual], force: list[Scalar]) -> None:
    """Inertia and weight of all bodies but rods, onto the actuators' forces."""
    placed, plan = legs.placed, legs.plan
    robot, chains = placed.robot, placed.chains
    for body in range(1, len(robot.bodies)):
        if body in plan.rods or chains.place.get(body, (1,))[0] == 0:
            continue
        parts = [
            (weight, _node_body(legs, part, body) if body in chains.place else _nacelle_body(part, body))
            for weight, part in motions
        ]
        moving = _Accelerated(*(_weighted([(weight, part[i]) for weight, part in parts]) for i in range(3)))
        f, n = _wrench(body_parameters(robot, body), moving)
        if body not in chains.place:
            R = placed.nacelle.poses[body].R
            for k, at in enumerate(virtual):
                frame = at.frames[body]
                force[k] = _power(force[k], product(R.T, frame.v), product(R.T, frame.w), f, n)
            continue
        node, frame_ = chains.place[body]
        moved = columns(chains, node, frame_.p)
        own = {rate: tuple(product(frame_.R.T, part) for part in pair) for rate, pair in moved.items()}
        if chains.root(node) is None and len(own) <= 3:
            for rate, (linear, angular) in own.items():
                gamma = _power(0.0, linear, angular, f, n)
                for k, at in enumerate(virtual):
                    force[k] = plus_times(force[k], at.u[rate], gamma)
            continue
        for k, at in enumerate(virtual):
            twist = (velocity(moved, at.u), angular_velocity(moved, at.u))
            linear, angular = with_root(chains, node, frame_.p, twist, at.frames)
            force[k] = _power(
                force[k], product(frame_.R.T, linear), product(frame_.R.T, angular), f, n
            )


def _power(total: Scalar, v: Array, w: Array, f: Array, n: Array) -> Scalar:
    """A sum with the power of a wrench at a twist; zeros cost nothing."""
    for rate, value in zip((*v.tolist(), *w.tolist()), (*f.tolist(), *n.tolist()), strict=True):
        total = plus_times(total, rate, value)
    return total


def _require_rod_ends(legs: Legs, part: Motion, into: Required) -> None:
    """The masses at the ends of rods, on the bodies that carry them."""
    placed = legs.placed
    for rod in placed.rods:
        for body, point, mass in zip(rod.bodies, rod.points, rod.masses[:2], strict=True):
            if body in placed.chains.place:
                node, frame = placed.chains.place[body]
                if node:
                    at = np.asarray(frame.p + frame.R @ point)
                    into.on_node(node, scaled(mass, part.nodes[node].acceleration(at)), ZERO, at)
            else:
                pose = placed.nacelle.poses[body]
                f = scaled(mass, part.frames[body].acceleration(point))
                into.on_nacelle(body, pose.p + pose.R @ point, f, ZERO)


def _require_rotors(legs: Legs, part: Motion, into: Required) -> None:
    """Rotors behind gears, in the tree and at closures."""
    robot = legs.placed.robot
    closing = closure_rates(legs.placed)
    for index, joint in enumerate(robot.joints):
        if not has_rotor(robot, index):
            continue
        inertia = joint.gear_ratio * joint.gear_ratio * joint.rotor_inertia
        if index >= robot.tree:
            value = inertia * closure_acceleration(legs, part, closing[index])
            into.along_closure(legs, closing[index], value)
            continue
        rate = robot.platform_nv + robot.v_slices[index].start
        acceleration = part.u_dot.get(rate, part.w_dot.get(rate, 0.0))
        merge(into.gamma if rate in part.u_dot else into.nacelle, {rate: inertia * acceleration})

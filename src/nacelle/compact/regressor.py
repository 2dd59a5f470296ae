"""The linear form in the parameters: force = Y p, by virtual power.

The force of actuator k is the power of everything that the motion requires at the virtual motion in which
this actuator has unit rate and the others have none: with v_k the reduced twist of that motion, u_k the rates
of the legs and w_k those of the platform,

    force_k = sum over rates of legs of Gamma_r u_rk + sum over rates of the platform of Gamma_r w_rk.

What is required runs on linear forms in the place of the parameters (`nacelle.spatial.linear_form`): the
physics of inverse dynamics, one pass, whose results are the columns. Of a body whose origin has the
acceleration a (less gravity), in its own axes, with w' and W = w w^T, T = [w'] + W - trace(W),

    f = m a + T h          n = h x a + I w' + w x I w.

A rod between two spherical joints is known by three masses, linear in its ten parameters.

Along a reference inertial forces are a weighted sum of those of three motions (`dynamics.reference_motion`).

Of a platform with few rates u_rk is found from the transposed equations, once for a passive rate: it is what
a unit force along the rate requires of actuator k. Where actuators are redundant, v_k is row k of the matrix
from forces along v to forces of the actuators of least norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nacelle.compact.actuators import least_norm
from nacelle.compact.configured import active_rates, has_square_balance
from nacelle.compact.efforts import JOINT_FORCE_TERMS, add_rod_forces, add_rotor_inertia
from nacelle.compact.legs import Legs, Rates, growth_figure, margins, mechanism_motion
from nacelle.compact.motion import MechanismMotion, NodeMotion, node_twist, point_unit_twists
from nacelle.compact.plan import eliminated_legs
from nacelle.compact.platform import MovingFrame
from nacelle.compact.required import ForceAccumulator, forces_on_platform, propagate_forces
from nacelle.compact.solve import determinant
from nacelle.compact.vectors import ZERO, add, add_product, all_zero, cross_nonzero, inner, scale
from nacelle.dynamics.physics import ALL_TERMS, WITHOUT_FRICTION, Physics
from nacelle.dynamics.reference_motion import reference_motions
from nacelle.kinematics.shapes import pose_shape, twist_shape, unknowns_shape
from nacelle.model.linear_parameters import Columns, Signs, column_count, with_linear_forms
from nacelle.model.robot import Robot, body_parameters
from nacelle.spatial.linear_form import LinearForm, coefficients
from nacelle.spatial.physics import physics
from nacelle.spatial.pose import identity
from nacelle.spatial.scalar import Array, Scalar, minimum, pack, product, sqrt
from nacelle.spatial.screw import Twist
from nacelle.spatial.solve import solve

# Number of the platform's rates up to which the transposed equations are the shorter way.
_FEW_PLATFORM_RATES = 3
# A rate of a leg (or of the platform), its place, and a sign.
SignedRate = tuple[bool, int, float]


class VirtualMotion(NamedTuple):
    """The robot with unit rate of one actuator: frames of the platform, its rates, rates of the legs."""

    frames: dict[int, MovingFrame]
    w: Rates
    u: Rates


class VirtualPower:
    """The forces of the actuators, summed up over what is required.

    Attributes:
        motions: for every actuator the virtual motion.
        pivot: the smallest pivot of what they were found with.
        force: for every actuator its force so far, a linear form in the parameters.
    """

    def __init__(self, legs: Legs) -> None:
        """Find the virtual motions of a robot."""
        direct = has_square_balance(legs.plan)
        twists, pivot = _direct_twists(legs) if direct else _balanced_twists(legs)
        self.pivot = pivot
        self.force: list[Scalar] = [0.0] * len(twists)
        self.motions: list[VirtualMotion] = []
        drives = {k: rate for rate, k in active_rates(legs.configured.robot).items()}
        transposed = direct and len(legs.configured.platform.moving) <= _FEW_PLATFORM_RATES
        for k, twist in enumerate(twists):
            w = legs.platform_rates(twist)
            frames = legs.configured.platform.frames(w, {})
            active = {rate: 1.0 if drive == k else 0.0 for drive, rate in drives.items()} if direct else None
            u = dict(active or {}) if transposed else legs.rates(frames, active)
            self.motions.append(VirtualMotion(frames, w, u))
        if transposed:
            self._find_passive(legs, drives)

    def _find_passive(self, legs: Legs, drives: dict[int, int]) -> None:
        """Rates of passive joints by the transposed equations; `drives` has the actuators' rates."""
        for leg, factors in enumerate(legs.factors):
            for _, rate in factors.order.passive:
                multipliers, drive_forces = factors.forces({rate: 1.0})
                platform_forces = legs.wrench(leg, multipliers)
                for k, at in enumerate(self.motions):
                    w = (at.w[index] for index in platform_forces)
                    at.u[rate] = inner(platform_forces.values(), w, drive_forces.get(drives[k], 0.0))

    def add(self, gamma: Rates, platform: Rates, weight: float = 1.0) -> None:
        """Forces along rates of legs and of the platform, linear forms."""
        for parameter, groups in _group_coefficients(gamma, platform).items():
            for value, acting in groups:
                form = LinearForm({parameter: value * weight})
                for k, at in enumerate(self.motions):
                    signs = (sign for _, _, sign in acting)
                    rates = ((at.u if of_leg else at.w).get(index, 0.0) for of_leg, index, _ in acting)
                    self.force[k] = add_product(self.force[k], inner(signs, rates), form)

    def add_wrench(self, twists: Sequence[Twist], f: Array, n: Array) -> None:
        """Add a wrench [f; n] of linear forms on a body with the twists [v_k; w_k] in the virtual motions.

        force_k += f . v_k + n . w_k, all in the same axes.
        """
        for k, (v, w) in enumerate(twists):
            value = wrench_power(v, w, f, n)
            self.force[k] = add_product(self.force[k], 1.0, value)


def wrench_power(v: Array, w: Array, f: Array, n: Array) -> Scalar:
    """Power f . v + n . w (W) of a wrench [f; n] at a twist [v; w]; zeros cost nothing."""
    return inner([*v.tolist(), *w.tolist()], [*f.tolist(), *n.tolist()])


def _group_coefficients(gamma: Rates, platform: Rates) -> dict[int, list[tuple[Scalar, list[SignedRate]]]]:
    """For every parameter its coefficients, each with the rates that it acts along.

    A moment in a joint acts along several rates by one and the same number: their sum comes first.
    """
    coefficients: dict[int, list[tuple[Scalar, list[SignedRate]]]] = {}
    for of_leg, forces in ((True, gamma), (False, platform)):
        for rate, form in forces.items():
            for parameter, value in form.terms.items() if isinstance(form, LinearForm) else ():
                groups = coefficients.setdefault(parameter, [])
                for earlier, acting in groups:
                    sign = _sign_between(earlier, value)
                    if sign:
                        acting.append((of_leg, rate, sign))
                        break
                else:
                    groups.append((value, [(of_leg, rate, 1.0)]))
    return coefficients


def _sign_between(a: Scalar, b: Scalar) -> float:
    """1 for two symbols of the same value, -1 for opposite ones; 0 for all others."""
    first, second = getattr(a, "index", None), getattr(b, "index", None)
    if first is None or second is None:
        return 0.0
    return 1.0 if first == second else -1.0 if (-a).index == second else 0.0


def _direct_twists(legs: Legs) -> tuple[list[Array], Scalar]:
    """The twists from the rows that are left of the legs: C v = (their coefficients of active rates)."""
    plan, robot = legs.plan, legs.configured.robot
    C = pack(legs.balance_columns)
    numbers = active_rates(robot)
    right: list[list[Scalar]] = [[0.0] * len(C) for _ in C]
    for i, (k, row) in enumerate(plan.active_rows):
        for rate, value in legs.factors[k].upper[row].items():
            right[numbers[rate]][i] = 1.0 if (k, row) in plan.unit else value
    if plan.solve is None:
        pivot = determinant(C.tolist()) * (1.0 / plan.determinant)
        return [solve(C, pack(column)) for column in right], pivot
    # The plan's order is that of the transposed matrix.
    order = plan.solve.transpose
    factors = order.eliminate(C.tolist())
    return [factors.solution(column) for column in right], order.smallest_pivot(factors)


def _balanced_twists(legs: Legs) -> tuple[list[Array], Scalar]:
    """The twists as rows of the matrix from forces along v to those of the actuators."""
    solutions = least_norm(legs, np.eye(len(legs.plan.mechanism.independent)))
    return list(np.stack([each.tau for each in solutions], axis=1)), sqrt(solutions[0].parallel_margin)


# Number of rates up to which a body's inertia is projected onto each rate that moves it; beyond, onto the
# virtual motions.
_FEW_BODY_RATES = 3
# Motions with weights: inertial forces are linear in accelerations, and those of several motions add up.
Motions = Sequence[tuple[float, MechanismMotion]]


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape, a=twist_shape)
def regressor(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    a: Array,
    *,
    columns: Columns = None,
    signs: Signs = None,
    physics: Physics = ALL_TERMS,
) -> dict[str, Array]:
    """Y (actuators, columns), smallest pivot and margins."""
    legs = eliminated_legs(with_linear_forms(robot, columns, signs), x, y)
    moving = mechanism_motion(legs, v, a)
    power = virtual_power(legs, moving, [(1.0, moving)], physics)
    return {**linear_form(legs, power, column_count(robot, columns)), "margins": margins(legs)}


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape, v_ref=twist_shape, a_ref=twist_shape)
def reference_regressor(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    v_ref: Array,
    a_ref: Array,
    *,
    columns: Columns = None,
    signs: Signs = None,
    physics: Physics = ALL_TERMS,
) -> dict[str, Array]:
    """Y (actuators, columns) along a reference v_ref, a_ref at the twist v; friction at v."""
    legs = eliminated_legs(with_linear_forms(robot, columns, signs), x, y)
    references = reference_motions(
        legs.plan.mechanism,
        v,
        v_ref,
        a_ref,
        _platform_angular_velocity(legs, v),
        _platform_angular_velocity(legs, v_ref),
    )
    motions = [(weight, mechanism_motion(legs, twist, a)) for weight, twist, a in references]
    power = virtual_power(legs, mechanism_motion(legs, v, np.zeros(len(v))), motions, physics)
    return {**linear_form(legs, power, column_count(robot, columns)), "margins": margins(legs)}


def _platform_angular_velocity(legs: Legs, v: Array) -> Array:
    """Angular velocity of the platform at a reduced twist; zero for a point."""
    if legs.configured.robot.platform_nv < 6:
        return ZERO
    rates = legs.platform_rates(v)
    return pack([rates.get(k, 0.0) for k in (3, 4, 5)])


def virtual_power(legs: Legs, moving: MechanismMotion, motions: Motions, physics: Physics) -> VirtualPower:
    """What the motion that friction sees, and the motions that inertia sees, require of the actuators."""
    power = VirtualPower(legs)
    forces = ForceAccumulator(legs.configured)
    friction = replace(physics, inertia=False)
    for require in (add_rod_forces, *JOINT_FORCE_TERMS):
        require(legs, moving, forces, friction)
    power.add(propagate_forces(forces), forces_on_platform(legs, forces, [{} for _ in legs.factors]))
    for weight, part in motions:
        inertial = ForceAccumulator(legs.configured)
        add_rod_forces(legs, part, inertial, WITHOUT_FRICTION)
        _add_rod_end_forces(legs, part, inertial)
        add_rotor_inertia(legs, part, inertial)
        power.add(
            propagate_forces(inertial), forces_on_platform(legs, inertial, [{} for _ in legs.factors]), weight
        )
    _add_body_power(legs, motions, power)
    return power


def linear_form(legs: Legs, power: VirtualPower, count: int) -> dict[str, Array]:
    """Y (actuators, count) and the smallest pivot."""
    Y = coefficients(power.force, count)
    return {"Y": Y, "pivot": pack([minimum(power.pivot, growth_figure(legs))])[0]}


class _BodyAcceleration(NamedTuple):
    """How a body accelerates.

    Attributes:
        a: acceleration of its origin less gravity.
        T: the matrix (3, 3) of w' x r + w x (w x r) over r in its own axes.
        w_dot: derivative of its angular velocity, own axes.
        W: w w^T (3, 3), own axes.
    """

    a: Array
    T: Array
    w_dot: Array
    W: Array


def _outer(w: Array) -> Array:
    return np.zeros((3, 3)) if all_zero(w) else pack([[p * q for q in w.tolist()] for p in w.tolist()])


def _weighted_sum(parts: Sequence[tuple[float, Array]]) -> Array:
    """A weighted sum of arrays."""
    if len(parts) == 1:
        return parts[0][1]
    total: Array = np.zeros(parts[0][1].size)
    for weight, part in parts:
        total = add(total, scale(weight, part.ravel()))
    return total.reshape(parts[0][1].shape)


def _node_body(legs: Legs, part: MechanismMotion, body: int) -> _BodyAcceleration:
    """A body of a leg, all in its own axes."""
    node, frame = legs.configured.trees.node_frames[body]
    moving = part.nodes[node]
    a, w, w_dot = (product(frame.R.T, v) for v in (moving.acceleration(frame.p), moving.w, moving.w_dot))
    return _BodyAcceleration(a, NodeMotion(w, w_dot, a).acceleration_matrix, w_dot, _outer(w))


def _platform_body(part: MechanismMotion, body: int) -> _BodyAcceleration:
    """A body of the platform, forces in base axes: its second derivatives are there already."""
    frame = part.frames[body]
    w, w_dot = (product(frame.pose.R.T, v) for v in (frame.w, frame.w_dot))
    return _BodyAcceleration(frame.a, np.stack(frame.columns_ddot, axis=1), w_dot, _outer(w))


def _wrench(p: Array, body: _BodyAcceleration, R: Array) -> tuple[Array, Array]:
    """Force and moment about a body's origin from ten parameters, with R from its own axes."""
    (x, y, z), W = body.w_dot.tolist(), body.W
    f = scale(p[0], body.a)
    n: Array = ZERO
    for k in range(3):
        f = add(f, scale(p[1 + k], body.T[:, k]))
        n = add(n, scale(p[1 + k], cross_nonzero(R[:, k], body.a)))
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
        n = add(n, scale(value, product(R, pack(part))))
    return f, n


def _add_body_power(legs: Legs, motions: Motions, power: VirtualPower) -> None:
    """Inertia and weight of all bodies but rods."""
    configured = legs.configured
    robot, trees = configured.robot, configured.trees
    for body in range(1, len(robot.bodies)):
        node, frame = trees.node_frames.get(body, (-1, identity()))
        if body in configured.parts.omitted_bodies or node == 0:
            continue
        parts = [
            (weight, _platform_body(part, body) if node < 0 else _node_body(legs, part, body))
            for weight, part in motions
        ]
        moving = _BodyAcceleration(
            *(_weighted_sum([(weight, part[i]) for weight, part in parts]) for i in range(4))
        )
        R = configured.platform.poses[body].R if node < 0 else np.eye(3)
        f, n = _wrench(body_parameters(robot, body), moving, R)
        if node < 0:
            power.add_wrench([Twist(at.frames[body].v, at.frames[body].w) for at in power.motions], f, n)
            continue
        unit_twists = point_unit_twists(trees, node, frame.p)
        if trees.root(node) is None and len(unit_twists) <= _FEW_BODY_RATES:
            gamma = {
                rate: wrench_power(product(frame.R.T, linear), product(frame.R.T, angular), f, n)
                for rate, (linear, angular) in unit_twists.items()
            }
            power.add(gamma, {})
            continue
        twists = []
        for at in power.motions:
            linear, angular = node_twist(trees, node, frame.p, unit_twists, at.u, at.frames)
            twists.append(Twist(product(frame.R.T, linear), product(frame.R.T, angular)))
        power.add_wrench(twists, f, n)


def _add_rod_end_forces(legs: Legs, part: MechanismMotion, forces: ForceAccumulator) -> None:
    """The masses at the ends of rods, on the bodies that carry them."""
    configured = legs.configured
    for rod in configured.rods:
        for body, point, mass in zip(rod.bodies, rod.points, rod.masses[:2], strict=True):
            if body in configured.trees.node_frames:
                node, frame = configured.trees.node_frames[body]
                if node:
                    at = np.asarray(frame.p + frame.R @ point)
                    forces.add_to_node(node, scale(mass, part.nodes[node].acceleration(at)), ZERO, at)
            else:
                pose = configured.platform.poses[body]
                f = scale(mass, part.frames[body].acceleration(point))
                forces.add_to_platform(body, pose.p + pose.R @ point, f, ZERO)

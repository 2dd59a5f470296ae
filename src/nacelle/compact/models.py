"""The compact form as physics functions: one formulation for every robot and every model.

    place -> eliminate -> motion -> required forces -> platform's balance

    M_l u_l = g_l(w)                 rates u_l of each leg from those of the platform w, which v (n,) gives
    M_l u_l' = g_l(w') + bias        and their derivatives
    M_l^T lambda_l = Gamma_l         multipliers of the leg's constraints that hold what its motion requires
    sum N_l^T lambda_l + Gamma_w = J_r^-T tau + load          the balance along v, for the actuator forces tau

All take the reduced pose x (nx,) and passive coordinates y (ny,); `load` (n,) is a force along the reduced
twist from outside. Legs are written in the axes of their own links, the platform in base axes; SI units.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from nacelle.compact.actuators import actuator_jacobian, driven_closure_rates, least_norm, rotor_rates
from nacelle.compact.configured import FormOptions, active_rates, has_square_balance, uses_pole
from nacelle.compact.efforts import JOINT_FORCE_TERMS, add_rod_forces, add_rotor_inertia, closure_acceleration
from nacelle.compact.inertial import add_inertial_forces, condensed_numbers, ends_with_inertia
from nacelle.compact.legs import Legs, growth_figure, margins, mechanism_motion
from nacelle.compact.line_leg_forces import add_strut_and_rod_forces
from nacelle.compact.mass import kinetic_energy, mass_matrix
from nacelle.compact.motion import MechanismMotion
from nacelle.compact.plan import eliminated_legs, plan_of, prefers_line_axes
from nacelle.compact.required import ForceAccumulator, forces_on_platform, propagate_forces
from nacelle.compact.solve import determinant
from nacelle.compact.vectors import acceleration_matrix, add_product, all_zero, cross_nonzero, inner
from nacelle.dynamics.energy import potential_energy
from nacelle.dynamics.physics import ALL_TERMS, Physics
from nacelle.dynamics.state import State
from nacelle.dynamics.tree_form import mass_pivot_ratio
from nacelle.kinematics.shapes import actuators_shape, pose_shape, twist_shape, unknowns_shape
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, Scalar, minimum, pack, plus, product, sqrt
from nacelle.spatial.solve import solve


def guard_outputs(legs: Legs) -> dict[str, Array]:
    """What says whether the results can be trusted: "pivot", the growth figure, and "margins" (legs,)."""
    return {"pivot": pack([growth_figure(legs)])[0], "margins": margins(legs)}


def _motion_for_forces(
    legs: Legs, v: Array, a: Array, *, friction: bool = True, pole_held: bool = False
) -> MechanismMotion:
    """The motion at a reduced twist v and its derivative a, in the form that is short for what follows."""
    heavy = ends_with_inertia(legs.configured, condensed_numbers(legs.configured))
    return mechanism_motion(legs, v, a, heavy, friction=friction, pole_held=pole_held)


def force_terms(
    legs: Legs, moving: MechanismMotion, physics: Physics, tau: Array | None = None
) -> ForceAccumulator:
    """Everything that a motion requires; `tau` (actuators,) is taken off."""
    configured = legs.configured
    forces = ForceAccumulator(configured)
    add_inertial_forces(legs, moving, condensed_numbers(legs.configured), forces)
    add_rotor_inertia(legs, moving, forces)
    for add_forces in (add_rod_forces, add_strut_and_rod_forces, *JOINT_FORCE_TERMS):
        add_forces(legs, moving, forces, physics)
    if tau is not None:
        for active_rate, k in active_rates(configured.robot).items():
            forces.along(active_rate, -tau[k])
        for rate in driven_closure_rates(configured).values():
            if rate.actuator is not None:
                forces.add_along_closure(legs, rate, -tau[rate.actuator])
    return forces


def project_forces(legs: Legs, forces: ForceAccumulator) -> list[Scalar]:
    """Required forces as a force (n,) along v, N or N m; all rates of the legs follow the platform."""
    gamma = propagate_forces(forces)
    multipliers = [factors.forces(gamma, active_rates_held=True)[0] for factors in legs.factors]
    return legs.project_on_twist(forces_on_platform(legs, forces, multipliers))


def _about_pole(legs: Legs, load: Array) -> Array:
    """A force along v with its moment about the platform's pole."""
    platform, mechanism = legs.configured.platform, legs.plan.mechanism
    if platform.pole is None or all_zero(load):
        return load
    index_of = {rate: k for k, rate in enumerate(mechanism.independent)}
    force = pack([load[index_of[k]] if k in index_of else 0.0 for k in range(3)])
    shift = cross_nonzero(plus(platform.poses[PLATFORM].p, -platform.pole.point), force)
    return pack(
        [
            load[index_of[r]] + shift[r - 3] if r in (3, 4, 5) else load[index_of[r]]
            for r in mechanism.independent
        ]
    )


def _from_pole(legs: Legs, v: Array, a: Array) -> Array:
    """Derivative of the reduced twist from that of the pole: a - w' x r - w x (w x r), r to the pole."""
    platform, mechanism = legs.configured.platform, legs.plan.mechanism
    if platform.pole is None or platform.pole.local is None:
        return a
    rates = dict(zip(mechanism.independent, a.tolist(), strict=True))
    now = dict(zip(mechanism.independent, v.tolist(), strict=True))
    w, w_dot = (pack([values.get(k, 0.0) for k in (3, 4, 5)]) for values in (now, rates))
    shift = product(acceleration_matrix(w, w_dot), product(platform.poses[PLATFORM].R, platform.pole.local))
    return pack([rates[r] - shift[r] if r < 3 else rates[r] for r in mechanism.independent])


def form_options(
    robot: Robot, physics: Physics, line_axes: bool | None, *, asymmetric: bool = True
) -> FormOptions:
    """How the form is written; bars are `line_axes`, where that is shorter if None."""
    if line_axes is None:
        line_axes = prefers_line_axes(robot, friction=physics.friction)
    return FormOptions(True, line_axes, asymmetric)


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape, a=twist_shape, load=twist_shape)
def inverse(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    a: Array,
    load: Array,
    *,
    physics: Physics = ALL_TERMS,
    line_axes: bool | None = None,
) -> dict[str, Array]:
    """Actuator forces (N, N m), smallest pivot and margins; `line_axes` as in `form_options`."""
    options = form_options(robot, physics, line_axes, asymmetric=False)
    legs = eliminated_legs(robot, x, y, pole=has_square_balance(plan_of(robot, options)), options=options)
    moving = _motion_for_forces(legs, v, a, friction=physics.friction)
    return {**actuator_forces(legs, moving, physics, load), "margins": margins(legs)}


def actuator_forces(legs: Legs, moving: MechanismMotion, physics: Physics, load: Array) -> dict[str, Array]:
    """Actuator forces (N, N m) of a motion, and the smallest pivot."""
    forces = force_terms(legs, moving, physics)
    if has_square_balance(legs.plan):
        force, pivot = _forces_from_balance(legs, forces, load)
    else:
        (force, square), *_ = least_norm(legs, [pack(project_forces(legs, forces)) - load])
        pivot = sqrt(square)
    pivot = minimum(pivot, growth_figure(legs))
    return {"force": force, "pivot": pack([pivot])[0]}


def _forces_from_balance(legs: Legs, forces: ForceAccumulator, load: Array) -> tuple[Array, Scalar]:
    """Actuator forces from the platform's balance for what the passive joints leave free."""
    plan, robot = legs.plan, legs.configured.robot
    gamma = propagate_forces(forces)
    solutions = [factors.forces(gamma) for factors in legs.factors]
    Q = legs.project_on_twist(forces_on_platform(legs, forces, [values for values, _ in solutions]))
    C = pack(legs.balance_columns).T
    right = pack([value - q for value, q in zip(_about_pole(legs, load), Q, strict=True)])
    if plan.solve is None:
        multipliers = solve(C, right)
        pivot = determinant(C.tolist()) * (1.0 / plan.determinant)
    else:
        multipliers, pivot = plan.solve.solve(C.tolist(), right.tolist())
    mu = dict(zip(plan.active_rows, multipliers, strict=True))
    force: list[Scalar] = [0.0] * len(robot.actuators)
    numbers = active_rates(robot)
    for k, factors in enumerate(legs.factors):
        for _, rate in factors.order.active:
            value = solutions[k][1][rate]
            for row, _ in factors.order.active:
                factor = 1.0 if (k, row) in plan.unit else factors.upper[row].get(rate, 0.0)
                value = add_product(value, -factor, mu[k, row])
            force[numbers[rate]] = value
    return pack(force), pivot


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape, tau=actuators_shape, load=twist_shape)
def forward(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    tau: Array,
    load: Array,
    *,
    physics: Physics = ALL_TERMS,
    line_axes: bool | None = None,
) -> dict[str, Array]:
    """The derivative of the reduced twist at actuator forces tau: M dv/dt = load - h + J_r^-T tau."""
    options = form_options(robot, physics, line_axes)
    pole_held = uses_pole(plan_of(robot, options).parts)
    legs = eliminated_legs(robot, x, y, pole=pole_held, options=options)
    moving = _motion_for_forces(
        legs, v, np.zeros(robot.motion.n), friction=physics.friction, pole_held=pole_held
    )
    h = project_forces(legs, force_terms(legs, moving, physics, tau))
    M = reduced_mass_matrix(legs)
    right = pack([value - q for value, q in zip(_about_pole(legs, load), h, strict=True)])
    guarded = guard_outputs(legs)
    return {
        "acceleration": _from_pole(legs, v, solve(M, right, "spd")),
        **guarded,
        "pivot": minimum(guarded["pivot"], mass_pivot_ratio(M)),
    }


def reduced_mass_matrix(legs: Legs) -> Array:
    """Mass matrix (n, n) along the reduced twist, with rotors at closures."""
    configured = legs.configured
    M = mass_matrix(legs, condensed_numbers(legs.configured))
    for rate in rotor_rates(configured):
        row = pack(legs.project_held_forces(*rate.unit_force(legs)))
        M = M + rate.rotor * np.outer(row, row)
    return M


@physics(x=pose_shape, y=unknowns_shape)
def inertia(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Mass matrix (n, n) along the reduced twist, and J_r^-1 (actuators, n)."""
    legs = eliminated_legs(robot, x, y, options=FormOptions(True))
    return {"M": reduced_mass_matrix(legs), "A": actuator_jacobian(legs), **guard_outputs(legs)}


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape)
def bias(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    *,
    physics: Physics = ALL_TERMS,
    line_axes: bool | None = None,
) -> dict[str, Array]:
    """Force h (n,) along the reduced twist at dv/dt = 0; M, J_r^-1, and the actuators' accelerations."""
    options = form_options(robot, physics, line_axes)
    legs = eliminated_legs(robot, x, y, options=options)
    moving = _motion_for_forces(legs, v, np.zeros(robot.motion.n), friction=physics.friction)
    closing = driven_closure_rates(legs.configured)
    rates = {k: rate for rate, k in active_rates(robot).items()}
    accelerations = {**moving.w_dot, **moving.u_dot}
    biases = [
        accelerations.get(rates[k], 0.0)
        if k in rates
        else closure_acceleration(legs, moving, closing[actuator.joint])
        for k, actuator in enumerate(robot.actuators)
    ]
    return {
        "h": pack(project_forces(legs, force_terms(legs, moving, physics))),
        "M": reduced_mass_matrix(legs),
        "A": actuator_jacobian(legs),
        "actuator_bias": pack(biases),
        **guard_outputs(legs),
    }


@physics(x=pose_shape, y=unknowns_shape)
def gravity(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Force g (n,) along the reduced twist that holds the robot against gravity, N or N m, and J_r^-1."""
    legs = eliminated_legs(robot, x, y, options=FormOptions(True))
    still = np.zeros(robot.motion.n)
    forces = ForceAccumulator(legs.configured)
    moving = _motion_for_forces(legs, still, still)
    add_inertial_forces(legs, moving, condensed_numbers(legs.configured), forces)
    weight = Physics(friction=False, springs=False)
    add_rod_forces(legs, moving, forces, weight)
    add_strut_and_rod_forces(legs, moving, forces, weight)
    return {"g": pack(project_forces(legs, forces)), "A": actuator_jacobian(legs), **guard_outputs(legs)}


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape)
def energies(robot: Robot, x: Array, y: Array, v: Array, *, physics: Physics = ALL_TERMS) -> dict[str, Array]:
    """Kinetic and potential energy (J), and the power that friction takes (W)."""
    legs = eliminated_legs(robot, x, y, options=FormOptions(True))
    moving = _motion_for_forces(legs, v, np.zeros(robot.motion.n))
    forces = ForceAccumulator(legs.configured)
    dissipative = replace(physics, springs=False, inertia=False)
    for require in (add_rod_forces, *JOINT_FORCE_TERMS, add_strut_and_rod_forces):
        require(legs, moving, forces, dissipative)
    return {
        "kinetic": pack([kinetic_energy(legs, moving, condensed_numbers(legs.configured))])[0],
        "potential": pack([potential_energy(cast(State, legs.configured))])[0],
        "dissipation": pack([inner(project_forces(legs, forces), v)])[0],
        **guard_outputs(legs),
    }

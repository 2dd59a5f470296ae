"""Dynamics by the equivalent tree, or a formulation of the papers, as physics functions: a reference.

    inverse    A^T Gamma = F(x, v, dv/dt) - load                        A = J_r^-1 (actuators, n)
    forward    M dv/dt = A^T tau + load - h                             h = F(x, v, 0), M (n, n)
    regressor  Gamma = Y p: the inverse run on linear forms in p        Y (actuators, parameters)

All take the reduced pose x (nx,) and passive coordinates y (ny,); `load` (n,) is a force along the reduced
twist from outside (external wrenches, projected). Base axes, SI units.

M dv/dt = f has a solution for every force f only if M has full rank. A robot without masses, or with inertia
along some motions only, has none. With d_i = M_ii the matrix M_ij / sqrt(d_i d_j) has no units; its
eigenvectors of eigenvalues that are zero up to rounding are the motions without inertia.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from nacelle.dynamics.actuators import least_norm_forces
from nacelle.dynamics.energy import dissipated_power, kinetic_energy, potential_energy
from nacelle.dynamics.external import load_names, project_wrenches
from nacelle.dynamics.physics import ALL_TERMS, Physics
from nacelle.dynamics.reference_motion import reference_motions
from nacelle.dynamics.state import State, state_at, state_at_rest
from nacelle.dynamics.tree_form import generalised_force, gravity_force, mass_matrix, mass_pivot_ratio
from nacelle.errors import KinematicsError, SingularError, did_you_mean
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.mechanism.rods import with_axisymmetric_rods
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose_input import check_poses
from nacelle.kinematics.shapes import (
    actuators_shape,
    jacobian_scales,
    pose_shape,
    twist_shape,
    unknowns_shape,
)
from nacelle.kinematics.solve.unknowns import solve_unknowns
from nacelle.model.linear_parameters import Columns, Signs, column_count, with_linear_forms
from nacelle.model.robot import Robot
from nacelle.spatial.linear_form import coefficients
from nacelle.spatial.physics import PAPERS, load_registrations, physics
from nacelle.spatial.scalar import Array, pack
from nacelle.spatial.solve import solve
from nacelle.tree.actuation import actuator_biases

# Eigenvalues of the scaled matrix below this are zero up to rounding.
_ROUNDING = 1e-13
# Entries of an eigenvector below this belong to coordinates that take no part.
_PARTICIPATION = 0.05
# Poses near the reference at which a matrix that is singular there is examined again, and how far away.
_POSES, _SAMPLE_DISTANCE = 4, 0.02


def is_singular(M: Array) -> Array:
    """Which mass matrices (..., n, n) are singular up to rounding (...); none that is not finite."""
    singular = np.zeros(M.shape[:-2], dtype=bool)
    for index in np.ndindex(singular.shape):
        singular[index] = np.all(np.isfinite(M[index])) and np.any(_massless_coordinates(M[index]))
    return singular


def singular_mass_error(robot: Robot, x: Array, M: Array) -> SingularError:
    """The error for a pose x (nx,) whose mass matrix (n, n) is singular."""
    names = [
        name for name, bad in zip(robot.motion.coordinates, _massless_coordinates(M), strict=True) if bad
    ]
    pose = ", ".join(f"{value:.6g}" for value in x)
    return SingularError(
        f"{robot.name}: the mass matrix is singular at the pose [{pose}], along {', '.join(names)}, so that "
        "forces determine no acceleration",
        "mass",
    )


def require_inertia(robot: Robot) -> None:
    """Demand a mass matrix of full rank; robots with symbols in the place of numbers are not examined.

    Raises:
        SingularError: with the coordinates along which nothing has inertia.
    """
    left = _coordinates_without_inertia(robot) if robot.numeric is robot else ()
    if left:
        raise SingularError(
            f"nothing of {robot.name} has inertia along {', '.join(left)}: its mass matrix is singular, so "
            "that forces determine no acceleration; give its bodies masses and moments of inertia, or its "
            "actuators rotors with inertia",
            "mass",
        )


@lru_cache(maxsize=64)
def _coordinates_without_inertia(robot: Robot) -> tuple[str, ...]:
    """Coordinates of the motion along which nothing has inertia, at any pose."""
    mechanism = mechanism_of(robot)
    x, y = mechanism.reference
    left = _massless_coordinates(inertia(robot, x, y)["M"])
    if not np.any(left):
        return ()
    # Singular at the reference; a robot that is not so near it is singular at some poses alone.
    near = x + _SAMPLE_DISTANCE * robot.size * np.random.default_rng(0).normal(size=(_POSES, len(x)))
    poses, _ = check_poses(robot, near)
    for M in compile_native(inertia, robot)(poses, solve_unknowns(mechanism, poses).y)["M"]:
        if np.all(np.isfinite(M)):
            left &= _massless_coordinates(M)
    return tuple(name for name, bad in zip(robot.motion.coordinates, left, strict=True) if bad)


def _massless_coordinates(M: Array) -> Array:
    """Which coordinates (n,) take part in motions without inertia."""
    scale = np.sqrt(np.maximum(np.diag(M), 0.0))
    left = ~(scale > 0.0)
    unit = np.where(left, 1.0, scale)
    values, vectors = np.linalg.eigh(M / np.outer(unit, unit) + np.diag(np.where(left, 1.0, 0.0)))
    return np.asarray(left | np.any(np.abs(vectors[:, values < _ROUNDING]) > _PARTICIPATION, axis=1))


class Formulation(NamedTuple):
    """A formulation: its source, its force, and why it does not support a robot (empty if it does)."""

    source: str
    generalised_force: Callable[[State, Array, Physics], Array]
    reason_not: Callable[[Mechanism], str] = lambda _: ""


FORMULATIONS = {
    "tree": Formulation("projection of the equivalent tree, [KI2007] (1)", generalised_force),
}
"""By name: the tree, and the formulations that `nacelle.papers` registers."""


def supported_formulation(name: str, mechanism: Mechanism) -> Formulation:
    """A formulation by name, for a robot.

    Raises:
        KinematicsError: if no formulation has that name, or it does not support the robot.
    """
    if name not in FORMULATIONS:
        load_registrations(PAPERS)
    if name not in FORMULATIONS:
        names = ("auto", "compact", *FORMULATIONS)
        raise KinematicsError(f"no formulation is called {name!r}; {did_you_mean(name, names)}")
    reason = FORMULATIONS[name].reason_not(mechanism)
    if reason:
        raise KinematicsError(f"the formulation {name!r} does not support {mechanism.robot.name}: {reason}")
    return FORMULATIONS[name]


# A robot of motors and of cylinders whose size is this far from 1 m has rows of J_r^-1 of unlike sizes.
_UNLIKE_SCALES = 10.0


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape, a=twist_shape, load=twist_shape)
def inverse(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    a: Array,
    load: Array,
    *,
    formulation: str = "tree",
    physics: Physics = ALL_TERMS,
    weights: tuple[float, ...] | None = None,
) -> dict[str, Array]:
    """Actuator forces (actuators,), generalised force (n,), N or N m; parallel margin, margins of legs."""
    state = state_at(robot, x, y, v)
    chosen = supported_formulation(formulation, state.mechanism)
    F = chosen.generalised_force(state, a, physics) - load
    rows, columns = jacobian_scales(robot.numeric)
    shared = None if weights is None else np.array(weights)
    if shared is None and len(rows) == len(columns) and np.max(rows) > _UNLIKE_SCALES * np.min(rows):
        # Forces that are unique do not depend on weights: these make rows in rad and in m comparable.
        shared = rows * rows
    force, margin = least_norm_forces(state.inverse_jacobian, F, shared, units=columns)
    return {
        "force": force,
        "generalised": F,
        "parallel_margin": pack([margin])[0],
        "margins": state.margins(),
    }


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
    """Y (actuators, columns) with force = Y p, parallel margin and margins; of all parameters if None."""
    none = np.zeros(robot.motion.n)
    linear = with_axisymmetric_rods(with_linear_forms(robot, columns, signs))
    results = inverse(linear, x, y, v, a, none, physics=physics)
    Y = coefficients(results["force"], column_count(robot, columns))
    return {"Y": Y, "parallel_margin": results["parallel_margin"], "margins": results["margins"]}


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape, v_ref=twist_shape, a_ref=twist_shape)
def reference_regressor(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    v_ref: Array,
    a_ref: Array,
    *,
    physics: Physics = ALL_TERMS,
    **columns: Any,
) -> dict[str, Array]:
    """Y (actuators, parameters) along a reference v_ref, a_ref at the twist v; friction and springs at v."""
    state = state_at(robot, x, y, v)
    rotation_rows = state.moving.U[3:6] if robot.platform_nv == 6 else np.zeros((3, len(v)))
    motions = reference_motions(state.mechanism, v, v_ref, a_ref, rotation_rows @ v, rotation_rows @ v_ref)
    still = np.zeros(len(v))
    # Springs cancel between the first two motions, and are in the third with the weights.
    results = regressor(robot, x, y, v, still, physics=physics, **columns)
    rigid = replace(physics, friction=False)
    Y = results["Y"] - regressor(robot, x, y, v, still, physics=rigid, **columns)["Y"]
    for weight, twist, a in motions:
        Y = Y + weight * regressor(robot, x, y, twist, a, physics=rigid, **columns)["Y"]
    return {**results, "Y": Y}


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
) -> dict[str, Array]:
    """The derivative of the reduced twist at actuator forces tau: M dv/dt = A^T tau + load - h."""
    state = state_at(robot, x, y, v)
    zero = np.zeros(robot.motion.n)
    h = generalised_force(state, zero, physics)
    A, M = state.inverse_jacobian, mass_matrix(state)
    a = solve(M, A.T @ tau + load - h, "spd")
    return {"acceleration": a, "pivot": pack([mass_pivot_ratio(M)])[0], "margins": state.margins()}


@physics(x=pose_shape, y=unknowns_shape)
def inertia(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Mass matrix (n, n) along the reduced twist, and J_r^-1 (actuators, n)."""
    state = state_at_rest(robot, x, y)
    A = state.inverse_jacobian
    return {"M": mass_matrix(state), "A": A, "margins": state.margins()}


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape)
def bias(robot: Robot, x: Array, y: Array, v: Array, *, physics: Physics = ALL_TERMS) -> dict[str, Array]:
    """Force along the reduced twist at dv/dt = 0; with M, J_r^-1 and the actuators' bias acceleration."""
    state = state_at(robot, x, y, v)
    h = generalised_force(state, np.zeros(robot.motion.n), physics)
    A = state.inverse_jacobian
    biases = actuator_biases(robot, state.now.motion, state.moving.velocity, state.moving.bias)
    return {
        "h": h,
        "M": mass_matrix(state),
        "A": A,
        "actuator_bias": pack(biases),
        "margins": state.margins(),
    }


@physics(x=pose_shape, y=unknowns_shape)
def gravity(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Force g (n,) along the reduced twist that holds the robot against gravity, N or N m, and J_r^-1."""
    state = state_at_rest(robot, x, y)
    A = state.inverse_jacobian
    return {"g": gravity_force(state), "A": A, "margins": state.margins()}


@physics(x=pose_shape, y=unknowns_shape, v=twist_shape)
def energies(robot: Robot, x: Array, y: Array, v: Array, *, physics: Physics = ALL_TERMS) -> dict[str, Array]:
    """Kinetic and potential energy (J), and the power that friction takes (W)."""
    state = state_at(robot, x, y, v)
    return {
        "kinetic": pack([kinetic_energy(state)])[0],
        "potential": pack([potential_energy(state)])[0],
        "dissipation": pack([dissipated_power(state, physics)])[0],
        "margins": state.margins(),
    }


@physics(x=pose_shape, y=unknowns_shape, wrench=lambda robot: (len(load_names(robot)), 6))
def project_external_wrenches(robot: Robot, x: Array, y: Array, wrench: Array) -> Array:
    """Wrenches [f; n] (bodies + tools, 6), base axes, as a force (n,) along the reduced twist."""
    state = state_at_rest(robot, x, y)
    return project_wrenches(state, dict(enumerate(wrench[1:], start=1)))

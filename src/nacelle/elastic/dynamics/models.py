"""The elastodynamic models as physics functions: inverse, forward, energies ([BK2013] (38)).

Inputs are positions p that close all loops (`positions`), independent rates y = [q_a'; others] (`plan`) and
the actuators' accelerations or forces:

    inverse   q_a'' -> tau and the others' accelerations        M_ee y_e'' = -(M_ea q_a'' + c_e)
    forward   tau -> all accelerations                          M y'' = [tau; 0] - c
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.dynamics.settings import Settings
from nacelle.elastic.dynamics import energy, positions
from nacelle.elastic.dynamics.equations import (
    loop_step,
    motion_equations,
    open_rows,
    posed,
    reduced_motion,
    required_forces,
    robot_in_motion,
    second_rates,
)
from nacelle.elastic.dynamics.plan import rate_choice
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, pack, product
from nacelle.spatial.solve import solve


def of_positions(robot: Robot) -> tuple[int]:
    """Shape of the positions."""
    return (positions.size(rate_choice(robot).extended),)


def of_rates(robot: Robot) -> tuple[int]:
    """Shape of the independent rates."""
    return (rate_choice(robot).n,)


def of_inputs(robot: Robot) -> tuple[int]:
    """Shape of the actuators' forces or accelerations."""
    return (len(robot.actuators),)


@physics(p=of_positions, y=of_rates, a=of_inputs)
def elastic_inverse(robot: Robot, p: Array, y: Array, a: Array, **options: Any) -> dict[str, Array]:
    """Forces tau (na,), N or N m, at accelerations a (na,) of the actuators, and those z of the other rates.

    M [a; z] + c = [tau; 0] at positions p (size,) and independent rates y (n,), the actuators' first: z from
    the lower rows, tau from the upper ones.
    """
    plan = rate_choice(robot)
    M, c = motion_equations(reduced_motion(posed(plan, p), y), Settings(**options))
    k = plan.na
    others = solve(M[k:, k:], -(product(M[k:, :k], a) + c[k:]), "spd")
    return {
        "force": product(M[:k, :k], a) + product(M[:k, k:], others) + c[:k],
        "acceleration": others,
    }


@physics(p=of_positions, y=of_rates, tau=of_inputs)
def elastic_forward(robot: Robot, p: Array, y: Array, tau: Array, **options: Any) -> dict[str, Array]:
    """Accelerations y' (n,) at positions p (size,), rates y (n,), forces tau (na,): M y' + c = [tau; 0]."""
    plan = rate_choice(robot)
    M, c = motion_equations(reduced_motion(posed(plan, p), y), Settings(**options))
    right = pack([*tau, *np.zeros(plan.n - plan.na)]) - c
    return {"acceleration": solve(M, right, "spd")}


@physics(p=of_positions, y=of_rates)
def elastic_energies(robot: Robot, p: Array, y: Array, **options: Any) -> dict[str, Any]:
    """Kinetic and potential energy (J), power that is lost (W), and the rates of platform and joints."""
    motion = reduced_motion(posed(rate_choice(robot), p), y).motion
    frames, state = motion.at.frames, motion.state
    return {
        "kinetic": energy.kinetic(frames, motion.r),
        "potential": energy.potential(frames, state),
        "dissipation": energy.dissipation(frames, state, motion.r, Settings(**options)),
        "rates": motion.r[: robot.platform_nv + robot.nv],
    }


def of_all_rates(robot: Robot) -> tuple[int]:
    """Shape of all rates r."""
    return (rate_choice(robot).extended.embedding.shape[1],)


@physics(p=of_positions, r=of_all_rates)
def elastic_terms(robot: Robot, p: Array, r: Array, **options: Any) -> dict[str, Any]:
    """Terms of the model before the closures are solved, for large robots: M, forces h at constant rates r.

    Also A (d, r) and second derivatives of the closures' chosen rows, and energies.
    """
    at = posed(rate_choice(robot), p)
    motion = robot_in_motion(at, r)
    settings = Settings(**options)
    return {
        "M": at.frames.mass_matrix(),
        "h": required_forces(motion, np.zeros(len(r)), settings),
        "A": at.A,
        "second": second_rates(motion),
        "potential": energy.potential(at.frames, motion.state),
        "dissipation": energy.dissipation(at.frames, motion.state, r, settings),
    }


@physics(p=of_positions)
def elastic_gaps(robot: Robot, p: Array) -> dict[str, Any]:
    """A (d, r) and what the closures' chosen rows leave open (d,)."""
    at = posed(rate_choice(robot), p)
    return {"A": at.A, "gap": open_rows(at)}


@physics(p=of_positions)
def elastic_closing(robot: Robot, p: Array) -> dict[str, Array]:
    """Positions "p" (size,) after one of Newton's steps towards closed loops, and the "step" (rates,)."""
    plan = rate_choice(robot)
    step = loop_step(posed(plan, p))
    return {"p": positions.stepped(plan.extended, p, step), "step": step}


@physics(p=of_positions, step=of_rates)
def elastic_step(robot: Robot, p: Array, step: Array) -> Array:
    """Positions after a small step (n,) of the independent rates, loops open by its square."""
    plan = rate_choice(robot)
    return positions.stepped(plan.extended, p, reduced_motion(posed(plan, p), step).motion.r)

"""The general model of flexible robots: power, mass matrix, inverse and forward, the rigid limit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.formulations.reference import inertia
from nacelle.dynamics.settings import Settings
from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.equations import motion_equations, posed, reduced_motion
from nacelle.elastic.dynamics.models import (
    elastic_closing,
    elastic_energies,
    elastic_forward,
    elastic_inverse,
)
from nacelle.elastic.dynamics.plan import rate_choice, undeformed
from nacelle.elastic.extended import extended
from nacelle.elastic.frames import frames_at
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.configuration import configuration
from nacelle.kinematics.tree.rates import rate_map
from nacelle.model.robot import Robot
from support.elastic_states import general_state
from support.flexible_robots import flexible, prrrp, stiffened
from support.random_robots.flexible import random_planar

Array = np.ndarray
PAPER = {"shapes": "hermite", "number": 1, "frame": "clamped", "geometric": False}
TIPS = {"tips": {"to": (0.05, 0.005, 0.0, 0.0, 1e-5, 0.0, 6e-4, 0.0, 0.0, 6e-4)}}
CASES: dict[str, Callable[[], Robot]] = {
    "prrrp": lambda: prrrp((1.0, 2.0, -9.0), damping={"ratio": 0.05}),
    "prrrp-paper": lambda: prrrp((1.0, 2.0, -9.0), **PAPER),
    "fivebar": lambda: flexible("fivebar", shear=True),
    "fivebar-hermite": lambda: flexible("fivebar", shapes="hermite", number=2, frame="clamped"),
    "3rrr": lambda: flexible("3rrr", ("crank",)),
    "delta-arms": lambda: flexible("delta", ("arm", "rod"), number=1),
    "orthoglide": lambda: flexible("orthoglide", number=1),
    "hexaglide": lambda: flexible(nacelle.load("hexaglide"), ("rod",), number=1),
    "random": lambda: random_planar(0, point=False, turned_plate=True),
}


@pytest.mark.parametrize("case", CASES)
def test_power(case: str) -> None:
    """d(T + V)/dt = tau . q_a' - dissipation: velocity terms, closures and all forces together."""
    robot = CASES[case]()
    plan = rate_choice(robot)
    state = general_state(robot, np.random.default_rng(1), 2e-4)
    result = elastic_inverse(robot, state.p, state.y, state.a)
    change = positions.rates(plan.extended, state.p, state.r)
    rates = np.concatenate([state.a, result["acceleration"]])
    h = 1e-7
    ahead, behind = (
        elastic_energies(robot, state.p + k * h * change, state.y + k * h * rates) for k in (1.0, -1.0)
    )
    parts = [float(ahead[name] - behind[name]) / (2.0 * h) for name in ("kinetic", "potential")]
    power = float(result["force"] @ state.y[: plan.na])
    lost = float(elastic_energies(robot, state.p, state.y)["dissipation"])
    scale = max(abs(value) for value in (*parts, power, lost))
    assert abs(sum(parts) - power + lost) < 1e-6 * scale
    # The same accelerations follow from the forces, and the mass matrix is one.
    forward = elastic_forward(robot, state.p, state.y, result["force"])["acceleration"]
    np.testing.assert_allclose(forward, rates, rtol=0.0, atol=1e-8 * np.max(np.abs(rates)))
    M, _ = motion_equations(reduced_motion(posed(plan, state.p), state.y), Settings())
    size = np.sqrt(np.diag(M))
    assert np.max(np.abs(M - M.T) / np.outer(size, size)) < 1e-13
    assert np.min(np.linalg.eigvalsh(M / np.outer(size, size))) > 0.0


@pytest.mark.parametrize("case", CASES)
def test_undeformed_inertia_is_that_of_the_rigid_robot(case: str) -> None:
    robot = CASES[case]()
    frame = extended(robot)
    x = mechanism_of(robot).reference[0]
    y = nacelle.inverse_kinematics(robot, x, limits=False).y
    now = configuration(robot, x, y)
    rigid = np.concatenate(
        [np.asarray(rate_map(now), dtype=float), np.zeros((frame.ne, len(mechanism_of(robot).independent)))]
    )
    M = frames_at(
        frame, now.motion.poses[1], np.asarray(now.q, dtype=float), np.zeros(frame.ne)
    ).mass_matrix()
    expected = inertia(robot, np.asarray(x), y)["M"]
    np.testing.assert_allclose(rigid.T @ M @ rigid, expected, rtol=0.0, atol=1e-12 * np.max(np.abs(expected)))


@pytest.mark.slow
@pytest.mark.parametrize("case", ["prrrp", "fivebar"])
def test_stiff_links_give_the_rigid_robot(case: str) -> None:
    """Deflections that stay constant are proportional to 1/E, and so is the difference of the forces."""
    soft = prrrp((0.3, 0.0, 0.2)) if case == "prrrp" else flexible("fivebar", number=1)
    x = mechanism_of(soft).reference[0]
    v, a = 0.2 * np.random.default_rng(4).standard_normal((2, len(x)))
    rigid = nacelle.inverse_dynamics(soft, x, v, a).force
    drives = actuator_accelerations(soft, x, v, a)
    factors = np.logspace(0.0, 4.0, 5)
    found = [held(stiffened(soft, factor), x, v, drives) for factor in factors]
    differences = np.max(np.abs(np.array(found) - rigid), axis=1) / np.max(np.abs(rigid))
    slopes = np.diff(np.log(differences)) / np.diff(np.log(factors))
    np.testing.assert_allclose(slopes, -1.0, atol=0.02)


def actuator_accelerations(robot: Robot, x: Array, v: Array, a: Array) -> Array:
    """q_a'' of the rigid robot at x, v, a, from coordinates along its motion."""
    h, half = 1e-2, [-205.0 / 72.0, 8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0]

    def drives(t: float) -> Array:
        return np.asarray(nacelle.inverse_kinematics(robot, x + t * v + 0.5 * t * t * a).actuators)

    return sum(half[abs(k)] * drives(k * h) for k in range(-4, 5)) / h**2


def held(robot: Robot, x: Array, v: Array, acceleration: Array) -> Array:
    """Forces at accelerations of the actuators where elastic coordinates are such that they stay constant."""
    plan = rate_choice(robot)
    now = configuration(robot, x, nacelle.inverse_kinematics(robot, x).y)
    u = np.asarray(rate_map(now) @ v, dtype=float)
    start = undeformed(plan.extended, now.motion.poses[1], np.asarray(now.q, dtype=float))
    y = np.zeros(plan.n)
    y[: plan.na] = u[list(plan.independent[: plan.na])]
    ne = plan.extended.ne
    assert plan.n == plan.na + ne

    def bent(qe: Array) -> Array:
        p = np.concatenate([start[:-ne], qe])
        for _ in range(3):
            p = elastic_closing(robot, p)["p"]
        return p

    def moves(qe: Array) -> Array:
        return np.asarray(elastic_inverse(robot, bent(qe), y, acceleration)["acceleration"])

    zero = moves(np.zeros(ne))
    tangent = np.stack([(moves(1e-7 * row) - zero) / 1e-7 for row in np.eye(ne)], axis=1)
    qe = np.zeros(ne)
    for _ in range(12):
        step = -np.linalg.solve(tangent, moves(qe))
        qe = qe + step
        if np.max(np.abs(step)) < 1e-9 * np.max(np.abs(qe)):
            break
    return np.asarray(elastic_inverse(robot, bent(qe), y, acceleration)["force"])

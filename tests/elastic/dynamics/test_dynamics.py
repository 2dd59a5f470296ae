"""Dynamics: energy, equations, flow, models, plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.reference import inertia
from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.energy import dissipated_power, potential_energy
from nacelle.elastic.dynamics.models import (
    configure_robot,
    elastic_closing_step,
    elastic_closure_gaps,
    elastic_energies,
    elastic_flow,
    elastic_forward,
    elastic_inverse,
    elastic_step,
    elastic_terms,
    motion_equations,
    reduced_motion,
    state_size,
)
from nacelle.elastic.dynamics.plan import choose_independent_rates, undeformed_positions
from nacelle.elastic.flexible_tree import flexible_tree
from nacelle.elastic.frames import frames_at
from nacelle.errors import KinematicsError
from nacelle.kinematics.configuration import configuration, rate_map
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from support.beam_points import mass_points
from support.elastic_states import general_state
from support.flexible_robots import prrrp, with_flexible_links, with_scaled_modulus
from support.random_robots.flexible import random_planar

# ---- Energies of a bent robot against sums over points of mass, and of springs

GRAVITY = (1.0, -2.0, -9.0)


def test_potential_is_strain_and_weight() -> None:
    heavy, light = prrrp(GRAVITY), prrrp()
    state = general_state(heavy, np.random.default_rng(0))
    motion = reduced_motion(configure_robot(choose_independent_rates(heavy), state.p), state.y).motion
    masses, places = mass_points(motion.at.frames)
    weight = -float(masses @ places @ np.array(GRAVITY))
    strain = float(elastic_energies(light, state.p, state.y)["potential"])
    assert strain > 0.0
    assert potential_energy(motion.at.frames, motion.state) == pytest.approx(strain + weight, rel=1e-12)


def test_small_strain_is_the_linear_one() -> None:
    """E A u^2 / (2 L) of a bar of [BK2013] that is longer by u."""
    robot = prrrp()
    own = choose_independent_rates(robot).elastic_tree
    p = choose_independent_rates(robot).reference.copy()
    stretch = 1e-5
    p[len(p) - own.ne + own.names.index("leg1.2.axial-1")] = stretch
    found = elastic_energies(robot, p, np.zeros(choose_independent_rates(robot).n))["potential"]
    assert found == pytest.approx(0.5 * 70e9 * 4e-6 / 0.4 * stretch**2, rel=1e-12)


def test_drives_with_springs_store_and_lose_energy() -> None:
    robot = with_flexible_links("fivebar", ("distal",))
    actuated = [actuator.joint for actuator in robot.actuators]
    joints = [
        dataclasses.replace(joint, drive_stiffness=40.0, drive_damping=0.5) if k in actuated else joint
        for k, joint in enumerate(robot.joints)
    ]
    sprung = dataclasses.replace(robot, joints=tuple(joints), gravity=(0.0, 0.0, 0.0))
    plan = choose_independent_rates(sprung)
    own = plan.elastic_tree
    place = own.slices[len(own.shapes)].start
    p, nz = plan.reference.copy(), len(own.rigid_rates)
    p[len(p) - own.ne + place] = 0.02
    frames_now = reduced_motion(configure_robot(plan, p), np.zeros(plan.n)).motion
    assert potential_energy(frames_now.at.frames, frames_now.state) == pytest.approx(
        0.5 * 40.0 * 0.02**2, rel=1e-9
    )
    r = np.zeros(own.embedding.shape[1])
    r[nz + place] = 3.0
    lost = dissipated_power(frames_now.at.frames, frames_now.state, r, Physics(False))
    assert lost == pytest.approx(0.5 * 3.0**2)


# ---- flow
#
# The flow of a state: rates of positions and accelerations, and loops that it closes on its way.

NONE = np.zeros(1)


def test_flow_is_rates_and_accelerations() -> None:
    robot = prrrp((1.0, 0.0, -9.0))
    own = choose_independent_rates(robot).elastic_tree
    state = general_state(robot, np.random.default_rng(8))
    s, size = np.concatenate([state.p, state.y]), positions.position_count(own)
    assert state_size(robot) == s.shape
    force = elastic_inverse(robot, state.p, state.y, state.a)["force"]
    flow = elastic_flow(robot, s, force, NONE)
    np.testing.assert_allclose(flow[:size], positions.position_rates(own, state.p, state.r), atol=1e-10)
    expected = elastic_forward(robot, state.p, state.y, force)["acceleration"]
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(flow[size:], expected, atol=1e-9 * scale)
    prescribed = elastic_flow(robot, s, state.a, NONE, prescribed=True)
    np.testing.assert_allclose(prescribed, flow, atol=1e-8 * scale)


def test_loops_that_have_opened_are_closed_first() -> None:
    robot = prrrp()
    own = choose_independent_rates(robot).elastic_tree
    state = general_state(robot, np.random.default_rng(9))
    force = np.zeros(2)
    exact = elastic_flow(robot, np.concatenate([state.p, state.y]), force, NONE)
    r = np.zeros(len(state.r))
    r[list(choose_independent_rates(robot).dependent)] = 1e-6
    opened = positions.step_positions(own, state.p, r)
    flow = elastic_flow(robot, np.concatenate([opened, state.y]), force, NONE)
    np.testing.assert_allclose(flow, exact, atol=1e-9 * np.max(np.abs(exact)))


# ---- models
#
# Inverse and forward model are inverse to each other, and steps keep loops closed to their square.


@pytest.mark.parametrize(
    "make", [lambda: prrrp((1.0, 0.0, -9.0)), lambda: with_flexible_links("fivebar", number=1)]
)
def test_forward_of_inverse(make) -> None:
    robot = make()
    state = general_state(robot, np.random.default_rng(5))
    inverse = elastic_inverse(robot, state.p, state.y, state.a)
    forward = elastic_forward(robot, state.p, state.y, inverse["force"])["acceleration"]
    expected = np.concatenate([state.a, inverse["acceleration"]])
    np.testing.assert_allclose(forward, expected, atol=1e-8 * np.max(np.abs(expected)))


def test_terms_give_the_same_equations() -> None:
    """M r'' + h = J^T-free forces of actuators: along every motion that the closures allow."""
    robot = prrrp((1.0, 0.0, -9.0))
    plan = choose_independent_rates(robot)
    state = general_state(robot, np.random.default_rng(6))
    inverse = elastic_inverse(robot, state.p, state.y, state.a)
    terms = elastic_terms(robot, state.p, state.r)
    A, D, I = np.asarray(terms["A"]), list(plan.dependent), list(plan.independent)
    acceleration = np.zeros(len(state.r))
    acceleration[I] = np.concatenate([state.a, inverse["acceleration"]])
    acceleration[D] = -np.linalg.solve(A[:, D], A[:, I] @ acceleration[I] + terms["second"])
    J = np.zeros((len(state.r), plan.n))
    J[I, range(plan.n)] = 1.0
    J[D] = -np.linalg.solve(A[:, D], A[:, I])
    required = J.T @ (np.asarray(terms["M"]) @ acceleration + terms["h"])
    expected = np.concatenate([inverse["force"], np.zeros(plan.n - plan.na)])
    np.testing.assert_allclose(required, expected, atol=1e-9 * np.max(np.abs(expected)))


def test_a_step_opens_loops_by_its_square() -> None:
    robot = with_flexible_links("fivebar", number=1)
    state = general_state(robot, np.random.default_rng(7))
    gaps = []
    for h in (1e-3, 1e-4):
        p = elastic_step(robot, state.p, h * state.y)
        assert len(p) == positions.position_count(choose_independent_rates(robot).elastic_tree)
        gaps.append(float(np.max(np.abs(elastic_closure_gaps(robot, p)["gap"]))))
    assert gaps[0] > 1e-9
    assert gaps[1] < 0.02 * gaps[0]


# ---- plan
#
# The choice of independent rates: as many dependent ones as the closures have rank, and a regular system.


@pytest.mark.parametrize(
    "make", [prrrp, lambda: with_flexible_links("fivebar"), lambda: with_flexible_links("delta", number=1)]
)
def test_dependent_rates_follow_from_the_others(make) -> None:
    robot = make()
    plan = choose_independent_rates(robot)
    state = general_state(robot, np.random.default_rng(0))
    A = np.asarray(
        frames_at(plan.elastic_tree, *positions.split_positions(plan.elastic_tree, state.p)).constraints(),
        dtype=float,
    )
    rank = np.linalg.matrix_rank(A, tol=1e-9)
    assert len(plan.dependent) == len(plan.rows) <= rank  # less what is zero out of the plane
    D, I = list(plan.dependent), list(plan.independent)
    assert np.linalg.cond(A[np.ix_(plan.rows, D)]) < 1e6
    assert not set(D) & set(I)
    # Actuators come first, and every row of the closures holds, not those chosen alone.
    first = robot.platform_nv + robot.v_slices[robot.actuators[0].joint].start
    assert I[0] == first
    r = np.zeros(A.shape[1])
    r[I] = np.random.default_rng(1).normal(size=plan.n)
    r[D] = -np.linalg.solve(A[np.ix_(plan.rows, D)], A[np.ix_(plan.rows, I)] @ r[I])
    np.testing.assert_allclose(A @ r, 0.0, atol=1e-9 * np.max(np.abs(r)))


def driven_twice(robot: Robot, joint: str) -> Robot:
    """A robot with one more actuator."""
    extra = dataclasses.replace(robot.actuators[0], name="extra", joint=robot.joint(joint))
    return dataclasses.replace(robot, actuators=(*robot.actuators, extra))


def test_actuators_that_depend_on_each_other() -> None:
    robot = with_flexible_links("3rrr", ("leg1.coupler",))
    # The link's length is one freedom more: a fourth actuator moves apart from the three, a fifth does not.
    redundant = driven_twice(robot, "leg2.coupler-input")
    assert choose_independent_rates(redundant).na == 4
    with pytest.raises(KinematicsError, match="depend on each other"):
        choose_independent_rates(driven_twice(redundant, "leg3.coupler-input"))


def test_an_actuator_that_closes_a_loop() -> None:
    robot = with_flexible_links("3rrr", ("coupler",))
    closure = robot.joints[robot.tree].name
    with pytest.raises(KinematicsError, match="where a loop is cut"):
        choose_independent_rates(driven_twice(robot, closure))


# ---- The general model of flexible robots: power, mass matrix, inverse and forward, the rigid limit

Array = np.ndarray
PAPER = {"shapes": "hermite", "number": 1, "frame": "clamped", "geometric": False}
CASES: dict[str, Callable[[], Robot]] = {
    "prrrp": lambda: prrrp((1.0, 2.0, -9.0), damping={"ratio": 0.05}),
    "prrrp-paper": lambda: prrrp((1.0, 2.0, -9.0), **PAPER),
    "fivebar": lambda: with_flexible_links("fivebar", shear=True),
    "fivebar-hermite": lambda: with_flexible_links("fivebar", shapes="hermite", number=2, frame="clamped"),
    "3rrr": lambda: with_flexible_links("3rrr", ("crank",)),
    "delta-arms": lambda: with_flexible_links("delta", ("arm", "rod"), number=1),
    "orthoglide": lambda: with_flexible_links("orthoglide", number=1),
    "hexaglide": lambda: with_flexible_links(nacelle.load("hexaglide"), ("rod",), number=1),
    "random": lambda: random_planar(0, point=False, turned_plate=True),
}


@pytest.mark.parametrize("case", CASES)
def test_power(case: str) -> None:
    """d(T + V)/dt = tau . q_a' - dissipation: velocity terms, closures and all forces together."""
    robot = CASES[case]()
    plan = choose_independent_rates(robot)
    state = general_state(robot, np.random.default_rng(1), 2e-4)
    result = elastic_inverse(robot, state.p, state.y, state.a)
    change = positions.position_rates(plan.elastic_tree, state.p, state.r)
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
    M, _ = motion_equations(reduced_motion(configure_robot(plan, state.p), state.y), Physics())
    size = np.sqrt(np.diag(M))
    assert np.max(np.abs(M - M.T) / np.outer(size, size)) < 1e-13
    assert np.min(np.linalg.eigvalsh(M / np.outer(size, size))) > 0.0


@pytest.mark.parametrize("case", CASES)
def test_undeformed_inertia_is_that_of_the_rigid_robot(case: str) -> None:
    robot = CASES[case]()
    frame = flexible_tree(robot)
    x = mechanism_of(robot).reference[0]
    y = nacelle.inverse_kinematics(robot, x, limits=False).y
    now = configuration(robot, x, y)
    rigid = np.concatenate(
        [np.asarray(rate_map(now), dtype=float), np.zeros((frame.ne, len(mechanism_of(robot).independent)))]
    )
    M = frames_at(
        frame, now.motion.poses[1], np.asarray(now.q_tree, dtype=float), np.zeros(frame.ne)
    ).mass_matrix()
    expected = inertia(robot, np.asarray(x), y)["M"]
    np.testing.assert_allclose(rigid.T @ M @ rigid, expected, rtol=0.0, atol=1e-12 * np.max(np.abs(expected)))


@pytest.mark.slow
@pytest.mark.parametrize("case", ["prrrp", "fivebar"])
def test_stiff_links_give_the_rigid_robot(case: str) -> None:
    """Deflections that stay constant are proportional to 1/E, and so is the difference of the forces."""
    soft = prrrp((0.3, 0.0, 0.2)) if case == "prrrp" else with_flexible_links("fivebar", number=1)
    x = mechanism_of(soft).reference[0]
    v, a = 0.2 * np.random.default_rng(4).standard_normal((2, len(x)))
    rigid = nacelle.inverse_dynamics(soft, x, v, a).tau
    drives = actuator_accelerations(soft, x, v, a)
    factors = np.logspace(0.0, 4.0, 5)
    found = [held(with_scaled_modulus(soft, factor), x, v, drives) for factor in factors]
    differences = np.max(np.abs(np.array(found) - rigid), axis=1) / np.max(np.abs(rigid))
    slopes = np.diff(np.log(differences)) / np.diff(np.log(factors))
    np.testing.assert_allclose(slopes, -1.0, atol=0.02)


def actuator_accelerations(robot: Robot, x: Array, v: Array, a: Array) -> Array:
    """q_a'' of the rigid robot at x, v, a, from coordinates along its motion."""
    h, half = 1e-2, [-205.0 / 72.0, 8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0]

    def drives(t: float) -> Array:
        return np.asarray(nacelle.inverse_kinematics(robot, x + t * v + 0.5 * t * t * a).q)

    return sum(half[abs(k)] * drives(k * h) for k in range(-4, 5)) / h**2


def held(robot: Robot, x: Array, v: Array, acceleration: Array) -> Array:
    """Forces at accelerations of the actuators where elastic coordinates are such that they stay constant."""
    plan = choose_independent_rates(robot)
    now = configuration(robot, x, nacelle.inverse_kinematics(robot, x).y)
    u = np.asarray(rate_map(now) @ v, dtype=float)
    start = undeformed_positions(plan.elastic_tree, now.motion.poses[1], np.asarray(now.q_tree, dtype=float))
    y = np.zeros(plan.n)
    y[: plan.na] = u[list(plan.independent[: plan.na])]
    ne = plan.elastic_tree.ne
    assert plan.n == plan.na + ne

    def bent(qe: Array) -> Array:
        p = np.concatenate([start[:-ne], qe])
        for _ in range(3):
            p = elastic_closing_step(robot, p)["p"]
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

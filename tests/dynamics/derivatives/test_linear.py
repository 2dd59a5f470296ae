"""Exact derivatives, linear models and equilibria against differences, identities and textbook formulas."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import nacelle
from nacelle.dynamics import reference
from nacelle.dynamics.derivatives.derivatives import dynamics_derivatives
from nacelle.dynamics.derivatives.linear import DEFAULT_SMOOTHING, linearise
from nacelle.dynamics.equilibrium import equilibrium, equilibrium_pose
from nacelle.dynamics.physics import Physics
from nacelle.kinematics.kinematic_model import pose_tangent
from nacelle.kinematics.motion import integrate_pose, solve_loops
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.model.joint import Spring
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_conjugate, quat_log, quat_multiply
from support.compare import relative_error
from support.uncompiled import mark_slow_names, named_robot

Array = np.ndarray
NAMES = mark_slow_names(
    ("fivebar", "3rrr", "delta-codourey", "c5", "3rps", "redundant", "gough-stewart", "quattro"),
    long=("gough-stewart", "quattro"),
)
WEIGHTS = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


@cache
def state(name: str) -> tuple[Robot, Array, Array, Array, Array]:
    """A robot off its reference pose, moving: pose, twist, acceleration and forces."""
    robot = named_robot(name)
    rng = np.random.default_rng(7)
    n = robot.motion.n
    x = integrate_pose(robot, nacelle.reference_pose(robot), 0.03 * robot.size * rng.uniform(-1.0, 1.0, n))
    v, a = rng.uniform(0.2, 0.8, n) * rng.choice([-1.0, 1.0], n), rng.uniform(-2.0, 2.0, n)
    return robot, x, v, a, 5.0 * rng.uniform(-1.0, 1.0, len(robot.actuators))


def differences(function: Callable[[Array], Array], n: int, step: float) -> Array:
    """Derivatives of order eight of a function of steps (..., n) at zero: (m, n)."""
    steps = step * np.arange(-4, 5)[:, None, None] * np.eye(n)
    return np.einsum("k,kjm->mj", WEIGHTS, function(steps)) / step


@pytest.mark.costly
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["inverse", "forward"])
@pytest.mark.thinned
def test_derivatives_are_those_of_differences(name: str, kind: str) -> None:
    robot, x, v, a, tau = state(name)
    n, step = robot.motion.n, 2e-3

    def run(x: Array, v: Array, w: Array) -> Array:
        if kind == "inverse":
            return nacelle.inverse_dynamics(robot, x, v, w, smooth=0.5).tau
        return nacelle.forward_dynamics(robot, x, v, w, smooth=0.5).a

    w = a if kind == "inverse" else tau
    # Smooth friction: the rate of some joint may change its sign within the differences.
    found = dynamics_derivatives(robot, x, v, w, kind=kind, smooth=0.5)
    assert relative_error(found.value, run(x, v, w)) < 1e-12
    by_pose = differences(
        lambda e: run(integrate_pose(robot, np.broadcast_to(x, (9, n, x.size)), e), v, w), n, step
    )
    assert relative_error(found.x, by_pose) < 1e-9
    by_twist = differences(lambda e: run(x, v + e, w), n, step)
    assert relative_error(found.v, by_twist) < 1e-9
    given = found.a if kind == "inverse" else found.tau
    assert given is not None
    assert relative_error(given, differences(lambda e: run(x, v, w + e), w.size, 1.0)) < 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_the_tangent_is_the_motion_of_the_platform(name: str) -> None:
    robot, x, *_ = state(name)
    n = robot.motion.n
    X = compile_native(pose_tangent, robot)(*solve_loops(robot, x)[:2])["x"]
    step = 1e-3 * np.arange(-4, 5)[:, None, None]
    poses = nacelle.inverse_kinematics(robot, x + step * X.T, limits=False).bodies
    R, p = poses.R[..., 1, :, :], poses.p[..., 1, :]
    dR = np.einsum("k,kjab->jab", WEIGHTS, R) / 1e-3 @ np.swapaxes(R[4], -1, -2)
    dp = np.einsum("k,kja->ja", WEIGHTS, p) / 1e-3
    twist = np.concatenate([dp, dR[:, 2, 1, None], dR[:, 0, 2, None], dR[:, 1, 0, None]], axis=1)
    axes = robot.motion.twist_axes
    places = [k for k, c in enumerate(robot.motion.coordinates) if c not in robot.motion.joint_names]
    np.testing.assert_allclose(twist[:, axes], np.eye(n)[:, places], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", mark_slow_names(("fivebar", "3rps"), long=("3rps",)))
def test_derivatives_by_all_numbers(name: str) -> None:
    robot, x, v, a, tau = state(name)
    inertia = robot.parameter_vector("inertia")
    found = dynamics_derivatives(robot, x, v, a, parameters="inertia", friction=False)
    assert found.parameters is not None
    assert found.parameter_names == robot.parameter_names("inertia")
    # Forces are linear in the inertias; what is left without them is the rotors' share.
    rest = dynamics_value(robot, "inertia", np.zeros_like(inertia), "inverse", x, v, a, friction=False)
    assert relative_error(found.parameters @ inertia + rest, found.value) < 1e-12
    for group, kind in (("friction", "inverse"), ("gravity", "forward"), ("geometry", "inverse")):
        w = a if kind == "inverse" else tau
        p = robot.parameter_vector(group)
        names = robot.parameter_names(group)
        got = dynamics_derivatives(robot, x, v, w, kind=kind, parameters=group).parameters
        assert got is not None
        # Places of frames only: rotations have no free entries.
        places = [k for k, full in enumerate(names) if not full.split(".")[-1].startswith("R")]
        for k in [k for k in places if np.any(got[:, k])][:2]:
            shifted = p + 1e-3 * np.arange(-4, 5)[:, None] * np.eye(p.size)[k]
            values = np.array([dynamics_value(robot, group, row, kind, x, v, w) for row in shifted])
            slope = WEIGHTS @ values / 1e-3
            np.testing.assert_allclose(got[:, k], slope, atol=1e-8 * max(1.0, np.max(np.abs(slope))))


def dynamics_value(
    robot: Robot, group: str, p: Array, kind: str, x: Array, v: Array, w: Array, *, friction: bool = True
) -> Array:
    """Forces or accelerations at other numbers, by the physics itself."""
    other = robot.with_symbols(p, group)
    y = solve_loops(robot, x)[1]
    for _ in range(6 if group == "geometry" and y.size else 0):
        y = y + loop_closing_step(other, y, x)["dy"]
    load, physics = np.zeros(robot.motion.n), Physics(friction)
    if kind == "inverse":
        return np.array(reference.inverse(other, x, y, v, w, load, physics=physics)["force"], dtype=float)
    found = reference.forward(other, x, y, v, w, load, physics=physics)
    return np.array(found["acceleration"], dtype=float)


@pytest.mark.slow
def test_friction_in_balls_has_a_slope_at_rest() -> None:
    robot, x, _, _, tau = state("3rps")
    n = robot.motion.n
    found = dynamics_derivatives(robot, x, None, tau, kind="forward", smooth=0.5)
    by_twist = differences(lambda e: nacelle.forward_dynamics(robot, x, e, tau, smooth=0.5).a, n, 5e-3)
    assert relative_error(found.v, by_twist) < 1e-8
    # At rest and in motion, in one batch.
    both = dynamics_derivatives(
        robot, x, np.stack([np.zeros(n), np.full(n, 0.3)]), tau, kind="forward", smooth=0.5
    )
    alone = dynamics_derivatives(robot, x, np.full(n, 0.3), tau, kind="forward", smooth=0.5)
    np.testing.assert_allclose(both.v[1], alone.v, rtol=1e-12)


def test_batches_and_mistakes() -> None:
    robot, x, v, a, _ = state("fivebar")
    found = dynamics_derivatives(robot, np.stack([x, x + 10.0]), v, a)
    assert found.x.shape == (2, 2, 2)
    assert np.all(np.isnan(found.x[1]))
    assert found.flags[1]
    np.testing.assert_allclose(found.x[0], dynamics_derivatives(robot, x, v, a).x, rtol=1e-12)
    model = linearise(robot, np.stack([x, x + 10.0]))
    assert model.A.shape == (2, 4, 4)
    assert model.eigenvalues.shape == (2, 4)
    assert np.all(np.isnan(model.natural_frequencies[1]))
    with pytest.raises(nacelle.NacelleError, match="reach"):
        linearise(robot, x + 10.0)
    with pytest.raises(nacelle.NacelleError, match="one state"):
        model.poles()
    with pytest.raises(nacelle.NacelleError, match="kind"):
        dynamics_derivatives(robot, x, kind="other")  # mistaken on purpose
    with pytest.raises(nacelle.NacelleError, match="coordinates"):
        linearise(robot, x, coordinates="other")
    with pytest.raises(nacelle.NacelleError, match="above zero"):
        linearise(robot, x, smooth=-1.0)
    with pytest.raises(nacelle.NacelleError, match="no state"):
        linearise(named_robot("redundant"), state("redundant")[1], coordinates="actuators")
    with pytest.raises(nacelle.NacelleError, match="do not determine"):
        equilibrium_pose(named_robot("prrrp"))


@pytest.mark.parametrize("name", mark_slow_names(("3rrr", "c5", "3rps", "quattro"), long=("quattro",)))
def test_linear_model_holds_along_a_motion(name: str) -> None:
    robot, x, v, _, tau = state(name)
    n = robot.motion.n
    model = linearise(robot, x, v, tau, smooth=0.5)
    M = nacelle.mass_matrix(robot, x)
    np.testing.assert_allclose(model.B[n:], np.linalg.solve(M, model.C[:, :n].T), rtol=1e-9, atol=1e-12)
    acceleration = nacelle.forward_dynamics(robot, x, v, tau, smooth=0.5).a
    np.testing.assert_allclose(model.c, [*v, *acceleration], rtol=1e-12)

    # The deviation of neighbours from the nominal motion, a moment before and after.
    small, h = 1e-5, 1e-4
    s = small * np.concatenate([np.eye(2 * n), -np.eye(2 * n)])
    starts = integrate_pose(robot, np.broadcast_to(x, (4 * n, x.size)), s[:, :n])
    neighbours = np.concatenate([x[None], starts]), np.concatenate([v[None], v + s[:, n:]])
    rates = []
    for time in (h, -h):
        xs, vs = flow(robot, *neighbours, tau, time)
        rates.append(deviation(robot, xs, vs))
    change = (rates[0] - rates[1]) / (2.0 * h)
    A = ((change[: 2 * n] - change[2 * n :]) / (2.0 * small)).T
    assert relative_error(A, model.A) < 2e-3
    # The turn of the tangent, to itself.
    np.testing.assert_allclose(A[:n], model.A[:n], atol=2e-3)


def flow(robot: Robot, x: Array, v: Array, tau: Array, time: float) -> tuple[Array, Array]:
    """States after a short time, by Runge and Kutta."""
    layout = layout_of(robot.motion)

    def rate(x: Array, v: Array) -> tuple[Array, Array]:
        X = compile_native(pose_tangent, robot)(*solve_loops(robot, x)[:2])["x"]
        a = nacelle.forward_dynamics(robot, x, v, tau, smooth=0.5).a
        return np.einsum("...ij,...j->...i", X, v), a

    steps = 4
    h = time / steps
    for _ in range(steps):
        k1 = rate(x, v)
        k2 = rate(x + h / 2 * k1[0], v + h / 2 * k1[1])
        k3 = rate(x + h / 2 * k2[0], v + h / 2 * k2[1])
        k4 = rate(x + h * k3[0], v + h * k3[1])
        x, v = (
            y + h / 6 * (a + 2 * b + 2 * c + d) for y, a, b, c, d in zip((x, v), k1, k2, k3, k4, strict=True)
        )
        if layout.quaternion is not None:
            x[:, layout.quaternion] /= np.linalg.norm(x[:, layout.quaternion], axis=1, keepdims=True)
    return x, v


def deviation(robot: Robot, x: Array, v: Array) -> Array:
    """Deviations [e; dv] of states from the first of them."""
    layout = layout_of(robot.motion)
    T = compile_native(pose_tangent, robot)(*solve_loops(robot, x[0])[:2])["T"]
    linear = (x[1:] - x[0])[:, list(layout.linear_x)]
    if layout.quaternion is None:
        e = linear @ T.T
    else:
        q = x[:, layout.quaternion]
        turn = quat_log(quat_multiply(q[1:], np.broadcast_to(quat_conjugate(q[0]), q[1:].shape)))
        e = layout.join_v(linear, turn)
    return np.concatenate([e, v[1:] - v[0]], axis=1)


@pytest.mark.parametrize("name", mark_slow_names(("3rrr", "3rps", "c5"), long=("3rps", "c5")))
def test_actuator_coordinates_are_an_exact_change_of_the_state(name: str) -> None:
    robot, x, v, _, tau = state(name)
    n = robot.motion.n
    platform, actuators = (
        linearise(robot, x, coordinates=coordinates) for coordinates in ("platform", "actuators")
    )
    # At rest a similarity: the same eigenvalues.
    G = platform.C[:, :n]
    P = np.block([[G, np.zeros((n, n))], [np.zeros((n, n)), G]])
    assert relative_error(actuators.A, P @ platform.A @ np.linalg.inv(P)) < 1e-9
    assert platform.smooth == DEFAULT_SMOOTHING
    np.testing.assert_allclose(platform.c, 0.0, atol=1e-12)
    # In motion: q'' as a function of q and q'.
    model = linearise(robot, x, v, tau, coordinates="actuators", smooth=0.5)
    moving = nacelle.kinematics.joint_motion(
        robot, x, v, nacelle.forward_dynamics(robot, x, v, tau, smooth=0.5).a
    )
    np.testing.assert_allclose(model.c, np.concatenate(moving.actuators[1:]), rtol=1e-9, atol=1e-12)

    def active(e: Array, dv: Array) -> list[Array]:
        xs = integrate_pose(robot, np.broadcast_to(x, (*e.shape[:-1], x.size)), e)
        a = nacelle.forward_dynamics(robot, xs, v + dv, tau, smooth=0.5).a
        return [
            np.asarray(value) for value in nacelle.kinematics.joint_motion(robot, xs, v + dv, a).actuators
        ]

    nothing = np.zeros((9, n, n))
    P, Q = (
        np.block(
            [
                [
                    differences(lambda e, row=row: active(e, nothing)[row], n, 1e-3),
                    differences(lambda e, row=row: active(nothing, e)[row], n, 1e-3),
                ]
                for row in rows
            ]
        )
        for rows in ((0, 1), (1, 2))
    )
    assert relative_error(model.A @ P, Q) < 1e-8


def sprung(stiffness: float, gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Robot:
    """The PRRRP with springs on both slides, and gravity along them."""
    robot = named_robot("prrrp")
    driven = {actuator.joint for actuator in robot.actuators}
    joints = tuple(
        dataclasses.replace(joint, springs=(Spring(stiffness, 0.0),)) if k in driven else joint
        for k, joint in enumerate(robot.joints)
    )
    return dataclasses.replace(robot, joints=joints, gravity=gravity)


@pytest.mark.slow
def test_a_mass_on_two_springs() -> None:
    stiffness, mass = 500.0, 1.0 + 2.0 * (1.0 + 0.00448)
    robot = sprung(stiffness)
    x = nacelle.reference_pose(robot)
    np.testing.assert_allclose(equilibrium(robot, x), 0.0, atol=1e-12)
    model = linearise(robot, x)
    along = np.sqrt(2.0 * stiffness / mass) / (2.0 * np.pi)
    assert np.min(np.abs(model.natural_frequencies / along - 1.0)) < 1e-12
    assert any(
        abs(pole.frequency / along - 1.0) < 1e-9 and abs(pole.damping) < 1e-9 for pole in model.poles()
    )
    # Under gravity it sags by m g / 2k, and swings as before: the springs are linear and so is the way.
    heavy = sprung(stiffness, (0.0, 0.0, -9.81))
    found = equilibrium_pose(heavy)
    np.testing.assert_allclose(found - x, [0.0, -mass * 9.81 / (2.0 * stiffness)], atol=1e-12)
    assert np.min(np.abs(linearise(heavy, found).natural_frequencies / along - 1.0)) < 1e-9


@pytest.mark.parametrize("name", mark_slow_names(("delta-codourey", "3rps", "c5"), long=("3rps",)))
def test_equilibria(name: str) -> None:
    robot = named_robot(name)
    x = state(name)[1]
    tau = equilibrium(robot, x)
    at_rest = nacelle.forward_dynamics(robot, x, None, tau).a
    np.testing.assert_allclose(at_rest, 0.0, atol=1e-9)
    np.testing.assert_allclose(equilibrium(robot, np.stack([x, x]))[1], tau, rtol=1e-12)
    if name != "c5":
        guess = integrate_pose(robot, x, np.full(robot.motion.n, 0.01 * robot.size))
        np.testing.assert_allclose(equilibrium_pose(robot, tau, guess=guess), x, atol=1e-7)


def test_a_linear_model_predicts_a_small_step() -> None:
    robot = sprung(500.0)
    x = nacelle.reference_pose(robot)
    model = linearise(robot, x)
    n = 2
    s = np.array([1e-5, -2e-5, 1e-4, 2e-4])
    xs, vs = flow(robot, (x + s[:n])[None], s[None, n:], np.zeros(2), 0.05)
    values, vectors = np.linalg.eig(model.A)
    predicted = (vectors @ np.diag(np.exp(values * 0.05)) @ np.linalg.inv(vectors)).real @ s
    assert relative_error(np.concatenate([xs[0] - x, vs[0]]), predicted) < 1e-3
    assert model.state_names == ("x", "z", "v_x", "v_z")


@pytest.mark.slow
def test_loads_hold_in_equilibria_and_linear_models() -> None:
    """A constant weight at the tip is what a mass there is, at rest and in the stiffness."""
    plain, x, *_ = state("fivebar")
    robot = dataclasses.replace(plain, gravity=(0.0, -9.81, 0.0))
    name = robot.bodies[1].name
    weight = {name: [0.0, -9.81 * 2.0, 0.0, 0.0, 0.0, 0.0]}
    ten = robot.parameter_vector("inertia")
    ten[0] += 2.0
    heavy = robot.with_parameters(ten, "inertia")
    held = equilibrium(robot, x, external=weight)
    assert relative_error(held, equilibrium(heavy, x)) < 1e-12
    guess = integrate_pose(robot, x, np.full(2, 0.005 * robot.size))
    found = equilibrium_pose(robot, held, guess=guess, external=weight)
    np.testing.assert_allclose(found, x, atol=1e-9)
    # The same stiffness R_x = -M A_21, other masses.
    stiffness = [
        -nacelle.mass_matrix(one, x) @ linearise(one, x, friction=False, external=load).A[2:, :2]
        for one, load in ((robot, weight), (heavy, None))
    ]
    assert relative_error(*stiffness) < 1e-10
    push = {name: [3.0, -2.0, 0.0, 0.0, 0.0, 0.0]}
    model = linearise(robot, x, external=push)
    np.testing.assert_allclose(model.c, 0.0, atol=1e-12)
    assert relative_error(model.tau, nacelle.inverse_dynamics(robot, x, external=push).tau) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["platform", "actuators"])
def test_linear_models_under_loads_are_those_of_differences(coordinates: str) -> None:
    """On a rotating plate the load's share turns with the pose: its derivative counts."""
    robot, x, v, _, tau = state("3rrr")
    load = {robot.bodies[1].name: np.array([30.0, -20.0, 5.0, 0.3, 0.2, 4.0])}
    arm = {robot.bodies[2].name: np.array([10.0, 7.0, 0.0, 0.0, 0.0, -2.0])}
    external = load | arm
    n = robot.motion.n
    model = linearise(robot, x, v, tau, coordinates=coordinates, smooth=0.5, external=external)
    still = linearise(robot, x, v, tau, coordinates=coordinates, smooth=0.5)
    assert relative_error(model.A, still.A) > 1e-3
    if coordinates == "platform":
        by_pose = differences(
            lambda e: (
                nacelle.forward_dynamics(
                    robot,
                    integrate_pose(robot, np.broadcast_to(x, (9, n, x.size)), e),
                    v,
                    tau,
                    smooth=0.5,
                    external=external,
                ).a
            ),
            n,
            2e-3,
        )
        assert relative_error(model.A[n:, :n], by_pose) < 1e-9
    else:
        plain = linearise(robot, x, v, tau, smooth=0.5, external=external)
        assert model.c[n:] == pytest.approx(
            nacelle.kinematics.joint_motion(robot, x, v, plain.c[n:]).actuators[2], rel=1e-9
        )


def test_loads_in_batches() -> None:
    robot, x, v, a, _ = state("fivebar")
    name = robot.bodies[1].name
    loads = np.array([[3.0, -2.0, 0.0, 0.0, 0.0, 0.0], [9.0, 4.0, 0.0, 0.0, 0.0, 0.0]])
    found = dynamics_derivatives(robot, x, v, a, external={name: loads})
    assert found.x.shape == (2, 2, 2)
    for k in range(2):
        one = dynamics_derivatives(robot, x, v, a, external={name: loads[k]})
        assert relative_error(found.x[k], one.x) < 1e-12
    assert linearise(robot, x, external={name: loads}).A.shape == (2, 4, 4)
    assert equilibrium(robot, x, external={name: loads}).shape == (2, 2)

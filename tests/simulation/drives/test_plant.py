"""A plant with drives: exact solutions, other integrations, energy, feedback, events."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import nacelle
from nacelle.simulation.digital_controller import DigitalController
from nacelle.simulation.driven_plant import driven_plant
from nacelle.simulation.drives import DriveNumbers, Drives, LuGre, stiction_of
from nacelle.simulation.integration import Integration
from nacelle.simulation.integrators import one_step
from nacelle.simulation.plant import Plant
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.simulate import simulate
from support.cart import cart
from support.library import library_robot
from support.sprung_mass import SprungMass

Array = np.ndarray


def swing(t: float) -> Array:
    """Forces that move a five-bar to and fro."""
    return np.array([0.5 * math.sin(30.0 * t), -0.4 * math.sin(25.0 * t)])


def test_a_lag_alone() -> None:
    """g = F (1 - exp(-t / T)), so x = F (t^2 / 2 - T t + T^2 (1 - exp(-t / T))) for 1 kg."""
    plant, T, F = driven_plant(cart(), Drives(lag=0.02)), 0.02, 3.0
    run = simulate(plant, [0.0], tau=[F], until=0.1)
    fading = np.exp(-run.t / T)
    np.testing.assert_allclose(plant.forces(run.states, run.tau)[:, 0], F * (1 - fading), rtol=1e-11)
    exact = F * (run.t**2 / 2 - T * run.t + T**2 * (1 - fading))
    np.testing.assert_allclose(run.x[:, 0], exact, atol=1e-13)
    late = driven_plant(cart(), Drives(lag=T), tau0=F)
    run = simulate(late, [0.0], tau=[F], until=0.1)
    np.testing.assert_allclose(run.x[:, 0], F * run.t**2 / 2, atol=1e-13)


def test_limits_end_the_force() -> None:
    robot = library_robot("fivebar")
    x0 = nacelle.reference_pose(robot)
    limited = simulate(driven_plant(robot), x0, tau=[50.0, -40.0], until=0.02)
    given = simulate(rigid_plant(robot), x0, tau=[12.0, -12.0], until=0.02)
    np.testing.assert_allclose(limited.x[-1], given.x[-1], rtol=1e-10)
    free = simulate(driven_plant(robot, Drives(limits=None)), x0, tau=[50.0, -40.0], until=0.01)
    same = simulate(rigid_plant(robot), x0, tau=[50.0, -40.0], until=0.01)
    np.testing.assert_allclose(free.x[-1], same.x[-1], rtol=1e-10)


@pytest.mark.slow
def test_another_integration() -> None:
    """All of it, put together by hand from the public models, with the textbook's friction."""
    stuck = stiction_of(library_robot("fivebar"))
    robot, x0 = stuck.robot, nacelle.reference_pose(library_robot("fivebar"))
    model = LuGre(0.08, 0.12, 0.01, 800.0, 3.0, fade=math.inf)
    drives = Drives(lag=2e-3, limits=0.45, cogging=(0.05, 40.0, 0.3), stiction=model)
    plant = driven_plant(rigid_plant(robot, smooth=0.05), drives)

    def f(t: float, s: Array) -> Array:
        x, v, g, b = s.reshape(4, 2)
        q, w, _ = nacelle.kinematics.joint_motion(robot, x, v).actuators
        level = 0.08 + 0.04 * np.exp(-((w / 0.01) ** 2))
        b_rate = w - 800.0 * np.abs(w) * b / level
        force = g + 0.05 * np.sin(40.0 * q + 0.3) - (800.0 * b + 3.0 * b_rate)
        a = nacelle.forward_dynamics(robot, x, v, force, smooth=0.05).a
        return np.concatenate([v, a, (np.clip(swing(t), -0.45, 0.45) - g) / 2e-3, b_rate])

    start = np.array([*x0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    theirs = solve_ivp(f, (0.0, 0.02), start, "LSODA", rtol=1e-9, atol=1e-12).y[:, -1]
    run = simulate(plant, x0, tau=swing, until=0.02, integration=Integration(rtol=1e-9, atol=1e-12))
    assert np.max(np.abs(run.x[-1] - x0)) > 1e-4
    np.testing.assert_allclose(run.states[-1], theirs, rtol=1e-6, atol=1e-9)


def all_effects(robot: nacelle.Robot, plant=rigid_plant, **options) -> Plant:
    """A robot with every effect of its drives, in numbers that suit its forces."""
    stuck = stiction_of(robot)
    hold = nacelle.gravity_forces(robot, nacelle.reference_pose(robot), coordinates="actuators")
    size = np.maximum(np.abs(hold), [8.0 * (1.0 if f is None else f.static) for f in stuck.friction])
    drives = Drives(
        bandwidth=300.0,
        limits=1.5 * size,
        cogging=[(0.05 * f, 40.0, 0.3) for f in size],
        stiction=stuck.friction,
    )
    return driven_plant(plant(stuck.robot, **options), drives, tau0=hold)


def numbers(plant: Plant) -> DriveNumbers:
    return plant.drives.numbers(plant.robot)


def pushed(plant: Plant, until: float, **options) -> nacelle.simulation.Simulation:
    """A run under forces that go beyond the limits now and then."""
    limit = np.array(numbers(plant).limit)
    x0 = nacelle.reference_pose(plant.robot)
    hold = nacelle.gravity_forces(plant.robot, x0, coordinates="actuators")
    phase = np.arange(plant.inputs)

    def force(t: float) -> Array:
        return hold + 1.2 * limit * np.sin(150.0 * t + phase)

    return simulate(plant, x0, tau=force, until=until, **options)


@pytest.mark.slow
def test_energy_balance() -> None:
    """With stiction, lag, cogging and limits what is missing falls with the method's error."""
    plant = all_effects(library_robot("fivebar"), smooth=0.02)
    coarse, fine = (
        pushed(plant, 0.1, integration=Integration("rk4", step=h), events=[]) for h in (2e-4, 2e-5)
    )
    size = np.max(np.abs(fine.dissipated_energy))
    assert size > 1e-3
    missing = [np.max(np.abs(run.balance)) for run in (coarse, fine)]
    assert missing[0] < 1e-4 * size
    assert missing[1] < 1e-7 * size
    assert np.min(fine.energies["dissipation"]) > -1e-12
    own = plant.inner.energies(fine.states[:, : plant.inner.size])
    # Bristles and cogging have energy: the balance does not close without it.
    b, q = (plant.signal(fine.states, name) for name in ("bristles", "q"))
    stored = sum(0.5 * m.stiffness * b[:, i] ** 2 for i, m in numbers(plant).stiction_actuators)
    for i, (amplitude, cycles, phase) in enumerate(numbers(plant).cogging):
        stored = stored + amplitude / cycles * np.cos(cycles * q[:, i] + phase)
    np.testing.assert_allclose(fine.energy - own["kinetic"] - own["potential"], stored, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3rps", "delta"])
def test_energy_balance_of_spatial_robots(name: str) -> None:
    run = pushed(
        all_effects(library_robot(name), smooth=0.02), 0.02, integration=Integration("rk4", step=5e-5)
    )
    assert run.ok
    size = np.max(np.abs(run.dissipated_energy))
    assert size > 1e-4
    assert np.max(np.abs(run.balance)) < 1e-5 * size
    assert run.closure_error < 1e-12


@pytest.mark.slow
def test_flexible_links() -> None:
    """The same drives around a plant with flexible links."""
    robot = library_robot("fivebar-flexible")
    plant = all_effects(robot, nacelle.elastic.elastic_plant, smooth=0.02)
    run = pushed(plant, 0.005, integration=Integration("rk4"))
    assert run.ok
    assert np.max(np.abs(run.balance)) < 1e-6 * np.max(np.abs(run.dissipated_energy))
    for name in ("q", "qd", "elastic"):
        inner = plant.inner.signal(run.states[:, : plant.inner.size], name)
        np.testing.assert_array_equal(plant.signal(run.states, name), inner)
    with pytest.raises(nacelle.KinematicsError, match="without joints"):
        _ = run.closure_error


def test_stuck_joints_do_not_move() -> None:
    """Under forces below static friction a robot stays within the bristles' deflection, for long."""
    stuck = stiction_of(library_robot("fivebar"))
    plant = driven_plant(rigid_plant(stuck.robot, smooth=0.01), Drives(stiction=stuck.friction))
    x0 = nacelle.reference_pose(stuck.robot)
    hold = nacelle.gravity_forces(stuck.robot, x0, coordinates="actuators")
    force = hold + np.array([0.09, -0.08])
    run = simulate(plant, x0, tau=force, until=20.0, integration=Integration("rk4"))
    q = plant.signal(run.states, "q")
    assert np.max(np.abs(q[-1] - q[0])) < 3e-4
    assert np.max(np.abs(q[-1] - q[len(q) // 2])) < 1e-12
    weight = nacelle.gravity_forces(stuck.robot, run.x[-1], coordinates="actuators")
    np.testing.assert_allclose(800.0 * plant.signal(run.states[-1], "bristles"), force - weight, rtol=1e-6)
    # Beyond it, it does.
    moved = simulate(plant, x0, tau=hold + np.array([0.2, -0.2]), until=0.1, integration=Integration("rk4"))
    assert np.max(np.abs(moved.x[-1] - x0)) > 1e-3


# ---- in closed loop


@nacelle.dynamics.physics(t=(), q=(2,), qd=(2,), motor=(2,))
def servo(robot, t, q, qd, motor):
    return 30.0 * (np.array([2.1, 1.1]) - q) - 0.8 * qd - 0.1 * motor + 0.2 * t


def python_servo(plant: Plant, t: float, s: Array) -> Array:
    q, w = plant.signals(s, ("q", "qd")).values()
    g = plant.forces(s, np.zeros(2))
    return 30.0 * (np.array([2.1, 1.1]) - q) - 0.8 * w - 0.1 * g + 0.2 * t


@pytest.mark.costly
@pytest.mark.parametrize("hold", [True, False])
def test_compiled_feedback(hold: bool) -> None:
    """A controller that measures encoders and currents, in one native loop, step by step as in Python."""
    plant = all_effects(library_robot("fivebar"), smooth=0.02)
    x0, h = nacelle.reference_pose(plant.robot), 1e-4
    run = simulate(
        plant, x0, tau=servo, until=0.02, integration=Integration("rk4", step=h, hold=hold), events=[]
    )
    np.testing.assert_allclose(
        run.tau[:-1],
        [python_servo(plant, t, s) for t, s in zip(run.t[:-1], run.states[:-1], strict=True)],
        rtol=1e-12,
        atol=1e-12,
    )
    f = plant.derivative()
    for k in (0, 50, 150):
        t, s = run.t[k], run.states[k]
        held = python_servo(plant, t, s)

        def stage(c: float, s: Array, t=t, held=held) -> Array:
            return f(s, held if hold else python_servo(plant, t + c * h, s))

        k1 = stage(0.0, s)
        k2 = stage(0.5, s + 0.5 * h * k1)
        k3 = stage(0.5, s + 0.5 * h * k2)
        k4 = stage(1.0, s + h * k3)
        after = s + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        np.testing.assert_allclose(run.states[k + 1], after, rtol=1e-11, atol=1e-13)


def test_forces_of_motors_are_a_signal_only_with_a_lag() -> None:
    robot = library_robot("fivebar")
    x0 = nacelle.reference_pose(robot)
    flexible = nacelle.elastic.elastic_plant(library_robot("fivebar-flexible"))
    digital = DigitalController(sampled_servo, 1e-3, np.zeros(2), np.zeros(2), np.zeros(2))
    for plant, law in (
        (rigid_plant(robot), servo),
        (rigid_plant(robot), digital),
        (flexible, servo),
        (driven_plant(robot), servo),
        (driven_plant(robot, Drives(lag=[1e-3, 0.0])), digital),
    ):
        with pytest.raises(nacelle.KinematicsError, match=r"motors .* have (a|no) lag"):
            simulate(plant, x0, tau=law, until=0.01, integration=Integration("rk4", step=1e-5))


@nacelle.dynamics.physics(z=(2,), q=(2,), motor=(2,), r=(2,), gains=(2,))
def sampled_servo(robot, z, q, motor, r, gains):
    return {"force": gains[0] * (r - q) + gains[1] * (z - q) - 0.1 * motor, "memory": q}


def test_digital_controller() -> None:
    """A law with memory, sampled and delayed, around a plant with drives: as a loop in Python."""
    plant = all_effects(library_robot("fivebar"), smooth=0.02)
    x0, T, substeps, late = nacelle.reference_pose(plant.robot), 1e-3, 8, 4
    q0 = plant.signal(plant.state(x0, np.zeros(2)), "q")
    rows, gains = q0 + 0.02 * np.sin(np.arange(20.0))[:, None], np.array([30.0, 200.0])
    law = DigitalController(sampled_servo, T, memory=q0, reference=rows, gains=gains, delay=0.5 * T)
    run = simulate(
        plant, x0, None, law, integration=Integration("rk4", step=T / substeps), until=20 * T, events=[]
    )
    f, s, z, u, h = plant.derivative(), plant.state(x0, np.zeros(2)), q0, np.zeros(2), T / substeps
    for k in range(20 * substeps):
        if k % substeps == 0:
            q = plant.signal(s, "q")
            new = 30.0 * (rows[k // substeps] - q) + 200.0 * (z - q) - 0.1 * plant.forces(s, u)
            z = q
        u = new if k % substeps == late else u
        s = one_step(f, lambda stage, state, u=u: u, s, h)
    np.testing.assert_allclose(run.states[-1], s, rtol=1e-9, atol=1e-12)
    assert np.max(np.abs(run.balance)) < 1e-4 * np.max(np.abs(run.work))


# ---- as a plant


def test_events_and_joints_are_those_of_the_plant() -> None:
    robot = library_robot("fivebar")
    plant = all_effects(robot, smooth=0.05)
    x0 = nacelle.reference_pose(robot)
    driven = simulate(plant, x0, tau=[3.0, 3.0], until=2.0, integration=Integration(rtol=1e-8, atol=1e-10))
    assert driven.status == "event"
    assert "limit" in driven.message or "singularity" in driven.message
    assert driven.closure_error < 1e-12
    assert driven.joints.q.shape == driven.motion.actuators[1].shape == (len(driven.t), 2)
    assert driven.robot == plant.robot
    again = simulate(plant, x0, tau=[3.0, 3.0], until=0.01).resume(0.02)
    whole = simulate(plant, x0, tau=[3.0, 3.0], until=0.02)
    np.testing.assert_allclose(again.states[-1], whole.states[-1], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: driven_plant(SprungMass()), "sprung mass cannot be compiled with drives"),
        (
            lambda: driven_plant(
                nacelle.elastic.elastic_plant(library_robot("fivebar-flexible"), prescribed=True)
            ),
            "prescribed=False",
        ),
        (lambda: driven_plant(cart(), tau0=[1.0, 2.0]), "one for each of the 1 actuators"),
        (lambda: driven_plant(cart(), {"lag": 1.0}), r"drives are given as Drives\("),
    ],
)
def test_mistakes(make, words: str) -> None:
    with pytest.raises(nacelle.KinematicsError, match=words):
        make()


@pytest.mark.slow
def test_implicit_steps_need_not_follow_bristles() -> None:
    """Bristles far faster than the step: as with explicit steps, in a tenth of the evaluations."""
    model = LuGre(0.08, 0.12, 0.01, 2e4, 20.0)
    stuck = stiction_of(library_robot("fivebar"))
    plant = driven_plant(rigid_plant(stuck.robot, smooth=0.05), Drives(lag=2e-3, stiction=model))
    x0 = nacelle.reference_pose(stuck.robot)
    exact = simulate(plant, x0, tau=swing, until=0.02, integration=Integration("rk4", step=5e-7), events=[])
    run = simulate(plant, x0, tau=swing, until=0.02, integration=Integration("irk5", step=1e-4))
    way = np.max(np.abs(exact.x[-1] - x0))
    assert way > 1e-4
    assert np.max(np.abs(run.x[-1] - exact.x[-1])) < 1e-4 * way
    assert run.evaluations < exact.evaluations / 10
    suited = plant.suited_steps(run.states[0])
    assert suited.implicit == pytest.approx(5e-4)
    assert suited.method == "dop853"

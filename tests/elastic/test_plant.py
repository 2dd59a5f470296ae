"""Robots with flexible links as plants: states, encoders, rest poses, events, feedback, forms, energy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.elastic.flexible_tree import flexible_tree
from nacelle.elastic.forms import form_of
from nacelle.elastic.plant import elastic_plant
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.simulation.plant import Plant
from nacelle.simulation.protocol import PlantLike
from support.flexible_robots import prrrp, with_flexible_links, with_scaled_modulus

Array = np.ndarray
THIN = {"circle": 0.005}
TENSION = (0.0, 0.0, 9.81)
DAMPED = {"damping": {"ratio": 0.02}}


def start_of(robot: Robot) -> Array:
    return nacelle.reference_pose(robot)


def bang_bang(plant: Plant, size: float, until: float, **options: Any) -> nacelle.simulation.Simulation:
    """Inputs that change their signs at half of the time, where the run is resumed: a jump between steps."""
    u = size * np.linspace(1.0, 2.0, plant.inputs)
    integration = nacelle.simulation.Integration(rtol=1e-10, atol=1e-13)
    settings = {"integration": integration, **options}
    first = nacelle.simulate(plant, start_of(plant.robot), None, lambda t: u, until=until / 2, **settings)
    return first.resume(until=until, tau=lambda t: -u)


ROBOTS: dict[str, Callable[[], Robot]] = {
    "prrrp": lambda: prrrp((1.0, 0.0, 9.81)),
    "fivebar": lambda: with_flexible_links("fivebar", section=THIN),
    "3rrr": lambda: with_flexible_links("3rrr", section=THIN),
    "delta": lambda: with_flexible_links("delta", section=THIN),
}


@pytest.mark.costly
@pytest.mark.parametrize("name", ROBOTS)
def test_states(name: str) -> None:
    robot = ROBOTS[name]()
    plant = elastic_plant(robot)
    assert isinstance(plant, PlantLike)
    x, v = start_of(robot), 0.1 * np.arange(1.0, 1.0 + len(plant.labels.v))
    s = plant.state(x, v)
    assert s.shape == (plant.size,)
    for state in (s, np.stack([s, s])):
        found = plant.split(state)
        np.testing.assert_allclose(found[0], np.broadcast_to(x, found[0].shape), atol=1e-12)
        np.testing.assert_allclose(found[1], np.broadcast_to(v, found[1].shape), atol=1e-12)
    q, rates = plant.signals(s, ("q", "qd")).values()
    np.testing.assert_allclose(q, nacelle.inverse_kinematics(robot, x).q, atol=1e-12)
    h = 1e-6
    ahead, behind = plant.state(x, v), plant.state(x, -v)
    np.testing.assert_allclose(rates, -plant.signal(behind, "qd"), atol=1e-12)
    if len(x) == len(v):
        moved = [nacelle.inverse_kinematics(robot, x + k * h * v).q for k in (1.0, -1.0)]
        np.testing.assert_allclose(rates, (moved[0] - moved[1]) / (2 * h), atol=1e-7)
    assert len(plant.labels.elastic) == len(set(plant.labels.elastic)) == plant.signal(s, "elastic").shape[-1]
    np.testing.assert_allclose(plant.signal(ahead, "elastic"), 0.0, atol=1e-12)


def test_labels() -> None:
    robot = prrrp()
    assert [name for name, _ in elastic_plant(robot, prescribed=True).labels.inputs] == [
        f"{actuator.name}.acceleration" for actuator in robot.actuators
    ]
    assert {unit for _, unit in elastic_plant(robot, prescribed=True).labels.inputs} == {"m/s^2"}
    assert {unit for _, unit in elastic_plant(robot).labels.inputs} == {"N"}


@pytest.mark.costly
@pytest.mark.parametrize("form", ["condensed", "general"])
def test_a_rest_pose_carries_the_load(form: str) -> None:
    robot = prrrp(TENSION)
    plant = elastic_plant(robot, static=True, prescribed=True, form=form)
    s = plant.state(start_of(robot), np.zeros(2))
    np.testing.assert_allclose(plant.derivatives(s, np.zeros(2)), 0.0, atol=1e-5)
    own = flexible_tree(robot).shapes[0]
    beam = own.beam
    rise = 0.264575131106459 / 0.4
    # Half of each beam's weight hangs on P; along the beam its own weight is taken in the middle.
    force = (1.0 + beam.mass) * 9.81 / (2.0 * rise) - 0.5 * beam.mass * 9.81 * rise
    bend = own.C[1] * 9.81 * np.sqrt(1.0 - rise**2)
    stiffness = own.stiffness[1, 1] + force * own.stretches[0].slopes[1, 1]
    found = plant.signal(s, "elastic").reshape(2, -1)
    np.testing.assert_allclose(np.abs(found[:, 1]), bend / stiffness, rtol=3e-3)
    stretch = (
        force / own.stretches[0].stiffness - 0.5 * own.stretches[0].slopes[1, 1] * (bend / stiffness) ** 2
    )
    np.testing.assert_allclose(found[:, 0], stretch, rtol=3e-3)


def test_buckled_rest_poses_are_refused() -> None:
    robot = prrrp((0.0, 0.0, -9.81))
    with pytest.raises(KinematicsError, match="buckle"):
        elastic_plant(robot, static=True).state(start_of(robot), np.zeros(2))
    # Thicker beams carry it.
    nacelle.simulate(
        elastic_plant(with_scaled_modulus(robot, 4.0), static=True, prescribed=True),
        start_of(robot),
        None,
        np.zeros((20, 2)),
        until=1e-3,
        integration=nacelle.simulation.Integration("rk4", step=5e-5),
    )


@pytest.mark.slow
def test_large_deflections_end_a_run() -> None:
    robot = with_scaled_modulus(prrrp((0.3, 0.0, -9.81)), 0.002)
    plant = elastic_plant(robot, prescribed=True)
    run = nacelle.simulate(
        plant,
        start_of(robot),
        None,
        np.zeros((1, 2)),
        until=2.0,
        integration=nacelle.simulation.Integration("dop853"),
    )
    assert run.t[-1] < 2.0
    assert "30 %" in run.message
    largest = np.max(np.abs(plant.signal(run.states[-1], "elastic")) / flexible_tree(robot).scales)
    assert largest == pytest.approx(0.3, rel=1e-6)


def test_scales_of_rotations_are_angles() -> None:
    own = flexible_tree(prrrp(shapes="hermite", number=1, frame="clamped")).shapes[0]
    # Axial and the end's deflection displace by what they are; the end's rotation by 4/27 of the length.
    np.testing.assert_allclose(own.scales, [0.4, 0.4, 27.0 / 4.0], rtol=1e-2)


@nacelle.dynamics.physics(t=(), q=(2,), qd=(2,))
def spring(robot: Robot, t: Any, q: Array, qd: Array) -> Array:
    return -200.0 * (q - np.array([0.002, -0.001])) - 5.0 * qd


def test_compiled_feedback_measures_encoders() -> None:
    robot = prrrp(TENSION)
    plant = elastic_plant(robot)
    h, count = 5e-5, 40
    run = nacelle.simulate(
        plant,
        start_of(robot),
        None,
        nacelle.simulation.feedback(spring),
        until=h * count,
        integration=nacelle.simulation.Integration("rk4", step=h),
    )
    flow = plant.derivative()
    s = plant.state(start_of(robot), np.zeros(2))

    def f(s: Array) -> Array:
        return np.array(flow(s, spring(robot, 0.0, *plant.signals(s, ("q", "qd")).values())))

    for _ in range(count):
        k1 = f(s)
        k2 = f(s + 0.5 * h * k1)
        k3 = f(s + 0.5 * h * k2)
        s = s + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + f(s + h * k3))
    np.testing.assert_allclose(run.states[-1], s, rtol=0.0, atol=1e-12)
    assert np.max(np.abs(run.balance)) < 1e-6 * np.max(run.energies["kinetic"])


def test_feedback_in_python() -> None:
    robot = prrrp(TENSION)
    plant = elastic_plant(robot)
    x0 = start_of(robot)
    run = nacelle.simulate(
        plant,
        x0,
        None,
        lambda t, x, v: -100.0 * (x - x0) - v,
        until=1e-3,
        integration=nacelle.simulation.Integration("rk4", step=5e-5),
    )
    np.testing.assert_allclose(run.tau[-1], -100.0 * (run.x[-1] - x0) - run.v[-1], rtol=0.1)


def test_feedback_that_is_refused() -> None:
    robot = prrrp()
    law = nacelle.simulation.feedback(spring)
    with pytest.raises(KinematicsError, match="prescribed=False"):
        elastic_plant(robot, prescribed=True).with_feedback(law)
    with pytest.raises(KinematicsError, match="plain function"):
        elastic_plant(robot, form="general").with_feedback(law)

    @nacelle.dynamics.physics(x=(2,), y=(0,))
    def by_pose(robot: Robot, x: Array, y: Array) -> Array:
        return -x

    with pytest.raises(KinematicsError, match="encoders"):
        nacelle.simulate(
            elastic_plant(robot),
            start_of(robot),
            None,
            nacelle.simulation.feedback(by_pose),
            until=0.01,
            integration=nacelle.simulation.Integration("rk4"),
        )


def test_unstable_steps_are_refused() -> None:
    robot = prrrp()
    plant = elastic_plant(robot, prescribed=True)
    with pytest.raises(KinematicsError, match="unstable"):
        nacelle.simulate(
            plant,
            start_of(robot),
            None,
            np.zeros(2),
            until=0.1,
            integration=nacelle.simulation.Integration("rk4", step=1e-2),
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "forms", "step"),
    [
        ("prrrp", ("condensed", "general", "assembled"), 5e-5),
        ("fivebar", ("condensed", "assembled"), 1e-5),
        ("3rrr", ("condensed", "assembled"), 1e-5),
        ("delta", ("condensed", "assembled"), 2e-5),
    ],
)
def test_forms_give_the_same_motion(name: str, forms: tuple[str, ...], step: float) -> None:
    robot = (
        prrrp((1.0, 0.0, 9.81), **DAMPED)
        if name == "prrrp"
        else with_flexible_links(name, section=THIN, **DAMPED)
    )
    runs = [
        bang_bang(
            elastic_plant(robot, prescribed=True, form=form, smooth=0.5),
            1.0,
            40 * step,
            integration=nacelle.simulation.Integration("rk4", step=step),
        )
        for form in forms
    ]
    for run in runs:
        np.testing.assert_allclose(run.x, runs[0].x, rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(run.v, runs[0].v, rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(
            *(r.plant.signal(r.states, "elastic") for r in (run, runs[0])), rtol=0.0, atol=1e-13
        )
        forces = run.plant.forces(run.states[1:-1], run.tau[1:-1])
        expected = runs[0].plant.forces(runs[0].states[1:-1], runs[0].tau[1:-1])
        np.testing.assert_allclose(forces, expected, rtol=0.0, atol=1e-8 * np.max(np.abs(expected)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "prescribed", "until"),
    [
        ("prrrp", True, 0.01),
        ("prrrp", False, 0.01),
        ("fivebar", True, 0.002),
        ("fivebar", False, 0.002),
        ("3rrr", True, 0.002),
        ("delta", True, 0.004),
        ("delta", False, 0.004),
    ],
)
def test_energy(name: str, prescribed: bool, until: float) -> None:
    """What actuators do is kinetic and potential energy and what friction and damping take."""
    robot = prrrp(TENSION, **DAMPED) if name == "prrrp" else with_flexible_links(name, section=THIN, **DAMPED)
    plant = elastic_plant(robot, prescribed=prescribed, smooth=0.5)
    run = bang_bang(plant, 20.0 if prescribed else 2.0, until)
    assert run.t[-1] == pytest.approx(until)
    assert run.dissipated_energy[-1] > 0.0
    assert np.max(np.abs(run.balance)) < 1e-8 * np.max(run.energies["kinetic"])


@pytest.mark.slow
def test_an_overconstrained_robot() -> None:
    """The rods of an orthoglide are strained by its closures: assembled, in motion, energy kept."""
    robot = with_flexible_links("orthoglide", number=0, section={"circle": 0.004}, **DAMPED)
    plant = elastic_plant(robot, prescribed=True, smooth=0.5)
    assert form_of(robot).name == "assembled"
    precise = nacelle.simulation.Integration(rtol=1e-9, atol=1e-12)
    run = bang_bang(plant, 20.0, 5e-5, integration=precise)
    assert np.max(np.abs(run.balance)) < 1e-8 * np.max(run.energies["kinetic"])
    x = run.x[-1] - run.x[0]
    assert np.linalg.norm(x) > 1e-8

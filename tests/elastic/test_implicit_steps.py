"""Implicit steps of robots with flexible links: against step control, stiff links, all forms, energy."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.elastic.plant import elastic_plant
from nacelle.model.robot import Robot
from support.flexible_robots import prrrp, with_flexible_links
from support.library import library_robot

Array = np.ndarray
DAMPED = {"damping": {"ratio": 0.02}}


def differences(run: Any, exact: Any) -> tuple[float, float]:
    """Largest differences of poses over the way, and of elastic coordinates over the largest of them."""
    plant = run.plant
    e, expected = (plant.signal(s, "elastic") for s in (run.states, exact.at(run.t).state))
    way = np.max(np.abs(exact.x - exact.x[0]))
    return (
        float(np.max(np.abs(run.x - exact.at(run.t).x)) / way),
        float(np.max(np.abs(e - expected)) / np.max(np.abs(expected))),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "until", "largest"),
    [
        ("prrrp", 0.03, (1e-7, 1e-6)),
        ("fivebar-flexible", 0.01, (3e-6, 3e-6)),
        ("delta-flexible", 0.01, (1e-6, 1e-5)),
    ],
)
def test_as_with_step_control(name: str, until: float, largest: tuple[float, float]) -> None:
    """From rest under forces that rise from zero, so that the fastest vibrations are hardly excited."""
    plant = elastic_plant(library_robot(name), friction=False)
    x = nacelle.reference_pose(plant.robot)
    size = np.linspace(0.5, 1.0, plant.inputs)

    def force(t: float) -> Array:
        return size * np.sin(0.5 * np.pi * t / until) ** 2

    exact = nacelle.simulate(
        plant, x, None, force, until=until, integration=nacelle.simulation.Integration(rtol=1e-9, atol=1e-12)
    )
    run = nacelle.simulate(
        plant, x, None, force, until=until, integration=nacelle.simulation.Integration("irk5")
    )
    found = differences(run, exact)
    assert found[0] < largest[0]
    assert found[1] < largest[1]
    assert run.evaluations < exact.evaluations


def stiff(robot: Robot, word: str, factor: float) -> Robot:
    """A robot some of whose links have E times a factor."""
    bodies = tuple(
        dataclasses.replace(body, material={**body.material, "E": body.material["E"] * factor})
        if body.material and word in body.name
        else body
        for body in robot.bodies
    )
    return dataclasses.replace(robot, bodies=bodies)


@pytest.mark.slow
def test_links_that_hardly_yield() -> None:
    """With E a thousand times as large steps of the soft links do: explicit ones are 70 times as many."""
    robot = stiff(library_robot("fivebar-flexible"), "distal", 1e3)
    plant = elastic_plant(robot, friction=False)
    x, until = nacelle.reference_pose(robot), 0.01
    s = plant.state(x, np.zeros(2))
    driver, implicit = plant.driver(), plant.implicit_driver()
    assert driver is not None
    assert implicit is not None
    u = np.array([[0.5, 1.0]])
    assert plant.suited_steps(s).reason_unstable(until / 7000)
    exact = driver.integrate(s, u, h=until / 24000, steps=24000)[-1]
    motion = implicit.integrate(s, u, h=until / 100, steps=100)
    soft = [k for k, name in enumerate(plant.labels.elastic) if "proximal" in name]
    e, expected = (plant.signal(state, "elastic")[soft] for state in (motion.x[-1], exact))
    assert np.max(np.abs(e - expected)) < 1e-5 * np.max(np.abs(expected))
    way = np.max(np.abs(plant.split(exact)[0] - x))
    assert np.max(np.abs(plant.split(motion.x[-1])[0] - plant.split(exact)[0])) < 1e-5 * way
    assert motion.evaluations < 4 * 7000 / 5


@pytest.mark.slow
def test_forms_give_the_same_motion() -> None:
    """Native loops of two forms, and LAPACK with steps in Python for the one that is no program."""
    robot = prrrp((1.0, 0.0, 9.81), **DAMPED)
    runs = [
        nacelle.simulate(
            elastic_plant(robot, prescribed=True, form=form),
            nacelle.reference_pose(robot),
            None,
            [1.0, 2.0],
            until=4e-3,
            integration=nacelle.simulation.Integration("irk5", step=4e-4),
        )
        for form in ("condensed", "general", "assembled")
    ]
    for run in runs[1:]:
        np.testing.assert_allclose(run.x, runs[0].x, rtol=0.0, atol=1e-11)
        e, expected = (r.plant.signal(r.states, "elastic") for r in (run, runs[0]))
        np.testing.assert_allclose(e, expected, rtol=0.0, atol=1e-6 * np.max(np.abs(expected)))


@pytest.mark.slow
def test_energy() -> None:
    """What actuators do is energy and what friction and damping take; with shorter steps the more exactly."""
    robot = with_flexible_links("fivebar", section={"circle": 0.005}, **DAMPED)
    plant = elastic_plant(robot, smooth=0.5)
    missing = []
    for step in (2e-4, 1e-4):
        run = nacelle.simulate(
            plant,
            nacelle.reference_pose(robot),
            None,
            lambda t: [2.0, 4.0],
            until=0.01,
            integration=nacelle.simulation.Integration("irk5", step=step),
        )
        assert run.dissipated_energy[-1] > 1e-3 * run.work[-1]
        missing.append(np.max(np.abs(run.balance)) / np.max(run.energies["kinetic"]))
    assert missing[1] < 1e-4
    assert missing[1] < 0.5 * missing[0]


@nacelle.dynamics.physics(t=(), q=(2,), qd=(2,))
def servo(robot: Robot, t: Any, q: Array, qd: Array) -> Array:
    return -2e5 * (q - np.array([0.002, -0.001])) - 1e3 * qd


@pytest.mark.slow
def test_a_stiff_servo_is_part_of_the_step() -> None:
    """A compiled feedback far faster than the step, at its stages: no explicit step could be as long."""
    plant = elastic_plant(prrrp((0.0, 0.0, 9.81), **DAMPED))
    x = nacelle.reference_pose(plant.robot)
    run = nacelle.simulate(
        plant,
        x,
        None,
        nacelle.simulation.feedback(servo),
        until=0.2,
        integration=nacelle.simulation.Integration("irk5", step=1e-3),
    )
    assert run.ok
    q = plant.signal(run.states[-1], "q")
    np.testing.assert_allclose(q, [0.002, -0.001], atol=2e-4)
    assert (
        nacelle.simulate(plant, x, until=1e-3, integration=nacelle.simulation.Integration("auto")).method
        == "dop853"
    )

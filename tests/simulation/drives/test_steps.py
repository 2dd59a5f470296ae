"""Steps that suit drives: the limits at which the Runge-Kutta method becomes unstable."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import nacelle
from nacelle.simulation.drives.drives import Drives
from nacelle.simulation.drives.lugre import LuGre
from nacelle.simulation.drives.plant import DrivenPlant
from nacelle.simulation.drives.steps import accelerations_per_force, sliding_rate, sticking_rate
from nacelle.simulation.plant import RigidPlant
from support.cart import MASS, cart
from support.library import library_robot

FRICTION = LuGre(1.0, 1.5, 1e-3, 1e5, 100.0, 0.4, blend=0.01)


def test_mobility_is_that_of_the_mass_matrix() -> None:
    robot = library_robot("fivebar")
    plant, x = RigidPlant(robot), nacelle.reference_pose(robot) + 0.03
    driven = DrivenPlant(plant)
    W = accelerations_per_force(
        plant.derivative(), lambda s: driven.encoders(s)[1], plant.state(x, [0.3, 0.1]), np.ones(2)
    )
    np.testing.assert_allclose(
        W, np.linalg.inv(nacelle.mass_matrix(robot, x, coordinates="actuators")), rtol=1e-9
    )


def test_small_limits_do_not_hide_the_mass() -> None:
    plant = DrivenPlant(cart(), Drives(stiction=FRICTION, limits=1e-3))
    free = DrivenPlant(cart(), Drives(stiction=FRICTION, limits=None, lag=1.0))
    steps = [p.default_step(p.state([0.0], [0.0])) for p in (plant, free)]
    assert steps[0] == pytest.approx(steps[1], rel=1e-9)


def test_fastest_rates_of_a_mass() -> None:
    numbers = Drives(stiction=FRICTION).numbers(cart())
    poles = np.roots([1.0, 100.4 / MASS, 1e5 / MASS])
    assert sticking_rate(numbers, np.eye(1) / MASS) == pytest.approx(np.max(np.abs(poles)))
    w = np.geomspace(1e-6, 10.0, 1000)
    assert np.max(FRICTION.relaxation(w)) == pytest.approx(1000.0, rel=1e-3)
    assert sliding_rate(cart(), numbers, np.zeros(1), limits=False) == pytest.approx(1000.0)


def test_sliding_of_the_textbook_is_bounded_by_described_speeds() -> None:
    robot = library_robot("fivebar")  # 60 rad/s
    numbers = Drives(stiction=dataclasses.replace(FRICTION, blend=math.inf)).numbers(robot)
    w = np.array([-2e-3, 1e-3])
    assert sliding_rate(robot, numbers, w, limits=False) == pytest.approx(200.0)
    assert sliding_rate(robot, numbers, w, limits=True) == pytest.approx(6e6)
    numbers = Drives(stiction=dataclasses.replace(FRICTION, blend=math.inf)).numbers(cart())
    assert sliding_rate(cart(), numbers, np.zeros(1), limits=True) == 0.0


def test_steps_beyond_the_limit_are_refused_and_do_grow() -> None:
    plant = DrivenPlant(cart(), Drives(lag=1e-4))
    s = plant.state([0.0], [0.0])
    assert plant.default_step(s) == pytest.approx(2.5e-5)
    assert "current loops of cart have a time constant of 0.0001 s" in plant.reason_unstable(s, 2.9e-4)
    with pytest.raises(nacelle.KinematicsError, match="current loops"):
        nacelle.simulate(plant, [0.0], force=[1.0], until=1.0, method="rk4", step=1e-3)
    driver, u = plant.driver(), np.ones((2000, 1))
    fine, wrong = (driver.integrate(s, u, h=h, steps=2000)[-1, -1] for h in (2.6e-4, 2.9e-4))
    assert fine == pytest.approx(1.0)
    assert not abs(wrong) < 1e3


def test_the_default_step_is_stable_at_every_rate() -> None:
    plant = DrivenPlant(cart(), Drives(stiction=FRICTION))
    assert plant.default_step(plant.state([0.0], [0.0])) == pytest.approx(
        min(0.25 / sticking_rate(plant.numbers, np.eye(1)), 0.5 / 1000.0)
    )
    with pytest.raises(nacelle.KinematicsError, match="bristles of joints that slide"):
        nacelle.simulate(plant, [0.0], force=[1.0], until=1.0, method="rk4", step=5e-3)
    run = nacelle.simulate(plant, [0.0], [0.0], lambda t: [20.0 * math.sin(3.0 * t)], until=4.0, method="rk4")
    assert run.ok
    assert np.max(np.abs(run.v)) > 2.0
    assert np.max(np.abs(plant.bristles(run.states))) < 1.6e-5


def test_without_drives_the_step_is_that_of_the_plant() -> None:
    plant = DrivenPlant(cart())
    assert plant.default_step(plant.state([0.0], [0.0])) == 1e-3
    assert plant.reason_unstable(plant.state([0.0], [0.0]), 1.0) == ""

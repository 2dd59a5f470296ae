"""Steps that suit drives: the limits at which the Runge-Kutta method becomes unstable."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nacelle
from nacelle.simulation.drives.drives import Drives
from nacelle.simulation.drives.lugre import LuGre
from nacelle.simulation.drives.plant import DrivenPlant
from nacelle.simulation.drives.steps import mobility, sliding_rate, sticking_rate
from nacelle.simulation.plant import RigidPlant
from support.cart import MASS, cart
from support.library import library_robot

FRICTION = LuGre(1.0, 1.5, 1e-3, 1e5, 100.0, 0.4, blend=0.01)


def test_mobility_is_that_of_the_mass_matrix() -> None:
    robot = library_robot("fivebar")
    plant, x = RigidPlant(robot), nacelle.reference_pose(robot) + 0.03
    driven = DrivenPlant(plant)
    W = mobility(plant.derivative(), lambda s: driven.encoders(s)[1], plant.state(x, [0.3, 0.1]), 2)
    np.testing.assert_allclose(
        W, np.linalg.inv(nacelle.mass_matrix(robot, x, coordinates="actuators")), rtol=1e-9
    )


def test_fastest_rates_of_a_mass() -> None:
    numbers = Drives(stiction=FRICTION).numbers(cart())
    poles = np.roots([1.0, 100.4 / MASS, 1e5 / MASS])
    assert sticking_rate(numbers, np.eye(1) / MASS) == pytest.approx(np.max(np.abs(poles)))
    assert sliding_rate(numbers, np.array([-2e-3])) == pytest.approx(200.0)
    assert sliding_rate(numbers, np.array([5.0])) == pytest.approx(1000.0)
    w = np.geomspace(1e-6, 10.0, 1000)
    assert np.all(np.asarray(FRICTION.relaxation(w)) <= [sliding_rate(numbers, [rate]) for rate in w])


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
        min(0.25 / sticking_rate(plant.numbers, np.eye(1)), 1e-3)
    )
    run = nacelle.simulate(plant, [0.0], [0.0], lambda t: [20.0 * math.sin(3.0 * t)], until=4.0, method="rk4")
    assert run.ok
    assert np.max(np.abs(run.v)) > 2.0
    assert np.max(np.abs(plant.bristles(run.states))) < 1.6e-5


def test_without_drives_the_step_is_that_of_the_plant() -> None:
    plant = DrivenPlant(cart())
    assert plant.default_step(plant.state([0.0], [0.0])) == 1e-3
    assert plant.reason_unstable(plant.state([0.0], [0.0]), 1.0) == ""

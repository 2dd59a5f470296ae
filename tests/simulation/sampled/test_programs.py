"""Programs of digital controllers: with the plant, alone, delayed by a sample, and what they must give."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.sampled.law import Sampled
from nacelle.simulation.sampled.programs import control, law_alone, signals_at, waiting_law
from support.library import library_robot


@nacelle.physics(z=(2,), q=(2,), r=(2,), gains=(1,))
def towards(robot, z, q, r, gains):
    return {"force": gains[0] * (r - q) + z, "memory": z + r}


def law() -> Sampled:
    return Sampled(towards, 1e-3, memory=np.zeros(2), gains=np.ones(1))


def test_with_the_plant_and_alone() -> None:
    robot = library_robot("fivebar")
    plant = RigidPlant(robot)
    parts = plant.loop_parts()
    x = nacelle.reference_pose(robot) + 0.01
    q = nacelle.inverse_kinematics(robot, x).actuators
    z, r, gains = np.array([0.3, -0.2]), np.array([1.0, 2.0]), np.array([5.0])
    s = plant.state(x, np.array([0.1, 0.2]))
    both = control(law(), parts)(
        robot, np.concatenate([s, z]), np.concatenate([[0.0], r]), np.concatenate([parts.constants, gains])
    )
    expected = np.concatenate([5.0 * (r - q) + z, z + r])
    assert np.max(np.abs(both - expected)) < 1e-12
    alone = law_alone(law(), robot)(z, q, r, gains)
    assert np.max(np.abs(np.concatenate([alone["force"], alone["memory"]]) - expected)) < 1e-12
    assert np.max(np.abs(signals_at(parts, ("q",), s)["q"] - q)) < 1e-12


def test_forces_that_wait_for_a_sample() -> None:
    robot = library_robot("fivebar")
    waiting = waiting_law(towards, 2, 2)
    z, r, q, gains = np.array([0.3, -0.2, 7.0, 8.0]), np.array([1.0, 2.0]), np.zeros(2), np.ones(1)
    result = waiting(robot, z, q, r, gains)
    now = towards(robot, z[:2], q, r, gains)
    assert np.array_equal(result["force"], [7.0, 8.0])
    assert np.allclose(result["memory"], np.concatenate([now["memory"], now["force"]]), rtol=0, atol=1e-15)


def test_what_a_law_must_give() -> None:
    @nacelle.physics(z=(2,), q=(2,))
    def forgets(robot, z, q):
        return {"force": q}

    @nacelle.physics(z=(2,), q=(2,))
    def too_few(robot, z, q):
        return {"force": q[:1], "memory": z}

    robot = library_robot("fivebar")
    parts = RigidPlant(robot).loop_parts()
    s = np.zeros(RigidPlant(robot).size + 2)
    for wrong, words in ((forgets, '"memory"'), (too_few, "has 2 actuators")):
        with pytest.raises(KinematicsError, match=words):
            control(Sampled(wrong, 1e-3, memory=np.zeros(2)), parts)(robot, s, np.zeros(1), parts.constants)

"""Sampled: law, programs."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.sampled.law import Sampled
from nacelle.simulation.sampled.programs import control, law_alone, signals_at, waiting_law
from support.library import library_robot

# ---- What a digital controller says of its inputs, its reference and its numbers

T = 2e-3


@nacelle.physics(z=(3,), q=(2,), r=(2,), gains=(1,))
def held(robot, z, q, r, gains):
    return {"force": gains[0] * (r - q), "memory": z}


def rows_of(**changes) -> np.ndarray:
    robot = library_robot("fivebar")
    first = {"memory": np.zeros(3), "reference": np.arange(80.0).reshape(40, 2), "gains": np.ones(1)}
    return Sampled(held, T, **(first | changes)).rows(RigidPlant(robot), robot, 40)


def test_rows() -> None:
    assert np.array_equal(rows_of()[3], [6.0, 7.0])
    assert np.array_equal(rows_of(reference=np.array([1.0, 2.0]))[39], [1.0, 2.0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"delay": 3e-3}, "not within the sample time"),
        ({"delay": -1e-3}, "not within the sample time"),
        ({"memory": np.zeros(2)}, "takes z with the shape"),
        ({"reference": None}, "is missing: rows of 2 numbers"),
        ({"reference": np.zeros((3, 2))}, "for 40 samples"),
        ({"reference": np.full((40, 2), np.nan)}, "not finite in row 0"),
        ({"gains": np.array([np.inf])}, "finite numbers"),
        ({"robot": "delta"}, "takes q with the shape"),
    ],
)
def test_errors_say_what_is_wrong(change, words: str) -> None:
    if change == {"robot": "delta"}:
        with pytest.raises(KinematicsError, match=words):
            Sampled(held, T, memory=np.zeros(3), gains=np.ones(1)).shapes(library_robot("delta"))
        return
    with pytest.raises(KinematicsError, match=words):
        rows_of(**change)


def test_what_a_controller_takes_is_named() -> None:
    @nacelle.physics(z=(1,), speed=(2,))
    def law(robot, z, speed):
        return {"force": speed, "memory": z}

    with pytest.raises(KinematicsError, match="takes 'speed'"):
        Sampled(law, T, memory=np.zeros(1)).shapes(library_robot("fivebar"))
    with pytest.raises(KinematicsError, match="does not declare its inputs"):
        Sampled(lambda robot, z: None, T)
    with pytest.raises(KinematicsError, match="sample time is above zero"):
        Sampled(held, 0.0)


# ---- programs
#
# Programs of digital controllers: with the plant, alone, delayed by a sample, and what they must give.


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

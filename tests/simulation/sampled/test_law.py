"""What a digital controller says of its inputs, its reference and its numbers."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.sampled.law import Sampled
from support.library import library_robot

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

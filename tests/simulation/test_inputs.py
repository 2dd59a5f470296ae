"""What drives a plant: constants, rows, functions of time, all in one form."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import KinematicsError
from nacelle.simulation.inputs import make_drive


class Two:
    """A plant with two inputs."""

    size, inputs, name = 2, 2, "two"


def test_one_form_for_all() -> None:
    t, s, k = np.array([0.0, 0.5]), np.zeros((2, 2)), np.array([0, 1])
    constant = make_drive(Two(), [1.0, 2.0])
    assert constant.steady
    assert constant.forces(k, t, s).tolist() == [[1.0, 2.0], [1.0, 2.0]]
    rows = make_drive(Two(), np.array([[1.0, 2.0], [3.0, 4.0]]), span=(0, 2))
    assert rows.forces(k, t, s).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    timed = make_drive(Two(), lambda t: np.array([t, -t]))
    assert timed.forces(k, t, s).tolist() == [[0.0, 0.0], [0.5, -0.5]]
    assert make_drive(Two(), None).forces(k, t, s).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_mistakes() -> None:
    for force in ([1.0], [1.0, np.nan], "much"):
        with pytest.raises(KinematicsError):
            make_drive(Two(), force)

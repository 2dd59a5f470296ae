"""Why parameters belong to no robot."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.library import NAMES, library_robot

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.consistency.faults import consistency_faults, is_consistent
from nacelle.model.payload import with_payload


@pytest.mark.parametrize("name", NAMES)
def test_the_library_is_consistent(name):
    assert is_consistent(library_robot(name))


def _with(name, changes):
    robot = library_robot(name)
    own = nacelle.linear_parameters(robot)
    values = own.values.copy()
    for key, value in changes.items():
        values[own.names.index(key)] = value
    return robot, values


@pytest.mark.parametrize(
    ("robot", "changes", "place", "words"),
    [
        ("fivebar", {"left.proximal.m": -0.4}, "left.proximal", "mass is negative"),
        ("fivebar", {"left.proximal.m": 0.0}, "left.proximal", "mass is zero but"),
        ("fivebar", {"left.distal.mx": 1.0}, "left.distal", "not positive"),
        ("fivebar", {"left.distal.Ixx": 1.0}, "left.distal", "triangle inequality"),
        ("fivebar", {"left.distal.Izz": np.nan}, "left.distal.Izz", "not a finite number"),
        (
            "delta-codourey",
            {"plate.mx": 0.1, "plate.Iyy": 1.0, "plate.Izz": 1.0},
            "plate",
            "a point has a mass alone",
        ),
        ("delta", {"leg1.rod-a.Iyy": 0.009599}, "leg1.rod-a", "spins idly"),
        (
            "fivebar",
            {"left.distal-input.rz.viscous": -1e-3},
            "left.distal-input.rz.viscous",
            "negative: -0.001",
        ),
        (
            "fivebar",
            {"left.proximal-input.rotor_inertia": -1e-3},
            "left.proximal-input.rotor_inertia",
            "negative",
        ),
    ],
)
def test_what_cannot_be(robot, changes, place, words):
    given, values = _with(robot, changes)
    faults = consistency_faults(given, values)
    assert list(faults) == [place]
    assert words in faults[place]
    assert not is_consistent(given, values)


def test_an_impossible_payload():
    robot = with_payload(library_robot("delta"), 0.5)
    values = nacelle.linear_parameters(robot).values.copy()
    values[nacelle.linear_parameters(robot).names.index("payload.payload.m")] = -0.5
    assert list(consistency_faults(robot, values)) == ["payload.payload"]


def test_another_number_of_values():
    with pytest.raises(IdentificationError, match="62 linear parameters"):
        is_consistent(library_robot("fivebar"), np.zeros(3))

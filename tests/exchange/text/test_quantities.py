"""Numbers with units: the shortest text that means the same."""

import math

import numpy as np

from nacelle.exchange.text.quantities import (
    angle,
    frame,
    length,
    shortest_decimal,
    written_direction,
    written_rotation,
    written_vector,
)
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_quat, rotation_rpy


def test_short_numbers() -> None:
    assert shortest_decimal(22.500000000000004) == "22.5"
    assert shortest_decimal(1.2e-5) == "1.2e-5"
    assert shortest_decimal(2e-17, beside=1.0) == "0"
    assert (shortest_decimal(math.inf), shortest_decimal(math.nan)) == ("inf", "nan")
    assert shortest_decimal(123456.0) == "123456"
    rng = np.random.default_rng(0)
    for value in rng.normal(size=200) * 10.0 ** rng.integers(-12, 12, 200):
        assert abs(float(shortest_decimal(value)) - value) <= 2e-15 * abs(value)


def test_quantities_have_units() -> None:
    assert length(0.3) == "300 mm"
    assert angle(math.radians(22.5)) == "22.5 deg"
    assert angle(0.1) == "0.1 rad"
    assert written_vector([0.0, 1e-19, 0.1], "mm", 1e3) == "0 0 100 mm"
    assert written_direction(np.array([0.0, -1.0, 0.0])) == "-y"
    assert written_direction(np.array([0.6, 0.0, 0.8])) == [0.6, 0.0, 0.8]


def test_rotations_come_back() -> None:
    assert written_rotation(rotation_rpy(np.radians([0.0, 90.0, 30.0]))) == {"rpy": "0 90 30 deg"}
    quat = np.array([0.1, -0.5, 0.3, 0.8]) / np.linalg.norm([0.1, -0.5, 0.3, 0.8])
    written = written_rotation(rotation_quat(quat))["quat_xyzw"]
    np.testing.assert_allclose(rotation_quat(np.array(written)), rotation_quat(quat), atol=4e-16)
    assert frame(Pose(np.eye(3), np.zeros(3)), 1.0) is None
    assert frame(Pose(np.eye(3), np.array([0.0, 0.0, 0.01])), 1.0) == "0 0 10 mm"

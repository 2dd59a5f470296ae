"""Encoders of the description, and channels that cannot be read."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from nacelle.identification.data.channels import (
    Channel,
    ChannelError,
    position_channel,
)
from nacelle.identification.data.column_map import PositionSpec
from nacelle.model.robot import Robot
from support.library import library_robot

REVOLUTE, PRISMATIC = library_robot("fivebar"), library_robot("palida")
NUMBERS = np.array([3.0, 7.0])


def value(channel: Channel) -> np.ndarray:
    values = channel.values(NUMBERS)
    # Factor and offset say the same.
    factor, offset = channel.conversion
    np.testing.assert_allclose(values, factor * NUMBERS + offset, rtol=1e-13, atol=1e-15)
    return values


def position(robot: Robot, header: str = "", **spec: Any) -> np.ndarray:
    spec = {"column": "c", **spec}
    return value(position_channel(robot, robot.actuators[0], PositionSpec(**spec), header, "q.x", ()))


def test_the_encoder_of_the_description() -> None:
    """q = sign reading + zero, where the map gives neither."""
    actuator = dataclasses.replace(REVOLUTE.actuators[0], encoder_zero=0.3, encoder_sign=-1)
    robot = dataclasses.replace(REVOLUTE, actuators=(actuator, *REVOLUTE.actuators[1:]))
    counts = {"unit": "counts", "counts_per_turn": 360}
    np.testing.assert_allclose(position(robot, **counts), 0.3 - np.radians(NUMBERS))
    np.testing.assert_allclose(position(robot, **counts, zero=1.0, sign=1), np.radians(NUMBERS - 1.0))
    np.testing.assert_allclose(position(robot), NUMBERS)  # a coordinate of the joint is one already


@pytest.mark.parametrize(
    ("robot", "spec", "key", "words"),
    [
        (PRISMATIC, {"unit": "deg"}, "unit", "is not a unit of"),
        (REVOLUTE, {"unit": "counts"}, "unit", "how much a count"),
        (PRISMATIC, {"unit": "counts", "counts_per_turn": 8}, "counts_per_turn", "has no turns"),
        (REVOLUTE, {"counts_per_turn": 8}, "counts_per_turn", "for the unit counts"),
        (REVOLUTE, {"gear_ratio": 5}, "gear_ratio", "has no gear"),
        (REVOLUTE, {"side": "motor", "gear_ratio": 0}, "gear_ratio", "is zero"),
    ],
)
def test_what_cannot_be_read(robot: Robot, spec: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(ChannelError, match=words) as caught:
        position(robot, **spec)
    assert caught.value.key == key

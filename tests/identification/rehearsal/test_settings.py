"""Options of a rehearsal: defaults from the robot, and numbers that cannot be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacelle.errors import IdentificationError
from nacelle.identification.rehearsal.settings import Controller, Effects, Sensors, per_actuator, revolute
from support.library import library_robot

ROBOT = library_robot("fivebar")


def test_the_filter_follows_the_loop() -> None:
    assert Controller(bandwidth=10.0).filter_rate(1000.0) == pytest.approx(2.0 * math.pi * 50.0)
    # No faster than the samples allow.
    assert Controller(bandwidth=10.0).filter_rate(200.0) == pytest.approx(160.0)
    assert Controller(filter=20.0).filter_rate(1000.0) == pytest.approx(2.0 * math.pi * 20.0)


@pytest.mark.parametrize(
    ("controller", "words"),
    [
        (Controller(bandwidth=0.0), "above zero"),
        (Controller(damping=-1.0), "above zero"),
        (Controller(bandwidth=51.0), "at most 50 Hz"),
        (Controller(filter=160.0), "at most 159.155 Hz"),
    ],
)
def test_controllers_that_cannot_be(controller: Controller, words: str) -> None:
    with pytest.raises(IdentificationError, match=words):
        controller.filter_rate(1000.0)


def test_encoders_count_parts_of_a_turn_of_the_motor() -> None:
    gears = [ROBOT.joints[actuator.joint].gear_ratio for actuator in ROBOT.actuators]
    expected = 2.0 * math.pi / 2**17 / np.abs(gears)
    np.testing.assert_allclose(Sensors().resolutions(ROBOT), expected, rtol=1e-15)
    assert revolute(ROBOT) == [True, True]
    slides = library_robot("prrrp")
    assert revolute(slides) == [False, False]
    np.testing.assert_allclose(Sensors(resolution=[1e-3, 0.0]).resolutions(slides), [1e-3, 0.0])
    np.testing.assert_array_equal(Sensors.ideal().resolutions(slides), 0.0)


def test_cogging() -> None:
    assert Effects().cogging_terms(ROBOT) == ()
    terms = Effects(cogging=[0.0, 0.2], phase=0.5).cogging_terms(ROBOT)
    assert terms == ((0.0, 40.0, 0.5), (0.2, 40.0, 0.5))
    with pytest.raises(IdentificationError, match="not negative, got -1"):
        Effects(cogging=-1.0).cogging_terms(ROBOT)
    with pytest.raises(IdentificationError, match="one for each of the 2 actuators"):
        per_actuator(ROBOT, "noise", [1.0, 2.0, 3.0])

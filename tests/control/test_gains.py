"""Default gains: well damped over the workspace, by the robot's linear model; warnings beyond."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.control.gains import ControlWarning, masses_of
from nacelle.control.named import controller
from nacelle.control.poles import loop_poles
from nacelle.dynamics.poses import sample_poses
from nacelle.errors import KinematicsError
from support.library import library_robot

NAMES = ("fivebar", "3rrr", "delta", "palida", "quattro", "orthoglide", "gough-stewart")
T = 5e-4


def well_damped(name: str, delay: float, count: int) -> None:
    robot = library_robot(name)
    law = controller(robot, "cf-rb-friction", period=T, delay=delay).kind.feedback
    law = controller(robot, law.name, period=T, delay=delay)
    poles = loop_poles(law, sample_poses(robot, count, seed=11), delay=delay)
    assert poles.stable.all()
    assert np.min(poles.damping) >= 0.4


def test_default_gains_of_a_small_robot() -> None:
    well_damped("fivebar", 0.5 * T, 40)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.5 * T, T])
@pytest.mark.parametrize("name", NAMES)
def test_default_gains_of_the_library(name: str, delay: float) -> None:
    well_damped(name, delay, 150)


def test_a_bandwidth_beyond_sampling_is_warned_of() -> None:
    with pytest.warns(ControlWarning, match="beyond what sampling allows"):
        controller(library_robot("fivebar"), "sj", period=2e-3, bandwidth=100.0)


def test_a_bandwidth_beyond_a_natural_frequency_is_warned_of() -> None:
    with pytest.warns(ControlWarning, match="natural frequency of 30 Hz"):
        controller(library_robot("fivebar"), "sj", period=T, bandwidth=15.0, natural_frequency=30.0)
    # What is chosen stays below it.
    law = controller(library_robot("fivebar"), "sj", period=T, natural_frequency=30.0)
    chosen = np.sqrt(law.gain("stiffness") / masses_of(law.robot)[0].held) / (2.0 * np.pi)
    assert np.all(chosen <= 10.0 + 1e-9)


@pytest.mark.parametrize("change", [{"period": 0.0}, {"bandwidth": -1.0}, {"bandwidth": np.nan}])
def test_numbers_that_cannot_be(change: dict[str, float]) -> None:
    with pytest.raises(KinematicsError, match="above zero"):
        controller(library_robot("fivebar"), "sj", **change)


def test_unknown_controllers() -> None:
    with pytest.raises(KinematicsError, match="no controller is called 'cf-rp'"):
        controller(library_robot("fivebar"), "cf-rp")

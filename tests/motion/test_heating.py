"""The fastest motion within rms forces, against closed forms and the integral of inverse dynamics."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.optimize import brentq

import nacelle
from nacelle.errors import KinematicsError, RestLimitError
from nacelle.motion import DriveLimits, PlatformLimits, TimeOptimal, time_optimal
from nacelle.trajectory import pick_and_place
from support.cart import MASS, cart
from support.stress_robots import redundant_planar


def rms_forces(robot: nacelle.Robot, result: TimeOptimal, dwell: float = 0.0) -> np.ndarray:
    """Root of the mean of the squared forces (actuators,) over motion and dwell, by the trapezoidal rule."""
    times, sample = result.trajectory.sample(100_001)
    tau = nacelle.inverse_dynamics(robot, *sample, friction=result.friction).tau
    still = 0.0 * sample.v[-1]
    rest = nacelle.inverse_dynamics(robot, sample.x[-1], still, still, friction=False).tau
    heat = np.trapezoid(tau**2, times, axis=0) + rest**2 * dwell
    return np.sqrt(heat / (result.duration + dwell))


@pytest.mark.parametrize(
    ("gravity", "dwell"),
    [
        (0.0, 0.0),
        pytest.param(0.0, 0.4, marks=pytest.mark.slow),
        pytest.param(12.0, 0.0, marks=pytest.mark.slow),
        (18.5, 0.2),
    ],
)
def test_closed_form_of_a_cart(gravity: float, dwell: float) -> None:
    """With a' constant: the integral of tau^2 is (m g)^2 T + 12 m^2 d^2 / T^3."""
    robot = dataclasses.replace(cart(), gravity=np.array([-gravity, 0.0, 0.0]))
    x, distance, rms = nacelle.reference_pose(robot), 0.3, 20.0
    line = nacelle.Line(x, x + distance, motion=robot.motion, duration=1.0)
    result = time_optimal(robot, line, drives=DriveLimits(rms=rms, dwell=dwell))
    room = rms**2 - (MASS * gravity) ** 2

    def excess(time: float) -> float:
        return 12.0 * (MASS * distance) ** 2 / time**3 - room * (time + dwell)

    ideal = brentq(excess, 1e-3, 10.0, xtol=1e-14)
    # The force is linear in time, s'' in s between nodes.
    part = rms**2 / room
    assert result.duration == pytest.approx(ideal, rel=3e-6 * part)
    assert rms_forces(robot, result, dwell)[0] == pytest.approx(rms, rel=5e-6)
    # d ln(room) / d ln(rms) = 2 rms^2 / room.
    slope = -2.0 * rms**2 * (ideal + dwell) / (room * (4.0 + 3.0 * dwell / ideal))
    assert result.sensitivities["rms force", "rail.motor"] == pytest.approx(slope, rel=1e-4 * part)
    assert result.lower_bound == 0.0


@pytest.fixture(scope="module")
def fivebar() -> nacelle.Robot:
    return nacelle.load("fivebar")


@pytest.fixture(scope="module")
def hop(fivebar: nacelle.Robot) -> nacelle.trajectory.RoundedLines:
    x = nacelle.reference_pose(fivebar) - [0.1, 0.0]
    return pick_and_place(x, "25-200-25", motion=fivebar.motion)


@pytest.mark.parametrize(
    ("rms", "dwell"),
    [
        (6.0, 0.0),
        pytest.param((6.0, 5.0), 0.0, marks=pytest.mark.slow),
        pytest.param(3.0, 0.1, marks=pytest.mark.slow),
    ],
)
def test_five_bar_within_rms_forces(
    fivebar: nacelle.Robot, hop: nacelle.trajectory.RoundedLines, rms: float, dwell: float
) -> None:
    result = time_optimal(fivebar, hop, drives=DriveLimits(rms=rms, dwell=dwell))
    used = rms_forces(fivebar, result, dwell) / rms
    assert 1.0 - 1e-5 < used.max() <= 1.0 + 1e-6
    tau = nacelle.inverse_dynamics(fivebar, *result.trajectory.sample(4001)[1]).tau
    assert np.abs(tau).max() <= 12.0
    assert result.profile.gap < 1e-6 * result.duration
    assert {name.owner for name in result.sensitivities if name.kind == "rms force"} == {
        actuator.name for actuator, use in zip(fivebar.actuators, used, strict=True) if use > 0.999
    }


@pytest.mark.slow
def test_sensitivity_is_that_of_another_solution(
    fivebar: nacelle.Robot, hop: nacelle.trajectory.RoundedLines
) -> None:
    here, up, down = (
        time_optimal(fivebar, hop, drives=DriveLimits(rms=[rms, 5.0])) for rms in (5.0, 5.05, 4.95)
    )
    name = fivebar.actuators[0].name
    slope = (up.duration - down.duration) / 0.02
    assert here.sensitivities["rms force", name] == pytest.approx(slope, rel=0.02)


@pytest.mark.slow
def test_jerk_and_rms_forces(fivebar: nacelle.Robot, hop: nacelle.trajectory.RoundedLines) -> None:
    limits = PlatformLimits(jerk=3e4)
    result = time_optimal(fivebar, hop, drives=DriveLimits(rms=5.0), platform=limits, intervals=50)
    assert 0.999 < rms_forces(fivebar, result).max() / 5.0 <= 1.0 + 1e-6


def test_what_cannot_be_is_named(fivebar: nacelle.Robot, hop: nacelle.trajectory.RoundedLines) -> None:
    heavy = dataclasses.replace(cart(), gravity=np.array([-9.81, 0.0, 0.0]))
    x = nacelle.reference_pose(heavy)
    line = nacelle.Line(x, x + 0.3, motion=heavy.motion, duration=1.0)
    with pytest.raises(RestLimitError, match=r"rms force of rail\.motor cannot be kept") as caught:
        time_optimal(heavy, line, drives=DriveLimits(rms=9.8))
    assert (caught.value.limit, caught.value.owner) == ("rms force", "rail.motor")
    with pytest.raises(KinematicsError, match="the dwell is a time"):
        DriveLimits(rms=5.0, dwell=-0.1)
    with pytest.raises(KinematicsError, match="rms of the drives is above zero"):
        time_optimal(fivebar, hop, drives=DriveLimits(rms=0.0))
    robot = redundant_planar(3)
    x = nacelle.reference_pose(robot)
    line = nacelle.Line(x, x + np.array([0.03, 0.0, 0.05]), motion=robot.motion, duration=1.0)
    with pytest.raises(KinematicsError, match="more actuators than coordinates"):
        time_optimal(robot, line, drives=DriveLimits(rms=5.0))

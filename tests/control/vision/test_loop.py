"""The loop by itself: readings, delays, and that it is the loop of the native simulation."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle.control.loop.desired import Course, desired_motion
from nacelle.control.vision.deviation import Deviation
from nacelle.control.vision.loop import EncoderFeedback, Encoders, run_loop
from nacelle.control.vision.path import round_path
from nacelle.control.vision.plant import TruePlant
from nacelle.errors import KinematicsError
from nacelle.simulation.plant import RigidPlant


@pytest.fixture(scope="module")
def robot() -> nacelle.Robot:
    return nacelle.load("fivebar")


def test_it_is_the_native_loop_where_the_robot_is_its_model(robot: nacelle.Robot) -> None:
    law = nacelle.controller(robot, "ct-cartesian", period=1e-3, friction=True)
    path = round_path(robot, 0.2)
    desired = desired_motion(robot, path, 1e-3, Course(settle=0.02))
    none = Deviation.none(robot)
    run = run_loop(TruePlant(robot, none), EncoderFeedback(law, nacelle.Sensors(), none), desired)
    native = nacelle.closed_loop(RigidPlant(robot, smooth=1e-3), law, path, settle=0.02, step=5e-4)
    true = native.simulation.plant.split(native.simulation.states[native._at])[0]
    np.testing.assert_allclose(run.x, true, atol=1e-9)
    assert run.summary()["rms_error"] < 1e-4


def test_encoders_count_from_wrong_zeros(robot: nacelle.Robot) -> None:
    off = dataclasses.replace(Deviation.none(robot), zeros=np.array([0.01, -0.02]))
    plant = TruePlant(robot, off)
    x = nacelle.reference_pose(robot)
    plant.start(x, np.zeros(2), 0.0)
    encoders = Encoders(robot, nacelle.Sensors(resolution=1e-3), off, seed=1)
    encoders.start(plant, desired_motion(robot, round_path(robot, 0.1), 1e-3, Course(settle=0.0)))
    q = nacelle.inverse_kinematics(robot, x).actuators + off.zeros
    np.testing.assert_allclose(encoders.read(0), 1e-3 * np.floor(q / 1e-3 + 0.5), atol=1e-12)


def test_a_delay_beyond_the_sample_time_is_refused(robot: nacelle.Robot) -> None:
    law = nacelle.controller(robot, "ct-cartesian", period=1e-3)
    none = Deviation.none(robot)
    desired = desired_motion(robot, round_path(robot, 0.1), 1e-3, Course(settle=0.0))
    with pytest.raises(KinematicsError, match="not within the sample time"):
        run_loop(TruePlant(robot, none), EncoderFeedback(law, nacelle.Sensors(), none), desired, delay=2e-3)

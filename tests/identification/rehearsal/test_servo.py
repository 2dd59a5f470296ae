"""The law of the controller in plain numbers: quantised encoders, filtered errors, limits."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nacelle
from nacelle.identification.rehearsal.driven_robot import DrivenRobot
from nacelle.identification.rehearsal.servo import encoder_readings, servo, servo_rows
from support.library import library_robot

ROBOT = library_robot("fivebar")
OPTIONS = {"resolution": (1e-3, 0.0), "stiffness": 900.0, "damping": 40.0, "filter_rate": 300.0}


def test_readings_are_the_nearest_steps() -> None:
    q = np.array([[0.12349, 0.5], [-0.12351, -0.5]])
    np.testing.assert_allclose(encoder_readings(q, np.array([1e-4, 0.0])), [[0.1235, 0.5], [-0.1235, -0.5]])


def test_the_law_by_hand() -> None:
    plant = DrivenRobot(ROBOT)
    x = nacelle.reference_pose(ROBOT)
    s = plant.state(x, np.zeros(2))
    z, noise = np.array([0.01, -0.02]), np.array([2e-4, 3e-4])
    s[plant.rigid.size : plant.rigid.size + 2] = z
    q = nacelle.inverse_kinematics(ROBOT, x).actuators
    M = np.array([[2.0, 0.3], [0.3, 1.0]])
    # A whole turn more is no error of a revolute joint.
    reference, force = q + np.array([0.05, 2.0 * math.pi - 0.03]), np.array([0.7, -0.2])
    w = np.concatenate([[0.0], servo_rows(reference[None], force[None], noise[None], M[None])[0]])
    found = servo(ROBOT, s, w, plant.rigid.quat_0, **OPTIONS)
    read = np.array([1e-3 * math.floor((q[0] + noise[0]) / 1e-3 + 0.5), q[1] + noise[1]])
    e = q + np.array([0.05, -0.03]) - read
    rate = 300.0 * (e - z)
    expected = force + M @ (900.0 * e + 40.0 * rate)
    np.testing.assert_allclose(np.asarray(found, dtype=float), [*expected, *rate], rtol=1e-10)
    limited = servo(ROBOT, s, w, plant.rigid.quat_0, **OPTIONS, limits=(5.0, math.inf))
    assert abs(expected[0]) > 5.0
    assert limited[0] == pytest.approx(math.copysign(5.0, expected[0]))
    assert limited[1] == pytest.approx(expected[1])

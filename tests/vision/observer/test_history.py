"""Measurements in their place: any order of arrival gives the same state."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.vision.cylinders import visible_cylinders
from nacelle.vision.observer.observer import Observer
from nacelle.vision.observer.settings import ObserverSettings, Start
from nacelle.vision.shutter import Exposure
from support.observed import camera_of, true_motion
from support.simulated_camera import SimulatedCamera


@pytest.fixture(scope="module")
def measured():
    robot = nacelle.load("fivebar")
    rng = np.random.default_rng(5)
    settings = ObserverSettings(horizon=0.5, encoders=1e-4)
    truth = true_motion(robot, settings.density(robot), 0.06, rng)
    eye = SimulatedCamera(robot, camera_of(robot), visible_cylinders(robot), sigma=0.1, rng=rng)
    edges = [
        (t, eye.measure(Exposure(t, t, (k % 4,)), truth.x[truth.at(t)]))
        for k, t in enumerate(np.arange(1, 12) * 5e-3)
    ]
    readings = [
        (t, nacelle.inverse_kinematics(robot, truth.x[truth.at(t)]).actuators)
        for t in np.arange(1, 9) * 6e-3 + 1.5e-3
    ]
    return robot, settings, truth, edges, readings


def observer_of(measured):
    robot, settings, truth, _, _ = measured
    observer = Observer(robot, camera_of(robot), Start(truth.x[0], truth.v[0]), settings)
    for k in range(0, len(truth.t), 4):
        observer.accelerate(truth.t[k], truth.a[k])
    return observer


def given(measured, order):
    """Feed all measurements in an order, each as soon as it is given."""
    _, _, _, edges, readings = measured
    events = [("edges", *one) for one in edges] + [("readings", *one) for one in readings]
    observer = observer_of(measured)
    for k in order(sorted(range(len(events)), key=lambda k: events[k][1])):
        kind, time, value = events[k]
        if kind == "edges":
            observer.take(value)
            observer.estimate(0.06)
        else:
            observer.read(time, value)
    return observer.estimate(0.06)


def test_any_order_gives_the_same(measured):
    in_order = given(measured, lambda order: order)
    late_edges = given(measured, lambda order: [*order[::2], *order[1::2]])
    backwards = given(measured, lambda order: order[::-1])
    for other in (late_edges, backwards):
        np.testing.assert_allclose(other.covariance, in_order.covariance, rtol=1e-6)
        np.testing.assert_allclose(other.x, in_order.x, atol=1e-12)
        np.testing.assert_allclose(other.v, in_order.v, atol=1e-10)


def test_what_is_too_late_is_counted(measured):
    robot, _, truth, edges, _ = measured
    observer = Observer(robot, camera_of(robot), Start(truth.x[0], truth.v[0], time=0.03), ObserverSettings())
    observer.take([edge for time, group in edges for edge in group if time < 0.03])
    observer.estimate(0.06)
    assert observer.too_late == 5
    assert len(observer.steps) == 1

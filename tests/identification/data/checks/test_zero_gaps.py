"""Shifts of encoder zeros from redundant encoders alone."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import nacelle
from nacelle.identification.data.checks.correction import as_read
from nacelle.identification.data.checks.zero_gaps import zeros_of_gaps
from nacelle.identification.data.measured_path import measured_path
from nacelle.kinematics.forward.actuator_path import actuator_scales
from support.uncompiled import any_robot, poses_around


def test_a_shift_is_found_and_nothing_where_there_is_none() -> None:
    robot = any_robot("redundant")
    m = len(robot.actuators)
    assert m > robot.motion.n
    q = nacelle.inverse_kinematics(robot, poses_around(robot, 40, length=0.05)).actuators
    q = q + 1e-5 * np.random.default_rng(0).normal(size=q.shape)
    size = 0.02
    for place in (None, 1):
        shift = np.zeros(m) if place is None else size * np.eye(m)[place]
        path = measured_path(robot, q + shift * actuator_scales(robot))
        judge = SimpleNamespace(robot=robot, path=lambda correction, path=path: path)
        zeros, smallest = zeros_of_gaps(judge, as_read(m))
        assert 0.005 <= smallest < size
        np.testing.assert_allclose(zeros, -shift, atol=0.1 * size)


def test_encoders_that_are_not_redundant_say_nothing() -> None:
    robot = any_robot("fivebar")
    judge = SimpleNamespace(
        robot=robot, path=lambda correction: SimpleNamespace(x=np.zeros((3, 2)), q=np.zeros((3, 2)))
    )
    zeros, smallest = zeros_of_gaps(judge, as_read(2))
    assert not np.any(zeros)
    assert smallest == np.inf

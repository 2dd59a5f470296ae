"""Tuned controllers: gains by name, memory at a start, single samples."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle.control.kind import DesiredMotion, desired_of_row, row_size
from nacelle.control.law import law_of
from nacelle.control.named import controller
from nacelle.errors import KinematicsError, UnderactuatedError
from support.described import mechanism
from support.library import library_robot

T = 5e-4


def test_gains_by_name() -> None:
    law = controller(library_robot("fivebar"), "sj", period=T, bandwidth=10.0)
    stiff = law.with_gains(stiffness=[1.0, 2.0])
    assert stiff.gain("stiffness").tolist() == [1.0, 2.0]
    assert np.array_equal(stiff.gain("damping"), law.gain("damping"))
    with pytest.raises(KinematicsError, match="nothing is called 'stifness'"):
        law.with_gains(stifness=1.0)
    with pytest.raises(KinematicsError, match="finite gains"):
        law.with_gains(stiffness=np.nan)
    with pytest.raises(KinematicsError, match="sample time"):
        dataclasses.replace(law, period=-1.0)


def test_a_sample_is_that_of_the_law_on_numbers() -> None:
    robot = library_robot("fivebar")
    law = controller(robot, "cf-rb", period=T, bandwidth=10.0)
    x = nacelle.reference_pose(robot)
    motion = DesiredMotion(x + 0.002, np.array([0.1, 0.2]), np.array([1.0, -2.0]))
    row = np.concatenate(motion)
    assert row_size(robot) == row.shape
    assert all(np.array_equal(a, b) for a, b in zip(desired_of_row(robot, row), motion, strict=True))
    z, q = law.start(x), law.coordinates(x)
    for _ in range(3):
        expected = law_of(law.kind)(robot, z, q, row, law.gains)
        force, z = law.step(z, q, motion)
        assert np.max(np.abs(force - expected["force"])) < 1e-9 * np.max(np.abs(expected["force"]))
        assert np.max(np.abs(z - expected["memory"])) < 1e-9


def test_a_start_out_of_reach() -> None:
    law = controller(library_robot("fivebar"), "sj", period=T, bandwidth=10.0)
    with pytest.raises(nacelle.UnreachableError):
        law.start([5.0, 5.0])


def test_every_motion_needs_an_actuator() -> None:
    with pytest.raises(UnderactuatedError, match=r"nothing drives cart.pivot of cart-pole, and a controller"):
        controller(mechanism("cart_pole"), "sj", period=T, bandwidth=10.0)

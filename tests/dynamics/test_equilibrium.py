"""Equilibria: forces that hold a pose, poses that forces hold, and what is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.equilibrium import equilibrium, equilibrium_pose, moved
from support.described import mechanism
from support.uncompiled import any_robot


def test_forces_hold_the_pose_and_the_pose_the_forces() -> None:
    """Under gravity in its plane a five-bar rests where inverse dynamics says so, and is led back there."""
    robot = dataclasses.replace(any_robot("fivebar"), gravity=(0.0, -9.81, 0.0))
    x = nacelle.reference_pose(robot)
    held = equilibrium(robot, x)
    np.testing.assert_allclose(held, nacelle.inverse_dynamics(robot, x).force, rtol=1e-9)
    aside = moved(robot, x, np.array([0.004, -0.003]))
    np.testing.assert_allclose(aside - x, [0.004, -0.003], atol=1e-15)
    np.testing.assert_allclose(equilibrium_pose(robot, held, guess=aside), x, atol=1e-8)


def test_faults_of_equilibria_are_told() -> None:
    robot = any_robot("delta-codourey")
    for arguments, words in (
        ({"tau": [0.0, 0.0]}, "3 actuators"),
        ({"tau": [0.0, 0.0, np.nan]}, "not finite"),
        ({"tau": np.zeros((2, 3))}, "one set of forces"),
        ({"guess": np.zeros((2, 3))}, "one pose"),
        ({"guess": [0.0, np.nan, 0.0]}, "not finite"),
        ({"guess": [0.0, 0.0]}, "shape"),
        ({"external": {"plates": np.zeros(6)}}, "no body"),
        ({"external": {"plate": np.zeros(3)}}, "shape"),
        ({"external": {"plate": [np.inf, 0, 0, 0, 0, 0]}}, "not finite"),
        ({"external": {"plate": np.zeros((2, 6))}}, "one set of wrenches"),
    ):
        with pytest.raises(nacelle.KinematicsError, match=words):
            equilibrium_pose(robot, **arguments)
    with pytest.raises(nacelle.UnreachableError):
        equilibrium_pose(robot, guess=[5.0, 0.0, 0.0])
    with pytest.raises(nacelle.UnreachableError):
        equilibrium(robot, [5.0, 0.0, 0.0])
    # Forces that nothing balances: a push far beyond the weight drives the plate out of reach.
    with pytest.raises(nacelle.KinematicsError, match=r"no pose|do not determine"):
        equilibrium_pose(robot, [500.0, 500.0, 500.0])


def test_a_batch_of_a_robot_with_a_motion_that_nothing_drives() -> None:
    """A pendulum rests hanging, wherever its cart is."""
    robot = mechanism("cart_pole")
    hanging = equilibrium_pose(robot, free="cart.pivot")
    poses = np.tile(hanging, (4, 1))
    poses[:, 0] = np.linspace(-0.1, 0.1, 4)
    np.testing.assert_allclose(equilibrium(robot, poses), 0.0, atol=1e-9)

"""The physics functions of kinematics give the same over batches, compiled, and with parameters as inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import native
from nacelle.model.robot import Robot
from support.compare import assert_same
from support.library import NAMES
from support.uncompiled import any_robot, by_time, poses_around, run_uncompiled, solve_uncompiled

OF_POSES = (
    kinematic_model.joint_positions,
    kinematic_model.actuator_positions,
    kinematic_model.body_poses,
    kinematic_model.inverse_jacobian,
    kinematic_model.rate_maps,
    kinematic_model.body_jacobians,
    kinematic_model.closure_equations,
)
OF_MOTIONS = (kinematic_model.body_motions, kinematic_model.joint_motions)
# All functions of a robot take up to 20 s to compile: most robots are for `make test-all`.
QUICK = ("3rps", "c5", "fivebar", "prrrp")


def check_compiled(robot: Robot, function: Callable[..., Any]) -> None:
    """As many samples as fill no whole number of vectors, in the shape of a batch of two dimensions."""
    x = poses_around(robot, 14, seed=6)
    y = solve_uncompiled(robot, x)
    rng = np.random.default_rng(7)
    motions = rng.normal(size=(2, 14, robot.motion.n)) if function in OF_MOTIONS else ()
    expected = run_uncompiled(function, robot, x, y, *motions)
    found = native(function, robot)(*(a.reshape(2, 7, -1) for a in (x, y, *motions)))
    found = found if isinstance(found, dict) else {"": found}
    assert set(found) == set(expected)
    for key, value in expected.items():
        # Open loops are rounding themselves: compared with the size, not with each other.
        floor = robot.size * np.eye(1, value.size).reshape(value.shape) if key == "residual" else 0.0
        assert_same(found[key].reshape(value.shape) + floor, value + floor, 1e-12, key)


@pytest.mark.parametrize("name", by_time(NAMES, long=set(NAMES) - set(QUICK)))
def test_compiled_equals_uncompiled(name: str) -> None:
    for function in (*OF_POSES, *OF_MOTIONS):
        check_compiled(any_robot(name), function)


@pytest.mark.parametrize("name", ["dymo", "hexaglide", "palida"])
def test_compiled_jacobian_equals_uncompiled(name: str) -> None:
    check_compiled(any_robot(name), kinematic_model.inverse_jacobian)


def other_lengths(robot: Robot, seed: int = 2, part: float = 0.01) -> Robot:
    """The robot with every length and angle of its description changed by up to one per cent."""
    vector = robot.numbers.vector("geometry")
    change = part * np.random.default_rng(seed).uniform(-1.0, 1.0, vector.shape)
    return robot.with_numbers(vector * (1.0 + change), "geometry")


@pytest.mark.parametrize("name", by_time(["3rps", "c5", "fivebar", "gough-stewart", "hexa"], long=["hexa"]))
def test_parameters_as_inputs(name: str) -> None:
    """One program for all lengths: with the robot's own numbers, and with others."""
    robot = any_robot(name)
    compiled = nacelle.compile(kinematic_model.inverse_jacobian, robot, parameters="input")
    for other in (robot, other_lengths(robot)):
        mechanism = mechanism_of(other)
        assert [plan.recipe for plan in mechanism.legs] == [plan.recipe for plan in mechanism_of(robot).legs]
        x = poses_around(other, 5, seed=3)
        y = solve_uncompiled(other, x)
        found = compiled(other.numbers.vector(), x, y)
        expected = run_uncompiled(kinematic_model.inverse_jacobian, other, x, y)
        for key in ("q", "J", "margins"):
            # Margins count in the size of the robot that the program was made from.
            assert_same(found[key], expected[key], 0.1 if key == "margins" else 1e-12, key)
    changed = compiled(other.numbers.vector(), x, y)["J"] - compiled(robot.numbers.vector(), x, y)["J"]
    assert np.max(np.abs(changed)) > 1e-4


def test_parameters_of_a_group_as_inputs() -> None:
    robot = any_robot("fivebar")
    compiled = nacelle.compile(kinematic_model.body_motions, robot, parameters=["geometry"])
    other = other_lengths(robot)
    x = poses_around(other, 3)
    v, a = np.random.default_rng(0).normal(size=(2, 3, 2))
    found = compiled(other.numbers.vector("geometry"), x, np.zeros((3, 0)), v, a)
    expected = run_uncompiled(kinematic_model.body_motions, other, x, np.zeros((3, 0)), v, a)
    assert_same(found["twist"], expected["twist"], 1e-12)
    assert_same(found["acceleration"], expected["acceleration"], 1e-12)


@pytest.mark.parametrize("name", ["fivebar", "delta-codourey", "3rps"])
def test_one_float_at_a_time(name: str) -> None:
    """Plain floats are scalars as well: the same as batches to rounding."""
    robot = any_robot(name)
    x = poses_around(robot, 3, seed=9)
    y = solve_uncompiled(robot, x)
    expected = run_uncompiled(kinematic_model.inverse_jacobian, robot, x, y)
    for k in range(3):
        found = kinematic_model.inverse_jacobian(robot, x[k], y[k])
        for key in found:
            assert_same(found[key], expected[key][k], 1e-13, key)

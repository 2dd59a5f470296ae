"""Transfers leave all forces as they are: the linear form does not see them, and there are no others."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.base_parameters.relative_motion import sampled_twists
from nacelle.dynamics.base_parameters.transfers import Transfers
from nacelle.model.joint import Spring
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.robot import Robot
from support.library import library_robot


def sprung() -> Robot:
    """A five-bar with springs that have a preload, and a payload on its tip's body."""
    robot = library_robot("fivebar")
    joint = robot.joints[0]
    joints = (dataclasses.replace(joint, springs=(Spring(3.0, 0.2),)), *robot.joints[1:])
    return dataclasses.replace(robot, joints=joints)


@pytest.mark.parametrize("make", [sprung, lambda: library_robot("prrrp")])
def test_no_force_shows_a_transfer(make) -> None:
    robot = make()
    count = len(linear_parameters(robot).names)
    listed = np.array([transfer.numbers(count) for transfer in Transfers(robot, sampled_twists(robot)).all()])
    random = np.random.default_rng(1)
    x = nacelle.reference_pose(robot) + 0.02 * robot.size * random.normal(size=(40, robot.motion.n))
    v, a = random.normal(size=(2, 40, robot.motion.n))
    Y = nacelle.regressor(robot, x, v, a).Y.reshape(-1, count)
    sizes = np.linalg.norm(listed, axis=1)
    felt = np.abs(Y @ listed.T) / (np.max(np.abs(Y)) * np.where(sizes > 0.0, sizes, 1.0))
    assert np.max(felt) < 1e-9
    # As many as the linear form leaves open.
    scale = np.max(np.abs(Y), axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    rank = np.linalg.matrix_rank(Y / scale, tol=1e-9)
    assert np.linalg.matrix_rank(listed, tol=1e-9) == count - rank

"""The desired motion at the actuators: legs that are followed, forces of the model, redundant drives."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import nacelle
from nacelle.control.kind import DesiredMotion
from nacelle.control.pieces.desired import closed_unknowns, desired_coordinates, model_force, without_internal
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.library import library_robot


def test_legs_found_by_iteration_are_followed() -> None:
    robot = library_robot("3rps")
    mechanism = mechanism_of(robot)
    assert mechanism.ny
    x, y = mechanism.reference
    # 2 mm and 2 mrad are far for a sample.
    after = x + 2e-3
    there = nacelle.inverse_kinematics(robot, after)
    y = closed_unknowns(robot, y, after)
    assert np.max(np.abs(y - there.y)) < 1e-9
    motion = DesiredMotion(after, np.full(robot.motion.n, 0.1), np.full(robot.motion.n, 0.5))
    assert np.max(np.abs(desired_coordinates(robot, y, motion) - there.actuators)) < 1e-10
    force = nacelle.inverse_dynamics(robot, *motion, friction=False).force
    assert np.max(np.abs(model_force(robot, y, motion, friction=False) - force)) < 1e-9 * np.max(
        np.abs(force)
    )


def test_redundant_drives_keep_what_moves_the_robot() -> None:
    robot = nacelle.load(Path(__file__).parents[2] / "robots" / "redundant.yaml")
    x, y = mechanism_of(robot).reference
    J = nacelle.jacobian(robot, x).inverse
    force = np.random.default_rng(0).normal(size=len(robot.actuators))
    kept = without_internal(robot, y, x, force)
    assert np.max(np.abs(J.T @ (kept - force))) < 1e-12
    assert np.max(np.abs(without_internal(robot, y, x, kept) - kept)) < 1e-12
    assert np.linalg.norm(kept) < np.linalg.norm(force)

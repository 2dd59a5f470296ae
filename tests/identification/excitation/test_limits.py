"""Limits of motions: as described, as given, derived where there are none; impossible ones are named."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support import stress_robots
from tests.support.library import library_robot

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.excitation.limits import constraint_form, limits


def _limits(name: str = "fivebar", **options):
    robot = library_robot(name)
    return robot, limits(robot, nacelle.reference_pose(robot), **options)


def test_described_limits_are_those_of_the_drives():
    robot, made = _limits()
    assert made.speed.tolist() == [actuator.speed for actuator in robot.actuators]
    assert made.force.tolist() == [actuator.force for actuator in robot.actuators]
    assert made.origin["speed"] == made.origin["force"] == "described"


def test_acceleration_follows_from_force_and_inertia():
    robot, made = _limits()
    M = nacelle.mass_matrix(robot, nacelle.reference_pose(robot), coordinates="actuators")
    assert np.allclose(made.acceleration, made.force / np.diag(M))
    assert made.origin["acceleration"].startswith("derived")


def test_given_limits_are_taken():
    _, made = _limits(speed=2.0, acceleration=[3.0, 4.0], force=5.0, conditioning=0.01)
    assert made.speed.tolist() == [2.0, 2.0]
    assert made.acceleration.tolist() == [3.0, 4.0]
    assert made.force.tolist() == [5.0, 5.0]
    assert made.conditioning == 0.01
    assert made.origin["conditioning"] == "given"


@pytest.mark.slow
def test_a_robot_without_limits_gets_derived_ones():
    robot = stress_robots.STRESS["redundant planar 4-RRR"](0)
    made = limits(robot, nacelle.reference_pose(robot))
    assert np.allclose(made.speed, np.sqrt(np.linalg.norm(robot.gravity) / robot.size))
    assert np.allclose(made.acceleration, 2.0 * np.linalg.norm(robot.gravity) / robot.size)
    weight = nacelle.gravity_forces(robot, nacelle.reference_pose(robot), coordinates="actuators")
    assert np.all(made.force >= 2.0 * np.abs(weight))
    assert all(made.origin[kind].startswith("derived") for kind in ("speed", "force", "acceleration"))


def test_uses_are_one_at_the_limits():
    robot, made = _limits(margin=0.1)
    form = constraint_form(robot, made)
    for k, (kind, _) in enumerate(form.labels):
        # The value at which the use is 1.
        value = (1.0 - form.offset[k]) / form.factor[k]
        expected = {
            "speed": made.speed[0],
            "acceleration": made.acceleration[0],
            "force": made.force[0],
            "position": 0.8,
            "conditioning": made.conditioning,
        }
        if kind in expected:
            assert value == pytest.approx(expected[kind])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"speed": -1.0}, "speed limit of left.motor must be above zero"),
        ({"acceleration": [1.0, 0.0]}, "acceleration limit of right.motor must be above zero"),
        ({"speed": [1.0, 2.0, 3.0]}, "one for each of the 2 actuators"),
        ({"force": "much"}, "force limit is one number"),
        ({"force": 1e-3}, "force limit of .*motor, 0.001, is below what holds the robot at rest"),
        ({"margin": 0.6}, "margin is a part of a joint's range"),
        ({"margin": 0.45}, "position limit of .* is met at the centre"),
        ({"conditioning": 0.9}, "conditioning limit 0.9 is above what the robot has at the centre, 0.4"),
        ({"conditioning": 0.0}, "conditioning limit must be above zero"),
    ],
)
def test_impossible_limits_are_named(options, words):
    with pytest.raises(IdentificationError, match=words):
        _limits(**options)

"""Dependent coordinates: they are those of the platform as the bodies have it."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.dependent import dependent_names
from nacelle.kinematics.mechanism import mechanism
from nacelle.model.platform import AXES
from nacelle.spatial.pose import Pose


@pytest.mark.parametrize("name", nacelle.robot_names())
def test_coordinates_and_dependent_ones_place_the_platform(name: str) -> None:
    robot = nacelle.load(name)
    names = dependent_names(robot)
    known = mechanism(robot)
    assert bool(names) == known.parasitic
    assert not set(names) & set(robot.motion.coordinates)
    if not names:
        assert (
            nacelle.dependent_coordinates(nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot)))
            == {}
        )
        return
    assert {*names, *robot.motion.coordinates} >= set(AXES[: robot.platform_nv])
    rng = np.random.default_rng(5)
    x = nacelle.reference_pose(robot) + rng.uniform(-0.02, 0.02, (5, robot.motion.n))
    found = nacelle.inverse_kinematics(robot, x)
    dependent = nacelle.dependent_coordinates(found)
    assert tuple(dependent) == names
    for k in range(len(x)):
        R, p = found.bodies.R[k, 1], found.bodies.p[k, 1]
        expected = known.chart.coordinates(Pose(R, p))[1]
        np.testing.assert_allclose([values[k] for values in dependent.values()], expected, atol=1e-12)
        for axis, letter in enumerate("xyz"):
            if letter in dependent:
                assert dependent[letter][k] == pytest.approx(p[axis], abs=1e-12)


def test_the_same_from_the_actuators_and_in_gaps() -> None:
    robot = nacelle.load("3rps")
    x = nacelle.reference_pose(robot) + np.array([[0.01, 0.1, 0.05], [0, 0, 0], [np.nan, 0, 0]])
    found = nacelle.inverse_kinematics(robot, x)
    first = nacelle.dependent_coordinates(found)
    second = nacelle.dependent_coordinates(nacelle.forward_kinematics(robot, found.actuators))
    for name, values in first.items():
        assert np.isfinite(values).tolist() == [True, True, False]
        np.testing.assert_allclose(second[name], values, atol=1e-9)
    single = nacelle.dependent_coordinates(nacelle.inverse_kinematics(robot, x[0]))
    assert {name: float(value) for name, value in single.items()} == pytest.approx(
        {name: float(values[0]) for name, values in first.items()}, abs=1e-12
    )

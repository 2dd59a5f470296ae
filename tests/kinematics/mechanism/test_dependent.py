"""Dependent coordinates: they are those of the platform as the bodies have it."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.mechanism.assembly import assemble
from nacelle.kinematics.mechanism.dependent import dependent_names
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.platform import AXES
from nacelle.spatial.pose import Pose
from support.rigid_robots import delta_with_tolerances


@pytest.mark.parametrize("name", nacelle.robot_names())
def test_coordinates_and_dependent_ones_place_the_platform(name: str) -> None:
    robot = nacelle.load(name)
    names = dependent_names(robot)
    mechanism = mechanism_of(robot)
    assert bool(names) == mechanism.parasitic
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
        expected = mechanism.chart.coordinates(Pose(R, p))[1]
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


@pytest.mark.parametrize("seed", [3, 5])
def test_tolerances_of_a_leg_keep_the_branch_of_the_guess(seed: int) -> None:
    """A leg with rods that differ closes only with a tilted plate; a held one does not choose the branch."""
    robot = delta_with_tolerances(seed)
    found = assemble(robot)
    assert not found.open
    arms = [found.q[robot.q_slices[robot.joint(f"leg{k}.shoulder")]][0] for k in (1, 2, 3)]
    np.testing.assert_allclose(arms, 0.518, atol=0.01)
    # Less than a degree, but not zero.
    tilt = np.linalg.norm(found.platform.R - np.eye(3))
    assert 1e-6 < tilt < 0.02

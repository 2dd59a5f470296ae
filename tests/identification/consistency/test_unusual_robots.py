"""Robots that are no families: redundant drives, springs, loops in nacelles and legs, idle struts."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support import stress_robots

import nacelle
from nacelle.dynamics.base_parameters.sampling import sampled_regressor, units
from nacelle.identification.consistency.consistent import MARGIN, consistent_parameters
from nacelle.identification.consistency.identified import identified_robot
from nacelle.identification.consistency.roots import root_of_regression
from nacelle.kinematics.general.rods import find_rods
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.spatial.inertia import inertia_faults

QUICK = ("redundant point on three legs", "sprung five-bar", "shared carriage", "loop inside a leg")


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in stress_robots.STRESS],
)
@pytest.mark.parametrize("noise", [1e-3, 0.1])
def test_a_robot_that_can_be_written(name, noise):
    robot = stress_robots.STRESS[name](1)
    base = nacelle.base_parameters(robot)
    Y = (sampled_regressor(robot) / units(robot) @ base.choice.E)[:, list(base.kept)]
    clean = Y @ base.values
    sigma = noise * np.sqrt(np.mean(clean**2))
    force = clean + sigma * np.random.default_rng(9).normal(size=len(Y))
    size = np.linalg.norm(Y, axis=0)
    beta = np.linalg.lstsq(Y / size, force, rcond=None)[0] / size
    result = consistent_parameters(base, beta, root_of_regression(Y, sigma))
    assert result.accuracy < 1e-3
    moved = identified_robot(robot, result)
    assert nacelle.loads(moved.to_yaml()).hash == moved.hash
    assert find_rods(mechanism_of(moved)) == find_rods(mechanism_of(robot))
    # A body keeps its margin: less that it is still one.
    for body, own in zip(moved.bodies[1:], robot.bodies[1:], strict=True):
        assert not inertia_faults(np.array(body.inertia) - 0.999 * MARGIN * np.array(own.inertia))
    # The truth can be built, so that nothing that can is farther from the estimate than it.
    root = root_of_regression(Y, sigma)
    assert result.distance <= np.linalg.norm(root @ (base.values - beta)) + 1e-3

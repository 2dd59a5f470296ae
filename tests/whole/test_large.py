"""Mechanisms of more than eighty bodies in one closed chain of loops and couplings."""

import numpy as np
import pytest

import nacelle
from nacelle.dynamics import smallest
from nacelle.dynamics.formulations import reference
from nacelle.kinematics.general.plan import is_supported
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.program.trace import trace
from nacelle.simulation.plant import watched
from nacelle.spatial.physics import input_shapes
from nacelle.verify.comparison import verify
from support.snakes import snake


@pytest.mark.parametrize("cells", [4, 28])
def test_the_general_form_is_that_of_the_tree(cells: int) -> None:
    robot = snake(cells)
    assert len(robot.bodies) == 3 * cells + 2
    assert is_supported(robot, direct=True)
    x, y = mechanism_of(robot).reference
    v, a = np.random.default_rng(1).normal(size=(2, robot.motion.n))
    found = smallest.inverse(robot.alike, x, y, v, a)["force"]
    expected = reference.inverse(robot.alike, x, y, v, a, np.zeros(robot.motion.n))["force"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.max(np.abs(expected)))


def test_what_a_run_watches_grows_far_less_than_with_the_cube_of_the_cells() -> None:
    """Loops share few unknowns: least squares that did not see this would take eight times as much."""
    sizes = []
    for cells in (6, 12):
        robot = snake(cells, free=cells)
        shapes = input_shapes(watched, robot)
        assert shapes is not None
        sizes.append(len(trace(lambda *inputs, robot=robot: watched(robot, *inputs), shapes).program().code))
    assert sizes[1] < 4 * sizes[0]


def test_eighty_bodies_agree_with_the_other_engines() -> None:
    report = verify(snake(28), states=2)
    assert report.ok, str(report)


def test_eighty_bodies_keep_their_energy() -> None:
    robot = snake(28)
    robot = robot.with_parameters(np.zeros(len(robot.parameter_names("friction"))), "friction")
    run = nacelle.simulate(robot, nacelle.reference_pose(robot), until=0.05, samples=5)
    assert run.t[-1] == pytest.approx(0.05)
    energy = nacelle.kinetic_energy(robot, run.x, run.v) + nacelle.potential_energy(robot, run.x)
    assert np.ptp(energy) < 1e-9 * np.max(np.abs(energy))

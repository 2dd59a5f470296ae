"""Mechanisms beyond parallel robots against the other engines, and what a free base conserves."""

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.verify.comparison import verify
from support.described import NAMES, mechanism
from support.free_robots import random_free


@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_agrees_with_the_other_engines(name: str) -> None:
    report = verify(mechanism(name), states=5)
    assert report.ok, str(report)


@pytest.mark.parametrize("seed", range(6))
def test_random_mechanisms_on_a_free_base_agree_with_the_other_engines(seed: int) -> None:
    report = verify(random_free(seed), states=4)
    assert report.ok, str(report)


@pytest.mark.parametrize("seed", range(4))
def test_rods_that_spin_idly_on_a_free_base_agree_with_the_other_engines(seed: int) -> None:
    robot = random_free(seed, spins=True)
    assert [robot.bodies[spin.body].name for spin in mechanism_of(robot).nacelle_spins] == ["arm.rod"]
    report = verify(robot, states=4)
    assert report.ok, str(report)


def test_a_free_base_without_gravity_keeps_energy_and_momentum() -> None:
    text = mechanism("biped").to_yaml()
    at = text.index("gravity: ")
    robot = nacelle.loads(text[:at] + "gravity: [0.0, 0.0, 0.0]\n" + text[text.index("\n", at) + 1 :])
    robot = robot.with_parameters(np.zeros(len(robot.parameter_names("friction"))), "friction")
    x = nacelle.reference_pose(robot)
    v = 0.3 * np.random.default_rng(2).normal(size=robot.motion.n)
    run = nacelle.simulate(robot, x, v, until=0.2, samples=5)
    energy = nacelle.kinetic_energy(robot, run.x, run.v)
    assert np.ptp(energy) < 1e-9 * energy[0]
    # Linear momentum: of unit motions of the base with all joints at rest.
    momentum = np.einsum("kij,kj->ki", nacelle.mass_matrix(robot, run.x), run.v)[:, :3]
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-9)

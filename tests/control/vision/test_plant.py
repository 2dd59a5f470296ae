"""The true robot, stepped from Python, against the simulation of a robot with these numbers folded in."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.vision.deviation import Deviation, deviating_robot
from nacelle.control.vision.plant import TruePlant
from nacelle.dynamics.equilibrium import equilibrium
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.simulation.plant import RigidPlant
from nacelle.vision.cylinders import visible_cylinders


def pushed(name: str) -> tuple[TruePlant, nacelle.Robot, nacelle.Simulation, np.ndarray]:
    """A true robot after 50 samples under constant forces, and the simulation that it should agree with."""
    robot = nacelle.load(name)
    x = nacelle.reference_pose(robot)
    deviation = Deviation.drawn(robot, 0, anchors=1e-3, lengths=1e-3)
    true = deviating_robot(robot, deviation.numbers(robot, 0.0))
    force = 1.5 * equilibrium(true, x) + 0.2
    plant = TruePlant(robot, deviation)
    plant.start(x, np.zeros(robot.motion.n), 0.0)
    for k in range(50):
        plant.advance(force, 1e-3 * (k + 1))
    run = nacelle.simulate(RigidPlant(true, smooth=1e-3), x, force=force, until=0.05, method="rk4", step=5e-4)
    return plant, true, run, force


@pytest.mark.parametrize("name", ["fivebar", "gough-stewart", "quattro"])
def test_it_moves_as_a_simulated_robot(name: str) -> None:
    plant, true, run, _ = pushed(name)
    now = plant.signals()
    assert np.max(np.abs(now["x"] - nacelle.reference_pose(plant.model))) > 1e-5
    np.testing.assert_allclose(now["x"], run.x[-1], atol=1e-13)
    np.testing.assert_allclose(now["v"], run.v[-1], atol=1e-11)
    joints = inverse_kinematics(true, now["x"], limits=False)
    np.testing.assert_allclose(now["q"], joints.actuators, atol=1e-11)
    R, p = plant.bodies(plant.state, plant.time)
    np.testing.assert_allclose(p, joints.bodies.p, atol=1e-11)
    # Rods between spherical joints may spin: what is seen of them are their axes.
    for cylinder in visible_cylinders(plant.model):
        one, two = cylinder.placed(R, p), cylinder.placed(*joints.bodies)
        np.testing.assert_allclose(one, two, atol=1e-10)


def test_states_between_steps() -> None:
    """Within a step the cubic is as good as the steps: finer steps give the same."""
    plant, true, _, force = pushed("fivebar")
    time = 0.03123
    finer = nacelle.simulate(
        RigidPlant(true, smooth=1e-3), plant.split(plant.state_at(0.03))[0],
        plant.split(plant.state_at(0.03))[1], force=force, start=0.03, until=time, method="dop853",
    )  # fmt: skip
    np.testing.assert_allclose(plant.split(plant.state_at(time))[0], finer.x[-1], atol=1e-11)
    plant.forget(0.02)
    assert plant.oldest > 0.018
    np.testing.assert_allclose(plant.split(plant.state_at(time))[0], finer.x[-1], atol=1e-11)


def test_an_unreachable_start_is_refused() -> None:
    robot = nacelle.load("fivebar")
    plant = TruePlant(robot, Deviation.none(robot))
    with pytest.raises(nacelle.UnreachableError):
        plant.start([5.0, 5.0], np.zeros(2), 0.0)

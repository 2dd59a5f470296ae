"""Closed loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.control.compare import Comparison
from nacelle.control.loop.closed_loop import SMOOTH, ControlLoop, closed_loop
from nacelle.control.loop.run import rms
from nacelle.control.named import controller
from nacelle.control.sensors import Sensors
from nacelle.errors import KinematicsError
from nacelle.kinematics.trajectory.circle import Circle
from nacelle.kinematics.trajectory.line import Line
from nacelle.model.robot import Robot
from nacelle.simulation.drives.plant import DrivenPlant
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.simulate import simulate


def test_errors_fall_with_the_model(comparison: Comparison) -> None:
    """[AGH2005] Fig. 6: of every actuator, from single-joint control to the rigid model to friction."""
    errors = [rms(run.error) for run in comparison.runs]
    assert np.all(errors[1] < 0.6 * errors[0])
    assert np.all(errors[2] < 0.3 * errors[1])
    assert all(run.ok for run in comparison.runs)


def test_ideal_sensors_are_the_loop_without_them(fivebar: Robot, turn: Circle) -> None:
    law = controller(fivebar, "cf-rb", period=1e-3)
    plant = DrivenPlant(RigidPlant(fivebar, smooth=SMOOTH))
    run = closed_loop(plant, law, turn, sensors=Sensors.ideal(), settle=0.05, step=5e-4)
    time = run.desired_motion.time
    hold = nacelle.equilibrium(fivebar, turn(0.0).x)
    first, until = turn(0.0).x, time[0] + 1e-3 * len(time)
    force = law.sampled(first, run.desired_motion.rows, first_force=hold)
    plain = simulate(plant, first, None, force, start=time[0], until=until, method="rk4", step=5e-4)
    assert run.simulation.states == pytest.approx(plain.states, abs=1e-12)


def test_the_same_seed_gives_the_same_run(fivebar: Robot, turn: Circle) -> None:
    law = controller(fivebar, "sj", period=1e-3)
    sensors = Sensors(noise=1e-5, dropout=0.01)
    runs = [closed_loop(fivebar, law, turn, sensors=sensors, seed=seed, settle=0.05) for seed in (1, 1, 2)]
    assert np.array_equal(runs[0].error, runs[1].error)
    assert not np.array_equal(runs[0].error, runs[2].error)


@pytest.mark.slow
def test_a_wrench_that_begins_to_act_is_held_in_the_end(fivebar: Robot) -> None:
    """The controller's memory goes on over the change; its integral then balances the wrench."""
    x = nacelle.reference_pose(fivebar)
    hold = Line(x, x, motion=fivebar.motion, duration=0.8)
    nacelle_body = fivebar.bodies[1].name
    wrench = {nacelle_body: np.array([0.0, -8.0, 0.0, 0.0, 0.0, 0.0])}
    plants = [RigidPlant(fivebar, friction=False, external=given) for given in ({}, wrench)]
    law = controller(fivebar, "sj", period=1e-3)
    run = closed_loop(plants[0], law, hold, changes=[(0.1, plants[1])], sensors=Sensors.ideal(), settle=0.3)
    assert run.ok
    before, after = np.searchsorted(run.time, [0.09, 0.79])
    assert run.commanded[before] == pytest.approx(nacelle.equilibrium(fivebar, x), rel=1e-2)
    assert run.commanded[after] == pytest.approx(nacelle.equilibrium(fivebar, x, external=wrench), rel=1e-2)
    assert np.max(np.abs(run.error[:before])) < 0.1 * np.max(np.abs(run.error))
    # A change that changes nothing leaves the run as it is.
    same = closed_loop(plants[0], law, hold, changes=[(0.1, plants[0])], sensors=Sensors.ideal(), settle=0.3)
    plain = closed_loop(plants[0], law, hold, sensors=Sensors.ideal(), settle=0.3)
    assert same.simulation.states == pytest.approx(plain.simulation.states, abs=1e-13)
    assert same.commanded == pytest.approx(plain.commanded, abs=1e-10)


@pytest.mark.slow
def test_another_robot_moves_than_the_model_says(fivebar: Robot, turn: Circle) -> None:
    heavier = fivebar.with_parameters(1.3 * fivebar.parameter_vector("inertia"), "inertia")
    law = controller(fivebar, "cf-rb-friction", period=1e-3)
    exact, other = (closed_loop(robot, law, turn, settle=0.3) for robot in (fivebar, heavier))
    assert np.all(rms(other.error) > 2.0 * rms(exact.error))
    # What it commands is what the robot that moves requires.
    needed = nacelle.inverse_dynamics(heavier, *turn(other.time), smooth=SMOOTH).force
    assert np.mean(other.commanded, axis=0) == pytest.approx(np.mean(needed, axis=0), abs=0.02)


def test_mistakes(fivebar: Robot, turn: Circle) -> None:
    law = controller(fivebar, "sj", period=1e-3)
    with pytest.raises(
        KinematicsError, match=r"the delay of 0.002 s is not within the sample time of 0.001 s"
    ):
        closed_loop(fivebar, law, turn, delay=2e-3)
    no_plant: Any = "fivebar"
    with pytest.raises(KinematicsError, match="is no plant"):
        closed_loop(no_plant, law, turn)
    with pytest.raises(KinematicsError, match="no robot like fivebar"):
        closed_loop(nacelle.load("prrrp"), law, turn)
    with pytest.raises(KinematicsError, match="a change at 9 s is not within the run"):
        closed_loop(fivebar, law, turn, changes=[(9.0, fivebar)])
    loop = ControlLoop(fivebar, fivebar, turn, period=2e-3)
    with pytest.raises(KinematicsError, match="another model or sample time"):
        loop.run(law)

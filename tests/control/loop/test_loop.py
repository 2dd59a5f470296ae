"""Loop: checks, closed loop, contour, desired, places, run, steps."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.control.compare import Comparison
from nacelle.control.loop.closed_loop import SMOOTH, ControlLoop, LoopOptions, closed_loop, integration_step
from nacelle.control.loop.desired import Schedule, desired_motion
from nacelle.control.loop.run import contour_error, frame_poses, rms
from nacelle.control.named import controller
from nacelle.errors import KinematicsError, UnreachableError
from nacelle.model.robot import Robot
from nacelle.simulation.driven_plant import driven_plant
from nacelle.simulation.drives import Drives
from nacelle.simulation.integration import Integration
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.sensors import Sensors
from nacelle.simulation.simulate import simulate
from nacelle.spatial.scalar import Array
from nacelle.tables.csv import read_table
from nacelle.trajectory.paths import Circle, Line

# ---- What is said before a loop runs


def _with_force_limits(robot: Robot, **limits: Any) -> Robot:
    actuators = tuple(dataclasses.replace(actuator, **limits) for actuator in robot.actuators)
    return dataclasses.replace(robot, actuators=actuators)


def test_a_path_out_of_reach_is_refused_with_its_time(fivebar: Robot) -> None:
    x = nacelle.reference_pose(fivebar)
    line = Line(x, x + np.array([0.0, 2.0]), motion=fivebar.motion, duration=1.0, timing="uniform")
    with pytest.raises(
        UnreachableError, match=r"at ([\d.]+) s fivebar cannot follow the path: unreach"
    ) as said:
        ControlLoop(fivebar, fivebar, line, period=1e-3)
    time = float(str(said.value).split()[1])
    reached = nacelle.inverse_kinematics(fivebar, line([time - 3e-3, time]).x).reachable
    assert reached.tolist() == [True, False]


def test_a_path_beyond_limits_names_the_joint(fivebar: Robot, turn: Circle) -> None:
    q = nacelle.inverse_kinematics(fivebar, turn(0.0).x).q[0]
    tight = _with_force_limits(fivebar, position=(q - 0.02, q + 0.02))
    tight = dataclasses.replace(tight, actuators=(tight.actuators[0], fivebar.actuators[1]))
    with pytest.raises(
        UnreachableError, match=r"out of limits \(left.motor is at [\d.-]+ rad, its limits are"
    ):
        ControlLoop(tight, tight, turn, period=1e-3)


def test_gravity_above_the_limits_of_drives(fivebar: Robot, turn: Circle) -> None:
    force = np.abs(nacelle.dynamics.equilibrium(fivebar, turn(np.linspace(0.0, turn.duration, 200)).x))
    weak = driven_plant(fivebar, Drives(limits=0.9 * float(np.max(force))))
    words = r"(left|right).motor of fivebar cannot hold the robot at rest on the path: at .* s that takes"
    with pytest.raises(KinematicsError, match=words) as said:
        ControlLoop(weak, fivebar, turn, period=1e-3)
    assert f"its limit is {0.9 * float(np.max(force)):.4g} N m" in str(said.value)
    # With a little more than that it goes, and what saturates in motion is said.
    enough = driven_plant(fivebar, Drives(limits=1.05 * float(np.max(force))))
    loop = ControlLoop(enough, fivebar, turn, period=1e-3)
    assert any("its drive saturates" in line for line in loop.notes)


def test_speeds_above_limits_are_said(fivebar: Robot, turn: Circle) -> None:
    slow = _with_force_limits(fivebar, speed=1.0)
    assert any("rad/s of left.motor" in line for line in ControlLoop(slow, slow, turn, period=1e-3).notes)
    assert ControlLoop(fivebar, fivebar, turn, period=1e-3).notes == ()


# ---- Contour errors


def test_distance_from_a_circle() -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 4001)
    path = 0.2 * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    rng = np.random.default_rng(0)
    at, off, up = rng.uniform(0.0, 2.0 * np.pi, (50,)), rng.normal(size=50) * 1e-3, rng.normal(size=50) * 1e-3
    points = np.stack([(0.2 + off) * np.cos(at), (0.2 + off) * np.sin(at), up], axis=1)
    # The polygon is nearer to the centre by up to s^2 / (8 R).
    assert contour_error(path, points) == pytest.approx(np.hypot(off, up), abs=1e-7)


def test_a_lag_is_no_contour_error_and_a_pause_no_trouble() -> None:
    t = np.linspace(0.0, 1.0, 101)
    path = np.stack([t, 2.0 * t, 0.0 * t], axis=1)
    path = np.concatenate([path, path[-1:], path[-1:]])
    late = np.stack([t - 0.003, 2.0 * (t - 0.003), 0.0 * t], axis=1)[1:]
    assert np.max(contour_error(path, late)) < 1e-15
    assert contour_error(path, np.array([[1.0, 2.0, 0.5], [2.0, 2.0, 0.0]])) == pytest.approx([0.5, 1.0])
    assert np.isnan(contour_error(path, np.full((1, 3), np.nan))).all()


# ---- Desired motions


def test_settling_and_repeating(fivebar: Robot, turn: Circle) -> None:
    at = desired_motion(fivebar, turn, 1e-3, Schedule(0.2, 2))
    assert at.time[0] == pytest.approx(-0.2)
    assert at.first == 200
    assert len(at.time) == 200 + round(2.0 * turn.duration / 1e-3)
    assert np.array_equal(at.x[0], turn(0.0).x)
    assert not np.any(at.v[: at.first])
    k = at.first + 300
    later = at.time[k] + turn.duration
    assert at.rows[k] == pytest.approx(np.concatenate(turn(at.time[k])))
    nearest = int(np.argmin(np.abs(at.time - later)))
    assert at.x[nearest] == pytest.approx(turn(at.time[nearest] - turn.duration).x, abs=1e-12)


def test_a_run_that_is_longer_rests_at_the_end(fivebar: Robot) -> None:
    x = nacelle.reference_pose(fivebar)
    line = Line(x, x + np.array([0.05, 0.0]), motion=fivebar.motion, duration=0.3)
    at = desired_motion(fivebar, line, 1e-3, Schedule(0.0, 1, 0.5))
    assert len(at.time) == 500
    assert at.x[350:] == pytest.approx(np.tile(line(0.3).x, (150, 1)))
    assert not np.any(at.v[301:])
    short = desired_motion(fivebar, line, 1e-3, Schedule(0.0, 1, 0.1))
    assert np.array_equal(short.x, at.x[:100])
    back = line.then(line.reverse())
    twice = desired_motion(fivebar, back, 1e-3, Schedule(0.0, 2, 2.0))
    assert twice.x[900] == pytest.approx(line(0.3).x)
    assert twice.x[1200:] == pytest.approx(np.tile(x, (800, 1)))
    with pytest.raises(KinematicsError, match=r"a sample of 0.001 s or longer"):
        desired_motion(fivebar, line, 1e-3, Schedule(0.0, 1, 0.0))


def test_a_path_in_motion_settles_on_itself(fivebar: Robot) -> None:
    centre = nacelle.reference_pose(fivebar)
    endless = Circle(centre, 0.05, motion=fivebar.motion, duration=0.5, timing="uniform")
    at = desired_motion(fivebar, endless, 1e-3, Schedule(0.25, 1))
    assert at.x[0] == pytest.approx(endless(0.25).x)
    assert np.linalg.norm(at.v, axis=1) == pytest.approx(np.full(len(at.v), 0.05 * 4.0 * np.pi))
    assert desired_motion(fivebar, endless, 1e-3, Schedule()).time[0] == 0.0


def test_mistakes(fivebar: Robot, turn: Circle) -> None:
    x = nacelle.reference_pose(fivebar)
    line = Line(x, x + np.array([0.05, 0.0]), motion=fivebar.motion, duration=0.3)
    with pytest.raises(KinematicsError, match=r"ends as it starts; the pose is off by 0.05 at 0.3 s"):
        desired_motion(fivebar, line, 1e-3, Schedule(0.0, 2))
    with pytest.raises(KinematicsError, match="once or more often"):
        desired_motion(fivebar, turn, 1e-3, Schedule(0.0, 0))
    with pytest.raises(KinematicsError, match="motion"):
        desired_motion(nacelle.load("3rrr"), turn, 1e-3, Schedule())


def test_platform_and_tool() -> None:
    robot = nacelle.load("gough-stewart")
    x = np.stack([nacelle.pose(robot, rotation_vector=[0.0, 0.0, angle]) for angle in (0.0, 1e-9, 0.2)])
    at = frame_poses(robot, x)
    assert at.p == pytest.approx(x[:, :3])
    first = frame_poses(robot, x[:1])
    still = type(at)(np.repeat(first.p, 3, axis=0), np.repeat(first.R, 3, axis=0))
    assert at.angle_to(still) == pytest.approx([0.0, 1e-9, 0.2], rel=1e-6)
    assert at.rotations_from(at)[:, 2] == pytest.approx([0.0, 1e-9, 0.2], rel=1e-6)
    tool = frame_poses(robot, x, "spindle")
    assert tool.p[2] == pytest.approx(nacelle.kinematics.tool_pose(robot, x[2], "spindle").p)


def _follow_path(name: str) -> tuple[Array, Array, Array]:
    robot = nacelle.load(name)
    x = np.tile(nacelle.reference_pose(robot), (3, 1))
    return x, np.full((3, robot.motion.n), 0.1), np.zeros((3, len(robot.actuators)))


def test_current_loops_and_friction_shorten_steps() -> None:
    """Steps of the integration."""
    robot = nacelle.load("fivebar")
    x, v, u = _follow_path("fivebar")
    without = rigid_plant(robot, friction=False)
    assert integration_step(without, x, v, u) == 1e-3
    driven = driven_plant(without, Drives(lag=1e-4))
    # An eigenvalue of 1 / lag: two time constants, or what the drives themselves say.
    assert integration_step(driven, x, v, u) == min(
        driven.suited_steps(driven.state(x[0], v[0])).explicit, 2e-4
    )
    steps = [integration_step(rigid_plant(robot, smooth=smooth), x, v, u) for smooth in (1e-4, 1e-5)]
    # The slope of friction at rest goes with 1 / smooth.
    assert steps[1] < 1e-3
    assert steps[0] / steps[1] == pytest.approx(10.0, rel=0.05) or steps[0] == 1e-3
    # Friction that jumps has no slope.
    assert integration_step(rigid_plant(robot), x, v, u) == 1e-3


# ---- What came of a closed loop


def test_samples_and_errors(comparison: Comparison, turn: Circle) -> None:
    run = comparison["sj"]
    assert run.time[0] == 0.0
    assert run.time[-1] == pytest.approx(turn.duration, abs=1.1e-3)
    x = run.simulation.at(run.time).x
    q = nacelle.inverse_kinematics(run.robot, x).q
    assert run.actual_coordinates == pytest.approx(q, abs=1e-9)
    assert run.error == pytest.approx(nacelle.inverse_kinematics(run.robot, turn(run.time).x).q - q, abs=1e-9)
    assert run.tool_error == pytest.approx(np.linalg.norm(x - turn(run.time).x, axis=1), abs=1e-12)
    centre = nacelle.reference_pose(run.robot)
    across = np.abs(np.linalg.norm(x - centre, axis=1) - 0.05)
    assert run.contour_error == pytest.approx(across, abs=1e-6)
    assert np.all(run.contour_error <= run.tool_error + 1e-7)
    # A five-bar's point has no orientation, and moves along a circle.
    assert not np.any(run.rotation_error)
    assert not run.is_rotation_only


@pytest.mark.slow
def test_work_is_that_of_the_simulation(comparison: Comparison, fivebar: Robot, turn: Circle) -> None:
    driven = driven_plant(fivebar, Drives(lag=3e-4))
    lagging = closed_loop(
        driven, controller(fivebar, "cf-rb", period=1e-3), turn, options=LoopOptions(settle=0.1)
    )
    for run in (comparison["cf-rb"], lagging):
        work = run.simulation.work
        begin = int(np.argmin(np.abs(run.simulation.t)))
        assert float(np.sum(run.work)) == pytest.approx(work[-1] - work[begin], rel=1e-3, abs=1e-4)
        assert run.energy >= float(np.sum(run.work))


def test_commands_are_those_of_their_sample(fivebar: Robot, turn: Circle) -> None:
    """Fed forward alone, without feedback: the command of a sample is the model's force there."""
    law = controller(fivebar, "cf-rb-friction", period=1e-3)
    law = law.with_gains(stiffness=0.0, damping=0.0, integral=0.0)
    for delay in (0.0, 4e-4, 1e-3):
        run = closed_loop(fivebar, law, turn, options=LoopOptions(delay=delay, settle=0.0))
        assert run.commanded_forces[1:300] == pytest.approx(run.model_force[1:300], abs=1e-9)
    assert run.acting_forces[2:300] == pytest.approx(run.model_force[1:299], abs=1e-9)


def test_saturation_is_counted(fivebar: Robot, turn: Circle) -> None:
    most = 0.9 * float(np.max(np.abs(nacelle.dynamics.size_motors(fivebar, turn).tau)))
    run = closed_loop(
        driven_plant(fivebar, Drives(limits=most)),
        controller(fivebar, "cf-rb", period=1e-3),
        turn,
        options=LoopOptions(settle=0.1),
    )
    assert np.max(np.abs(run.acting_forces)) == most
    assert 0.0 < np.max(run.saturation) < 0.5
    assert any("saturates" in line for line in run.notes)


def test_files_and_words(comparison: Comparison, tmp_path: Path) -> None:
    run = comparison["sj"]
    run.to_csv(tmp_path / "run.csv")
    table = read_table(tmp_path / "run.csv")
    assert "left.motor.error" in table.names
    assert "x.desired" in table.names
    run.to_npz(tmp_path / "run.npz")
    kept = np.load(tmp_path / "run.npz")
    assert np.array_equal(kept["error"], run.error)
    assert kept["actuators"].tolist() == ["left.motor", "right.motor"]
    assert "left.motor" in run._repr_html_()
    assert repr(run).startswith("<ControlRun sj on fivebar: done")
    data = run.summary()
    assert data["tool"]["rms_error"] == pytest.approx(float(np.sqrt(np.mean(run.tool_error**2))))
    assert data["actuators"][0]["max_error"] == pytest.approx(float(np.max(np.abs(run.error[:, 0]))))


# ---- Closed loops


def test_errors_fall_with_the_model(comparison: Comparison) -> None:
    """[AGH2005] Fig. 6: of every actuator, from single-joint control to the rigid model to friction."""
    errors = [rms(run.error) for run in comparison.runs]
    assert np.all(errors[1] < 0.6 * errors[0])
    assert np.all(errors[2] < 0.3 * errors[1])
    assert all(run.ok for run in comparison.runs)


def test_ideal_sensors_are_the_loop_without_them(fivebar: Robot, turn: Circle) -> None:
    law = controller(fivebar, "cf-rb", period=1e-3)
    plant = driven_plant(rigid_plant(fivebar, smooth=SMOOTH))
    run = closed_loop(plant, law, turn, options=LoopOptions(sensors=Sensors.ideal(), settle=0.05, step=5e-4))
    time = run.desired_motion.time
    hold = nacelle.dynamics.equilibrium(fivebar, turn(0.0).x)
    first, until = turn(0.0).x, time[0] + 1e-3 * len(time)
    force = law.digital(first, run.desired_motion.rows, tau0=hold)
    plain = simulate(
        plant, first, None, force, start=time[0], until=until, integration=Integration("rk4", step=5e-4)
    )
    assert run.simulation.states == pytest.approx(plain.states, abs=1e-12)


def test_the_same_seed_gives_the_same_run(fivebar: Robot, turn: Circle) -> None:
    law = controller(fivebar, "sj", period=1e-3)
    sensors = Sensors(noise=1e-5, dropout=0.01)
    runs = [
        closed_loop(fivebar, law, turn, options=LoopOptions(sensors=sensors, seed=seed, settle=0.05))
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(runs[0].error, runs[1].error)
    assert not np.array_equal(runs[0].error, runs[2].error)


@pytest.mark.slow
def test_a_wrench_that_begins_to_act_is_held_in_the_end(fivebar: Robot) -> None:
    """The controller's memory goes on over the change; its integral then balances the wrench."""
    x = nacelle.reference_pose(fivebar)
    hold = Line(x, x, motion=fivebar.motion, duration=0.8)
    platform_body = fivebar.bodies[1].name
    wrench = {platform_body: np.array([0.0, -8.0, 0.0, 0.0, 0.0, 0.0])}
    plants = [rigid_plant(fivebar, friction=False, external=given) for given in ({}, wrench)]
    law = controller(fivebar, "sj", period=1e-3)
    run = closed_loop(
        plants[0],
        law,
        hold,
        options=LoopOptions(changes=[(0.1, plants[1])], sensors=Sensors.ideal(), settle=0.3),
    )
    assert run.ok
    before, after = np.searchsorted(run.time, [0.09, 0.79])
    assert run.commanded_forces[before] == pytest.approx(nacelle.dynamics.equilibrium(fivebar, x), rel=1e-2)
    assert run.commanded_forces[after] == pytest.approx(
        nacelle.dynamics.equilibrium(fivebar, x, external=wrench), rel=1e-2
    )
    assert np.max(np.abs(run.error[:before])) < 0.1 * np.max(np.abs(run.error))
    # A change that changes nothing leaves the run as it is.
    same = closed_loop(
        plants[0],
        law,
        hold,
        options=LoopOptions(changes=[(0.1, plants[0])], sensors=Sensors.ideal(), settle=0.3),
    )
    plain = closed_loop(plants[0], law, hold, options=LoopOptions(sensors=Sensors.ideal(), settle=0.3))
    assert same.simulation.states == pytest.approx(plain.simulation.states, abs=1e-13)
    assert same.commanded_forces == pytest.approx(plain.commanded_forces, abs=1e-10)


@pytest.mark.slow
def test_another_robot_moves_than_the_model_says(fivebar: Robot, turn: Circle) -> None:
    heavier = fivebar.with_parameters(1.3 * fivebar.parameter_vector("inertia"), "inertia")
    law = controller(fivebar, "cf-rb-friction", period=1e-3)
    exact, other = (
        closed_loop(robot, law, turn, options=LoopOptions(settle=0.3)) for robot in (fivebar, heavier)
    )
    assert np.all(rms(other.error) > 2.0 * rms(exact.error))
    # What it commands is what the robot that moves requires.
    needed = nacelle.inverse_dynamics(heavier, *turn(other.time), smooth=SMOOTH).tau
    assert np.mean(other.commanded_forces, axis=0) == pytest.approx(np.mean(needed, axis=0), abs=0.02)


def test_mistakes_of_closed_loop(fivebar: Robot, turn: Circle) -> None:
    law = controller(fivebar, "sj", period=1e-3)
    with pytest.raises(
        KinematicsError, match=r"the delay of 0.002 s is not within the sample time of 0.001 s"
    ):
        closed_loop(fivebar, law, turn, options=LoopOptions(delay=2e-3))
    no_plant: Any = "fivebar"
    with pytest.raises(KinematicsError, match="is no plant"):
        closed_loop(no_plant, law, turn)
    with pytest.raises(KinematicsError, match="no robot like fivebar"):
        closed_loop(nacelle.load("prrrp"), law, turn)
    with pytest.raises(KinematicsError, match="a change at 9 s is not within the run"):
        closed_loop(fivebar, law, turn, options=LoopOptions(changes=[(9.0, fivebar)]))
    loop = ControlLoop(fivebar, fivebar, turn, period=2e-3)
    with pytest.raises(KinematicsError, match="another model or sample time"):
        loop.run(law)

"""The fastest motion along a path, against closed forms, inverse dynamics, and itself with other limits."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError, RestLimitError, SingularError, UnreachableError
from nacelle.model.joint import FrictionTerm
from nacelle.motion import DriveLimits, PlatformLimits, TimeOptimal, ToolLimits, time_optimal
from nacelle.trajectory import RoundedLines, TrajectoryError, pick_and_place
from support.random_robots import random_robot
from support.stress_robots import redundant_planar

# What limits keep in reserve makes a motion longer by about this part.
RESERVE = 1e-5
FREE = DriveLimits(force=None, speed=None)


def worst_use(robot: nacelle.Robot, result: TimeOptimal, count: int = 4001) -> np.ndarray:
    """Forces over their limits (count, actuators), by inverse dynamics at times equally spaced."""
    _, sample = result.trajectory.sample(count)
    tau = nacelle.inverse_dynamics(robot, *sample, friction=result.friction).tau
    return np.abs(tau) / np.array([actuator.force for actuator in robot.actuators])


@pytest.fixture(scope="module")
def fivebar() -> nacelle.Robot:
    return nacelle.load("fivebar")


@pytest.fixture(scope="module")
def hop(fivebar: nacelle.Robot) -> TimeOptimal:
    x = nacelle.reference_pose(fivebar) - [0.1, 0.0]
    return time_optimal(fivebar, pick_and_place(x, "25-200-25", motion=fivebar.motion))


def test_bang_bang_in_closed_form(fivebar: nacelle.Robot) -> None:
    start = nacelle.reference_pose(fivebar)
    line = nacelle.Line(start, start + np.array([0.12, 0.05]), motion=fivebar.motion, duration=7.0)
    result = time_optimal(fivebar, line, drives=FREE, platform=PlatformLimits(acceleration=[30.0, 1e3]))
    assert result.duration == pytest.approx(2.0 * math.sqrt(0.12 / 30.0), rel=RESERVE)
    assert result.sensitivities["acceleration", "x"] == pytest.approx(-0.5 * result.duration, rel=1e-3)


def test_trapezoid_in_closed_form(fivebar: nacelle.Robot) -> None:
    start = nacelle.reference_pose(fivebar)
    line = nacelle.Line(start, start + np.array([0.12, 0.0]), motion=fivebar.motion, duration=1.0)
    limits = PlatformLimits(speed=[1.1, 9.0], acceleration=30.0)
    result = time_optimal(fivebar, line, drives=FREE, platform=limits)
    # The corners of a trapezoid lie between nodes: second order in their distance.
    assert result.duration == pytest.approx(0.12 / 1.1 + 1.1 / 30.0, rel=1e-4)
    shares = {item.limit: item.share for item in result.saturations}
    assert shares["speed", "x"] == pytest.approx((0.12 / 1.1 - 1.1 / 30.0) / result.duration, abs=0.03)


def test_circle_in_closed_form(fivebar: nacelle.Robot) -> None:
    radius = 0.03
    circle = nacelle.Circle(
        nacelle.reference_pose(fivebar), radius, motion=fivebar.motion, turns=1, duration=1.0
    )
    result = time_optimal(fivebar, circle, drives=FREE, tool=ToolLimits(acceleration=20.0), intervals=160)
    # |a|^2 = s''^2 + s'^4 / r^2 = A^2: with z = s'^2, dz/ds = 2 sqrt(A^2 - (z/r)^2), z = A r sin(2 s / r).
    ramp = radius * math.pi / 4.0
    s = np.linspace(0.0, 1.0, 200001)[1:] ** 2 * ramp
    time = 2.0 * np.trapezoid(1.0 / np.sqrt(20.0 * radius * np.sin(2.0 * s / radius)), s)
    time += 2.0 * 2.0 * s[0] / math.sqrt(40.0 * s[0]) + (2.0 * math.pi * radius - 2.0 * ramp) / math.sqrt(
        20.0 * radius
    )
    assert result.duration == pytest.approx(time, rel=2e-4)
    assert 0.995 * time < result.lower_bound < time


def test_limits_hold_and_one_is_saturated(fivebar: nacelle.Robot, hop: TimeOptimal) -> None:
    use = worst_use(fivebar, hop).max(axis=1)
    assert use.max() <= 1.0
    assert np.mean(use > 0.99) > 0.85
    assert hop.profile.gap < 1e-6 * hop.duration
    assert 0.99 * hop.duration < hop.lower_bound < hop.duration


def test_sensitivity_is_that_of_another_solution(fivebar: nacelle.Robot, hop: TimeOptimal) -> None:
    name, step = fivebar.actuators[0].name, 0.01
    force = np.array([actuator.force for actuator in fivebar.actuators])
    path = hop.trajectory.path
    up, down = (
        time_optimal(fivebar, path, drives=DriveLimits(force=force * [1.0 + side * step, 1.0])).duration
        for side in (1, -1)
    )
    assert hop.sensitivities["force", name] == pytest.approx((up - down) / (2.0 * step), rel=0.02)


def test_motion_is_consistent(hop: TimeOptimal) -> None:
    motion, h = hop.trajectory, 1e-7
    t = np.linspace(0.03, 0.97, 37) * hop.duration
    t = t[np.min(np.abs(t[:, None] - motion.knots), axis=1) > 2.0 * h]
    before, here, after = motion(t - h), motion(t), motion(t + h)
    assert (after.x - before.x) / (2.0 * h) == pytest.approx(here.v, rel=1e-6, abs=1e-6)
    assert (after.v - before.v) / (2.0 * h) == pytest.approx(here.a, rel=1e-6, abs=1e-4)


def test_there_and_back_stops_between(fivebar: nacelle.Robot, hop: TimeOptimal) -> None:
    there = RoundedLines(hop.trajectory.path.parts[0].trajectory.points, motion=fivebar.motion)
    cycle = time_optimal(fivebar, there.then(there.reverse()), intervals=200)
    assert cycle.duration == pytest.approx(2.0 * hop.duration, rel=0.02)
    middle = np.searchsorted(cycle.trajectory.s, there.duration - 1e-9)
    assert cycle.trajectory.z[middle] == 0.0


def test_voltage_makes_it_slower(fivebar: nacelle.Robot, hop: TimeOptimal) -> None:
    limits = DriveLimits(stall_force=20.0, no_load_speed=30.0)
    result = time_optimal(fivebar, hop.trajectory.path, drives=limits)
    _, sample = result.trajectory.sample(3001)
    tau = nacelle.inverse_dynamics(fivebar, *sample).tau
    rate = nacelle.kinematics.joint_motion(fivebar, *sample).actuators[1]
    assert np.abs(tau / 20.0 + rate / 30.0).max() <= 1.0
    assert np.abs(tau).max() <= 12.0
    assert result.duration > 1.001 * hop.duration
    assert any(item.limit[0] == "voltage" for item in result.saturations)


def test_curve_of_force_over_speed(fivebar: nacelle.Robot, hop: TimeOptimal) -> None:
    curve = [(0.0, 11.0), (8.0, 10.0), (25.0, 4.0)]
    result = time_optimal(fivebar, hop.trajectory.path, drives=DriveLimits(curve=curve, speed=None))
    _, sample = result.trajectory.sample(3001)
    tau = np.abs(nacelle.inverse_dynamics(fivebar, *sample).tau)
    rate = np.abs(nacelle.kinematics.joint_motion(fivebar, *sample).actuators[1])
    use = tau / np.interp(rate, *zip(*curve, strict=True))
    assert 0.999 < use.max() <= 1.0
    assert rate.max() <= 25.0
    assert np.mean(use.max(axis=1) > 0.99) > 0.7
    for wrong in (
        [(0.0, 4.0), (8.0, 10.0)],
        [(1.0, 11.0), (8.0, 10.0)],
        [(0.0, 9.0), (1.0, 2.0), (2.0, 1.0)],
    ):
        with pytest.raises(KinematicsError, match="curve of"):
            time_optimal(fivebar, hop.trajectory.path, drives=DriveLimits(curve=wrong))


def test_native_loops_are_those_of_arrays(fivebar: nacelle.Robot, hop: TimeOptimal) -> None:
    joint = next(joint.name for joint in fivebar.joints if joint.name != fivebar.actuators[0].name)
    results = []
    for native in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not native:
                patch.setattr("nacelle.motion.interior_point.native_kernels", lambda: None)
            options = {"reactions": {joint: 60.0}, "intervals": 30, "verify": False}
            results.append(time_optimal(fivebar, hop.trajectory.path, **options))
    first, second = (result.profile for result in results)
    assert first.iterations == second.iterations
    assert first.z == pytest.approx(second.z, rel=1e-6)
    assert first.time == pytest.approx(second.time, rel=1e-9)
    assert results[0].sensitivities == pytest.approx(results[1].sensitivities, rel=1e-4, abs=1e-7)


def test_jerk_in_closed_form(fivebar: nacelle.Robot) -> None:
    start, J = nacelle.reference_pose(fivebar), 4000.0
    line = nacelle.Line(start, start + np.array([0.1, 0.0]), motion=fivebar.motion, duration=1.0)
    result = time_optimal(fivebar, line, drives=FREE, platform=PlatformLimits(acceleration=1e3, jerk=J))
    # Four parts of T / 4 with the jerk at its limit: s = J T^3 / 32.
    ideal = (32.0 * 0.1 / J) ** (1.0 / 3.0)
    assert ideal < result.duration < 1.004 * ideal
    assert result.sensitivities["jerk", "x"] == pytest.approx(-result.duration / 3.0, rel=1e-2)
    times, sample = result.trajectory.sample(20_001)
    jerk = np.diff(sample.a[:, 0]) / np.diff(times)
    assert np.abs(jerk).max() <= J
    assert np.mean(np.abs(jerk) > 0.9 * J) > 0.8
    assert np.abs(sample.a[[0, -1]]).max() < 1e-6
    assert sample.x[-1, 0] == pytest.approx(start[0] + 0.1, abs=1e-12)


def test_jerk_and_forces(fivebar: nacelle.Robot, hop: TimeOptimal) -> None:
    J = 5e4
    result = time_optimal(fivebar, hop.trajectory.path, platform=PlatformLimits(jerk=J), intervals=50)
    assert hop.duration < result.duration < 1.2 * hop.duration
    times, sample = result.trajectory.sample(20_001)
    assert 0.99 * J < np.abs(np.diff(sample.a, axis=0) / np.diff(times)[:, None]).max() <= J
    assert 0.99 < worst_use(fivebar, result).max() <= 1.0
    costs = result.sensitivities
    assert any(name.kind == "jerk" for name in costs)
    assert any(name.kind == "force" for name in costs)


def test_reactions_are_kept(fivebar: nacelle.Robot, hop: TimeOptimal) -> None:
    joint = next(joint.name for joint in fivebar.joints if joint.name != fivebar.actuators[0].name)
    _, sample = hop.trajectory.sample(2001)
    most = np.linalg.norm(nacelle.joint_reactions(fivebar, *sample).joint(joint)[..., :3], axis=-1).max()
    result = time_optimal(fivebar, hop.trajectory.path, reactions={joint: 0.7 * most})
    _, sample = result.trajectory.sample(2001)
    force = np.linalg.norm(nacelle.joint_reactions(fivebar, *sample).joint(joint)[..., :3], axis=-1)
    assert 0.99 * 0.7 * most < force.max() <= 0.7 * most
    assert result.duration > hop.duration


@pytest.mark.slow
def test_redundant_drives_share_by_limits() -> None:
    robot = redundant_planar(3)
    x = nacelle.reference_pose(robot)
    line = nacelle.Line(
        x - np.array([0.04, 0.02, 0.0]), x + np.array([0.03, 0.0, 0.05]), motion=robot.motion, duration=1.0
    )
    limits = DriveLimits(force=[40.0, 24.0, 40.0, 18.0], speed=None)
    result = time_optimal(robot, line, drives=limits, intervals=40)
    _, sample = result.trajectory.sample(301)
    least = nacelle.inverse_dynamics(robot, *sample).tau
    # The best distribution keeps the limits: least norm plus internal forces, the best of many.
    J = nacelle.jacobian(robot, sample.x).inverse
    null = np.linalg.svd(J, full_matrices=True)[0][:, :, -1]
    nu = np.linspace(-40.0, 40.0, 4001)
    use = np.abs(least[:, :, None] + null[:, :, None] * nu) / np.array([40.0, 24.0, 40.0, 18.0])[:, None]
    assert use.max(axis=1).min(axis=1).max() <= 1.001
    assert np.abs(least / [40.0, 24.0, 40.0, 18.0]).max() > 1.05


def test_friction_that_is_no_polynomial(fivebar: nacelle.Robot, hop: TimeOptimal) -> None:
    drive = fivebar.actuators[0].joint
    joints = list(fivebar.joints)
    stribeck = (
        FrictionTerm("coulomb-smooth", 1.2, 0.8),
        FrictionTerm("cubic", 2e-4),
        FrictionTerm("viscous", 0.02),
    )
    joints[drive] = dataclasses.replace(joints[drive], friction=(stribeck,))
    robot = dataclasses.replace(fivebar, joints=tuple(joints))
    result = time_optimal(robot, hop.trajectory.path)
    use = worst_use(robot, result).max(axis=1)
    assert use.max() <= 1.0
    assert np.mean(use > 0.99) > 0.8


def test_what_cannot_be_is_named(fivebar: nacelle.Robot) -> None:
    x = nacelle.reference_pose(fivebar)
    motion = fivebar.motion
    line = nacelle.Line(x, x + np.array([0.1, 0.0]), motion=motion, duration=1.0)
    with pytest.raises(RestLimitError, match="however slowly") as caught:
        time_optimal(fivebar, line, drives=DriveLimits(force=1e-4))
    assert caught.value.limit == "force"
    with pytest.raises(UnreachableError, match="leaves the workspace at"):
        time_optimal(fivebar, nacelle.Line(x, x + np.array([2.0, 0.0]), motion=motion, duration=1.0))
    with pytest.raises(KinematicsError, match="nothing limits the acceleration"):
        time_optimal(fivebar, line, drives=FREE)
    with pytest.raises(TrajectoryError, match="keeps moving"):
        time_optimal(fivebar, nacelle.trajectory.Polyline([x, x + 0.01], motion=motion, duration=1.0))
    with pytest.raises(KinematicsError, match="the path is for the motion"):
        time_optimal(nacelle.load("delta"), line)


def test_crossing_of_a_singularity_is_named() -> None:
    robot = nacelle.load("3rrr")
    x = nacelle.reference_pose(robot)
    # A platform that turns passes a pose where the three legs' lines meet.
    turn = nacelle.Line(x, x + np.array([0.0, 0.0, 2.5]), motion=robot.motion, duration=1.0)
    with pytest.raises((SingularError, UnreachableError), match=r"along (it|the path)"):
        time_optimal(robot, turn)


@pytest.mark.slow
def test_a_robot_without_inertia_has_no_fastest_motion() -> None:
    robot = random_robot("planar RRR", 94)
    assert not any(body.mass for body in robot.bodies)
    x = nacelle.reference_pose(robot)
    line = nacelle.Line(x, x + np.array([0.05, 0.0, 0.0]), motion=robot.motion, duration=1.0)
    with pytest.raises(KinematicsError, match="has it inertia"):
        time_optimal(robot, line, drives=DriveLimits(force=5.0, speed=None))


def test_what_a_tool_carries() -> None:
    """A glass upright to ten degrees, and a load that a cup holds by friction: accelerations of samples."""
    delta = nacelle.load("delta")
    path = pick_and_place(nacelle.reference_pose(delta) - [0.1, 0.0, 0.05], "25-200-25", motion=delta.motion)
    fastest = time_optimal(delta, path).duration
    friction, grip, angle = 0.4, 45.0, np.radians(10.0)
    glass = time_optimal(delta, path, tool=ToolLimits(spill=angle))
    cup = time_optimal(delta, path, tool=ToolLimits(friction=friction, grip=grip))
    for result, share in (
        (glass, lambda up, side: side / (np.tan(angle) * up)),
        (cup, lambda up, side: side / (friction * (grip - up))),
    ):
        a = result.trajectory.sample(20_001)[1].a
        used = share(a[:, 2] + 9.81, np.hypot(a[:, 0], a[:, 1]))
        assert 0.99 < np.max(used) <= 1.0
        assert result.duration > 1.05 * fastest
        assert worst_use(delta, result).max() <= 1.0

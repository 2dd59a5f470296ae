"""Random paths of random robots: a motion within all limits, or an error with its reason, which holds."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pytest

import nacelle
from nacelle.errors import NacelleError, RestLimitError, SingularError, UnreachableError
from nacelle.kinematics.flags import Flag, has_failed
from nacelle.kinematics.motion import twist_from_rates
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.motion import DriveLimits, time_optimal
from nacelle.trajectory import Path, RoundedLines, sample_trajectory
from nacelle.trajectory.base import Sample, TrajectoryError
from nacelle.trajectory.sampling import counting_start
from support.library import NAMES
from support.random_robots import random_robot
from support.random_robots.legs import CASES
from support.random_robots.loads import with_random_friction, with_random_loads

# Robots of the library as they are, and with every number changed; legs of given types, no two alike.
ROBOTS = (*((name, None) for name in NAMES), *((name, 1) for name in (*NAMES, "inner loop", *CASES)))
COUNT, SAMPLES = 16, 4001


def make_robot(name: str, seed: int | None) -> Robot:
    """A robot of the library, or a random one; geometry alone gets masses and friction."""
    if seed is None:
        return nacelle.load(name)
    robot = random_robot(name, seed)
    return with_random_loads(robot, seed) if name in CASES else robot


class Draw(NamedTuple):
    """A robot's path, and limits of its drives."""

    path: RoundedLines
    force: np.ndarray


def draw(robot: Robot, seed: int) -> Draw | None:
    """A path of two to four points about the reference; forces of the description, or some that hold it."""
    rng = np.random.default_rng(seed)
    scale = np.array([robot.size if unit == "m" else 1.0 for unit in layout_of(robot.motion).v_units])
    points = [nacelle.reference_pose(robot)]
    reach = rng.choice([0.02, 0.05, 0.15])
    for _ in range(int(rng.integers(1, 4))):
        try:
            step = rng.normal(size=robot.motion.n) * scale * reach
            points.append(nacelle.kinematics.integrate_pose(robot, points[-1], step))
        except UnreachableError:
            break
    if len(points) < 2 or not np.all(np.isfinite(points)):
        return None
    force = np.array([actuator.force for actuator in robot.actuators])
    if not np.all(np.isfinite(force)):
        v = rng.normal(size=(20, robot.motion.n)) * scale
        tau = nacelle.inverse_dynamics(robot, np.tile(points[0], (20, 1)), 0.0 * v, 10.0 * v).tau
        force = np.maximum(np.abs(tau).max(axis=0), 1e-3 * np.abs(tau).max()) * rng.uniform(0.5, 2.0)
    try:
        return Draw(RoundedLines(points, motion=robot.motion), force)
    except TrajectoryError:
        return None  # it turns back


def assert_reason_holds(robot: Robot, path: Path, force: np.ndarray, fault: NacelleError) -> None:
    """The place that an error names is one where the motion fails."""
    assert "along the path" in str(fault)
    if isinstance(fault, RestLimitError):
        # Near it no creeping motion keeps the force, forwards, with friction or without.
        s = np.clip(fault.s + np.linspace(-1e-3, 1e-3, 9) * path.length, 0.0, path.length)
        x, w, dw = path(s)
        w, _ = twist_from_rates(robot, x, w, dw)
        uses = [
            np.abs(nacelle.inverse_dynamics(robot, x, 1e-6 * w * path.length, 0.0 * w, friction=friction).tau)
            / force
            for friction in (True, False)
        ]
        assert np.max(uses) > 0.999
    elif isinstance(fault, UnreachableError):
        s = float(re.search(r"at (\S+) of \S+ along the path", str(fault))[1])
        near = np.clip(s + np.linspace(-1e-5, 1e-5, 5) * path.length, 0.0, path.length)
        flags = nacelle.inverse_kinematics(robot, path(near).x).flags
        assert np.any(has_failed(flags) | ((flags & int(Flag.OUT_OF_LIMITS)) != 0))


def forces_along(robot: Robot, sample: Sample) -> np.ndarray:
    """Forces along a motion, whose springs count the turns of their joints as poses alone cannot."""
    counting_robot, guess = counting_start(robot, sample.x)
    return nacelle.inverse_dynamics(counting_robot, *sample, guess=guess).tau


@pytest.mark.parametrize(("name", "number"), [("fivebar", 1), ("planar RPR", 5)])
def test_friction_that_is_no_polynomial_keeps_its_limits(name: str, number: int) -> None:
    robot = with_random_friction(nacelle.load(name), 3) if name in NAMES else make_robot(name, 1)
    case = draw(robot, number)
    assert case is not None
    result = time_optimal(robot, Path(case.path), drives=DriveLimits(force=case.force), intervals=40)
    sample = sample_trajectory(robot, result.trajectory, np.linspace(0.0, result.duration, SAMPLES))
    use = np.abs(forces_along(robot, sample)) / case.force
    assert 0.99 < np.max(use) <= 1.0


@pytest.mark.soak
@pytest.mark.parametrize(("name", "seed"), ROBOTS, ids=[f"{name}-{seed}" for name, seed in ROBOTS])
def test_no_failure_without_a_reason(name: str, seed: int | None) -> None:
    robot = make_robot(name, seed)
    for number in range(COUNT):
        case = draw(robot, number)
        if case is None:
            continue
        try:
            path = Path(case.path)
        except TrajectoryError:
            continue  # it turns back
        try:
            result = time_optimal(robot, path, drives=DriveLimits(force=case.force))
        except (RestLimitError, SingularError, UnreachableError) as fault:
            assert_reason_holds(robot, path, case.force, fault)
            continue
        times = np.linspace(0.0, result.duration, SAMPLES)
        if len(robot.actuators) == robot.motion.n:
            tau = forces_along(robot, sample_trajectory(robot, result.trajectory, times))
            assert np.all(np.abs(tau) <= case.force), number
        else:
            assert np.all(np.abs(result.force_use(times)) <= 1.0 + 1e-6), number
        assert result.lower_bound < result.duration, number

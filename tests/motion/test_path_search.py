"""Paths whose corners and points are optimised: against closed forms and scans of a grid."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError
from nacelle.motion import DriveLimits, Limits, OptimisedPath, ToolLimits, optimise_path, time_optimal
from nacelle.trajectory import Circle, Line, RoundedLines, pick_and_place

UP, ACROSS = 0.025, 0.2


@pytest.fixture(scope="module")
def fivebar() -> nacelle.Robot:
    return nacelle.load("fivebar")


def hop(robot: nacelle.Robot, inwards: float = 0.0) -> RoundedLines:
    start = nacelle.reference_pose(robot) - [0.5 * ACROSS, 0.0]
    points = pick_and_place(start, (UP, ACROSS, UP), motion=robot.motion).points.copy()
    points[1:3, 0] += [inwards, -inwards]
    return RoundedLines(points, motion=robot.motion)


def test_a_corner_is_left_early(fivebar: nacelle.Robot) -> None:
    start = nacelle.reference_pose(fivebar)
    corner = start + np.array([[0.0, 0.0], [0.05, 0.0], [0.05, 0.04]])
    sharp, wide = (RoundedLines(corner, motion=fivebar.motion, blend=h) for h in (0.02, 0.03))
    found = optimise_path(fivebar, sharp, blend=0.03, evaluations=5)
    assert found.blends == pytest.approx([0.03], rel=1e-6)
    assert found.value == pytest.approx(time_optimal(fivebar, wide).duration, rel=1e-3)
    assert found.value < 0.97 * found.before


@pytest.mark.slow
def test_a_bend_is_straightened(fivebar: nacelle.Robot) -> None:
    """With a limit of the acceleration alone the fastest path is straight: T = 2 sqrt(l / A)."""
    start = nacelle.reference_pose(fivebar)
    points = start + np.array([[0.0, 0.0], [0.05, 0.03], [0.1, 0.0]])
    bent = RoundedLines(points, motion=fivebar.motion, blend=0.02)
    limits = Limits(DriveLimits(force=None, speed=None), tool=ToolLimits(acceleration=30.0))
    found = optimise_path(fivebar, bent, corridor={"y": (-0.03, 0.01)}, limits=limits, evaluations=25)
    assert found.value == pytest.approx(2.0 * math.sqrt(0.1 / 30.0), rel=2e-4)
    assert found.before > 1.15 * found.value
    assert found.shift[0] == pytest.approx([0.0, -0.03], abs=1e-3)
    assert "corner" in str(found.table())


def test_what_cannot_be_is_named(fivebar: nacelle.Robot) -> None:
    start = nacelle.reference_pose(fivebar)
    line = Line(start, start + np.array([0.1, 0.0]), motion=fivebar.motion, duration=1.0)
    for match, options in (
        ("did you mean 'time'", {"objective": "tim"}),
        ("give it, in s", {"objective": "work"}),
        ("without a duration", {"duration": 1.0}),
        ("no coordinate is called", {"corridor": {"z": (0.0, 1.0)}}),
        ("zero or less to zero or more", {"corridor": {"y": (0.01, 0.02)}}),
        ("two ends", {"corridor": {"y": (0.0, 0.1, 3)}}),
        ("detours are a number", {"detours": (1, 2)}),
        ("nothing of the path may change", {"corridor": {"y": (0.0, 0.1)}}),
        ("longest blend", {"blend": 0.0}),
        (
            "no limit of force",
            {"objective": "force", "duration": 1.0, "limits": Limits(DriveLimits(force=None))},
        ),
    ):
        with pytest.raises(KinematicsError, match=match):
            optimise_path(fivebar, hop(fivebar) if "limits" in options else line, **options)
    with pytest.raises(KinematicsError, match="no corners to optimise"):
        optimise_path(fivebar, Circle(start, 0.01, motion=fivebar.motion, duration=1.0))


@pytest.mark.slow
def test_no_place_of_a_grid_is_faster(fivebar: nacelle.Robot) -> None:
    found = optimise_path(fivebar, hop(fivebar), corridor={"x": (-0.01, 0.01)}, evaluations=60)
    grid = [time_optimal(fivebar, hop(fivebar, inwards)).duration for inwards in np.linspace(-0.01, 0.01, 7)]
    assert found.value < 1.001 * min(grid)
    assert found.before == pytest.approx(grid[3], rel=1e-3)
    # One detour in the middle: the scan is over its height.
    found = optimise_path(
        fivebar, hop(fivebar), corridor={"y": (-0.02, 0.04)}, detours=(0, 1, 0), evaluations=60
    )
    points = np.insert(hop(fivebar).points, 2, 0.0, axis=0)
    heights = []
    for height in np.linspace(-0.02, 0.04, 7):
        points[2] = 0.5 * (points[1] + points[3]) + [0.0, height]
        heights.append(time_optimal(fivebar, RoundedLines(points, motion=fivebar.motion)).duration)
    assert found.value < 1.001 * min(heights)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["force", "work"])
def test_least_force_and_work_in_a_duration(fivebar: nacelle.Robot, objective: str) -> None:
    def use(found: OptimisedPath) -> float:
        _, sample = found.motion.trajectory.sample(4001)
        tau = nacelle.inverse_dynamics(fivebar, *sample).tau
        return float(np.max(np.abs(tau) / [actuator.force for actuator in fivebar.actuators]))

    found = optimise_path(
        fivebar, hop(fivebar), objective=objective, duration=0.15, corridor={"x": (0.0, 0.01)}, evaluations=12
    )
    assert found.motion.duration == pytest.approx(0.15, rel=1e-4)
    assert use(found) == pytest.approx(found.part, rel=1e-3)
    assert found.value < 0.95 * found.before
    if objective == "work":
        # Drives that take nothing back give what they give on the whole, and what they brake with.
        _, sample = found.motion.trajectory.sample(8001)
        tau = nacelle.inverse_dynamics(fivebar, *sample).tau
        q = nacelle.inverse_kinematics(fivebar, sample.x).q
        steps = 0.5 * (tau[1:] + tau[:-1]) * np.diff(q, axis=0)
        assert found.value == pytest.approx(np.sum(np.maximum(steps, 0.0)), rel=1e-3)
    with pytest.raises(KinematicsError, match="times the drives' force"):
        optimise_path(fivebar, hop(fivebar), objective=objective, duration=0.05, blend=0.02, evaluations=4)

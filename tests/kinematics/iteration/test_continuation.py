"""Continuation of y^2 = p and of its like: certain up to a singularity, and no further."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.emit.newton import NewtonResult
from nacelle.kinematics.iteration import continuation
from nacelle.kinematics.iteration.continuation import (
    Equations,
    continued,
    polished,
    roadmap,
    sure_run,
)
from nacelle.model.read import read_text
from nacelle.sketch.sketch import sketch
from support.random_robots import inner_loops


class Root:
    """Newton's iteration of y^2 = p: two branches that meet at p = 0."""

    def solve(
        self,
        y: np.ndarray,
        p: np.ndarray,
        *,
        tolerance: float,
        max_iterations: int,
        follow: bool = False,
        **_: Any,
    ) -> NewtonResult:
        samples = np.array(np.broadcast_to(y, (len(p), 1)), dtype=float)
        steps, status = np.zeros(len(p), dtype=np.int64), np.ones(len(p), dtype=np.int64)
        for k in range(len(p)):
            if follow and k:
                samples[k] = samples[k - 1]
            for _step in range(max_iterations):
                gap = samples[k, 0] ** 2 - p[k, 0]
                if abs(gap) <= tolerance:
                    break
                samples[k] -= gap / (2.0 * samples[k] or 1e-100)
                steps[k] += 1
            if abs(samples[k, 0] ** 2 - p[k, 0]) <= max(tolerance, 1e-14):
                status[k] = 0
        return NewtonResult(samples, steps, status)


ROOT = Equations(Root(), lambda p, y: np.abs(2.0 * y), np.ones(1))


def between(p0: np.ndarray, p1: np.ndarray, t: np.ndarray) -> np.ndarray:
    return p0 + t[:, None] * (p1 - p0)


def test_paths_follow_their_branch() -> None:
    start, goal = np.array([[1.0], [1.0], [1.0]]), np.array([[9.0], [9.0], [1e-4]])
    path = continued(ROOT, np.array([[1.0], [-1.0], [1.0]]), lambda w, t: between(start[w], goal[w], t))
    assert np.all(path.reached)
    np.testing.assert_allclose(path.y[:, 0], [3.0, -3.0, 1e-2], rtol=1e-9)


def test_a_path_ends_at_a_singularity() -> None:
    """From p = 1 to p = -1 the root ends at half of the way."""
    path = continued(ROOT, np.ones((1, 1)), lambda w, t: (1.0 - 2.0 * t)[:, None])
    assert not path.reached[0]
    assert 0.4 < path.part[0] <= 0.5


def test_runs_end_before_what_is_not_certain() -> None:
    p = np.array([[1.1], [1.2], [1.3], [-1.0], [1.4]])
    run = sure_run(ROOT, np.ones(1), np.ones(1), p, between)
    np.testing.assert_allclose(run.y[:, 0], np.sqrt([1.1, 1.2, 1.3]), rtol=1e-12)


def test_a_roadmap_reaches_as_far_as_its_branch() -> None:
    road = roadmap(ROOT, (np.ones(1), -np.ones(1)), np.array([[4.0], [-3.0]]), between)
    np.testing.assert_allclose(road.y[:, 0], -np.sqrt(road.p[:, 0]), rtol=1e-12)
    assert road.p[1, 0] == 4.0
    assert 0.0 < road.p[2, 0] < 1.0
    np.testing.assert_array_equal(road.nearest(np.array([[3.9], [0.9]]), np.ones(1), 1)[:, 0], [1, 0])


def test_one_more_step_where_it_is_short() -> None:
    y = np.array([[2.0 + 1e-6], [1e-3]])
    stepped = polished(ROOT, y, np.array([[4.0], [4.0]]))
    assert abs(stepped[0, 0] - 2.0) < 1e-12
    assert stepped[1, 0] == 1e-3


def test_a_bad_leg_does_not_hide_another() -> None:
    """Every leg has its own conditioning: the least of all stays the same while the second meets zero."""
    begin, middle, end = np.array([[0.1, 0.12]]), np.array([[0.1, 0.12]]), np.array([[0.1, 0.36]])
    assert not continuation._no_singularity(begin, middle, end)[0]
    assert continuation._no_singularity(begin[:, :1], middle[:, :1], end[:, :1])[0]


@pytest.mark.slow
def test_work_along_a_path_with_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples that are no path cost each a few solutions, not one for each sample behind them."""
    leg = inner_loops.draw(0)
    rng = np.random.default_rng(0)
    x = leg.foot(rng.uniform(-1.5, 1.5, 400), leg.knee + rng.uniform(-0.4, 0.4, 400))
    solved = []
    piece = continuation._sure_piece
    monkeypatch.setattr(
        continuation, "_sure_piece", lambda *args: solved.append(len(args[3])) or piece(*args)
    )
    nacelle.inverse_kinematics(leg.robot, x, follow=True, limits=False)
    assert 400 <= sum(solved) < 20 * 400


@pytest.mark.slow
@pytest.mark.parametrize("legs", ["3-RSR", "3-SRR"])
def test_legs_with_more_rows_than_unknowns(legs: str) -> None:
    """Spherical mechanisms: five rows a leg for four unknowns, consistent up to rounding; they move."""
    robot = read_text(sketch("robot", legs, motion="rx+ry+rz").text)[0]
    vectors = 0.02 * np.random.default_rng(3).normal(size=(8, 3))
    x = np.array([nacelle.pose(robot, rotation_vector=vector) for vector in vectors])
    joints = nacelle.inverse_kinematics(robot, x, limits=False)
    assert not joints.flags.any()
    R, p = joints.bodies
    for joint in robot.joints[robot.tree :]:
        ends = [
            p[:, b] + R[:, b] @ frame.p
            for b, frame in (
                (joint.predecessor, joint.frame_predecessor),
                (joint.successor, joint.frame_successor),
            )
        ]
        assert np.max(np.abs(ends[0] - ends[1])) < 1e-12 * robot.size

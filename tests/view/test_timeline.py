from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.view.timeline import Clock, playable_motion, shown_tool


def test_a_trajectory_is_played_as_it_is() -> None:
    robot = nacelle.load("gough-stewart")
    start = nacelle.reference_pose(robot)
    path = nacelle.Circle(start, 0.05, motion=robot.motion, duration=2.0)
    motion = playable_motion(robot, path, "circle")
    for t in (0.0, 0.37, 1.1, 2.0, 9.0):
        np.testing.assert_allclose(motion.pose(t), path(min(t, 2.0)).x, atol=2e-5)
    differences = playable_motion(robot, (motion.times, motion.x))
    for t in (0.4, 1.3):
        sample = path(t)
        for ours in (motion.rates(t), differences.rates(t)):
            np.testing.assert_allclose(ours[0], sample.v, atol=2e-3)
            np.testing.assert_allclose(ours[1], sample.a, atol=2e-2)
    trace = motion.trace()
    tool = shown_tool(robot)
    place = nacelle.tool_pose(robot, start, tool.name).p
    assert tool.name == "spindle"
    assert np.min(np.linalg.norm(trace - place, axis=1)) < 0.06


def test_orientations_are_turned_the_shorter_way() -> None:
    robot = nacelle.load("gough-stewart")
    first, last = (nacelle.pose(robot, rotation_vector=[0.0, 0.0, angle]) for angle in (0.0, 0.2))
    last[3:] *= -1.0
    motion = playable_motion(robot, ([0.0, 1.0], [first, last]))
    np.testing.assert_allclose(
        np.abs(motion.pose(0.5)[3:]),
        np.abs(nacelle.pose(robot, rotation_vector=[0.0, 0.0, 0.1])[3:]),
        atol=1e-12,
    )


@pytest.mark.parametrize(
    ("times", "poses", "words"),
    [
        ([0.0, 1.0], [[0.0, 0.28, 0.0]] * 2, "times (N,) and poses (N, 2)"),
        ([0.0, 0.0], [[0.0, 0.28]] * 2, "rising times"),
        ([0.0, 1.0], [[90.0, 280.0]] * 2, "reaches none"),
    ],
)
def test_what_cannot_be_played_is_said(times: list[float], poses: list[list[float]], words: str) -> None:
    with pytest.raises(nacelle.NacelleError) as caught:
        playable_motion(nacelle.load("fivebar"), (times, poses))
    assert words in str(caught.value)
    with pytest.raises(nacelle.NacelleError, match="cannot be played"):
        playable_motion(nacelle.load("fivebar"), 3)


def test_poses_out_of_reach_are_counted() -> None:
    robot = nacelle.load("fivebar")
    poses = [[0.0, 0.28], [0.0, 0.3], [5.0, 0.3], [np.nan, 0.0]]
    assert playable_motion(robot, ([0.0, 1.0, 2.0, 3.0], poses)).lost == 2


def test_the_clock() -> None:
    clock = Clock(2.0)
    assert not clock.advance(1.0)
    clock.play()
    clock.speed = 0.5
    assert clock.advance(1.0)
    assert clock.time == 0.5
    clock.advance(4.0)
    assert clock.time == pytest.approx(0.5)
    clock.loop = False
    clock.advance(10.0)
    assert (clock.time, clock.playing) == (2.0, False)
    clock.play()
    assert (clock.time, clock.playing) == (0.0, True)
    clock.seek(7.0)
    assert clock.time == 2.0

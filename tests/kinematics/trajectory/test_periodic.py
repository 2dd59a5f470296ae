"""Trajectories that end as they start."""

from __future__ import annotations

import itertools

import numpy as np

from nacelle.kinematics.trajectory.circle import Circle
from nacelle.kinematics.trajectory.line import Line
from nacelle.kinematics.trajectory.periodic import reason_not_periodic


def test_what_does_not_end_as_it_starts() -> None:
    line = Line([0.0, 0.0], [0.1, 0.0], motion="xy", duration=2.0)
    assert reason_not_periodic(line) == "the pose is off by 0.1 at 2 s"
    assert reason_not_periodic(line.then(line.reversed())) == ""
    # A circle at constant speed does, and so does half of one only in its pose.
    circle = Circle([0.0, 0.0], 1.0, motion="xy", duration=1.0, timing="uniform")
    assert reason_not_periodic(circle) == ""
    there = Line([0.0, 0.0], [0.1, 0.0], motion="xy", duration=2.0, timing="uniform")
    assert "the twist is off by 0.1" in reason_not_periodic(there.then(there.reversed()))


def test_a_quaternion_may_end_with_the_other_sign() -> None:
    half = [Line(np.r_[0, 0, 0, a], np.r_[0, 0, 0, b], motion="se3", duration=1.0) for a, b in _turns()]
    assert reason_not_periodic(half[0].then(*half[1:])) == ""


def _turns() -> list[tuple[list[float], list[float]]]:
    """A whole turn about z in three parts: the quaternion goes from 1 to -1."""
    at = [[0.0, 0.0, float(np.sin(k * np.pi / 3.0)), float(np.cos(k * np.pi / 3.0))] for k in range(4)]
    return list(itertools.pairwise(at))

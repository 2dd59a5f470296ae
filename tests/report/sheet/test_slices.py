"""Slices: which coordinates, and ranges that hold all that is within limits."""

from __future__ import annotations

import math

import numpy as np

import nacelle
from nacelle.report.sheet.slices import pairs, round_range, slices


def test_coordinates_come_in_pairs_of_one_unit() -> None:
    assert pairs(nacelle.load("gough-stewart")) == [("x", "y"), ("x", "z"), ("rx", "ry")]
    assert pairs(nacelle.load("3rps")) == [("z",), ("rx", "ry")]
    assert pairs(nacelle.load("3rrr")) == [("x", "y"), ("rz",)]


def test_nothing_within_limits_lies_outside_the_slice() -> None:
    robot = nacelle.load("fivebar")
    (cut,) = slices(robot)
    assert not cut.open
    (ax, bx, _), (ay, by, _) = cut.ranges.values()
    wide = nacelle.workspace(robot, {"x": (-1.0, 1.0, 101), "y": (-1.0, 1.0, 101)})
    x, y = wide.x[wide.inside_limits].T
    assert ax <= x.min() + 1e-9 < x.max() - 1e-9 <= bx
    assert ay <= y.min() + 1e-9 < y.max() - 1e-9 <= by
    # And little more than that.
    assert np.all(np.array([bx - ax, by - ay]) < 1.3 * np.array([np.ptp(x), np.ptp(y)]))


def test_ranges_are_round_and_the_same_for_commands() -> None:
    assert round_range(-0.1234, 0.5671, False) == ("-0.13:0.57", (-0.13, 0.57))
    words, ends = round_range(-math.pi, math.pi, True)
    assert words == "-180deg:180deg"
    assert np.allclose(ends, [-math.pi, math.pi])

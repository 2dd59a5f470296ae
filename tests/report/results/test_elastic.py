"""Quantities of flexible robots are their numbers."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.report.results.elastic import natural_frequencies
from support.flexible_robots import prrrp


def test_frequencies() -> None:
    robot = prrrp()
    modes = nacelle.natural_frequencies(robot, nacelle.reference_pose(robot), modes=2)
    frequencies, damping = natural_frequencies(modes)
    np.testing.assert_array_equal(frequencies.values, modes.frequencies)
    assert (set(frequencies.units), set(damping.units)) == ({"Hz"}, {"-"})

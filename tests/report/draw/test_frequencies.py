"""Pictures of frequencies: curves have the numbers of the response."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.elastic.linear.maps import frequency_map
from nacelle.errors import NacelleError
from nacelle.report.draw.frequencies import plot_frequency_map, plot_response
from support.drawings import figure_axes
from support.flexible_robots import prrrp


def test_a_response_is_drawn_as_it_is() -> None:
    robot = prrrp()
    x = nacelle.reference_pose(robot)
    response = nacelle.frequency_response(robot, x, np.geomspace(1.0, 200.0, 9))
    ax = plot_response(response, ("x", "z"), ax=figure_axes(True))
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert set(lines) == {"x", "z"}
    k = response.outputs.index("z")
    expected = np.max(np.abs(response.response[:, k]), axis=-1)
    np.testing.assert_array_equal(lines["z"].get_ydata(), expected)
    with pytest.raises(NacelleError, match="there is no output 'w'"):
        plot_response(response, ("w",), ax=figure_axes(True))


def test_a_map_over_one_coordinate() -> None:
    robot = prrrp()
    z = float(nacelle.reference_pose(robot)[1])
    found = frequency_map(robot, {"z": (z - 0.05, z + 0.05, 3)}, modes=2)
    ax = plot_frequency_map(found, 1, ax=figure_axes(True))
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()])
    assert set(found.frequencies[:, 1]) <= set(drawn)
    assert "mode 2" in ax.get_title()
    with pytest.raises(NacelleError, match="no mode 2: the map has modes 0 to 1"):
        plot_frequency_map(found, 2, ax=figure_axes(True))

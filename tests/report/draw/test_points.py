"""Points: poles and boundaries are where the results have them."""

from __future__ import annotations

import numpy as np

import nacelle
from support.drawings import figure_axes
from support.library import library_robot


def test_the_boundary_is_that_of_the_rays() -> None:
    found = nacelle.reach(library_robot("fivebar"), rays=12)
    ax = found.plot(ax=figure_axes(True))
    outline = np.column_stack([np.asarray(values, dtype=float) for values in ax.lines[0].get_data()])
    distances = np.linalg.norm(outline[:-1] - found.centre[:2], axis=1)
    np.testing.assert_allclose(np.sort(distances), np.sort(found.distance))


def test_poles() -> None:
    robot = library_robot("fivebar")
    model = nacelle.linearise(robot, nacelle.reference_pose(robot))
    ax = model.plot(ax=figure_axes(True))
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), model.eigenvalues.real)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.eigenvalues.imag)

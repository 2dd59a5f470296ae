"""Matrices: the numbers of the picture are those of the result."""

from __future__ import annotations

import numpy as np

import nacelle
from support.drawings import figure_axes
from support.library import library_robot


def test_a_jacobian_has_its_scaled_entries() -> None:
    robot = library_robot("fivebar")
    found = nacelle.jacobian(robot, nacelle.reference_pose(robot))
    ax = found.plot(ax=figure_axes(True))
    np.testing.assert_allclose(ax.images[0].get_array(), np.abs(found.scaled))
    assert [text.get_text() for text in ax.texts] == [f"{value:.2g}" for value in found.scaled.ravel()]


def test_parts_of_the_forces_add_up_to_one_for_one_sample() -> None:
    robot = library_robot("fivebar")
    form = nacelle.regressor(robot, nacelle.reference_pose(robot))
    ax = form.plot(ax=figure_axes(True))
    shares = np.abs(form.Y * form.parameters.values) / np.abs(form.Y @ form.parameters.values)[:, None]
    np.testing.assert_allclose(np.sum(ax.images[0].get_array(), axis=0), np.sum(shares, axis=1), rtol=1e-12)

"""Vibrations about a rest pose: frequencies as those of the linear model, and which of them stretch links."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.elastic.plant import ElasticPlant
from nacelle.elastic.rest import vibrations
from support.flexible_robots import flexible

Array = np.ndarray


def found(radius: float) -> tuple[Array, Array]:
    robot = flexible("fivebar", section={"circle": radius})
    plant = ElasticPlant(robot, friction=False)
    s = plant.state(nacelle.reference_pose(robot), np.zeros(2))
    return vibrations(plant.form, plant.positions(s), (("friction", False),))


def test_stretch_and_bending() -> None:
    """With all mass in round links, bending has w ~ r, stretch keeps its frequency whatever the radius is."""
    (thin, stretch), (thick, _) = found(0.004), found(0.0044)
    growth = np.log(thick / thin) / np.log(1.1)
    np.testing.assert_allclose(growth[stretch < 0.5], 1.0, atol=0.05)
    np.testing.assert_allclose(growth[stretch > 0.5], 0.0, atol=0.05)
    assert np.sum(stretch > 0.5) == 4
    assert np.min(np.abs(stretch - 0.5)) > 0.45
    # These are about the undeformed pose without gravity.
    robot = flexible("fivebar", section={"circle": 0.004})
    expected = nacelle.natural_frequencies(robot, nacelle.reference_pose(robot), modes=8).frequencies
    np.testing.assert_allclose(thin[:8] / 2.0 / np.pi, expected, rtol=1e-3)


def test_the_step_follows_what_bends() -> None:
    robot = flexible("fivebar", section={"circle": 0.004})
    plant = ElasticPlant(robot, friction=False)
    s = plant.state(nacelle.reference_pose(robot), np.zeros(2))
    w, stretch = found(0.004)
    bends = np.max(w[stretch < 0.5])
    assert plant.implicit_step(s) == pytest.approx(2.0 * np.pi / bends / 20.0)
    assert plant.suited_method(s) == "irk5"
    assert np.max(w) > 5.0 * bends

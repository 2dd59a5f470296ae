"""Inertia of bars at B: with it the mass matrix and the energy are those of the bodies."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.formulations import bodies
from nacelle.dynamics.general.bars.inertia import bar_inertia
from nacelle.dynamics.general.bars.require import bars
from nacelle.dynamics.general.models import energies, inertia
from nacelle.dynamics.state import state_at
from nacelle.kinematics.general.placed import Way
from support.compare import assert_same
from support.general_states import loaded, sampled, twists


def test_mass_matrix_and_energy() -> None:
    """Rods of any inertia on sliders, in base axes and in their own."""
    robot = loaded("prrrp")
    legs, x, y = sampled(robot, Way(True))
    assert len(legs.plan.parts.bars) == len(robot.legs)
    v, _ = twists(robot)
    M = bodies.mass_matrix(state_at(robot, x, y, v))
    assert_same(np.asarray(inertia(robot, x, y)["M"], dtype=float), M, 1e-10)
    assert_same(np.asarray(inertia(robot, x, y, bar_axes=True)["M"], dtype=float), M, 1e-10)
    assert float(energies(robot, x, y, v)["kinetic"]) == pytest.approx(0.5 * v @ M @ v, rel=1e-10)


def test_inertia_is_symmetric() -> None:
    legs, *_ = sampled(loaded("prrrp"), Way(True))
    _, tie, _, form = next(iter(bars(legs.placed)))
    K = np.asarray(bar_inertia(legs, tie, form, 0.3), dtype=float)
    assert_same(K, K.T, 1e-15)

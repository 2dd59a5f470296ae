"""Energies of the small form: kinetic energy over points of mass, lengths of straight links."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.elastic.condensed.energy import condensed_energies, link_lengths
from nacelle.elastic.dynamics.equations import posed, reduced_motion
from nacelle.elastic.dynamics.models import elastic_energies
from nacelle.elastic.dynamics.plan import rate_choice
from support.beam_points import mass_points
from support.elastic_states import general_state, natural_state
from support.flexible_robots import prrrp

GRAVITY = (1.0, 0.5, -9.0)


def test_weight_and_strain_against_points_of_mass() -> None:
    heavy, light = prrrp(GRAVITY), prrrp()
    state = general_state(heavy, np.random.default_rng(0))
    p, y = natural_state(heavy, state)
    masses, places = mass_points(reduced_motion(posed(rate_choice(heavy), state.p), state.y).motion.at.frames)
    weight = -float(masses @ places @ np.array(GRAVITY))
    found, unloaded = condensed_energies(heavy, p, y), condensed_energies(light, p, y)
    assert found["potential"] - unloaded["potential"] == pytest.approx(weight, rel=1e-10)
    general = elastic_energies(heavy, state.p, state.y)
    assert found["kinetic"] == pytest.approx(general["kinetic"], rel=1e-11)
    assert found["dissipation"] == pytest.approx(general["dissipation"], abs=1e-12)


def test_lengths_of_straight_links() -> None:
    """Both beams of [BK2013] are 0.4 m long."""
    robot = prrrp()
    plan = rate_choice(robot)
    state = general_state(robot, np.random.default_rng(1))._replace(
        p=plan.reference, r=np.zeros(len(plan.reference) * 2)
    )
    p, _ = natural_state(robot, state)
    np.testing.assert_allclose(link_lengths(robot, p), 0.4, rtol=1e-12)

"""Friction beside another engine: written apart from nacelle's own, and the same."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.friction import axis_friction, spherical_friction
from nacelle.model.joint import FrictionTerm
from nacelle.verify.efforts import friction

TERMS = (
    FrictionTerm("viscous", 0.3),
    FrictionTerm("coulomb", 0.5),
    FrictionTerm("stribeck", 0.2, 0.1),
    FrictionTerm("coulomb-smooth", 0.4, 0.05),
    FrictionTerm("quadratic", 0.1),
    FrictionTerm("cubic", 0.05),
)


@pytest.mark.parametrize("rate", [-2.0, -0.01, 0.0, 0.02, 1.0])
def test_along_an_axis(rate: float) -> None:
    assert friction(TERMS, np.array([rate]))[0] == pytest.approx(
        float(axis_friction(TERMS, rate, None)), rel=1e-12
    )


def test_in_a_spherical_joint() -> None:
    for w in (*np.random.default_rng(0).normal(size=(4, 3)), np.zeros(3)):
        np.testing.assert_allclose(
            friction(TERMS, w), spherical_friction(TERMS, w, None), rtol=1e-12, atol=1e-15
        )

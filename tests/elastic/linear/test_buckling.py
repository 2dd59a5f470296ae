"""Buckling of bars between pinned ends: Euler's load."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import BucklingError, KinematicsError
from support.flexible.prrrp import DIRECTION, EULER, loaded


def test_buckling_at_eulers_load() -> None:
    """Half of each beam's weight is at P; all of that is carried by two bars in compression."""
    robot, x = loaded(-9.81)
    beam = robot.bodies[robot.body("leg1.2")].mass
    force = (1.0 + beam) * 9.81 / (2.0 * DIRECTION[1])
    found = nacelle.buckling(robot, x)
    # The axial force varies by the beams' own weight, 0.4 %: the middle counts.
    np.testing.assert_allclose(found.factors[:2], EULER / force, rtol=5e-3)
    assert found.near
    with pytest.raises(BucklingError, match=r"prrrp buckles under this load: .* at 0\.77") as error:
        nacelle.static_deflection(robot, x)
    assert error.value.factor == pytest.approx(found.factor)
    with pytest.raises(BucklingError):
        nacelle.natural_frequencies(robot, x, gravity=True)
    with pytest.warns(RuntimeWarning, match="near buckling"):
        batch = nacelle.natural_frequencies(robot, np.stack([x, x]), gravity=True)
    assert np.all(np.isnan(batch.frequencies))
    # Pulled, it cannot buckle.
    assert np.all(np.isinf(nacelle.buckling(loaded(9.81)[0], x).factors))
    with pytest.raises(KinematicsError, match="no load"):
        nacelle.buckling(loaded(0.0)[0], x)

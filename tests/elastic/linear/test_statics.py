"""Static deflection and loaded frequencies against elementary mechanics."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import nacelle
from support.flexible.prrrp import DIRECTION, EULER, loaded
from support.flexible.references import flexible_robot


def test_deflection_and_forces_in_space() -> None:
    """A little load gives the linear deflection; drives carry what the rigid robot's do."""
    robot = flexible_robot("delta-flexible")
    x = np.array([0.1, -0.15, -0.65])
    push = {"flange": np.array([0.2, -0.1, 0.3, 0.01, 0.0, 0.02])}
    c = nacelle.compliance(robot, x, tool="flange")
    small = {"flange": 1e-4 * push["flange"]}
    found = nacelle.static_deflection(robot, x, gravity=False, external=small)
    np.testing.assert_allclose(found.displacement("flange"), c @ small["flange"], rtol=1e-3, atol=1e-10)
    linear = nacelle.static_deflection(robot, x, external=push, nonlinear=False)
    rigid = nacelle.equilibrium(robot, x, external=push)
    np.testing.assert_allclose(linear.force, rigid, rtol=1e-9)
    assert linear.factor > 1.25


@pytest.mark.parametrize("g", [-11.0, -4.0, 8.0, 30.0])
def test_loaded_frequencies(g: float) -> None:
    """A pinned beam under an axial force F has the frequency w_0 sqrt(1 + F / F_Euler), in tension F > 0."""
    robot, x = loaded(g)
    if g < -9.0:
        robot = dataclasses.replace(
            robot,
            bodies=tuple(
                dataclasses.replace(b, material={**b.material, "E": 700e9}) if b.material else b
                for b in robot.bodies
            ),
        )
    stiffer = 10.0 if g < -9.0 else 1.0
    unloaded = nacelle.natural_frequencies(robot, x)
    found = nacelle.natural_frequencies(robot, x, gravity=True)
    force = 1.00448 * g / (2.0 * DIRECTION[1])
    factors = [math.sqrt(1.0 + force / (EULER * stiffer * k**2)) for k in (1, 1, 2, 2)]
    order = np.argsort(unloaded.frequencies)
    bending = unloaded.frequencies[order][:2] * factors[:2]
    np.testing.assert_allclose(found.frequencies[:2], bending, rtol=5e-3)
    assert found.load is not None
    assert found.load.factor == (pytest.approx(-EULER * stiffer / force, rel=5e-3) if g < 0.0 else np.inf)


def test_near_buckling_warns() -> None:
    robot, x = loaded(-0.77 * 9.81 / 1.1)
    with pytest.warns(RuntimeWarning, match="near buckling"):
        found = nacelle.static_deflection(robot, x)
    assert found.near_buckling
    assert 1.0 < found.factor < 1.25

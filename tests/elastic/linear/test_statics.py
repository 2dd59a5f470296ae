"""Static deflection, compliance, buckling and loaded frequencies against elementary mechanics."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import nacelle
from nacelle.errors import BucklingError, KinematicsError
from nacelle.model.robot import Robot
from support.flexible import prrrp
from support.flexible.references import flexible_robot

# Beams of [BK2013]: 0.4 m, 2 mm square, 70 GPa, 2800 kg/m^3.
L, EA, EI = 0.4, 70e9 * 4e-6, 70e9 * 16e-12 / 12.0
EULER = math.pi**2 * EI / L**2
DIRECTION = np.array([0.3, math.sqrt(0.4**2 - 0.3**2)]) / 0.4


def loaded(g: float) -> tuple[Robot, np.ndarray]:
    """The robot at its reference pose with gravity g along z."""
    robot, x = prrrp.robot_at(0.0, 0.0)
    return dataclasses.replace(robot, gravity=(0.0, 0.0, g)), x


def test_compliance_is_that_of_two_bars() -> None:
    robot, x = prrrp.robot_at(0.0, 0.0)
    bars = [DIRECTION, DIRECTION * [-1.0, 1.0]]
    K = sum(EA / L * np.outer(u, u) for u in bars)
    c = nacelle.compliance(robot, x)
    np.testing.assert_allclose(c[np.ix_([0, 2], [0, 2])], np.linalg.inv(K), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(np.delete(c, [0, 2], axis=0), 0.0, atol=1e-20)
    batch = nacelle.compliance(robot, np.stack([x, [9.0, 9.0]]))
    np.testing.assert_allclose(batch[0], c, atol=1e-15)
    assert np.all(np.isnan(batch[1]))
    push = {"P": np.array([3.0, 0.0, -2.0, 0.0, 0.0, 0.0])}
    linear = nacelle.static_deflection(robot, x, external=push, nonlinear=False)
    np.testing.assert_allclose(linear.displacement(), c @ push["P"], atol=1e-15)


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


def test_large_deflections_stay_closed() -> None:
    """A robot pushed hard: far from linear, its loops stay closed and its actuators where they were."""
    robot = flexible_robot("fivebar-flexible")
    x = nacelle.reference_pose(robot)
    push = {robot.bodies[1].name: np.array([1.2, -1.8, 0.0, 0.0, 0.0, 0.0])}
    found = nacelle.static_deflection(robot, x, gravity=False, external=push)
    moved = found.displacement()[:2]
    linear = nacelle.compliance(robot, x)[:2, :2] @ [1.2, -1.8]
    assert np.linalg.norm(moved) > 0.01
    assert np.linalg.norm(moved - linear) > 0.01 * np.linalg.norm(linear)
    state = found.balances[()].state
    from nacelle.elastic.linear.equilibrium import constraint_rows
    from nacelle.elastic.linear.state import gaps
    from nacelle.elastic.linear.tangent import Loaded

    rows = len(constraint_rows(Loaded(state))) - len(robot.actuators)
    assert np.max(np.abs(gaps(state, found.starts[()], state.frames(), rows))) < 1e-10

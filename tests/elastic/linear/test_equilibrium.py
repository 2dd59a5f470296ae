"""Equilibria under loads: their stiffness, and loops that stay closed where links bend far."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.elastic.extended import extended
from nacelle.elastic.linear.equilibrium import balanced, constraint_rows
from nacelle.elastic.linear.state import gaps, undeformed_at
from nacelle.elastic.linear.tangent import ExternalLoads, LoadedRobot
from support.flexible.references import flexible_robot


def test_stiffness_at_an_equilibrium() -> None:
    """On the rates that the constraints allow it is symmetric; it says how deflection follows the load."""
    robot = flexible_robot("fivebar-flexible")
    own = extended(robot)
    x = nacelle.reference_pose(robot)
    start = undeformed_at(own, x, nacelle.inverse_kinematics(robot, x).y)
    loads = ExternalLoads(np.array([0.0, -2.0, 0.0]), {1: np.array([0.6, -1.0, 0.0, 0.0, 0.0, 0.0])})
    found = balanced(start, loads)
    assert found is not None
    assert found.stable
    K = found.basis.T @ found.tangent @ found.basis
    np.testing.assert_allclose(K, K.T, atol=1e-9 * np.max(np.abs(K)))
    # The deflection changes with the load as the inverse of this stiffness says.
    more = balanced(start, loads.scaled(1.001))
    less = balanced(start, loads.scaled(0.999))
    assert more is not None
    assert less is not None
    f = -LoadedRobot(found.state).outside(loads).h
    moved = found.basis @ np.linalg.solve(K, found.basis.T @ f)
    nz = len(own.rigid_rates)
    np.testing.assert_allclose((more.state.qe - less.state.qe) / 2e-3, moved[nz:], rtol=1e-4, atol=1e-9)


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
    rows = len(constraint_rows(LoadedRobot(state))) - len(robot.actuators)
    assert np.max(np.abs(gaps(state, found.starts[()], state.frames(), rows))) < 1e-10

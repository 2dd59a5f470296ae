"""Poles of sampled loops, against differences of the native loop over one sample."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.kind import DesiredMotion
from nacelle.control.named import controller
from nacelle.control.poles import loop_poles
from nacelle.dynamics.poses import sample_poses
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.sampled.programs import native_loop
from support.library import library_robot

T, SUBSTEPS = 5e-4, 8


@pytest.mark.parametrize("delay", [0.0, 0.5 * T])
def test_poles_are_those_of_the_loop_over_a_sample(delay: float) -> None:
    robot = library_robot("fivebar")
    law = controller(robot, "cf-rb", period=T, delay=delay, bandwidth=20.0)
    x, n = sample_poses(robot, 3)[1], robot.motion.n
    rest = DesiredMotion(x, np.zeros(n), np.zeros(n))
    q, z = law.coordinates(x), law.start(x)
    for _ in range(5):
        force, z = law.step(z, q, rest)
    parts = RigidPlant(robot, friction=False).loop_parts()
    X = np.concatenate([RigidPlant(robot).state(x, np.zeros(n)), z, force])
    nudge = 1e-6 * np.eye(len(X))
    row = np.concatenate(rest)
    after = native_loop(law.sampled(x, row), parts).integrate(
        np.vstack([X + nudge, X - nudge]),
        np.concatenate([[0.0], row])[None],
        np.concatenate([parts.constants, law.gains])[None],
        h=T / SUBSTEPS,
        steps=SUBSTEPS,
        held=SUBSTEPS,
        delay=round(delay / T * SUBSTEPS),
    )
    slopes = (after.final[: len(X)] - after.final[len(X) :]).T / 2e-6
    expected = (
        np.log(np.array([value for value in np.linalg.eigvals(slopes) if 1e-3 < abs(value) < 1 - 1e-6])) / T
    )
    found = loop_poles(law, x, delay=delay).values[0]
    assert len(expected) >= 8
    for pole in expected:
        assert np.nanmin(np.abs(found - pole)) < 1e-4 * abs(pole)


def test_lag_of_the_current_loops_takes_damping() -> None:
    robot = library_robot("fivebar")
    law = controller(robot, "sj", period=T)
    x = nacelle.reference_pose(robot)
    plain, lagging = loop_poles(law, x), loop_poles(law, x, lag=1e-3)
    assert plain.stable.all()
    assert lagging.damping[0] < plain.damping[0] - 0.1
    # A pole of each current loop is added.
    assert np.sum(np.isfinite(lagging.values)) >= np.sum(np.isfinite(plain.values))

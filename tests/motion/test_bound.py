"""The certificate of fastest motions with redundant actuators: internal forces eliminated, and the bound."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import nacelle
from nacelle.motion import DriveLimits, time_optimal
from nacelle.motion.bound import eliminate_internal
from support.stress_robots import redundant_planar


@pytest.mark.parametrize("internal", [1, 2])
def test_elimination_leaves_what_some_internal_force_keeps(internal: int) -> None:
    """By a linear program: the largest of the least S + n nu is at least 0 where all rows hold."""
    rng = np.random.default_rng(internal)
    kept = 0
    for _ in range(60):
        rows, null = rng.normal(size=(4, 8, 1)), rng.normal(size=(internal, 8, 1))
        null[:, rng.integers(8)] = 0.0
        phi = rng.normal(size=4)
        values = np.tensordot(phi, rows, axes=1)[:, 0]
        A = np.concatenate([-null[:, :, 0].T, np.ones((8, 1))], axis=1)
        best = linprog(
            np.append(np.zeros(internal), -1.0),
            A_ub=A,
            b_ub=values,
            bounds=[(None, None)] * internal + [(None, 10.0)],
        ).x[-1]
        for _ in range(internal):
            rows, null = eliminate_internal(rows, null)
        assert (np.min(np.tensordot(phi, rows, axes=1)) >= -1e-12) == (best >= 0.0)
        kept += best >= 0.0
    assert 0 < kept < 60


@pytest.mark.slow
def test_bound_with_redundant_actuators() -> None:
    robot = redundant_planar(3)
    x = nacelle.reference_pose(robot)
    line = nacelle.Line(
        x - np.array([0.04, 0.02, 0.0]), x + np.array([0.03, 0.0, 0.05]), motion=robot.motion, duration=1.0
    )
    force = np.array([40.0, 24.0, 40.0, 18.0])
    result = time_optimal(robot, line, drives=DriveLimits(force=force, speed=None))
    assert 0.996 * result.duration < result.lower_bound < result.duration
    # No distribution is better than the one of these drives together, nor slower than with larger ones.
    larger = time_optimal(robot, line, drives=DriveLimits(force=1.01 * force, speed=None))
    assert larger.lower_bound < larger.duration < result.duration

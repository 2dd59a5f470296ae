"""A robot moved by small rates: its frames move as their Jacobians say."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.elastic.extended import extended
from nacelle.elastic.linear.equilibrium import constraint_rows
from nacelle.elastic.linear.state import Deformed, gaps, undeformed_at
from nacelle.elastic.linear.subspace import rate_scales
from nacelle.elastic.linear.tangent import LoadedRobot
from support.flexible_robots import flexible


def start() -> Deformed:
    """A Delta with flexible rods, whose joints are spherical, at its reference pose."""
    robot = flexible("delta", number=1)
    x = nacelle.reference_pose(robot)
    return undeformed_at(extended(robot), x, nacelle.inverse_kinematics(robot, x).y)


def test_frames_move_as_their_jacobians_say() -> None:
    straight = start()
    random = np.random.default_rng(0)
    unit = rate_scales(straight.extended)
    state = straight.moved(0.02 * unit * random.normal(size=len(unit)))
    frames = state.frames()
    direction, h = unit * random.normal(size=len(unit)), 1e-6
    ahead, behind = (state.moved(k * h * direction).frames().motion.poses for k in (1.0, -1.0))
    for body, pose in enumerate(frames.motion.poses):
        twist = frames.jacobian(body, pose.p) @ direction
        velocity = (ahead[body].p - behind[body].p) / (2.0 * h)
        W = (ahead[body].R - behind[body].R) @ pose.R.T / (2.0 * h)
        np.testing.assert_allclose(velocity, twist[:3], atol=1e-7)
        np.testing.assert_allclose([W[2, 1], W[0, 2], W[1, 0]], twist[3:], atol=1e-7)


def test_gaps_open_as_the_rows_say() -> None:
    straight = start()
    robot = straight.extended.robot
    rows = constraint_rows(LoadedRobot(straight))
    count = len(rows) - len(robot.actuators)
    assert np.max(np.abs(gaps(straight, straight, straight.frames(), count))) < 1e-12
    unit = rate_scales(straight.extended)
    step = 1e-6 * unit * np.random.default_rng(1).normal(size=len(unit))
    ahead, behind = (straight.moved(k * step) for k in (1.0, -1.0))
    opened = [gaps(state, straight, state.frames(), count) for state in (ahead, behind)]
    change = (opened[0] - opened[1]) / 2.0
    spins = np.arange(len(rows)) >= count - _spins(straight)
    kept = ~spins | (np.arange(len(rows)) >= count)
    np.testing.assert_allclose(change[kept], (rows @ step)[kept], atol=1e-11)


def _spins(state: Deformed) -> int:
    """Idle spins of the rods: their rows leave nothing open."""
    from nacelle.kinematics.mechanism.mechanism import mechanism_of

    return sum(len(plan.spins) for plan in mechanism_of(state.extended.robot).legs)

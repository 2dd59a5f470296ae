"""The fine check of a motion: uses of limits by other ways, and motions drawn in until they keep them."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.identification.excitation.check import drawn_in, largest_uses, motion_uses
from support.excitation import problem_of, public_states, small_motion
from support.library import library_robot

PROBLEM = problem_of(library_robot("fivebar"), count=12)


def test_uses_of_speed_and_force_are_those_of_the_motion() -> None:
    z = small_motion(PROBLEM)
    t, uses = motion_uses(PROBLEM, z)
    state = public_states(PROBLEM, z, t)
    force = nacelle.inverse_dynamics(PROBLEM.robot, *state).force
    rate = nacelle.joint_motion(PROBLEM.robot, *state).actuators[1]
    largest = {use.kind: use for use in largest_uses(PROBLEM, t, uses)}
    assert largest["force"].use == pytest.approx(np.max(np.abs(force) / PROBLEM.limits.force), rel=1e-8)
    assert largest["speed"].use == pytest.approx(np.max(np.abs(rate) / PROBLEM.limits.speed), rel=1e-8)
    at = np.argmin(np.abs(t - largest["speed"].time))
    assert np.max(np.abs(rate[at]) / PROBLEM.limits.speed) == pytest.approx(largest["speed"].use)


def test_motions_are_drawn_in() -> None:
    small = small_motion(PROBLEM, size=1e-3)
    assert drawn_in(PROBLEM, small) is small
    large = small_motion(PROBLEM, size=10.0)
    kept = drawn_in(PROBLEM, large)
    scale = kept[0] / large[0]
    assert 0.0 < scale < 1.0
    np.testing.assert_allclose(kept, scale * large)
    assert np.max(motion_uses(PROBLEM, kept)[1]) <= 1.0
    assert np.max(motion_uses(PROBLEM, 1.01 * kept)[1]) > 1.0
    half = drawn_in(PROBLEM, large, lambda z: bool(np.max(np.abs(z)) < 0.5 * np.max(np.abs(kept))))
    assert np.max(np.abs(half)) <= 0.5 * np.max(np.abs(kept))

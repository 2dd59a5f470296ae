"""Struts between a universal joint and a ball spin about themselves."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.papers.elements.projection import element_motion
from support.element_robots import samples
from support.uncompiled import named_robot

# ---- Motion of elements: virtual work of the basis, and the spin of struts


@pytest.mark.parametrize("name", ["gough-stewart", "palida", "space"])
def test_spin_of_a_strut(name: str) -> None:
    """theta' = (a . x) ((a x x) . x') / |a x x|^2, which [OAM] (7) neglects."""
    robot = named_robot(name)
    state, _, _ = samples(robot)[0]
    v = state.moving.u[list(state.mechanism.independent)]
    spins = []
    for leg, M, _ in element_motion(robot, state.now.motion, state.moving.U):
        x_rate, (d_rate, spin) = (M @ v)[:3], (M @ v)[3:5]
        first = robot.joints[leg.rods[0].hold.joints[0]]
        axis = (state.now.motion.poses[first.predecessor] @ first.frame_predecessor).R[:, 2]
        prismatic = robot.joints[leg.prismatic]
        x = leg.flip * (state.now.motion.poses[prismatic.predecessor] @ prismatic.frame_predecessor).R[:, 2]
        across = np.cross(axis, x)
        expected = (axis @ x) * (across @ x_rate) / (across @ across)
        assert abs(spin - expected) < 1e-12
        assert abs(x @ x_rate) < 1e-13
        assert np.isfinite(d_rate)
        spins.append(abs(expected))
    assert max(spins) > 1e-2

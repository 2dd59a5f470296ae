from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.elastic.linear.mode_shape import ModeShape


def test_bodies_move_as_the_modes_say_and_links_hold_together() -> None:
    """Twists are those of `displacement`; the free ends of both distal links stay at the nacelle's point."""
    robot = nacelle.load("fivebar-flexible")
    modes = nacelle.natural_frequencies(robot, nacelle.reference_pose(robot))
    shape = ModeShape(modes, 0)
    np.testing.assert_allclose(shape.twist(1), modes.displacement()[:, 0], atol=1e-10)
    factor = shape.factor(0.01)
    assert shape.largest * factor == pytest.approx(0.01)
    p = shape.frames.motion.poses[1].p
    tip = p + factor * shape.at(1, p)
    ends = [end for k in shape.links.values() for end in shape.link(k, factor)[[0, -1]]]
    near = sorted(float(np.linalg.norm(end - tip)) for end in ends)
    assert near[1] < 1e-3
    with pytest.raises(nacelle.NacelleError, match="there is no mode"):
        ModeShape(modes, 99)

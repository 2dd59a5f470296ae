"""What bars require: the same forces as of the same legs node by node, friction and all."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.general.bars.require import bar_line, bars
from nacelle.dynamics.general.models import actuator_forces
from nacelle.dynamics.general.required import Counted
from nacelle.kinematics.general.legs import motion
from nacelle.kinematics.general.placed import Way
from nacelle.model.leg import PLATFORM
from support.compare import assert_same
from support.general_states import loaded, sampled, twists


def test_as_node_by_node() -> None:
    robot = loaded("prrrp")
    v, a = twists(robot)
    forces = []
    for way in (Way(), Way(True)):
        legs, *_ = sampled(robot, way)
        assert len(legs.plan.parts.bars) == (len(robot.legs) if way.direct else 0)
        found = actuator_forces(legs, motion(legs, v, a), Counted(), np.zeros(len(v)))
        forces.append(np.asarray(found["force"], dtype=float))
    assert_same(forces[1], forces[0], 1e-10)


def test_lines_lead_from_the_leg_to_the_nacelle() -> None:
    """B - A from the poses of the tree; the bars come in the order of their legs."""
    legs, *_ = sampled(loaded("prrrp"), Way(True))
    B, keys = legs.placed.now.motion.poses[PLATFORM].p, []
    for key, tie, bar, form in bars(legs.placed):
        keys.append(key)
        carrier = legs.placed.now.motion.poses[bar.carrier]
        r = np.asarray(bar_line(legs, tie), dtype=float)
        assert_same(r, B - (carrier.p + carrier.R @ bar.A), 1e-12)
        assert np.linalg.norm(r) == pytest.approx(form.length)
    assert keys == [(0, 0), (1, 0)]

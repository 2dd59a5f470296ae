"""Legs as chains of single axes: put together, the frames lead to the leg's end."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.legs.chain import centred, end_frames, nacelle_end, serial_chain
from nacelle.kinematics.legs.serial import axis_motion
from nacelle.kinematics.tree.configuration import configuration
from support.uncompiled import any_robot, poses_around, solve_uncompiled


@pytest.mark.parametrize("name", ["fivebar", "3rrr", "prrrp"])
def test_a_chain_leads_to_the_end_of_its_leg(name: str) -> None:
    robot = any_robot(name)
    x = poses_around(robot, 1, 0, 0.02, 0.05)
    now = configuration(robot, x[0], solve_uncompiled(robot, x)[0])
    for leg in robot.legs:
        chain = serial_chain(robot, leg)
        assert chain is not None
        assert set(chain.letters) <= set("RP")
        assert len(chain.X) == len(chain.letters) + 1
        pose = chain.X[0]
        for k, joint in enumerate(chain.owners):
            start = sum(len(other.primitives) for other in robot.joints[:joint])
            pose = pose @ axis_motion(now.steps[start]) @ chain.X[k + 1]
        last = leg.bodies[-1]
        frame, body, there = end_frames(chain.target, last)
        assert (body, there) == nacelle_end(leg, chain.target)[:2]
        np.testing.assert_allclose(pose.p, (now.motion.poses[last] @ frame).p, atol=1e-12)
        np.testing.assert_allclose(pose.p, (now.motion.poses[body] @ there).p, atol=1e-9)


def test_a_universal_joint_is_two_axes_that_meet() -> None:
    """Centred, nothing lies between them."""
    robot = any_robot("gough-stewart")
    chain = serial_chain(robot, robot.legs[0])
    assert chain is not None
    assert chain.letters == "RRP"
    assert np.max(np.abs(centred(chain, 0).X[1].p)) < 1e-12

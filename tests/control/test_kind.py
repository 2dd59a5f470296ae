"""What a control law is."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.control.kind import law_of, motion_of, row_size
from nacelle.control.laws.single_joint import SingleJoint
from nacelle.model.robot import Robot
from nacelle.spatial.physics import input_shapes


def test_rows_are_pose_twist_and_acceleration() -> None:
    robot = nacelle.load("gough-stewart")
    assert row_size(robot) == (19,)
    x, v, a = motion_of(robot, np.arange(19.0))
    assert np.concatenate([x, v, a]).tolist() == list(range(19))
    assert (len(x), len(v), len(a)) == (7, 6, 6)


def test_equal_kinds_are_one_law(fivebar: Robot) -> None:
    law = law_of(SingleJoint("rigid"))
    assert law_of(SingleJoint("rigid")) is law
    assert law_of(SingleJoint("none")) is not law
    kind = SingleJoint("rigid")
    shapes = input_shapes(law, fivebar)
    assert shapes == {
        "z": (kind.memory(fivebar).size,),
        "q": (2,),
        "r": row_size(fivebar),
        "gains": (kind.gains(fivebar).size,),
    }

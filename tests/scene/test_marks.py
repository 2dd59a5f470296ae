"""Marks of joints: where they are, and on which bodies."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.joint import JointKind
from nacelle.scene.marks import joint_marks
from nacelle.shapes.placed import PlacedRobot
from nacelle.shapes.solid import Ball, Rod
from nacelle.spatial.pose import Pose
from support.library import library_robot


def test_marks_are_at_their_joints() -> None:
    for name in ("delta", "gough-stewart", "3rps"):
        robot = library_robot(name)
        bodies = inverse_kinematics(robot, reference_pose(robot)).bodies
        placed = PlacedRobot(robot, [Pose(R, p) for R, p in zip(*bodies, strict=True)])
        for j, joint in enumerate(robot.joints):
            for b, solid in joint_marks(placed, j):
                assert b in (joint.predecessor, joint.successor)
                if joint.kind is JointKind.PRISMATIC:
                    continue
                centre = solid.centre if isinstance(solid, Ball) else None
                if isinstance(solid, Rod):
                    centre = 0.5 * (solid.start + solid.stop)
                np.testing.assert_allclose(centre, placed.ends[j][1].p, atol=1e-9)
            if joint.kind is JointKind.REVOLUTE:
                ((_, pin),) = joint_marks(placed, j)
                assert isinstance(pin, Rod)
                axis = (pin.stop - pin.start) / np.linalg.norm(pin.stop - pin.start)
                np.testing.assert_allclose(abs(axis @ placed.ends[j][0].R[:, 2]), 1.0)

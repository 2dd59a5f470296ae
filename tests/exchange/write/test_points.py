"""Point nacelles: joints between the legs' own bodies, and the point's mass at the same place."""

from dataclasses import replace

import numpy as np

from nacelle.exchange.write.points import is_one_point, without_point
from nacelle.exchange.write.robot import assembled_graph
from nacelle.kinematics.mechanism.assembly import assemble
from nacelle.model.line_spring import LineSpring
from nacelle.spatial.pose import Pose
from support.library import library_robot


def test_a_joint_at_the_point_locks_the_position_itself() -> None:
    robot = library_robot("fivebar")
    joined = without_point(robot)
    (hinge,) = joined.closures
    assert (hinge.kind, hinge.at_point) == ("revolute", False)
    poses = assemble(robot).motion.poses
    ends = [
        poses[hinge.predecessor] @ hinge.frame_predecessor,
        poses[hinge.successor] @ hinge.frame_successor,
    ]
    for end in ends:
        np.testing.assert_allclose(end.p, poses[1].p, atol=1e-12)


def test_the_mass_is_divided_at_the_point() -> None:
    robot = library_robot("delta-codourey")
    joined = without_point(robot)
    assert [joint.kind for joint in joined.closures] == ["spherical", "spherical"]
    poses = assemble(robot).motion.poses
    for body, ten in joined.shares.items():
        np.testing.assert_allclose(ten[0], robot.bodies[1].mass / 3.0)
        np.testing.assert_allclose(
            poses[body].R @ (ten[1:4] / ten[0]) + poses[body].p, poses[1].p, atol=1e-12
        )


def test_what_is_no_single_point_is_a_body_on_strokes() -> None:
    robot = library_robot("delta-codourey")
    assert is_one_point(robot)
    aside = tuple(
        replace(joint, frame_successor=Pose(np.eye(3), np.array([0.01 * k, 0.0, 0.0])))
        for k, joint in enumerate(robot.closures)
    )
    wide = replace(robot, joints=(*robot.tree_joints, *aside))
    assert not is_one_point(wide)
    spring = LineSpring("s", (0, 1), (np.zeros(3), np.ones(3)), 1.0, 1.0)
    assert not is_one_point(replace(robot, springs=(spring,)))
    graph = assembled_graph(wide)
    strokes = [link for link in graph.joints if link.parent == "base" or "carrier" in link.parent]
    assert [link.kind for link in strokes].count("prismatic") == 3
    plate = robot.bodies[1].name
    assert graph.bodies[plate].mass == robot.bodies[1].mass
    np.testing.assert_allclose(graph.poses()[plate].p, assemble(wide).platform.p, atol=1e-12)

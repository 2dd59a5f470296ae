"""Shapes of an exported robot: those of the description, and plates as rods along their rims."""

import numpy as np

from nacelle.exchange.write.shapes import body_shapes
from nacelle.kinematics.mechanism.assembly import assemble
from support.library import library_robot


def test_shapes_are_in_the_frames_of_their_bodies() -> None:
    robot = library_robot("fivebar")
    (rod,) = body_shapes(robot, assemble(robot).motion.poses, robot.body("left.proximal"))
    assert rod.kind == "cylinder"
    np.testing.assert_allclose(rod.size, (0.01, 0.2), rtol=1e-12)
    np.testing.assert_allclose(rod.at.p, [0.1, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(np.abs(rod.at.R[:, 2]), [1.0, 0.0, 0.0], atol=1e-12)


def test_a_plate_is_drawn_by_its_rim() -> None:
    robot = library_robot("3rps")
    bare = robot.bodies[1].display
    shapes = body_shapes(robot, assemble(robot).motion.poses, 1)
    assert bare or len(shapes) >= 3
    assert all(shape.kind in ("cylinder", "box", "sphere") and min(shape.size) > 0.0 for shape in shapes)

"""Motion of edges in the image against images of moved robots."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle import load
from nacelle.kinematics.jacobian import body_jacobian, twist_units
from nacelle.kinematics.pose_input import reference_pose
from nacelle.vision.camera import Camera
from nacelle.vision.image.patch import Patch
from nacelle.vision.scene import Scenery
from nacelle.vision.sensitivity import edge_motion, image_jacobian, seen_motions
from nacelle.vision.visibility import ContactLines


@pytest.mark.parametrize("name", ["fivebar", "3rrr"])
def test_edges_move_as_images_do(name: str) -> None:
    robot = load(name)
    scenery, x = Scenery(robot), reference_pose(robot)
    middle = np.mean(scenery.bodies()[1], axis=0)
    camera = Camera.looking(
        middle,
        middle + np.array([0.3, 0.2, 1.2]),
        up=(0.0, 1.0, 0.0),
        distortion=(-0.1, 0.02, 0.001, 0.0, 0.0),
    )
    bodies, J, h = scenery.bodies(x), body_jacobian(robot, x), 1e-6
    rows = [edge_motion(camera, cylinder, bodies, J) for cylinder in scenery.cylinders]
    base = scenery.at(camera, x)
    for j in range(robot.motion.n):
        scenes = [scenery.at(camera, x + sign * h * np.eye(len(x))[j]) for sign in (1.0, -1.0)]
        for k, row in enumerate(rows):
            normals = [ContactLines.of(scene.rods[k]).normals for scene in scenes]
            pixels = camera.pixels(ContactLines.of(base.rods[k]).points(np.array([0.2, 0.8])))
            for side in (0, 1):
                # A pixel on the edge; how far the edge has come from it.
                patch = Patch.of(camera, pixels[side, :, 0], pixels[side, :, 1])
                ahead, back = (-patch.from_plane(n[side]).s for n in normals)
                assert np.allclose(row[side, :, j], (ahead - back) / (2.0 * h), rtol=1e-4, atol=1e-2)


def test_motions_that_are_seen() -> None:
    robot = load("fivebar")
    scenery, x = Scenery(robot), reference_pose(robot)
    camera = Camera.looking((0.0, 0.15, 0.0), (0.0, 0.15, 1.2), up=(0.0, 1.0, 0.0))
    bodies = scenery.bodies(x)
    edges = [(cylinder, side) for cylinder in scenery.cylinders for side in (0, 1)]
    all_edges = image_jacobian(robot, camera, x, bodies, edges)
    assert all_edges.shape == (16, 2)
    seen, least = seen_motions(all_edges)
    assert seen == 2
    assert least > 100.0
    # A proximal bar alone turns with one motion of two.
    one, none = seen_motions(image_jacobian(robot, camera, x, bodies, edges[:2]))
    assert (one, none) == (1, pytest.approx(0.0, abs=1e-6))
    assert seen_motions(image_jacobian(robot, camera, x, bodies, [])) == (0, 0.0)
    J = body_jacobian(robot, x)
    by_hand = np.concatenate([edge_motion(camera, c, bodies, J)[side] for c, side in edges])
    assert np.allclose(all_edges, by_hand * twist_units(robot))

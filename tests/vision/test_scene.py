"""Solids before a camera: the cylinders of the legs in their order, and what a ray meets first."""

from __future__ import annotations

import numpy as np

from nacelle import load
from nacelle.vision.camera import Camera
from nacelle.vision.scene import Scenery
from support.vision_scenes import rod, scene_of, small_camera


def test_cylinders_of_a_robot_are_its_rods() -> None:
    scenery = Scenery(load("fivebar"))
    camera = Camera.looking((0.0, 0.15, 0.0), (0.1, 0.1, 1.0))
    scene = scenery.at(camera)
    assert len(scene.rods) == len(scenery.cylinders) == 4
    bodies = scenery.bodies()
    for cylinder, one in zip(scenery.cylinders, scene.rods, strict=True):
        A, B = cylinder.placed(*bodies)
        assert np.allclose([one.start, one.stop], camera.seen([A, B]))
        assert one.radius == cylinder.radius
    moved = scenery.at(camera, np.array([0.02, 0.25]))
    assert not np.allclose(moved.rods[1].stop, scene.rods[1].stop)


def test_the_nearest_solid_is_met_first() -> None:
    near, far = rod((-1.0, 0.0, 1.0), (1.0, 0.0, 1.0), 0.1), rod((0.0, -1.0, 2.0), (0.0, 1.0, 2.0), 0.1)
    scene = scene_of(small_camera(), far, near)
    rays = np.array([[0.0, 0.0, 1.0], [0.0, 0.3, 1.0], [0.3, 0.0, 1.0], [0.3, 0.3, 1.0]])
    assert list(scene.first(rays)) == [1, 0, 1, -1]
    assert list(scene_of(small_camera()).first(rays)) == [-1] * 4

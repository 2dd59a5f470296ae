"""Edges from images: the regions that a shutter reads are rendered, and lines are fitted in them.

The true scene is rendered by the pixel model around the edges that the observer predicts, and where
edges are is read there (`nacelle.vision.measure`). A region
whose pixels are not those of such a cylinder gives nothing.
"""

from __future__ import annotations

import numpy as np

from nacelle.control.vision.sight import Bodies, Predicted
from nacelle.model.robot import Robot
from nacelle.vision.camera import Camera
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.measure import look
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.scene import Scenery
from nacelle.vision.shutter import Exposure


class RenderedEdges:
    """Edges that are measured in rendered images.

    Args:
        robot: the robot.
        camera: where it truly is.
        pixels: blur, grey levels, noise.
        seed: of the noise.
    """

    def __init__(self, robot: Robot, camera: Camera, pixels: PixelModel, *, seed: int) -> None:
        self._scenery, self._camera, self._pixels = Scenery(robot), camera, pixels
        self._rng = np.random.default_rng(seed)
        self.missed = 0

    def edges(self, exposure: Exposure, true: Bodies, predicted: Predicted) -> list[EdgeMeasurement]:
        """Edges of an exposure."""
        scene = self._scenery.scene(self._camera, *true)
        expected = self._scenery.scene(self._camera, *predicted())
        found: list[EdgeMeasurement] = []
        for k in exposure.cylinders:
            measured = look(scene, expected, k, self._pixels, self._rng, exposure=exposure)
            if measured is None:
                self.missed += 1
            else:
                found += measured.edges
        return found

"""Edges from images and from the model of their fits have the same statistics."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.vision.rendered import RenderedEdges
from nacelle.control.vision.sight import ModelEdges
from nacelle.vision.camera import Camera
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.scene import Scenery
from nacelle.vision.shutter import Exposure


@pytest.fixture(scope="module")
def robot() -> nacelle.Robot:
    return nacelle.load("fivebar")


@pytest.fixture(scope="module")
def camera() -> Camera:
    return Camera.looking([0.0, 0.14, 0.0], [0.0, 0.14, 0.77], up=(0.0, 1.0, 0.0), size=(400, 400))


def test_images_and_their_model_have_the_same_statistics(robot: nacelle.Robot, camera: Camera) -> None:
    """At one pose: normals of rendered edges scatter as their covariance says, and as the model's."""
    pixels, scenery = PixelModel(read_noise=4.0), Scenery(robot)
    true = scenery.bodies()
    exposure = Exposure(0.0, 0.0, (1,))
    rendered = RenderedEdges(robot, camera, pixels, seed=1)
    model = ModelEdges(scenery.at(camera), pixels, seed=1)
    runs = {
        source: [source.edges(exposure, true, lambda: true) for _ in range(30)]
        for source in (rendered, model)
    }
    normals, covariances = {}, {}
    for source, edges in runs.items():
        normals[source] = np.array([[edge.normal for edge in both] for both in edges])
        covariances[source] = np.array([[edge.covariance for edge in both] for both in edges]).mean(axis=0)
    for side in (0, 1):
        one, two = (covariances[source][side] for source in (rendered, model))
        # The fit leaves out a little of the edge's ends: its covariance is somewhat larger.
        assert 0.8 < np.sqrt(np.trace(one) / np.trace(two)) < 1.3
        for source in (rendered, model):
            spread = np.cov(normals[source][:, side].T)
            ratio = np.trace(spread) / np.trace(covariances[source][side])
            assert 0.5 < ratio < 1.7  # 30 draws of two numbers
        off = normals[rendered][:, side].mean(axis=0) - normals[model][:, side].mean(axis=0)
        assert np.linalg.norm(off) < 4.0 * np.sqrt(2.0 * np.trace(one) / 30.0)

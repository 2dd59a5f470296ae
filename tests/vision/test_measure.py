"""From a predicted scene and an image to a line, with the right covariance, and the times of the exposure."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import KinematicsError
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.image.render import render
from nacelle.vision.measure import look, measure
from nacelle.vision.shutter import Exposure
from support.vision_scenes import rod, scene_of, small_camera

TRUE = rod((-0.2, -0.1, 1.8), (0.25, 0.15, 2.2), 0.03)
MODEL = PixelModel(blur=0.7)


def off(across: float) -> tuple:
    return rod((-0.2, -0.1 + across, 1.8), (0.25, 0.15 + 1.2 * across, 2.2), 0.03)


@pytest.mark.parametrize(("across", "search"), [(0.003, 0.0), (0.04, 9.0)])
def test_lines_from_images(across: float, search: float) -> None:
    camera = small_camera()
    image = render(scene_of(camera, TRUE), MODEL, rng=np.random.default_rng(0))
    exposure = Exposure(1.5, 1.6, (0,))
    result = measure(image, scene_of(camera, off(across)), 0, MODEL, search=search, exposure=exposure)
    assert result is not None
    line = result.line(TRUE.radius)
    u = (TRUE.stop - TRUE.start) / np.linalg.norm(TRUE.stop - TRUE.start)
    error = line.direction - u
    variances, axes = np.linalg.eigh(line.direction_covariance)
    assert np.sum((error @ axes[:, 1:]) ** 2 / variances[1:]) < 14.0
    nearest = TRUE.start - (TRUE.start @ u) * u
    place = line.point - nearest
    deviation = np.sqrt(np.trace(line.covariance[3:, 3:]))
    assert np.linalg.norm(place) < 4.0 * deviation
    assert (result.edges[0].time, result.edges[1].arrival) == (1.5, 1.6)
    assert [edge.side for edge in result.edges] == [0, 1]


def test_looking_is_measuring_what_is_rendered() -> None:
    camera = small_camera()
    true, predicted = scene_of(camera, TRUE), scene_of(camera, off(0.002))
    quiet = PixelModel(blur=0.7, read_noise=1e-3)
    seen = look(true, predicted, 0, quiet, np.random.default_rng(0))
    read = measure(render(true, quiet), predicted, 0, quiet)
    assert seen is not None
    assert read is not None
    assert np.max(np.abs(seen.fit.normals - read.fit.normals)) < 1e-6
    u = (TRUE.stop - TRUE.start) / np.linalg.norm(TRUE.stop - TRUE.start)
    assert np.linalg.norm(seen.line(TRUE.radius).direction - u) < 1e-3


def test_what_is_not_there_is_not_measured() -> None:
    camera = small_camera()
    predicted = scene_of(camera, TRUE)
    empty = render(scene_of(camera), MODEL, rng=np.random.default_rng(0))
    assert measure(empty, predicted, 0, MODEL, search=8.0) is None
    away = render(scene_of(camera, off(0.15)), MODEL, rng=np.random.default_rng(0))
    assert measure(away, predicted, 0, MODEL) is None
    wall = rod((-0.5, 0.0, 1.0), (0.5, 0.0, 1.0), 0.4)
    hidden = scene_of(camera, TRUE, wall)
    assert look(hidden, hidden, 0, MODEL, np.random.default_rng(0)) is None
    cover = rod((-0.5, 0.12, 1.0), (0.5, 0.12, 1.0), 0.12)
    half = scene_of(camera, rod((-0.2, 0.0, 2.0), (0.2, 0.0, 2.0), 0.05), cover)
    one = look(half, half, 0, MODEL, np.random.default_rng(0))
    assert one is not None
    with pytest.raises(KinematicsError, match="both edges"):
        one.line(0.05)

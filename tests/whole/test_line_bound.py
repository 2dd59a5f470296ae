"""The bound against the closed form of a straight edge, finite differences of images, and samples."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle import load
from nacelle.shapes.solid import Rod
from nacelle.vision.image.edges import band_around, normal_tangents
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.image.render import render_pixels
from nacelle.vision.scene import RobotScenery
from nacelle.vision.visibility import ContactLines, edge_visibility
from support.line_bound import line_bound, normals_bound, whole_band
from support.line_errors import line_errors, zoomed_camera
from support.vision_scenes import rod, scene_of, small_camera

ROD = rod((-0.2, -0.1, 1.8), (0.25, 0.15, 2.2), 0.04)


def test_a_straight_edge_in_closed_form() -> None:
    """Shift and turn of one edge: 2 sqrt(pi) w s^2 / (n contrast^2), and 12 / n^2 of that."""
    camera, model = small_camera(), PixelModel(blur=1.0)
    scene = scene_of(camera, rod((-0.3, 0.0, 2.0), (0.3, 0.0, 2.0), 0.1))
    seen = edge_visibility(scene, 0, 0.0)
    band = whole_band(camera, seen, model.reach)
    assert band is not None
    covariance = normals_bound(band, seen.lines.normals, model)
    assert covariance is not None
    n = float(seen.free_length()[0])
    place = 2.0 * np.sqrt(np.pi) * model.width * (model.read_noise / 160.0) ** 2 / n / camera.focal[0] ** 2
    for k, (shift, turn) in enumerate(normal_tangents(seen.lines.normals, band.middles)):
        C = covariance[3 * k : 3 * k + 3, 3 * k : 3 * k + 3]
        assert shift @ C @ shift == pytest.approx(place, rel=0.08)
        assert turn @ C @ turn == pytest.approx(12.0 * (camera.focal[0] / n) ** 2 * place, rel=0.2)


def test_information_of_images() -> None:
    """The same from derivatives of rendered images, the rod moved by its ends, away from the ends."""
    camera, model = small_camera(), PixelModel(blur=0.8)
    scene = scene_of(camera, ROD)
    seen = edge_visibility(scene, 0, model.reach)
    band = band_around(scene, 0, seen, model)
    assert band is not None
    covariance = normals_bound(band, seen.lines.normals, model)
    assert covariance is not None
    u = (ROD.stop - ROD.start) / np.linalg.norm(ROD.stop - ROD.start)
    across = np.linalg.svd(u[None])[2][1:]
    moves, normals = [], []
    for side in across:
        for end in (0.0, 1.0):
            ways = [h * np.array([1.0 - end, end])[:, None] * side for h in (1e-4, -1e-4)]
            rods = [Rod(ROD.start + way[0], ROD.stop + way[1], ROD.radius) for way in ways]
            images = [render_pixels(scene_of(camera, one), model, band.patch) for one in rods]
            moves.append((images[0] - images[1]) / 2e-4 / model.read_noise)
            lines = [ContactLines.of(one).normals for one in rods]
            normals.append((lines[0] - lines[1]).ravel() / 2e-4)
    J, to_normals = np.stack(moves), np.stack(normals, axis=-1)
    by_images = to_normals @ np.linalg.inv(J @ J.T) @ to_normals.T
    scale = np.sqrt(np.diag(by_images))
    assert np.max(np.abs(covariance - by_images) / np.outer(scale, scale)) < 0.02


def test_directions_reach_the_bound() -> None:
    """The benchmark in small: a leg of the five-bar, narrow and wide, within twice the bound and unbiased."""
    scenery = RobotScenery(load("fivebar"))
    place = np.array([0.1, 0.3, 1.2])
    for width, blur in ((5.0, 0.5), (40.0, 1.0)):
        errors = line_errors(scenery, zoomed_camera(scenery, width, 1, place), 1, PixelModel(blur=blur), 40)
        assert errors.width == pytest.approx(width, rel=0.1)
        assert errors.failed == 0
        assert 0.6 < errors.ratio < 1.6
        assert 0.7 < errors.region < 1.35
        assert errors.bias < 14.0  # chi squared with two degrees of freedom: one in a thousand
        assert errors.nees == pytest.approx(1.0, abs=0.5)


def test_hidden_legs_have_none() -> None:
    camera = small_camera()
    wall = rod((-0.5, 0.0, 1.0), (0.5, 0.0, 1.0), 0.4)
    assert line_bound(scene_of(camera, ROD, wall), 0, PixelModel()) is None

"""Fits of edges: exact without noise, consistent with their covariance with it, from one edge or both."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.vision.image.band import Band, band_around
from nacelle.vision.image.fit import fit_edges
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.image.render import render, render_pixels
from nacelle.vision.scene import CameraScene
from nacelle.vision.visibility import edge_visibility
from support.vision_scenes import cast, rod, scene_of, small_camera

ROD = rod((-0.2, -0.1, 1.8), (0.25, 0.15, 2.2), 0.03)
MODEL = PixelModel(blur=0.8)


def band_of(scene: CameraScene, model: PixelModel) -> Band:
    band = band_around(scene, 0, edge_visibility(scene, 0, model.reach), model, wide=1.5, slack=0.5)
    assert band is not None
    return band


def off(normals: np.ndarray, by: float) -> np.ndarray:
    moved = normals + by * np.array([[0.3, -1.0, 0.5], [-0.8, 0.4, -0.6]])
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def test_an_image_of_rays_gives_the_true_edges() -> None:
    """Rendered by rays, not by the model that is fitted: edges to a few thousandths of a pixel."""
    camera = small_camera()
    scene = scene_of(camera, ROD)
    true = edge_visibility(scene, 0).lines.normals
    image = cast(scene, MODEL, (0, 0), camera.size, fine=6)
    band = band_of(scene, MODEL)
    fit = fit_edges(band, band.values(image), off(true, 1.5e-3), MODEL)  # about half a pixel away
    assert fit is not None
    assert fit.converged
    assert np.max(np.abs(fit.normals - true)) * camera.focal[0] < 6e-3
    assert np.allclose(fit.levels, [40.0, 200.0, 40.0], atol=0.3)
    assert np.allclose(fit.covariance_of(0) @ fit.normals[0], 0.0, atol=1e-15)


@pytest.mark.parametrize("model", [MODEL, PixelModel(blur=0.8, read_noise=1.0, shot=0.1, quantised=True)])
def test_errors_are_those_of_the_covariance(model: PixelModel) -> None:
    camera = small_camera()
    scene = scene_of(camera, ROD)
    true = edge_visibility(scene, 0).lines.normals
    rng, start = np.random.default_rng(4), off(true, 1e-3)
    band = band_of(scene, model)
    values = band.values(render(scene, model))
    squares, misfits = [], []
    for _ in range(40):
        fit = fit_edges(band, model.noisy(values, rng), start, model)
        assert fit is not None
        error = (fit.normals - true).ravel()
        variances, axes = np.linalg.eigh(fit.covariance)
        squares.append(np.sum((error @ axes[:, 2:]) ** 2 / variances[2:]))
        misfits.append(fit.misfit)
        assert len(band.u) == fit.pixels
        assert fit.converged
    # Four degrees of freedom: the mean of 40 has a standard deviation of 0.45.
    assert np.mean(squares) == pytest.approx(4.0, abs=1.4)
    assert np.mean(misfits) == pytest.approx(1.0, abs=0.05)


def test_one_edge_alone() -> None:
    camera = small_camera()
    cover = rod((-0.5, 0.12, 1.0), (0.5, 0.12, 1.0), 0.12)
    scene = scene_of(camera, rod((-0.2, 0.0, 2.0), (0.2, 0.0, 2.0), 0.05), cover)
    seen = edge_visibility(scene, 0, MODEL.reach)
    band = band_around(scene, 0, seen, MODEL, wide=1.5)
    assert band is not None
    (side,) = band.sides
    true = seen.lines.normals
    fit = fit_edges(band, render_pixels(scene, MODEL, band.patch), off(true, 1e-3), MODEL)
    assert fit is not None
    assert fit.covariance.shape == (3, 3)
    assert np.max(np.abs(fit.normals[0] - true[side])) * camera.focal[0] < 2e-3


def test_no_edges_no_fit() -> None:
    camera = small_camera()
    scene = scene_of(camera, ROD)
    true = edge_visibility(scene, 0).lines.normals
    band = band_around(scene, 0, edge_visibility(scene, 0), MODEL)
    assert band is not None
    assert fit_edges(band, np.full(len(band.u), np.nan), true, MODEL) is None
    flat = fit_edges(band, np.full(len(band.u), 80.0), true, MODEL)
    assert flat is None or not flat.converged or np.linalg.norm(flat.covariance) > 1.0

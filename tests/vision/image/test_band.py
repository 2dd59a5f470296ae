"""Pixels around edges: those near to them, without ends and other solids."""

from __future__ import annotations

import numpy as np

from nacelle.vision.image.band import band_around
from nacelle.vision.image.patch import Patch
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.visibility import edge_visibility
from support.line_bound import whole_band
from support.vision_scenes import rod, scene_of, small_camera

ROD = rod((-0.2, -0.1, 1.8), (0.25, 0.15, 2.2), 0.04)
MODEL = PixelModel(blur=0.6)


def test_all_pixels_near_the_edges() -> None:
    camera = small_camera()
    scene = scene_of(camera, ROD)
    seen = edge_visibility(scene, 0, 0.0)
    whole = whole_band(camera, seen, MODEL.reach)
    assert whole is not None
    image = Patch.region(camera, (0, 0), camera.size)
    near = np.zeros(image.x.shape, dtype=bool)
    for side, normal in enumerate(seen.lines.normals):
        t = seen.lines.place(side, image)
        near |= (np.abs(image.from_plane(normal).s) < MODEL.reach) & (t >= 0.0) & (t <= 1.0)
    chosen = np.zeros_like(near)
    chosen[whole.v, whole.u] = True
    assert np.mean(chosen != near) < 1e-3 * np.mean(near) + 1e-4
    band = band_around(scene, 0, seen, MODEL)
    assert band is not None
    assert band.sides == (0, 1)
    assert len(band.u) < len(whole.u)
    values = np.arange(160 * 120, dtype=float).reshape(120, 160)
    assert np.array_equal(band.values(values), band.v * 160.0 + band.u)
    assert np.all(np.isnan(band.values(values[:1, :1], (1000, 0))))


def test_other_solids_are_kept_away() -> None:
    camera = small_camera()
    bar = rod((0.05, -0.5, 1.0), (0.05, 0.5, 1.0), 0.01)
    scene = scene_of(camera, ROD, bar)
    band = band_around(scene, 0, edge_visibility(scene, 0, MODEL.reach), MODEL, slack=0.5)
    assert band is not None
    edge = band.patch.from_plane(edge_visibility(scene, 1, 0.0).lines.normals[0])
    other = band.patch.from_plane(-edge_visibility(scene, 1, 0.0).lines.normals[1])
    apart = -np.minimum(edge.s, other.s)
    assert 1.5 < np.min(apart) < 3.5


def test_one_free_side() -> None:
    camera = small_camera()
    cover = rod((-0.5, 0.12, 1.0), (0.5, 0.12, 1.0), 0.12)
    scene = scene_of(camera, rod((-0.2, 0.0, 2.0), (0.2, 0.0, 2.0), 0.05), cover)
    seen = edge_visibility(scene, 0, MODEL.reach)
    band = band_around(scene, 0, seen, MODEL)
    assert band is not None
    assert len(band.sides) == 1
    far = band.patch.from_plane(seen.lines.normals[1 - band.sides[0]]).s
    assert np.min(np.abs(far)) >= MODEL.reach
    hidden = scene_of(camera, rod((-0.2, 0.2, 2.0), (0.2, 0.2, 2.0), 0.03), cover)
    assert band_around(hidden, 0, edge_visibility(hidden, 0, 2.0), MODEL) is None

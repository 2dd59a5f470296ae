"""Covered pixels of all solids against rays; the bivariate normal distribution against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from nacelle.shapes.solid import Ball, Block, Plate, Solid
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation_vector import rotation_vector
from nacelle.vision.image.patch import Patch
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.image.silhouette import bivariate_normal, coverage
from support.vision_scenes import cast, rod, scene_of, small_camera

TURN = rotation_vector(np.array([0.5, -0.6, 0.2]))
AT = np.array([0.02, 0.01, 2.0])
SOLIDS: dict[str, Solid] = {
    "long rod": rod((-0.3, -0.1, 1.7), (0.3, 0.2, 2.5), 0.03),
    "towards the camera": rod((0.05, 0.02, 0.9), (0.1, 0.1, 2.5), 0.02),
    "flat disc": rod((0.0, 0.0, 2.0), (0.02, 0.015, 2.03), 0.2),
    "disc seen from its axis": rod((0.01, 0.0, 2.0), (0.01, 0.0, 2.05), 0.15),
    "past the camera": rod((0.1, -0.1, -0.5), (0.05, 0.1, 2.0), 0.03),
    "ball": Ball(AT, 0.15),
    "block": Block(Pose(TURN, AT), np.array([0.3, 0.2, 0.15])),
    "plate": Plate(np.array([[0.2, 0.1, 0], [-0.2, 0.12, 0], [-0.1, -0.2, 0]]) @ TURN.T + AT, 0.01),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_coverage_against_rays(name: str) -> None:
    camera, model = small_camera(), PixelModel(blur=0.8, leg=1.0, other=1.0, background=0.0)
    corner, size = (50, 30), (60, 60)
    cover = coverage(SOLIDS[name], Patch.region(camera, corner, size), model.blur).part
    true = cast(scene_of(camera, SOLIDS[name]), model, corner, size, fine=6)
    error = np.abs(cover - true)
    assert np.mean(true) > 0.01
    # Sides are exact to the grid of rays; where sides and ends meet, and a sampled outline, are not.
    assert np.mean(error) < (0.02 if name == "disc seen from its axis" else 2e-3)
    if name in ("block", "plate", "past the camera"):
        assert np.max(error) < 0.1
    if name in ("long rod", "ball"):
        assert np.max(error) < 0.025


def test_the_camera_inside_sees_nothing_else() -> None:
    patch = Patch.region(small_camera(), (0, 0), (10, 10))
    assert np.all(coverage(rod((0.0, 0.0, -1.0), (0.0, 0.1, 2.0), 0.2), patch, 0.8).part == 1.0)
    behind = coverage(rod((0.0, 0.0, -1.0), (0.0, 0.1, -2.0), 0.2), patch, 0.8).part
    assert np.all(behind == 0.0)


def test_bivariate_normal() -> None:
    rng = np.random.default_rng(0)
    h, k, r = rng.normal(size=30), rng.normal(size=30), rng.uniform(-0.99, 0.99, 30)
    true = [
        multivariate_normal(cov=[[1.0, c], [c, 1.0]]).cdf([a, b]) for a, b, c in zip(h, k, r, strict=True)
    ]
    assert np.max(np.abs(bivariate_normal(h, k, r) - true)) < 1e-6
    # Parallel edges: what both fill is what is between them, or the smaller one.
    opposite, same = bivariate_normal(np.array([0.5, 0.5]), np.array([-0.2, -1.0]), np.array([-1.0, 1.0]))
    assert opposite == pytest.approx(0.691462 + 0.420740 - 1.0, abs=1e-5)
    assert same == pytest.approx(0.158655, abs=1e-5)


def test_sides_are_exact() -> None:
    """A fine grid of rays on a few pixels of a side, two widths of rods."""
    camera = small_camera()
    for radius, blur in ((0.03, 0.6), (0.008, 1.2)):
        one = rod((-0.3, -0.1, 1.7), (0.3, 0.2, 2.5), radius)
        model = PixelModel(blur=blur, leg=1.0, background=0.0)
        cover = coverage(one, Patch.region(camera, (76, 56), (8, 8)), blur).part
        true = cast(scene_of(camera, one), model, (76, 56), (8, 8), fine=24)
        assert np.ptp(true) > 0.2
        assert np.max(np.abs(cover - true)) < 3e-3

"""Image: band, compose, detect, edges, fit, patch, pixel model, render."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from nacelle.errors import KinematicsError
from nacelle.shapes.solid import Ball, Block, Plate, Solid
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_vector
from nacelle.vision.camera import Camera, PixelPatch, Region
from nacelle.vision.image.edges import (
    PixelBand,
    band_around,
    find_edge_points,
    fit_edges,
    fit_plane,
    interpolate,
    search_normals,
)
from nacelle.vision.image.pixel_model import PixelModel, edge_coverage
from nacelle.vision.image.render import (
    bivariate_normal,
    coverage,
    may_meet_cone,
    render,
    render_pixels,
    visible_fractions,
)
from nacelle.vision.scene import CameraScene, SceneSolid
from nacelle.vision.visibility import edge_visibility
from support.line_bound import whole_band
from support.vision_scenes import cast, rod, scene_of, small_camera

# ---- Pixels around edges: those near to them, without ends and other solids

ROD = rod((-0.2, -0.1, 1.8), (0.25, 0.15, 2.2), 0.04)

MODEL = PixelModel(blur=0.6)


def test_all_pixels_near_the_edges() -> None:
    camera = small_camera()
    scene = scene_of(camera, ROD)
    seen = edge_visibility(scene, 0, 0.0)
    whole = whole_band(camera, seen, MODEL.reach)
    assert whole is not None
    image = PixelPatch.region(camera, Region(0, 0, *camera.size))
    near = np.zeros(image.x.shape, dtype=bool)
    for side, normal in enumerate(seen.lines.normals):
        t = seen.lines.position_along(side, image)
        near |= (np.abs(image.distance_from_plane(normal).s) < MODEL.reach) & (t >= 0.0) & (t <= 1.0)
    chosen = np.zeros_like(near)
    chosen[whole.v, whole.u] = True
    assert np.mean(chosen != near) < 1e-3 * np.mean(near) + 1e-4
    band = band_around(scene, 0, seen, MODEL)
    assert band is not None
    assert band.sides == (0, 1)
    assert len(band.u) < len(whole.u)
    values = np.arange(160 * 120, dtype=float).reshape(120, 160)
    assert np.array_equal(band.values(values), band.v * 160.0 + band.u)


def test_other_solids_are_kept_away() -> None:
    camera = small_camera()
    bar = rod((0.05, -0.5, 1.0), (0.05, 0.5, 1.0), 0.01)
    scene = scene_of(camera, ROD, bar)
    band = band_around(scene, 0, edge_visibility(scene, 0, MODEL.reach), MODEL, uncertainty=0.5)
    assert band is not None
    edge = band.patch.distance_from_plane(edge_visibility(scene, 1, 0.0).lines.normals[0])
    other = band.patch.distance_from_plane(-edge_visibility(scene, 1, 0.0).lines.normals[1])
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
    far = band.patch.distance_from_plane(seen.lines.normals[1 - band.sides[0]]).s
    assert np.min(np.abs(far)) >= MODEL.reach
    hidden = scene_of(camera, rod((-0.2, 0.2, 2.0), (0.2, 0.2, 2.0), 0.03), cover)
    assert band_around(hidden, 0, edge_visibility(hidden, 0, 2.0), MODEL) is None


# ---- Several solids in a pixel against rays: hidden, crossing, beside each other with a small gap

NEAR = rod((-0.5, -0.2, 1.5), (0.5, 0.15, 1.6), 0.02)

PAIRS = {
    "crossing": rod((-0.1, -0.5, 2.5), (0.1, 0.5, 2.0), 0.03),
    "beside": rod((-0.5, -0.15, 1.5), (0.5, 0.2, 1.6), 0.02),
    "within": rod((-0.5, -0.2, 1.5), (0.5, 0.15, 1.6), 0.01),
}


@pytest.mark.parametrize("name", PAIRS)
def test_two_rods_against_rays(name: str) -> None:
    camera = small_camera()
    corner, size = (50, 30), (60, 60)
    scene = scene_of(camera, NEAR, PAIRS[name])
    parts = visible_fractions([NEAR, PAIRS[name]], PixelPatch.region(camera, Region(*corner, *size)), 0.8)
    for k, (_, seen) in parts.items():
        # One solid white, all else black: its rays alone.
        levels = PixelModel(blur=0.8, leg=1.0, background=0.0, other=0.0)
        first = scene.solids[k]
        solids = tuple(s if s is first else SceneSolid(s.solid, s.body, -1, -1) for s in scene.solids)
        white = CameraScene(camera, scene.cylinders, solids)
        true = cast(white, levels, corner, size, fine=5)
        assert np.max(np.abs(seen - true)) < 0.03
    if name == "within":
        assert 1 not in parts or np.max(parts[1][1]) < 1e-3


def test_cones_that_meet() -> None:
    axis = np.array([0.0, 0.0, 1.0])
    ball = Ball(np.array([0.5, 0.0, 2.0]), 0.1)
    touch = float(np.arctan2(0.5, 2.0) - np.arcsin(0.1 / np.hypot(0.5, 2.0)))
    assert may_meet_cone(ball, axis, touch + 1e-6)
    assert not may_meet_cone(ball, axis, touch - 1e-6)
    assert may_meet_cone(rod((-3.0, 0.1, 2.0), (3.0, 0.1, 2.0), 0.01), axis, 0.05)
    assert not may_meet_cone(rod((-3.0, 0.5, 2.0), (3.0, 0.5, 2.0), 0.01), axis, 0.05)


# ---- Edges several pixels from their prediction

TRUE = rod((-0.2, -0.1, 1.8), (0.25, 0.15, 2.2), 0.03)

# About five pixels away, and turned.
PREDICTED = rod((-0.2, -0.07, 1.8), (0.25, 0.19, 2.2), 0.03)

MODEL_OF_EDGES = PixelModel(blur=0.7)


@pytest.mark.parametrize("corner", [(0, 0), (12, 7)])
def test_search_finds_the_edges(corner: tuple[int, int]) -> None:
    camera = small_camera()
    image = render(scene_of(camera, TRUE), MODEL_OF_EDGES, rng=np.random.default_rng(0))
    # A region of the image is read.
    image[: corner[1]] = image[:, : corner[0]] = np.nan
    seen = edge_visibility(scene_of(camera, PREDICTED), 0, MODEL_OF_EDGES.reach)
    true = edge_visibility(scene_of(camera, TRUE), 0, MODEL_OF_EDGES.reach)
    for side in (0, 1):
        points = find_edge_points(image, camera, seen, side, 8.0, MODEL_OF_EDGES)
        points = points[np.isfinite(points[:, 0])]
        assert len(points) > 40
        off = camera.ray(points) @ true.lines.normals[side] * camera.focal[0]
        assert np.median(np.abs(off)) < 0.05
    normals = search_normals(image, camera, seen, 8.0, MODEL_OF_EDGES)
    assert normals is not None
    assert np.max(np.abs(normals - true.lines.normals)) * camera.focal[0] < 0.3
    # A dark picture shows none.
    assert search_normals(0.0 * image + 40.0, camera, seen, 8.0, MODEL_OF_EDGES) is None


def test_pictures_are_bilinear() -> None:
    v, u = np.mgrid[0:5, 0:7].astype(float)
    pixels = np.array([[0.0, 0.0], [2.25, 3.5], [6.0, 4.0], [-0.1, 1.0], [1.0, 4.1]])
    values = interpolate(3.0 * u + 10.0 * v, pixels)
    assert np.allclose(values[:3], [0.0, 3.0 * 2.25 + 35.0, 58.0])
    assert np.all(np.isnan(values[3:]))


def test_planes_leave_out_what_is_far() -> None:
    rng = np.random.default_rng(1)
    rays = np.stack([rng.uniform(-0.3, 0.3, 40), 0.1 + 1e-5 * rng.standard_normal(40), np.ones(40)], axis=-1)
    rays[::10, 1] += 0.01
    n = fit_plane(rays)
    assert np.allclose(n / n[1], [0.0, 1.0, -0.1], atol=1e-4)


# ---- Distances from edges in a distorted image, against the nearest point of the projected curve


def nearest(camera: Camera, directions: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    return np.asarray(cKDTree(camera.pixels(directions)).query(pixels)[0])


def test_distance_from_a_plane() -> None:
    camera = small_camera()
    normal = np.array([0.8, -0.6, 0.05])
    t = np.linspace(-0.5, 0.5, 20_001)[:, None]
    point, way = np.array([0.0, 0.05 / 0.6, 1.0]), np.array([0.6, 0.8, 0.0])
    region = PixelPatch.region(camera, Region(60, 40, 40, 40))
    edge = region.distance_from_plane(normal)
    near = np.abs(edge.s) < 2.0
    v, u = np.nonzero(near)
    assert len(u) > 50
    true = nearest(camera, point + t * way, np.stack([u + 60, v + 40], axis=-1))
    assert np.max(np.abs(np.abs(edge.s[near]) - true)) < 3e-3
    assert np.allclose(edge.a**2 + edge.b**2, 1.0)
    # A step of a thousandth of a pixel along the normal is a thousandth of distance.
    one = PixelPatch.of(
        camera, u + 60 + 1e-3 * edge.a[near], v + 40 + 1e-3 * edge.b[near]
    ).distance_from_plane(normal)
    assert np.allclose(one.s - edge.s[near], 1e-3, atol=2e-5)


def test_distance_from_an_ellipse() -> None:
    camera = small_camera()
    # Rays at 0.1 rad from an axis: (d.c)^2 = cos^2 |d|^2.
    axis = np.array([0.05, -0.03, 1.0]) / np.linalg.norm([0.05, -0.03, 1.0])
    Q = np.outer(axis, axis) - np.cos(0.1) ** 2 * np.eye(3)
    side = np.cross(axis, [1.0, 0.0, 0.0])
    side /= np.linalg.norm(side)
    turn = np.linspace(0.0, 2.0 * np.pi, 20_001)[:, None]
    circle = np.cos(0.1) * axis + np.sin(0.1) * (np.cos(turn) * side + np.sin(turn) * np.cross(axis, side))
    region = PixelPatch.region(camera, Region(0, 0, 160, 120))
    edge = region.distance_from_quadric(Q)
    near = np.abs(edge.s) < 1.0
    v, u = np.nonzero(near)
    true = nearest(camera, circle, np.stack([u, v], axis=-1))
    assert np.max(np.abs(np.abs(edge.s[near]) - true)) < 0.03  # a radius of 30 px bends within a pixel
    chosen = region.some(near).distance_from_quadric(Q)
    assert np.array_equal(chosen.s, edge.some(near).s)
    assert np.allclose(region.rays[..., 2], 1.0)


# ---- What an edge fills of a pixel, against a sum over the pixel; noise against its variance


@pytest.mark.parametrize("angle", [0.0, 3e-4, 0.3, np.pi / 4, 1.2, np.pi / 2, 2.2])
@pytest.mark.parametrize("blur", [0.3, 1.2])
def test_filled_is_the_integral_over_the_square(angle: float, blur: float) -> None:
    a, b = np.cos(angle), np.sin(angle)
    s = np.linspace(-3.0, 3.0, 25)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    du, dv = np.meshgrid(0.5 * nodes, 0.5 * nodes)
    there = ndtr((s[:, None, None] + a * du + b * dv) / blur)
    summed = np.einsum("kij,i,j->k", there, 0.5 * weights, 0.5 * weights)
    F, slope = edge_coverage(s, np.full_like(s, a), np.full_like(s, b), blur)
    assert np.max(np.abs(F - summed)) < 2e-7
    high, low = (edge_coverage(s + h, np.full_like(s, a), np.full_like(s, b), blur)[0] for h in (1e-4, -1e-4))
    assert np.max(np.abs(slope - (high - low) / 2e-4)) < 1e-6


def test_sharp_edges_fill_areas() -> None:
    one = np.ones(1)
    assert edge_coverage(0.25 * one, one, 0.0 * one, 0.0)[0] == pytest.approx(0.75)
    # A diagonal through the centre, and one that cuts off a corner of legs 1/2: area 1/8.
    diagonal = np.sqrt(0.5) * one
    assert edge_coverage(0.0 * one, diagonal, diagonal, 0.0)[0] == pytest.approx(0.5)
    assert edge_coverage(-np.sqrt(0.125) * one, diagonal, diagonal, 0.0)[0] == pytest.approx(0.125)


def test_noise_has_its_variance() -> None:
    rng = np.random.default_rng(2)
    for model in (PixelModel(read_noise=1.5, shot=0.3), PixelModel(read_noise=1.5, shot=0.3, quantised=True)):
        values = model.noisy(np.full(200_000, 100.3), rng)
        assert np.mean(values) == pytest.approx(100.3, abs=0.05)
        assert np.var(values) == pytest.approx(float(model.variance(np.array(100.3))), rel=0.02)
        assert np.all(values == np.rint(values)) == model.quantised
    with pytest.raises(KinematicsError, match="negative"):
        PixelModel(blur=-1.0)


# ---- Whole images: regions are parts of them, solids against rays, motion and noise

MODEL_OF_RENDER = PixelModel(blur=0.8)

SOLIDS = (
    rod((-0.4, -0.2, 1.8), (0.3, 0.15, 2.2), 0.03),
    rod((-0.1, 0.3, 1.5), (0.2, -0.3, 2.0), 0.02),
    Ball(np.array([0.1, 0.1, 3.0]), 0.2),
)


def test_images_are_those_of_rays() -> None:
    scene = scene_of(small_camera(), *SOLIDS)
    image = render(scene, MODEL_OF_RENDER)
    true = cast(scene, MODEL_OF_RENDER, (0, 0), (160, 120), fine=5)
    error = np.abs(image - true) / 160.0
    assert np.mean(error) < 1e-3
    assert np.quantile(error, 0.99) < 0.015
    assert np.max(error) < 0.25  # where three outlines meet
    assert image.min() == pytest.approx(40.0)
    assert image.max() == pytest.approx(200.0)


def test_regions_and_pixels_are_parts_of_the_image() -> None:
    scene = scene_of(small_camera(), *SOLIDS)
    whole = render(scene, MODEL_OF_RENDER)
    part = render_pixels(scene, MODEL_OF_RENDER, PixelPatch.region(scene.camera, Region(37, 21, 70, 45)))
    assert np.allclose(part, whole[21:66, 37:107], atol=1e-9)
    patch = PixelPatch.of(scene.camera, np.array([80.0, 90.0]), np.array([60.0, 50.0]))
    assert np.allclose(render_pixels(scene, MODEL_OF_RENDER, patch), [whole[60, 80], whole[50, 90]])
    assert np.all(render(scene_of(small_camera()), MODEL_OF_RENDER) == 40.0)


def test_motion_blurs_across_the_edge() -> None:
    camera = small_camera()
    instants = [
        scene_of(camera, rod((-0.5, 0.02 * t, 2.0), (0.5, 0.02 * t, 2.0), 0.05)) for t in (-1.0, 0.0, 1.0)
    ]
    moving, still = render(instants, MODEL_OF_RENDER), render(instants[1], MODEL_OF_RENDER)
    assert np.allclose(moving, np.mean([render(one, MODEL_OF_RENDER) for one in instants], axis=0))
    assert np.max(np.abs(np.diff(moving[:, 80]))) < 0.5 * np.max(np.abs(np.diff(still[:, 80])))
    patch = PixelPatch.of(camera, np.array([80.0]), np.array([52.0]))
    assert render_pixels(instants, MODEL_OF_RENDER, patch)[0] == pytest.approx(moving[52, 80])
    with pytest.raises(KinematicsError, match="at least one"):
        render([], MODEL_OF_RENDER)


# ---- Covered pixels of all solids against rays


TILT = rotation_vector(np.array([0.5, -0.6, 0.2]))
MIDDLE = np.array([0.02, 0.01, 2.0])
COVERED: dict[str, Solid] = {
    "long rod": rod((-0.3, -0.1, 1.7), (0.3, 0.2, 2.5), 0.03),
    "towards the camera": rod((0.05, 0.02, 0.9), (0.1, 0.1, 2.5), 0.02),
    "flat disc": rod((0.0, 0.0, 2.0), (0.02, 0.015, 2.03), 0.2),
    "disc seen from its axis": rod((0.01, 0.0, 2.0), (0.01, 0.0, 2.05), 0.15),
    "past the camera": rod((0.1, -0.1, -0.5), (0.05, 0.1, 2.0), 0.03),
    "ball": Ball(MIDDLE, 0.15),
    "block": Block(Pose(TILT, MIDDLE), np.array([0.3, 0.2, 0.15])),
    "plate": Plate(np.array([[0.2, 0.1, 0], [-0.2, 0.12, 0], [-0.1, -0.2, 0]]) @ TILT.T + MIDDLE, 0.01),
}


@pytest.mark.parametrize("name", COVERED)
def test_coverage_against_rays(name: str) -> None:
    camera, model = small_camera(), PixelModel(blur=0.8, leg=1.0, other=1.0, background=0.0)
    corner, size = (50, 30), (60, 60)
    cover = coverage(COVERED[name], PixelPatch.region(camera, Region(*corner, *size)), model.blur).part
    true = cast(scene_of(camera, COVERED[name]), model, corner, size, fine=6)
    error = np.abs(cover - true)
    assert np.mean(true) > 0.01
    # Sides are exact to the grid of rays; where sides and ends meet, and a sampled outline, are not.
    assert np.mean(error) < (0.02 if name == "disc seen from its axis" else 2e-3)
    if name in ("block", "plate", "past the camera"):
        assert np.max(error) < 0.1
    if name in ("long rod", "ball"):
        assert np.max(error) < 0.025


def test_the_camera_inside_sees_nothing_else() -> None:
    patch = PixelPatch.region(small_camera(), Region(0, 0, 10, 10))
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
        cover = coverage(one, PixelPatch.region(camera, Region(76, 56, 8, 8)), blur).part
        true = cast(scene_of(camera, one), model, (76, 56), (8, 8), fine=24)
        assert np.ptp(true) > 0.2
        assert np.max(np.abs(cover - true)) < 3e-3


# ---- Fits of edges: exact without noise, consistent with their covariance with it, from one edge or both

ROD_OF_FIT = rod((-0.2, -0.1, 1.8), (0.25, 0.15, 2.2), 0.03)
MODEL_OF_FIT = PixelModel(blur=0.8)


def band_of(scene: CameraScene, model: PixelModel) -> PixelBand:
    band = band_around(scene, 0, edge_visibility(scene, 0, model.reach), model, margin=1.5, uncertainty=0.5)
    assert band is not None
    return band


def off(normals: np.ndarray, by: float) -> np.ndarray:
    moved = normals + by * np.array([[0.3, -1.0, 0.5], [-0.8, 0.4, -0.6]])
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def test_an_image_of_rays_gives_the_true_edges() -> None:
    """Rendered by rays, not by the model that is fitted: edges to a few thousandths of a pixel."""
    camera = small_camera()
    scene = scene_of(camera, ROD_OF_FIT)
    true = edge_visibility(scene, 0).lines.normals
    image = cast(scene, MODEL_OF_FIT, (0, 0), camera.size, fine=6)
    band = band_of(scene, MODEL_OF_FIT)
    fit = fit_edges(band, band.values(image), off(true, 1.5e-3), MODEL_OF_FIT)  # about half a pixel away
    assert fit is not None
    assert fit.converged
    assert np.max(np.abs(fit.normals - true)) * camera.focal[0] < 6e-3
    assert np.allclose(fit.levels, [40.0, 200.0, 40.0], atol=0.3)
    assert np.allclose(fit.covariance_of(0) @ fit.normals[0], 0.0, atol=1e-15)


@pytest.mark.parametrize(
    "model", [MODEL_OF_FIT, PixelModel(blur=0.8, read_noise=1.0, shot=0.1, quantised=True)]
)
def test_errors_are_those_of_the_covariance(model: PixelModel) -> None:
    camera = small_camera()
    scene = scene_of(camera, ROD_OF_FIT)
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
    seen = edge_visibility(scene, 0, MODEL_OF_FIT.reach)
    band = band_around(scene, 0, seen, MODEL_OF_FIT, margin=1.5)
    assert band is not None
    (side,) = band.sides
    true = seen.lines.normals
    fit = fit_edges(band, render_pixels(scene, MODEL_OF_FIT, band.patch), off(true, 1e-3), MODEL_OF_FIT)
    assert fit is not None
    assert fit.covariance.shape == (3, 3)
    assert np.max(np.abs(fit.normals[0] - true[side])) * camera.focal[0] < 2e-3


def test_no_edges_no_fit() -> None:
    camera = small_camera()
    scene = scene_of(camera, ROD_OF_FIT)
    true = edge_visibility(scene, 0).lines.normals
    band = band_around(scene, 0, edge_visibility(scene, 0), MODEL_OF_FIT)
    assert band is not None
    assert fit_edges(band, np.full(len(band.u), np.nan), true, MODEL_OF_FIT) is None
    flat = fit_edges(band, np.full(len(band.u), 80.0), true, MODEL_OF_FIT)
    assert flat is None or not flat.converged or np.linalg.norm(flat.covariance) > 1.0

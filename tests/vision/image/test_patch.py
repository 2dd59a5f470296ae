"""Distances from edges in a distorted image, against the nearest point of the projected curve."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from nacelle.vision.camera import Camera
from nacelle.vision.image.patch import Patch
from support.vision_scenes import small_camera


def nearest(camera: Camera, directions: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    return np.asarray(cKDTree(camera.pixels(directions)).query(pixels)[0])


def test_distance_from_a_plane() -> None:
    camera = small_camera()
    normal = np.array([0.8, -0.6, 0.05])
    t = np.linspace(-0.5, 0.5, 20_001)[:, None]
    point, way = np.array([0.0, 0.05 / 0.6, 1.0]), np.array([0.6, 0.8, 0.0])
    region = Patch.region(camera, (60, 40), (40, 40))
    edge = region.from_plane(normal)
    near = np.abs(edge.s) < 2.0
    v, u = np.nonzero(near)
    assert len(u) > 50
    true = nearest(camera, point + t * way, np.stack([u + 60, v + 40], axis=-1))
    assert np.max(np.abs(np.abs(edge.s[near]) - true)) < 3e-3
    assert np.allclose(edge.a**2 + edge.b**2, 1.0)
    # A step of a thousandth of a pixel along the normal is a thousandth of distance.
    one = Patch.of(camera, u + 60 + 1e-3 * edge.a[near], v + 40 + 1e-3 * edge.b[near]).from_plane(normal)
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
    region = Patch.region(camera, (0, 0), (160, 120))
    edge = region.from_quadric(Q)
    near = np.abs(edge.s) < 1.0
    v, u = np.nonzero(near)
    true = nearest(camera, circle, np.stack([u, v], axis=-1))
    assert np.max(np.abs(np.abs(edge.s[near]) - true)) < 0.03  # a radius of 30 px bends within a pixel
    chosen = region.some(near).from_quadric(Q)
    assert np.array_equal(chosen.s, edge.some(near).s)
    assert np.allclose(region.rays[..., 2], 1.0)

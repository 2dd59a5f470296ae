"""Simulated edges: their covariance is that of a line fitted to noisy pixels, their noise has it."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.vision.cylinders import contour_normals, visible_cylinders
from nacelle.vision.shutter import Exposure
from support.observed import camera_of
from support.simulated_camera import SimulatedCamera


def test_noise_is_that_of_fitted_lines():
    robot = nacelle.load("fivebar")
    camera, cylinders = camera_of(robot), visible_cylinders(robot)
    rng, sigma = np.random.default_rng(0), 0.3
    eye = SimulatedCamera(robot, camera, cylinders, sigma=sigma, rng=rng)
    x = nacelle.reference_pose(robot)
    ik = nacelle.inverse_kinematics(robot, x)
    A, B = cylinders[1].placed(*ik.bodies)
    n = contour_normals(camera, A, B - A, cylinders[1].radius)[0]
    # Points of the edge: those of the axis less the radius along the normal, a pixel apart.
    ends = [camera.seen(end) - cylinders[1].radius * n for end in (A, B)]
    pixels = camera.pixels(np.array(ends))
    count = round(float(np.linalg.norm(pixels[1] - pixels[0])))
    points = np.linspace(pixels[0], pixels[1], count)
    way = (pixels[1] - pixels[0]) / np.linalg.norm(pixels[1] - pixels[0])
    fits = []
    for _ in range(400):
        noisy = points + sigma * rng.standard_normal(count)[:, None] * np.array([-way[1], way[0]])
        rays = camera.ray(noisy)
        rays = rays / rays[:, 2:]
        _, _, V = np.linalg.svd(rays, full_matrices=False)
        # In the image's own measure: distances of pixels, not of rays, are what scatters.
        fit = V[-1] if V[-1] @ n > 0.0 else -V[-1]
        fits.append(fit - n)
    fitted = np.array(fits).T @ np.array(fits) / len(fits)
    drawn = []
    for _ in range(400):
        edges = eye.measure(Exposure(1.0, 2.0, (1,)), x)
        assert [(e.cylinder, e.side, e.time, e.arrival) for e in edges] == [
            (1, 0, 1.0, 2.0),
            (1, 1, 1.0, 2.0),
        ]
        assert np.max(np.abs(edges[0].covariance @ edges[0].normal)) < 1e-20
        drawn.append(edges[0].normal - n)
    stated = edges[0].covariance
    for sampled in (fitted, np.array(drawn).T @ np.array(drawn) / len(drawn)):
        assert np.max(np.abs(sampled - stated)) < 5.0 * 1.4 / np.sqrt(400) * np.max(np.abs(stated))


def test_out_of_view_there_is_nothing():
    robot = nacelle.load("fivebar")
    camera, x = camera_of(robot), nacelle.reference_pose(robot)
    away = camera.placed(camera.pose._replace(R=camera.pose.R @ np.diag([1.0, -1.0, -1.0])))
    eye = SimulatedCamera(robot, away, visible_cylinders(robot), sigma=0.1, rng=np.random.default_rng(0))
    assert eye.measure(Exposure(0.0, 0.0, (0, 1)), x) == []

"""Contours against rays cast on the cylinder itself."""

from __future__ import annotations

import numpy as np

from nacelle import load
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import contour_normals, visible_cylinders


def test_normals_bound_the_rays_that_hit() -> None:
    rng = np.random.default_rng(3)
    camera = Camera.looking((0.0, 0.0, 0.0), (1.0, 0.7, 0.5))
    point, direction, radius = np.array([0.1, -0.2, 0.1]), np.array([0.3, 0.2, 2.0]), 0.07
    n0, n1 = contour_normals(camera, point, direction, radius)
    u, P = camera.pose.R.T @ direction / np.linalg.norm(direction), camera.seen(point)
    assert np.allclose([n0 @ u, n1 @ u, n0 @ P, n1 @ P, n0 @ n0, n1 @ n1], [0, 0, radius, -radius, 1, 1])
    rays = P + 0.2 * rng.standard_normal((2000, 3))
    # Distance of two lines, the ray through the centre and the axis.
    w = np.cross(rays, u)
    distance = np.abs(w @ P) / np.linalg.norm(w, axis=1)
    inside = (rays @ n0 > 0.0) & (rays @ n1 < 0.0)
    assert np.array_equal(inside, distance < radius)
    assert 100 < inside.sum() < 1900
    assert np.allclose(contour_normals(camera, point, -direction, radius), [-n1, -n0])
    assert np.all(np.isnan(contour_normals(camera, camera.pose.p, direction, radius)))


def test_cylinders_of_described_robots_join_their_legs() -> None:
    robot = load("quattro")
    cylinders = visible_cylinders(robot)
    assert [c.name for c in cylinders[:3]] == ["leg1.arm", "leg1.rod-a", "leg1.rod-b"]
    assert [c.leg for c in cylinders] == [k for k in range(4) for _ in range(3)]
    bodies = inverse_kinematics(robot, reference_pose(robot)).bodies
    for cylinder in cylinders:
        A, B = cylinder.placed(*bodies)
        assert np.isclose(np.linalg.norm(B - A), cylinder.length)
        assert np.allclose((B - A) / cylinder.length, bodies.R[cylinder.body] @ cylinder.direction)

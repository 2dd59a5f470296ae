"""Contours against rays cast on the cylinder itself; the cylinders of all robots of the library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nacelle import load
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import contour_normals, leg_blocks, visible_cylinders


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


def test_described_and_default_cylinders() -> None:
    robot = load("fivebar")
    cylinders = visible_cylinders(robot)
    assert [c.name for c in cylinders] == ["left.proximal", "left.distal", "right.proximal", "right.distal"]
    assert [c.leg for c in cylinders] == [0, 0, 1, 1]
    bodies = inverse_kinematics(robot, reference_pose(robot)).bodies
    for cylinder in cylinders:
        A, B = cylinder.placed(*bodies)
        assert np.isclose(np.linalg.norm(B - A), cylinder.length)
        assert np.allclose((B - A) / cylinder.length, bodies.R[cylinder.body] @ cylinder.direction)
    # Without a description the joints give the same axes, as thick as drawings have them.
    bare = replace(robot, bodies=tuple(replace(body, display=()) for body in robot.bodies))
    for described, default in zip(cylinders, visible_cylinders(bare), strict=True):
        assert default.name == described.name
        assert np.isclose(abs(default.direction @ described.direction), 1.0)
        assert default.length == pytest.approx(described.length)
        assert default.radius > 0.0


@pytest.mark.parametrize(
    ("name", "rods", "boxes"),
    [("quattro", 12, 0), ("gough-stewart", 12, 0), ("hexaglide", 6, 6), ("prrrp", 0, 4), ("c5", 0, 0)],
)
def test_boxes_are_listed_apart(name: str, rods: int, boxes: int) -> None:
    robot = load(name)
    assert len(visible_cylinders(robot)) == rods
    assert len(leg_blocks(robot)) == boxes
    assert all(block.size.shape == (3,) for block in leg_blocks(robot))

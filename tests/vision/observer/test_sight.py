"""Edges and readings at a pose: their values by the camera's own geometry, their Jacobians by differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.jacobian import twist_units
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation_vector import rotation_vector
from nacelle.vision.cylinders import contour_normals, visible_cylinders
from nacelle.vision.observer.process import displacement
from nacelle.vision.observer.sight import camera_numbers, cylinder_option, directions, edges, readings
from support.observed import camera_of


@pytest.fixture(params=["fivebar", "quattro", "gough-stewart", "3rps"], scope="module")
def seen(request):
    robot = nacelle.load(request.param)
    rng = np.random.default_rng(3)
    cylinders, camera = visible_cylinders(robot), camera_of(robot)
    reference = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot))
    d = 0.02 * twist_units(robot) * rng.uniform(-1.0, 1.0, robot.motion.n)
    x = displacement(robot, reference.x, reference.y, d)["moved"]
    return robot, cylinders, camera, nacelle.inverse_kinematics(robot, x, limits=False)


def normals(robot, cylinders, camera, ik):
    ends = [cylinder.placed(*ik.bodies) for cylinder in cylinders]
    first, other = (np.array(part) for part in zip(*ends, strict=True))
    return contour_normals(camera, first, other - first, np.array([c.radius for c in cylinders]))


def differences(seen, function):
    """Central differences of a function of the solution along the entries of the reduced twist, last axis."""
    robot, _, _, ik = seen
    result = []
    for step in 1e-6 * np.diag(twist_units(robot)):
        ends = []
        for s in (step, -step):
            x = displacement(robot, ik.x, ik.y, s)["moved"]
            ends.append(function(nacelle.inverse_kinematics(robot, x, guess=ik, limits=False)))
        result.append((ends[0] - ends[1]) / (2.0 * np.sum(step)))
    return np.moveaxis(np.array(result), 0, -1)


def test_edges_and_their_jacobian(seen):
    robot, cylinders, camera, ik = seen
    at = edges(robot, ik.x, ik.y, camera_numbers(camera), cylinders=cylinder_option(cylinders))
    n = normals(robot, cylinders, camera, ik)
    np.testing.assert_allclose(at["frame"][:, :, 0], n, atol=1e-13)
    frames = at["frame"]
    np.testing.assert_allclose(
        frames @ np.swapaxes(frames, -1, -2), np.broadcast_to(np.eye(3), frames.shape), atol=1e-13
    )
    slopes = differences(seen, lambda one: normals(robot, cylinders, camera, one))
    expected = np.einsum("csij,csjk->csik", frames[:, :, 1:], slopes)
    np.testing.assert_allclose(at["by_pose"], expected, atol=3e-8 * np.max(np.abs(expected)))


def test_a_camera_that_moves(seen):
    """Rows [0, -m], [n/q, u] of the head of the file."""
    robot, cylinders, camera, ik = seen
    at = edges(robot, ik.x, ik.y, camera_numbers(camera), cylinders=cylinder_option(cylinders))
    frame, (R, p), h = at["frame"], camera.pose, 1e-6
    for k in range(6):
        ends = []
        for s in (h, -h):
            dp, dr = np.eye(6)[k, :3] * s, np.eye(6)[k, 3:] * s
            ends.append(
                normals(robot, cylinders, camera.placed(Pose(R @ rotation_vector(dr), p + R @ dp)), ik)
            )
        expected = np.einsum("csij,csj->csi", frame[:, :, 1:], (ends[0] - ends[1]) / (2.0 * h))
        n, u, m = (frame[:, :, row] for row in range(3))
        first = -m[..., k - 3] if k >= 3 else np.zeros(m.shape[:2])
        second = u[..., k - 3] if k >= 3 else n[..., k] / at["tangent"][:, None]
        np.testing.assert_allclose(np.stack([first, second], axis=-1), expected, atol=1e-8)


def test_readings_and_their_jacobian(seen):
    robot, _, _, ik = seen
    at = readings(robot, ik.x, ik.y)
    np.testing.assert_allclose(at["q"], ik.actuators, atol=1e-12)
    expected = differences(seen, lambda one: one.actuators)
    np.testing.assert_allclose(at["by_pose"], expected, atol=1e-7 * np.max(np.abs(expected)))


def test_directions_turn_with_their_bodies(seen):
    robot, cylinders, _, ik = seen
    at = directions(robot, ik.x, ik.y, cylinders=cylinder_option(cylinders))

    def axes(one):
        return np.array([one.bodies.R[c.body] @ c.direction for c in cylinders])

    np.testing.assert_allclose(at["direction"], axes(ik), atol=1e-14)
    expected = differences(seen, axes)
    turned = np.cross(at["angular"], at["direction"][..., None], axis=1)
    np.testing.assert_allclose(turned, expected, atol=1e-7 * np.max(np.abs(expected)))


def test_within_a_cylinder_there_are_no_edges():
    robot = nacelle.load("fivebar")
    cylinders = visible_cylinders(robot)
    ik = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot))
    first, other = cylinders[0].placed(*ik.bodies)
    camera = replace(camera_of(robot), pose=Pose(np.eye(3), 0.5 * (first + other)))
    at = edges(robot, ik.x, ik.y, camera_numbers(camera), cylinders=cylinder_option(cylinders))
    assert at["tangent"][0] == -1.0
    assert np.all(at["tangent"][1:] > 0.0)
    assert np.all(np.isfinite(at["frame"]))

"""Robots seen by a camera at several poses."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import log_rotation, rotation_vector
from nacelle.vision.calibration.bundle import EdgePoints, PoseSighting
from nacelle.vision.camera import Exposure
from nacelle.vision.cylinders import visible_cylinders
from nacelle.vision.observer.process import PoseDisplacement
from nacelle.vision.observer.settings import twist_deviations
from support.simulated_camera import SimulatedCamera
from support.vision_scenes import contour_normals


def poses_near_reference(robot, count, rng, part=0.1):
    """Poses around the reference, as far as a part of the robot's size."""
    displaced = PoseDisplacement(robot)
    ik = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot))
    unit = twist_deviations(robot, part * robot.size)
    return [displaced(ik.x, ik.y, unit * rng.uniform(-1.0, 1.0, robot.motion.n)) for _ in range(count)]


def sightings(robot, camera, rng, *, count=6, sigma=0.05, anchors=None):
    """Edges of all cylinders at some poses."""
    cylinders = visible_cylinders(robot)
    eye = SimulatedCamera(robot, camera, cylinders, sigma=sigma, rng=rng, anchors=anchors)
    everything = Exposure(0.0, 0.0, tuple(range(len(cylinders))))
    return [
        PoseSighting(x, tuple(eye.measure(everything, x))) for x in poses_near_reference(robot, count, rng)
    ]


def point_sightings(robot, camera, rng, *, count=8, sigma=0.1, part=0.15):
    """Points of the edges of all cylinders at some poses."""
    cylinders, result = visible_cylinders(robot), []
    for x in poses_near_reference(robot, count, rng, part):
        bodies = nacelle.inverse_kinematics(robot, x, limits=False).bodies
        edges = []
        for k, cylinder in enumerate(cylinders):
            A, B = cylinder.ends_in_base(*bodies)
            normals = contour_normals(camera, A, B - A, cylinder.radius)
            for side, n in enumerate(normals):
                axis = camera.in_camera_axes(A + np.linspace(0.0, 1.0, 25)[:, None] * (B - A))
                pixels = camera.pixels(axis - (1.0 - 2.0 * side) * cylinder.radius * n)
                pixels = pixels + sigma * rng.standard_normal(pixels.shape)
                edges.append(EdgePoints(k, side, pixels[camera.contains(pixels)], sigma))
        result.append(PoseSighting(x, tuple(edge for edge in edges if len(edge.pixels) > 5)))
    return result


def perturb_camera(camera, robot, rng, part=0.04):
    """The camera somewhere near: by a part of the robot's size, and as many rad."""
    R, p = camera.pose
    rotation = rotation_vector(part * rng.standard_normal(3))
    return camera.at_pose(Pose(R @ rotation, p + part * robot.size * rng.standard_normal(3)))


def camera_error(true, found):
    """Displacement (6,) from the found pose of a camera to the true one, camera axes, m and rad."""
    R, p = found.pose
    return np.concatenate([R.T @ (true.pose.p - p), log_rotation(R.T @ true.pose.R)])

"""Calibration rehearsed: how well a camera would be calibrated from images of a robot at some poses.

Poses are drawn about the reference within the robot's reach and limits; at each an image is rendered and the
edges of the legs are measured in it, looked for with the true camera. The calibration begins at a camera that
is beside the true one, and its result is compared with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.errors import CalibrationError
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.jacobian import twist_units
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_from_vector, rotation_quat
from nacelle.spatial.rotation_vector import log_rotation
from nacelle.spatial.scalar import Array
from nacelle.vision.calibration.calibrate import Calibration, calibrated
from nacelle.vision.calibration.observations import Sighting
from nacelle.vision.camera import Camera
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.measure import look
from nacelle.vision.observer.process import Displacer
from nacelle.vision.scene import Scenery

# How far poses are from the reference, over the robot's size and in rad, and how often one is drawn at most.
_REACH, _TRIES = 0.12, 40
# How far the first guess of the camera is away from the true one, over its distance and in rad.
_BESIDE = 0.02


@dataclass(frozen=True, eq=False)
class CalibrationRehearsal:
    """What a calibration would give.

    Attributes:
        calibration: the calibrated camera, its deviations, what is weak.
        error: from the true camera to the calibrated one, in camera axes [m; m; m; rad; rad; rad] (6,).
        poses: of the robot (N, nx).
        edges: how many were measured.
    """

    calibration: Calibration
    error: Array
    poses: Array
    edges: int


def rehearse_calibration(
    robot: Robot, camera: Camera, pixels: PixelModel, *, poses: int, seed: int = 0
) -> CalibrationRehearsal:
    """Calibrate a camera from rendered images of a robot.

    Args:
        robot: the robot.
        camera: the true camera.
        pixels: blur, grey levels, noise.
        poses: how many.
        seed: of poses, noise and the first guess.

    Raises:
        CalibrationError: if too few poses are in reach, or they do not determine the camera.
    """
    rng = np.random.default_rng(seed)
    scenery = Scenery(robot)
    sightings = []
    for x in _poses(robot, poses, rng):
        scene = scenery.at(camera, x)
        found = (look(scene, scene, k, pixels, rng) for k in range(len(scenery.cylinders)))
        sightings.append(Sighting(x, tuple(edge for one in found if one is not None for edge in one.edges)))
    middle = float(np.linalg.norm(scenery.at(camera).rods[0].start)) if scenery.cylinders else 1.0
    turn, way = (_BESIDE * rng.uniform(-1.0, 1.0, 3) for _ in range(2))
    start = Pose(rotation_quat(quat_from_vector(turn)) @ camera.pose.R, camera.pose.p + middle * way)
    result = calibrated(robot, sightings, camera.placed(start))
    there = result.camera.pose
    error = np.concatenate(
        [
            camera.pose.R.T @ (there.p - camera.pose.p),
            log_rotation(camera.pose.R.T @ there.R),
        ]
    )
    edges = sum(len(sighting.edges) for sighting in sightings)
    return CalibrationRehearsal(result, error, np.array([one.x for one in sightings]), edges)


def _poses(robot: Robot, count: int, rng: np.random.Generator) -> list[Array]:
    """Poses (nx,) within reach and limits."""
    reference = reference_pose(robot)
    y, displaced, units = inverse_kinematics(robot, reference).y, Displacer(robot), twist_units(robot)
    kept: list[Array] = []
    for k in range(_TRIES * count):
        # Closer and closer, where the reach is small.
        reach = _REACH * (1.0 - k / (_TRIES * count))
        x = displaced(reference, y, reach * units * rng.uniform(-1.0, 1.0, robot.motion.n))
        if bool(inverse_kinematics(robot, x[None]).ok[0]):
            kept.append(x)
        if len(kept) == count:
            return kept
    raise CalibrationError(f"{robot.name}: {len(kept)} of {count} poses about the reference are in reach")

"""The pose of a robot from edges of its legs at one time, without a motion model: weighted least squares.

Edge i gives two residuals r_i (2,) with covariance R_i and the matrix H_i (2, n) by the reduced twist
(`nacelle.vision.observer.sight`). Gauss-Newton's step from a pose x near the true one is

    N d = sum of H_i^T R_i^-1 r_i,     N = sum of H_i^T R_i^-1 H_i,     x <- x (+) d

and N^-1 is the covariance of the pose along the reduced twist. N is judged in units of the robot's size and
of 1 rad: where a motion moves no edge the pose is not determined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, UnobservableError
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.jacobian import twist_units
from nacelle.kinematics.motion import evaluated
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.observer.process import Displacer
from nacelle.vision.observer.sight import camera_numbers, cylinder_option
from nacelle.vision.observer.sight import edges as expected

_STEPS = 25
# A step below this part of the standard deviations is the last.
_DONE = 1e-6
# A motion whose standard deviation is above this part of the robot's size, or of 1 rad, is not determined.
_UNSEEN = 0.1


@dataclass(frozen=True, eq=False)
class SeenPose:
    """A pose from edges.

    Attributes:
        x: reduced pose (nx,).
        covariance: along the reduced twist (n, n), m^2, rad^2.
        misfit: weighted sum of squared residuals over degrees of freedom: 1 where all is right.
        edges: how many edges were used.
    """

    x: Array
    covariance: Array
    misfit: float
    edges: int

    @property
    def sigma(self) -> Array:
        """Standard deviations along the reduced twist (n,), m and rad."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))


def pose_from_edges(
    robot: Robot, camera: Camera, edges: Sequence[EdgeMeasurement], x: Any, cylinders: Sequence[Cylinder]
) -> SeenPose:
    """Find the pose that fits edges best, from one nearby.

    Args:
        robot: the robot.
        camera: the camera, calibrated.
        edges: with independent errors.
        x: reduced pose (nx,) near the true one.
        cylinders: that the edges' numbers refer to.

    Raises:
        UnobservableError: if the edges do not determine the pose.
        KinematicsError: if the iteration does not converge, or leaves the robot's reach.
    """
    n, units = robot.motion.n, twist_units(robot)
    places = [edge.cylinder for edge in edges], [edge.side for edge in edges]
    normals, C = (np.array([getattr(edge, name) for edge in edges]) for name in ("normal", "covariance"))
    if not edges:
        raise UnobservableError(f"{robot.name}: no edge was measured", {}, n)
    there = inverse_kinematics(robot, x, limits=False)
    pose, y, displaced = there.x, there.y, Displacer(robot)
    options = {"cylinders": cylinder_option(cylinders)}
    for _ in range(_STEPS):
        at = evaluated(expected, robot, pose, camera_numbers(camera), guess=y, options=options)
        y = at.y
        # Along u and m of each edge's frame: what it measures, with which covariance, and how it changes.
        across, H = at.results["frame"][places][:, 1:], at.results["by_pose"][places]
        r = np.einsum("eij,ej->ei", across, normals)
        weight = np.linalg.inv(across @ C @ np.swapaxes(across, 1, 2))
        N = np.einsum("eki,ekl,elj->ij", H, weight, H)
        g = np.einsum("eki,ekl,el->i", H, weight, r)
        cost = float(np.einsum("ek,ekl,el->", r, weight, r))
        values, vectors = np.linalg.eigh(units[:, None] * N * units)
        seen = values > _UNSEEN**-2
        if not np.all(seen):
            missing = int(np.count_nonzero(~seen))
            raise UnobservableError(
                f"{robot.name}: {len(edges)} edges leave {missing} of {n} motions undetermined", {}, missing
            )
        d = units * (vectors @ ((vectors.T @ (units * g)) / values))
        covariance = units[:, None] * ((vectors / values) @ vectors.T) * units
        if float(np.max(np.abs(d) / np.sqrt(np.diag(covariance)))) < _DONE:
            degrees = max(1, 2 * len(edges) - n)
            return SeenPose(pose, covariance, cost / degrees, len(edges))
        pose = displaced(pose, y, d)
    raise KinematicsError(
        f"{robot.name}: the pose that fits {len(edges)} edges was not found within {_STEPS} steps"
    )

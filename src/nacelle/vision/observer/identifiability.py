"""Which displacements of anchors a camera, with encoders or without, can tell at all.

At poses x_i the rows of all edges that are in view, whitened by the covariance of their normals, and those of
the encoders' readings are

    r_i = H_i d_i + A_i o,     d_i (n,) the pose's own error at each pose, o the displacements of anchors

With all d_i eliminated the singular values of what is left say how well each combination of displacements is
determined (`nacelle.vision.calibration.excitation`). A strut's anchor may slide along the strut unseen at one
pose; over several poses, or with its encoder, it may not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacelle.errors import ObserverError
from nacelle.kinematics.jacobian import twist_units
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.vision.calibration.excitation import CameraExcitation, jacobian_excitation
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder, visible_cylinders
from nacelle.vision.observer.anchors import anchor_names, anchors_of
from nacelle.vision.observer.edge_noise import edge_covariance, edge_points
from nacelle.vision.observer.sight import Sight, camera_numbers


def identifiable_anchors(
    robot: Robot,
    camera: Camera,
    poses: Sequence[Array],
    *,
    sigma: float = 0.02,
    encoders: float | None = None,
    cylinders: Sequence[Cylinder] | None = None,
) -> CameraExcitation:
    """How well displacements of anchors are determined by one look at each of some poses.

    Args:
        robot: the robot.
        camera: the camera.
        poses: reduced poses (nx,).
        sigma: error of each pixel of an edge across it, px.
        encoders: standard deviation of readings, rad or m; None: there are none.
        cylinders: that are seen; `visible_cylinders(robot)` if None.

    Returns:
        Principal directions of all displacements, worst first; standard deviations in robot sizes.

    Raises:
        ObserverError: if the robot has no anchors that can be displaced.
    """
    anchors = anchors_of(robot)
    if not anchors:
        raise ObserverError(f"{robot.name} has no anchors on its base that could be displaced")
    sight = Sight(robot, visible_cylinders(robot) if cylinders is None else cylinders, anchors)
    n, m = robot.motion.n, len(anchors)
    zero, numbers = np.zeros(m), camera_numbers(camera)
    rows: list[Array] = [np.zeros((0, m + n * len(poses)))]
    for i, x in enumerate(poses):
        own = _edge_rows(sight, camera, sight.edges(x, numbers, zero).results, sigma)
        if encoders is not None:
            read = sight.readings(x, zero).results
            own.append(np.concatenate([read["by_anchor"], read["by_pose"]], axis=1) / encoders)
        for part in own:
            wide = np.zeros((len(part), m + n * len(poses)))
            wide[:, :m], wide[:, m + n * i : m + n * (i + 1)] = part[:, :m], part[:, m:]
            rows.append(wide)
    units = np.concatenate([np.full(m, robot.size), np.tile(twist_units(robot), len(poses))])
    return jacobian_excitation(np.concatenate(rows), units, anchor_names(robot, anchors), m)


def _edge_rows(sight: Sight, camera: Camera, at: dict[str, Array], sigma: float) -> list[Array]:
    """Whitened rows [A, H] (2, m + n) of all edges in view."""
    result = []
    for k, cylinder in enumerate(sight.cylinders):
        for side in (0, 1) if at["tangent"][k] > 0.0 else ():
            normal, E = at["frame"][k, side, 0], at["frame"][k, side, 1:].T
            points = edge_points(cylinder, E, float(at["along"][k]), float(at["tangent"][k]))
            C = edge_covariance(camera, normal, E, points, sigma)
            if C is not None:
                W = np.linalg.inv(np.linalg.cholesky(C))
                result.append(W @ np.concatenate([at["by_anchor"][k, side], at["by_pose"][k, side]], axis=1))
    return result

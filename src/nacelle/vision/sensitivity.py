"""How the edges of cylinders move in the image when the robot moves.

A point C of the axis of a cylinder on body b moves by dC = v_b + w_b x (C - o_b), [v_b; w_b] = J_b v with v
the reduced twist (n,). The plane of side k touches the cylinder at X = C -+ r n_k. Since n . C = +-r stays,
dn . X = -n . dC: the edge moves in the image beside X, across itself and towards growing n . (x, y, 1), by

    n . dC / (X_z |grad|)        px, |grad| that of n . (x, y, 1) in the image, 1/px

Two places on an edge say all of it. Rows of all edges: the Jacobian from the reduced twist to the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nacelle.kinematics.jacobian import body_jacobian, twist_units
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder, contour_normals
from nacelle.vision.image.patch import Patch

# Where on an edge it is looked at.
_PLACES = (0.2, 0.8)
# A motion by the robot's size, or by 1 rad, that moves no edge by more than this is not seen, px.
UNSEEN = 1e-3


def edge_motion(
    camera: Camera,
    cylinder: Cylinder,
    bodies: tuple[Array, Array],
    J: Array,
    places: Sequence[float] = _PLACES,
) -> Array:
    """How the two edges of a cylinder move in the image: (2, places, n), px per unit of the reduced twist.

    Args:
        camera: the camera.
        cylinder: the cylinder.
        bodies: poses of all bodies, R (bodies, 3, 3) and p (bodies, 3).
        J: Jacobians of all bodies (bodies, 6, n), as `body_jacobian`.
        places: where on the edges, from 0 at A to 1 at B.

    Returns:
        The motion across the edges; NaN where the camera sees none.
    """
    R, p = bodies
    A, B = cylinder.placed(R, p)
    normals = contour_normals(camera, A, B - A, cylinder.radius)
    outwards = normals @ camera.pose.R.T
    result = np.full((2, len(places), J.shape[-1]), np.nan)
    for i, t in enumerate(places):
        C = A + t * (B - A)
        moved = J[cylinder.body, :3] - skew(C - p[cylinder.body]) @ J[cylinder.body, 3:]
        for side, sign in ((0, -1.0), (1, 1.0)):
            X = camera.seen(C) + sign * cylinder.radius * normals[side]
            pixel = camera.pixels(X)
            if np.all(np.isfinite(pixel)):
                edge = Patch.of(camera, pixel[:1], pixel[1:]).from_plane(normals[side])
                result[side, i] = (outwards[side] @ moved) / (X[2] * edge.slope[0])
    return result


def image_jacobian(
    robot: Robot, camera: Camera, x: Any, bodies: tuple[Array, Array], edges: Sequence[tuple[Cylinder, int]]
) -> Array:
    """How all given edges move in the image (2 edges, n), px, for motions by the robot's size or by 1 rad."""
    J = body_jacobian(robot, x)
    rows = [edge_motion(camera, cylinder, bodies, J)[side] for cylinder, side in edges]
    return np.asarray(np.concatenate([np.zeros((0, J.shape[-1])), *rows]) * twist_units(robot))


def seen_motions(jacobian: Array) -> tuple[int, float]:
    """How many independent motions an image Jacobian sees, and the least effect of one of all, px."""
    if not len(jacobian):
        return 0, 0.0
    values = np.linalg.svd(np.nan_to_num(jacobian), compute_uv=False)
    least = float(values[-1]) if len(values) == jacobian.shape[1] else 0.0
    return int(np.count_nonzero(values > UNSEEN)), least

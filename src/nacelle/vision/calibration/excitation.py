"""What sightings determine of a camera and of displaced anchors, and what they do not.

The information J^T J of all unknowns, with those beside the camera (anchors, poses) eliminated, is
diagonalised in the unknowns' own units (robot sizes, rad, focal lengths): an eigenvalue is 1 / sigma^2 of its
eigenvector. A direction without information (relative to rounding) is not determined, one whose sigma is
large is weak; both are named with their parts in all unknowns.

Which displacements of anchors a camera, with encoders or without, can tell at all.

At poses x_i the rows of all edges that are in view, whitened by the covariance of their normals
(`edge_covariance`), and those of the encoders' readings are

    r_i = H_i d_i + A_i o,     d_i (n,) the pose's own error at each pose, o the displacements of anchors

With all d_i eliminated the singular values of what is left say how well each combination of displacements is
determined (`jacobian_excitation`). A strut's anchor may slide along the strut unseen at one
pose; over several poses, or with its encoder, it may not.

How well the normal of an edge is measured: the covariance of a line through the pixels of an edge.

An edge of N pixels length, each with an error of s px across it, is a line fitted to N points. With the rays
d_i = (a_x, a_y, 1) of its points, e_i = n . d_i is s |g| of them, g = (n_x / f_x, n_y / f_y), and the normal
that fits best has

    C = s^2 g^2 E (sum of (E^T d_i)(E^T d_i)^T)^-1 E^T,     E = [u, m] across n (`sight`)

which is the Cramer-Rao bound of N independent points. Only the part of an edge within the image counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.errors import ObserverError
from nacelle.kinematics.jacobian import twist_units
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder, visible_cylinders
from nacelle.vision.observer.anchors import anchor_names, anchors_of
from nacelle.vision.observer.sight import Sight, camera_numbers

# Singular values below this part of the largest are rounding.
_NOTHING = 1e-9
# A direction with a larger standard deviation, robot sizes or rad, is weak.
WEAK = 0.02


@dataclass(frozen=True, eq=False)
class CameraExcitation:
    """How well a camera is determined.

    Attributes:
        sigma: standard deviations along the principal directions, worst first, own units; infinite where
            nothing is determined.
        directions: these directions (k, k), rows, in own units.
        names: of the unknowns (k,).
    """

    sigma: Array
    directions: Array
    names: tuple[str, ...]

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Directions of which the sightings say nothing, in words."""
        return tuple(
            self._words(row) for row, s in zip(self.directions, self.sigma, strict=True) if np.isinf(s)
        )

    @property
    def weak(self) -> tuple[str, ...]:
        """Directions that are determined poorly, worst first, with their standard deviations, in words."""
        return tuple(
            f"{self._words(row)}: {s:.2g}"
            for row, s in zip(self.directions, self.sigma, strict=True)
            if s > WEAK and not np.isinf(s)
        )

    def _words(self, row: Array) -> str:
        """The larger parts of a direction: "0.98 z - 0.17 ry"."""
        order = [k for k in np.argsort(-np.abs(row)) if abs(row[k]) > 0.1]
        sign = 1.0 if row[order[0]] > 0.0 else -1.0
        parts = [f"{sign * row[k]:+.2f} {self.names[k]}" for k in order]
        return " ".join(parts).removeprefix("+").replace(" +", " + ").replace(" -", " - ")


def jacobian_excitation(J: Array, units: Array, names: Sequence[str], count: int) -> CameraExcitation:
    """What a Jacobian (rows, unknowns) says of its first `count` unknowns.

    Args:
        J: of residuals without units.
        units: what each unknown counts in (unknowns,).
        names: of the first unknowns.
        count: how many of them.
    """
    scaled = J * units
    own, others = scaled[:, :count], scaled[:, count:]
    if others.shape[1]:
        # What the others can explain says nothing of the camera.
        Q, _ = np.linalg.qr(others)
        own = own - Q @ (Q.T @ own)
    _, s, V = np.linalg.svd(own, full_matrices=False)
    with np.errstate(divide="ignore"):
        sigma = np.where(s > _NOTHING * s[0], 1.0 / s, np.inf)
    return CameraExcitation(sigma[::-1], V[::-1], tuple(names[:count]))


# ---- how well the normal of an edge is measured: the covariance of a line through the pixels of an edge


# Points of an edge that stand for all its pixels.
_POINTS = 17
# An edge shorter than this, px, gives no line.
_SHORTEST = 8.0


def edge_points(cylinder: Cylinder, E: Array, along: float, tangent: float) -> Array:
    """Points (k, 3) of an edge, evenly spaced: (a + s) u + q m, E = [u, m] (3, 2), camera axes, m."""
    span = along + np.linspace(0.0, cylinder.length, _POINTS)
    return np.asarray(span[:, None] * E[:, 0] + tangent * E[:, 1])


def edge_covariance(camera: Camera, n: Array, E: Array, points: Array, sigma: float) -> Array | None:
    """Covariance (2, 2) of a normal across itself, from an error of sigma px at each pixel of its edge.

    Args:
        camera: the camera.
        n: normal (3,), camera axes.
        E: two unit vectors across it (3, 2).
        points: of the edge (k, 3), evenly spaced, camera axes, m.
        sigma: px.

    Returns:
        None where too little of the edge is in the image.
    """
    pixels = camera.pixels(points)
    inside = camera.holds(pixels)
    pixels, points = pixels[inside], points[inside]
    if len(pixels) < 3:
        return None
    length = float(np.linalg.norm(pixels[-1] - pixels[0]))
    if length < _SHORTEST:
        return None
    rays = points / points[:, 2:]
    g = float(np.hypot(*(n[:2] / camera.focal)))
    lever = rays @ E
    # Each point stands for as many pixels as there are to its neighbours.
    information = (length / len(rays)) * lever.T @ lever / (sigma * g) ** 2
    return np.asarray(np.linalg.inv(information))


# ---- which displacements of anchors a camera, with encoders or without, can tell at all


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

"""All edges of all sightings as one system of least squares.

Unknowns, in this order, each in its own unit (robot sizes, rad, focal lengths, 1):

    camera   dp (3), dr (3): the pose p + R dp, R exp(dr), in camera axes
    lens     the free ones of its nine numbers
    anchors  displacements of anchors on the base, with a standard deviation before anything is measured
    poses    displacements d_i (n) of the robot at each sighting along its reduced twist, likewise

Edges give rows r = r_0 + J z (`edge_rows`), what is expected of anchors and poses further rows z / sigma.

What an edge says of a camera: rows of residuals without units, and how they change.

The model has the normal n of the edge's plane and the frame (n, u, m) in camera axes (`observer.sight`). A
normal that was measured by a lens that is known leaves, whitened by its covariance C,

    r = W E^T n_measured,     E = [u, m],     W^T W = (E^T C E)^-1,     dr = -W (u . dn, m . dn)

Points of the edge in the image, (u, v) px, have the rays d = (a_x, a_y, 1), on which the lens has a say:

    r_i = n . d_i / s_i,   s_i = s |n . dd/d(u, v)|,   dr_i = (d_i . u, d_i . m) (u . dn, m . dn) / s_i + ...

and with the pixel as a function of ray and lens, P(a, k) = pixel, da = -(dP/da)^-1 dP/dk dk for the lens k =
(f_x, f_y, c_x, c_y, k1, k2, p1, p2, k3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from nacelle.errors import CalibrationError, did_you_mean
from nacelle.kinematics.motion import EvaluatedStates
from nacelle.kinematics.shapes import twist_scales
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_vector
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.observer.anchors import Anchors, anchor_names, anchors_of
from nacelle.vision.observer.process import PoseDisplacement
from nacelle.vision.observer.settings import twist_deviations
from nacelle.vision.observer.sight import SightModel, camera_numbers

LENS = ("focal x", "focal y", "centre x", "centre y", "k1", "k2", "p1", "p2", "k3")
"""Names of the numbers of a lens: px, and Brown's coefficients."""


@dataclass(frozen=True, eq=False)
class EdgePoints:
    """Points of one edge of a cylinder in an image.

    Attributes:
        cylinder: index in `visible_cylinders(robot)`.
        side: 0 or 1.
        pixels: (k, 2).
        sigma: error of each across the edge, px.
    """

    cylinder: int
    side: int
    pixels: Array
    sigma: float


EdgeObservation: TypeAlias = EdgeMeasurement | EdgePoints


@dataclass(frozen=True, eq=False)
class PoseSighting:
    """What was seen at one pose of the robot: the pose x (nx,), from encoders, and edges."""

    x: Array
    edges: tuple[EdgeObservation, ...]


class EdgeRows(NamedTuple):
    """Rows of one observation, without units.

    Attributes:
        r: residuals (k,).
        by_normal: their derivatives (k, 2) by (u . dn, m . dn) of the model.
        by_lens: by the nine numbers of the lens (k, 9).
    """

    r: Array
    by_normal: Array
    by_lens: Array


def lens_of(camera: Camera) -> Array:
    """The numbers of a lens (9,), named in `LENS`."""
    return np.array([*camera.focal, *camera.centre, *camera.distortion])


def with_lens(camera: Camera, lens: Array) -> Camera:
    """The camera with other numbers of its lens (9,)."""
    fx, fy, cx, cy, k1, k2, p1, p2, k3 = (float(value) for value in lens)
    return replace(camera, focal=(fx, fy), centre=(cx, cy), distortion=(k1, k2, p1, p2, k3))


def edge_rows(camera: Camera, edge: EdgeObservation, frame: Array) -> EdgeRows:
    """Rows of one observation where the model has the frame (3, 3) with rows n, u, m, camera axes."""
    n, E = frame[0], frame[1:].T
    if isinstance(edge, EdgeMeasurement):
        W = np.linalg.inv(np.linalg.cholesky(E.T @ edge.covariance @ E))
        return EdgeRows(W @ (E.T @ edge.normal), -W, np.zeros((2, len(LENS))))
    rays = camera.ray(edge.pixels)
    rays = rays / rays[:, 2:]
    bent = np.linalg.inv(camera.pixel_jacobian(rays)[:, :, :2])
    across = np.einsum("j,kji->ki", n[:2], bent)
    s = edge.sigma * np.linalg.norm(across, axis=1)
    by_lens = -np.einsum("ki,kij->kj", across, _pixel_derivatives(camera, edge.pixels, rays[:, :2]))
    return EdgeRows(rays @ n / s, rays @ E / s[:, None], by_lens / s[:, None])


def _pixel_derivatives(camera: Camera, pixels: Array, a: Array) -> Array:
    """Derivatives (k, 2, 9) of the pixels of rays (a, 1) by the numbers of the lens."""
    x, y = a[:, 0], a[:, 1]
    s = x * x + y * y
    result = np.zeros((len(a), 2, len(LENS)))
    flat = (pixels - camera.centre) / camera.focal
    result[:, 0, 0], result[:, 1, 1] = flat[:, 0], flat[:, 1]
    result[:, 0, 2] = result[:, 1, 3] = 1.0
    bends = [(x * s, y * s), (x * s**2, y * s**2), (2 * x * y, s + 2 * y * y)]
    bends += [(s + 2 * x * x, 2 * x * y), (x * s**3, y * s**3)]
    for k, (first, second) in enumerate(bends):
        result[:, 0, 4 + k], result[:, 1, 4 + k] = camera.focal[0] * first, camera.focal[1] * second
    return result


# ---- all edges of all sightings as one system of least squares


@dataclass(frozen=True)
class CameraUnknowns:
    """What is unknown in addition to the camera's pose.

    Attributes:
        lens: names of `LENS`, or "focal", "centre", "distortion" for all of a kind; these need EdgePoints.
        anchors: standard deviation of displacements of the anchors on the base, m; 0: none.
        poses: standard deviation of the robot's given poses, m, over its size for angles; 0: exact.
    """

    lens: tuple[str, ...] = ()
    anchors: float = 0.0
    poses: float = 0.0

    def lens_names(self) -> tuple[str, ...]:
        """The single names of the lens's unknown numbers."""
        kinds = {"focal": LENS[:2], "centre": LENS[2:4], "distortion": LENS[4:]}
        names = [name for kind in self.lens for name in kinds.get(kind, (kind,))]
        for name in names:
            if name not in LENS:
                raise CalibrationError(f"a lens has no {name!r}; {did_you_mean(name, [*kinds, *LENS])}")
        return tuple(dict.fromkeys(names))


POSE = ("x", "y", "z", "rx", "ry", "rz")
"""Names of the camera's displacements, in camera axes."""


@dataclass(frozen=True, eq=False)
class BundlePoint:
    """Values of all unknowns.

    Attributes:
        camera: pose and lens.
        anchors: displacements (m,), m.
        x: poses of the sightings (S, nx).
        d: their displacements from the given poses (S, n), along the reduced twist.
    """

    camera: Camera
    anchors: Array
    x: Array
    d: Array


class BundleSystem(NamedTuple):
    """The system at a point: residuals (rows,), Jacobian (rows, unknowns), places of each edge's rows."""

    r: Array
    J: Array
    entries: tuple[tuple[int, int, slice], ...]

    @property
    def cost(self) -> float:
        """Sum of squares."""
        return float(self.r @ self.r)


class Bundle:
    """The problem: which unknowns there are, and the system at a point."""

    def __init__(
        self,
        robot: Robot,
        cylinders: Sequence[Cylinder],
        sightings: Sequence[PoseSighting],
        unknowns: CameraUnknowns,
    ) -> None:
        """Keep the problem.

        Args:
            robot: the robot.
            cylinders: that the edges' numbers refer to.
            sightings: what was seen, where.
            unknowns: what is unknown in addition to the camera's pose.
        """
        self.robot, self.sightings = robot, tuple(sightings)
        self._anchors: Anchors = anchors_of(robot) if unknowns.anchors > 0.0 else ()
        self._anchor_sigma = unknowns.anchors
        self._sight = SightModel(robot, cylinders, self._anchors)
        lens = unknowns.lens_names()
        self._lens = [LENS.index(name) for name in lens]
        # Standard deviations (n,) of the given poses along the reduced twist; None: exact.
        self._pose_sigma = twist_deviations(robot, unknowns.poses) if unknowns.poses > 0.0 else None
        self._displaced = PoseDisplacement(robot)
        self._n = 0 if self._pose_sigma is None else robot.motion.n
        self.names = (*POSE, *lens, *anchor_names(robot, self._anchors))
        self.count = len(self.names) + self._n * len(self.sightings)

    def units(self, camera: Camera) -> Array:
        """What the unknowns count in (unknowns,): robot sizes, rad, focal lengths, 1."""
        size, focal = self.robot.size, float(np.mean(camera.focal))
        lens = [focal if k < 4 else 1.0 for k in self._lens]
        poses = np.tile(twist_scales(self.robot), len(self.sightings) if self._n else 0)
        return np.array([size] * 3 + [1.0] * 3 + lens + [size] * len(self._anchors) + list(poses))

    def start(self, camera: Camera) -> BundlePoint:
        """The given poses, no displacements."""
        x = np.stack([np.asarray(sighting.x, dtype=float) for sighting in self.sightings])
        zero = np.zeros((len(x), self.robot.motion.n))
        return BundlePoint(camera, np.zeros(len(self._anchors)), x, zero)

    def step(self, point: BundlePoint, z: Array) -> BundlePoint:
        """The point after a step (unknowns,), SI units and px."""
        camera, (R, p) = point.camera, point.camera.pose
        lens = lens_of(camera)
        first = 6 + len(self._lens)
        lens[self._lens] += z[6:first]
        camera = with_lens(camera, lens).at_pose(Pose(R @ rotation_vector(z[3:6]), p + R @ z[:3]))
        last = first + len(self._anchors)
        point = replace(point, camera=camera, anchors=point.anchors + z[first:last])
        if self._n:
            d = point.d + z[last:].reshape(point.d.shape)
            nominal = self.start(camera).x
            y = self._sight_at(point).y
            x = np.stack([self._displaced(*each) for each in zip(nominal, y, d, strict=True)])
            point = replace(point, x=x, d=d)
        return point

    def _sight_at(self, point: BundlePoint) -> EvaluatedStates:
        return self._sight.edges(point.x, camera_numbers(point.camera), point.anchors)

    def system(self, point: BundlePoint) -> BundleSystem:
        """Residuals and Jacobian at a point.

        Raises:
            CalibrationError: if a sighting's pose is out of the robot's reach.
        """
        at = self._sight_at(point)
        if not np.all(np.isfinite(at.results["by_pose"])):
            bad = int(np.flatnonzero(~np.all(np.isfinite(at.results["frame"]), axis=(1, 2, 3, 4)))[0])
            raise CalibrationError(f"the pose of sighting {bad} is out of reach of {self.robot.name}")
        residuals, rows, entries = [], [], []
        start = 0
        for k, sighting in enumerate(self.sightings):
            for i, edge in enumerate(sighting.edges):
                r, J = self._rows(point, at, k, edge)
                entries.append((k, i, slice(start, start + len(r))))
                residuals.append(r)
                rows.append(J)
                start += len(r)
        expected, J = self._prior_rows(point)
        return BundleSystem(
            np.concatenate([*residuals, expected]), np.concatenate([*rows, J]), tuple(entries)
        )

    def _rows(
        self, point: BundlePoint, at: EvaluatedStates, k: int, edge: EdgeObservation
    ) -> tuple[Array, Array]:
        """Rows of one edge of sighting k."""
        index = k, edge.cylinder, edge.side
        frame, q = at.results["frame"][index], at.results["tangent"][index[:2]]
        n, u, m = frame
        if not q > 0.0 or not np.all(np.isfinite(frame)):
            raise CalibrationError(
                "the camera is within a cylinder that it has seen: give another first guess"
            )
        part = edge_rows(point.camera, edge, frame)
        by_camera = np.stack([np.concatenate([np.zeros(3), -m]), np.concatenate([n / q, u])])
        parts = [part.by_normal @ by_camera, part.by_lens[:, self._lens]]
        if self._anchors:
            parts.append(part.by_normal @ at.results["by_anchor"][index])
        J = np.zeros((len(part.r), self.count))
        J[:, : len(self.names)] = np.concatenate(parts, axis=1)
        if self._n:
            first = len(self.names) + k * self._n
            J[:, first : first + self._n] = part.by_normal @ at.results["by_pose"][index]
        return part.r, J

    def _prior_rows(self, point: BundlePoint) -> tuple[Array, Array]:
        """Rows that anchors and poses are near what they are expected to be."""
        values, sigmas = [point.anchors], [np.full(len(self._anchors), self._anchor_sigma)]
        if self._pose_sigma is not None:
            values.append(point.d.ravel())
            sigmas.append(np.tile(self._pose_sigma, len(self.sightings)))
        value, sigma = np.concatenate(values), np.concatenate(sigmas)
        J = np.zeros((len(value), self.count))
        J[:, self.count - len(value) :] = np.diag(1.0 / sigma)
        return value / sigma, J

"""Edges of a robot's rods in the images of a camera, as `nacelle.vision` measures them.

An edge of a cylinder (axis a + s u, radius r) is seen in a plane through the camera's centre p_d; its
normal n, measured in camera axes, gives the residuals

    n . u,     n . (a - p_d) -+ r

with the covariance [u; a]^T C [u; a], C that of the normal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nacelle.calibration.devices import Device, Rows, free_columns, full_values, own_parameters
from nacelle.calibration.loops import Linearised, velocity_maps
from nacelle.calibration.parameters import AXES, Parameter
from nacelle.kinematics.solve.inverse import BodyPoses, inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import left_jacobian, rotation_vector
from nacelle.spatial.scalar import Array
from nacelle.vision.calibration.bundle import EdgeObservation, EdgePoints, edge_rows
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder, tangent_normals, visible_cylinders
from nacelle.vision.measurement import EdgeMeasurement

# Rounds to the plane of an edge's points, whose weights follow it.
_ROUNDS = 4
# Points along an edge that is planned or simulated, between these parts of its length.
_POINTS, _ENDS = 12, (0.1, 0.9)


@dataclass(frozen=True, eq=False)
class Edges(Device):
    """One edge of a cylinder of the robot in the images of a camera.

    Attributes:
        edges: at each sample what was measured, None where it was not seen.
        weights: (S, 2, 2) that whiten its residuals.
        cylinder: which cylinder of the robot (`nacelle.vision.cylinders`).
        side: of its two edges, 0 or 1.
        camera: with its pose in the base.
        tolerance: standard deviations (6,) of its pose before anything is measured, m and rad, base axes.
        name: its name; edges of one camera share it, and so its parameters.
        noise: of a point across the edge, px, where edges are planned and simulated.
    """

    edges: tuple[EdgeMeasurement | None, ...]
    weights: Array
    cylinder: Cylinder
    side: int
    camera: Camera
    tolerance: tuple[float, ...] = (0.0,) * 6
    name: str = "camera"
    noise: float = 0.1

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The camera's pose, as far as it is unknown."""
        return own_parameters(self.name, AXES, self.tolerance)

    @property
    def rows_each(self) -> int:
        """Two residuals at each sample."""
        return 2

    def with_values(self, values: Array) -> Edges:
        """The edges with other normals (S, 3), NaN where one is not seen."""
        edges = tuple(
            replace(edge, normal=normal) if edge is not None and np.isfinite(normal[0]) else None
            for edge, normal in zip(self.edges, values, strict=True)
        )
        return replace(self, edges=edges)

    def blank(self, count: int) -> Edges:
        """Nothing seen at some samples (`at_bodies` gives what would be)."""
        return replace(self, edges=(None,) * count, weights=np.zeros((count, 2, 2)))

    def at_bodies(self, bodies: BodyPoses) -> Edges:
        """What would be seen, of those points along the edge that are in the image, without noise."""
        axes, ends = self._axes(bodies)
        normals = tangent_normals(axes[:, 1], axes[:, 0], self.cylinder.radius)[:, self.side]
        edges: list[EdgeMeasurement | None] = []
        for (first, last), normal in zip(ends, normals, strict=True):
            touch = first - self.cylinder.radius * (1.0, -1.0)[self.side] * normal
            pixels = self.camera.pixels(touch + np.linspace(*_ENDS, _POINTS)[:, None] * (last - first))
            pixels = pixels[self.camera.contains(pixels)]
            points = EdgePoints(0, self.side, pixels, self.noise)
            edges.append(edge_from_points(self.camera, points, normal) if len(pixels) > 1 else None)
        return replace(self, edges=tuple(edges), weights=_weights(edges, axes))

    def _axes(self, bodies: BodyPoses) -> tuple[Array, Array]:
        """Direction and place of the axis (S, 2, 3), and its ends (S, 2, 3), camera axes."""
        R, p = self.camera.pose
        ends = (np.stack(self.cylinder.ends_in_base(*bodies), axis=1) - p) @ R
        direction = (ends[:, 1] - ends[:, 0]) / self.cylinder.length
        return np.stack([direction, ends.mean(axis=1)], axis=1), ends

    def subset(self, rows: Array) -> Edges:
        """What was measured at some samples."""
        return replace(self, edges=tuple(self.edges[k] for k in rows), weights=self.weights[rows])

    def simulate(self, now: Linearised, sag: Array, values: Array, rng: np.random.Generator) -> Edges:
        """The edges as they are seen at states, with the noise that their covariance says."""
        offsets = full_values(self.parameters, values, 6)
        pose = self.camera.pose
        camera = replace(self.camera, pose=Pose(rotation_vector(offsets[3:6]) @ pose.R, pose.p + offsets[:3]))
        axes, _ = replace(self, camera=camera)._axes(BodyPoses(now.values["R"], now.values["p"]))
        normals = tangent_normals(axes[:, 1], axes[:, 0], self.cylinder.radius)[:, self.side]
        for k, edge in enumerate(self.edges):
            if edge is None:
                normals[k] = np.nan
                continue
            squares, directions = np.linalg.eigh(edge.covariance)
            normals[k] += directions @ (np.sqrt(np.maximum(squares, 0.0)) * rng.normal(size=3))
        return self.with_values(normals / np.linalg.norm(normals, axis=1, keepdims=True))

    @property
    def measured(self) -> Array:
        """The normals (S, 3)."""
        return np.array([np.full(3, np.nan) if edge is None else edge.normal for edge in self.edges]).reshape(
            -1, 3
        )

    @property
    def present(self) -> Array:
        """Both residuals or none (S, 2)."""
        return np.isfinite(self.measured[:, :2])

    def rows(self, now: Linearised, sag: Array, values: Array) -> Rows:
        """Residuals n . u and n . a -+ r, whitened by the covariance of the normals."""
        offsets = full_values(self.parameters, values, 6)
        pose = self.camera.pose
        R_d, p_d = rotation_vector(offsets[3:6]) @ pose.R, pose.p + offsets[:3]
        body, n = self.cylinder.body, self.measured @ R_d.T
        a, _ = now.point(body, 0.5 * (self.cylinder.A + self.cylinder.B))
        u = now.values["R"][:, body] @ self.cylinder.direction
        radius = self.cylinder.radius * (1.0, -1.0)[self.side]
        d = a - p_d
        residual = np.stack([np.sum(n * u, axis=1), np.sum(n * d, axis=1) - radius], axis=1)
        # n . (w x u) = (u x n) . w; turning the camera turns n.
        turns = np.zeros((len(a), 2, 6))
        turns[:, 0, 3:] = np.cross(u, n)
        turns[:, 1:] = n[:, None] @ velocity_maps(a)
        by_device = np.zeros((len(a), 2, 6))
        by_device[:, 1, :3] = -n
        by_device[:, 0, 3:] = -np.cross(u, n) @ left_jacobian(offsets[3:6])
        by_device[:, 1, 3:] = -np.cross(d, n) @ left_jacobian(offsets[3:6])
        W = self.weights
        response = now.body(body).transform(W @ turns)
        return Rows(
            (W @ residual[:, :, None])[:, :, 0], response, free_columns(self.parameters, W @ by_device)
        )


def edge_devices(
    robot: Robot,
    x: Array,
    sightings: Sequence[Sequence[EdgeObservation]],
    camera: Camera,
    tolerance: Sequence[float],
    name: str = "camera",
) -> tuple[Edges, ...]:
    """All edges that a camera has seen at poses x (S, nx) of the description, one device for each.

    Args:
        robot: the robot.
        x: poses of the description near those of the samples.
        sightings: what was seen at each: normals of edges, or points of them.
        camera: with its pose in the base.
        tolerance: standard deviations (6,) of its pose, m and rad, base axes.
        name: of the camera.
    """
    result = []
    bodies = inverse_kinematics(robot, x, limits=False).bodies
    for k, cylinder in enumerate(visible_cylinders(robot)):
        for side in range(2):
            observations = [
                next((edge for edge in seen if (edge.cylinder, edge.side) == (k, side)), None)
                for seen in sightings
            ]
            if not any(observations):
                continue
            device = Edges((), np.zeros((0, 2, 2)), cylinder, side, camera, tuple(tolerance), name)
            axes, _ = device._axes(bodies)
            expected = tangent_normals(axes[:, 1], axes[:, 0], cylinder.radius)[:, side]
            edges = [
                edge_from_points(camera, edge, normal) if isinstance(edge, EdgePoints) else edge
                for edge, normal in zip(observations, expected, strict=True)
            ]
            result.append(replace(device, edges=tuple(edges), weights=_weights(edges, axes)))
    return tuple(result)


def blank_edges(
    robot: Robot, camera: Camera, noise: float, tolerance: Sequence[float], name: str = "camera"
) -> tuple[Edges, ...]:
    """All edges that a camera may see, nothing measured yet: to plan poses and to simulate.

    Args:
        robot: the robot.
        camera: with its pose in the base.
        noise: of a point across its edge, px.
        tolerance: standard deviations (6,) of the camera's pose, m and rad, base axes.
        name: of the camera.
    """
    return tuple(
        Edges((), np.zeros((0, 2, 2)), cylinder, side, camera, tuple(tolerance), name, noise)
        for cylinder in visible_cylinders(robot)
        for side in range(2)
    )


def _weights(edges: Sequence[EdgeMeasurement | None], axes: Array) -> Array:
    """Weights (S, 2, 2) that whiten residuals, of axes (S, 2, 3) as `Edges._axes` gives them."""
    weights = np.zeros((len(edges), 2, 2))
    for s, edge in enumerate(edges):
        if edge is not None:
            weights[s] = np.linalg.inv(np.linalg.cholesky(axes[s] @ edge.covariance @ axes[s].T))
    return weights


def edge_from_points(camera: Camera, edge: EdgePoints, expected: Array) -> EdgeMeasurement:
    """The normal of the plane through points of an edge, nearest to an expected one (3,), and its covariance.

    With E two directions across n, the rows (`edge_rows`) of the points change by E da of a rotated normal.
    """
    n = expected / np.linalg.norm(expected)
    for _ in range(_ROUNDS):
        E = np.linalg.svd(n[None])[2][1:]
        rows = edge_rows(camera, edge, np.vstack([n, E]))
        J = rows.by_normal
        n = n - E.T @ np.linalg.lstsq(J, rows.r, rcond=None)[0]
        n /= np.linalg.norm(n)
    C = E.T @ np.linalg.pinv(J.T @ J) @ E
    return EdgeMeasurement(0.0, 0.0, edge.cylinder, edge.side, n, C)

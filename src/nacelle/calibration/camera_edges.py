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
from nacelle.errors import CalibrationError
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import left_jacobian, rotation_vector
from nacelle.spatial.scalar import Array
from nacelle.vision.calibration.bundle import EdgeObservation, EdgePoints, edge_rows
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder, tangent_normals, visible_cylinders
from nacelle.vision.measurement import EdgeMeasurement

# Rounds to the plane of an edge's points, whose weights follow it.
_ROUNDS = 4


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
    """

    edges: tuple[EdgeMeasurement | None, ...]
    weights: Array
    cylinder: Cylinder
    side: int
    camera: Camera
    tolerance: tuple[float, ...] = (0.0,) * 6
    name: str = "camera"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The camera's pose, as far as it is unknown."""
        return own_parameters(self.name, AXES, self.tolerance)

    @property
    def rows_each(self) -> int:
        """Two residuals at each sample."""
        return 2

    def with_values(self, values: Array) -> Edges:
        """Without an image there are no edges."""
        raise CalibrationError("edges come from images: plan and simulate with Target, points in images")

    def subset(self, rows: Array) -> Edges:
        """What was measured at some samples."""
        return replace(self, edges=tuple(self.edges[k] for k in rows), weights=self.weights[rows])

    def simulate(self, now: Linearised, sag: Array, values: Array, rng: np.random.Generator) -> Edges:
        """The normals turned within their planes of rotation so that residuals are noise alone."""
        raise CalibrationError("edges are simulated by rendering images: `nacelle.vision.measure`")

    @property
    def measured(self) -> Array:
        """The normals (S, 3)."""
        return np.array([np.full(3, np.nan) if edge is None else edge.normal for edge in self.edges])

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
    cylinders, result = visible_cylinders(robot), []
    bodies = inverse_kinematics(robot, x, limits=False).bodies
    for k, cylinder in enumerate(cylinders):
        A, B = cylinder.ends_in_base(*bodies)
        axes = np.stack([(B - A) / cylinder.length, 0.5 * (A + B) - camera.pose.p], axis=1) @ camera.pose.R
        for side in range(2):
            observations = [
                next((edge for edge in seen if (edge.cylinder, edge.side) == (k, side)), None)
                for seen in sightings
            ]
            if not any(observations):
                continue
            expected = tangent_normals(axes[:, 1], axes[:, 0], cylinder.radius)[:, side]
            edges = tuple(
                edge_from_points(camera, edge, normal) if isinstance(edge, EdgePoints) else edge
                for edge, normal in zip(observations, expected, strict=True)
            )
            weights = np.zeros((len(edges), 2, 2))
            for s, edge in enumerate(edges):
                if edge is not None:
                    weights[s] = np.linalg.inv(np.linalg.cholesky(axes[s] @ edge.covariance @ axes[s].T))
            result.append(Edges(edges, weights, cylinder, side, camera, tuple(tolerance), name))
    return tuple(result)


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

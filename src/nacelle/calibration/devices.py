"""What measures a robot: its predictions, and how they change with the robot and with the device itself.

Each device gives residuals r = predicted - measured at every sample, over the standard deviations; NaN was
not measured. With V the spatial twist of the body that carries the tool point p = p_b + R_b t, and the
device's frame (R_d, p_d) in the base, R_d <- exp(d) R_d,

    Tracker   R_d^T (p - p_d), log(R_pred R_meas^T)             position, orientation, axes of the device
    Distance  |p - a| + offset                                  a a point of the base: a ball bar, a wire
    Target    pixels of the tool point, seen by a camera whose frame is (R_d, p_d)
    Edges     normals n of the planes through the camera and an edge of a cylinder (axis a + s u, radius r):
              n . u and n . a -+ r                              as `nacelle.vision` measures them
    Pairs     |p_i - p_j|, or p_i - p_j = 0                     of two samples: an artefact, or a revisit

Heights of a probed plane are a tracker of which "z" alone is measured.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from nacelle.calibration.loops import Linearised, Response, skews, velocity_maps
from nacelle.calibration.parameters import AXES, Parameter
from nacelle.errors import CalibrationError, did_you_mean
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import (
    left_jacobian,
    quat_conjugate,
    quat_exp,
    quat_from_matrices,
    quat_from_rotation,
    quat_log,
    quat_multiply,
    rotation_vector,
)
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder, visible_cylinders
from nacelle.vision.measurement import EdgeMeasurement


class Tool(NamedTuple):
    """The point that is measured: on a body, at `point` (3,), m, of its frame, known to a tolerance (m)."""

    body: int = PLATFORM
    point: Array = np.zeros(3)
    tolerance: float = 0.0


class Rows(NamedTuple):
    """Residuals of a device (S, k), whitened, and how they change.

    Attributes:
        residual: (S, k), NaN where nothing was measured.
        response: to the motion and to the parameters of the robot.
        by_device: to the device's own parameters (S, k, d).
    """

    residual: Array
    response: Response
    by_device: Array


class Device(ABC):
    """What every device has."""

    name: str

    @property
    @abstractmethod
    def parameters(self) -> tuple[Parameter, ...]:
        """What is unknown of the device itself."""

    @property
    @abstractmethod
    def measured(self) -> Array:
        """What was measured at each sample (S, k), NaN where nothing was."""

    @property
    @abstractmethod
    def rows_each(self) -> int:
        """Number of residuals at each sample."""

    @abstractmethod
    def subset(self, rows: Array) -> Device:
        """What was measured at some samples."""

    @abstractmethod
    def with_values(self, values: Array) -> Device:
        """The device with other measurements (S, k)."""

    @abstractmethod
    def rows(self, now: Linearised, sag: Array, values: Array) -> Rows:
        """Residuals at states; `sag` (S, 6) displaces the platform, `values` (d,) are the device's own."""

    @abstractmethod
    def simulate(self, now: Linearised, sag: Array, values: Array, rng: np.random.Generator) -> Device:
        """The device with what it would measure at states, noise added."""


def _own_parameters(name: str, labels: Sequence[str], tolerances: Sequence[float]) -> tuple[Parameter, ...]:
    """Those whose tolerance is not zero."""
    return tuple(
        Parameter(f"{name}.{label}", "device", "rad" if label.startswith("r") else "m", tolerance, (k,))
        for k, (label, tolerance) in enumerate(zip(labels, tolerances, strict=True))
        if tolerance > 0.0
    )


_TOOL = ("tool.x", "tool.y", "tool.z")


def _full(parameters: Sequence[Parameter], values: Array, count: int) -> Array:
    """All `count` numbers of a device from those that are free."""
    result = np.zeros(count)
    for item, value in zip(parameters, values, strict=True):
        result[item.target[0]] = value
    return result


def _free(parameters: Sequence[Parameter], columns: Array) -> Array:
    return columns[:, :, [item.target[0] for item in parameters]]


def _tool_point(now: Linearised, tool: Tool, offset: Array, sag: Array) -> tuple[Array, Response, Array]:
    """Positions (S, 3) of a tool point, sag included; their change, and that along the body's axes."""
    p, response = now.point(tool.body, tool.point + offset)
    if tool.body == PLATFORM:
        arm = p - now.values["p"][:, PLATFORM]
        p = p + sag[:, :3] + np.cross(sag[:, 3:], arm)
    return p, response, now.values["R"][:, tool.body]


class _Measured(Device):
    """Devices whose measurements are numbers."""

    values: Array

    @property
    def measured(self) -> Array:
        """What was measured (S, k)."""
        return self.values

    @property
    def rows_each(self) -> int:
        """Number of residuals at each sample."""
        return int(self.values.shape[1])

    def subset(self, rows: Array) -> Device:
        """What was measured at some samples."""
        return self.with_values(self.values[rows])

    def with_values(self, values: Array) -> Device:
        """The device with other measurements (S, k)."""
        return replace(self, values=values)  # type: ignore[type-var]  # all of them are dataclasses


@dataclass(frozen=True, eq=False)
class Tracker(_Measured):
    """Full or partial poses, or single coordinates, of a tool in a device's frame.

    Attributes:
        values: (S, k), m and rad (rotation vectors of the body in the device's frame); NaN: not measured.
        coordinates: what the columns are: of "x", "y", "z", "rx", "ry", "rz"; the rotations all or none.
        noise: standard deviations (k,), m and rad.
        frame: the device's frame in the base.
        tolerance: standard deviations (6,) of the frame before anything is measured, m and rad, base axes; 0
            where it is known, infinite where it is to be found from the positions.
        tool: what is measured.
        name: its name.
    """

    values: Array
    noise: Array
    coordinates: tuple[str, ...] = AXES[:3]
    frame: Pose = field(default_factory=identity)
    tolerance: tuple[float, ...] = (np.inf,) * 6
    tool: Tool = field(default_factory=Tool)
    name: str = "tracker"

    def __post_init__(self) -> None:
        for coordinate in self.coordinates:
            if coordinate not in AXES:
                raise CalibrationError(
                    f"{self.name} measures {coordinate!r}: {did_you_mean(coordinate, AXES)}"
                )
        if len({*self.coordinates} & {*AXES[3:]}) not in (0, 3):
            raise CalibrationError(f"{self.name} measures part of a rotation vector: give rx, ry and rz")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The frame and the tool point, as far as they are unknown."""
        tolerances = (*self.tolerance, *(self.tool.tolerance,) * 3)
        return _own_parameters(self.name, (*AXES, *_TOOL), tolerances)

    @property
    def is_lost(self) -> bool:
        """Whether its frame is to be found from the positions."""
        return bool(np.any(np.isinf(self.tolerance)))

    def within(self, size: float) -> Tracker:
        """The same, its frame known to a robot's size (m) and 1 rad where it is not known at all."""
        return replace(self, tolerance=(size,) * 3 + (1.0,) * 3) if self.is_lost else self

    def frame_at(self, offsets: Array) -> Pose:
        """The frame displaced by offsets (6,) in base axes."""
        return Pose(rotation_vector(offsets[3:6]) @ self.frame.R, self.frame.p + offsets[:3])

    def rows(self, now: Linearised, sag: Array, values: Array) -> Rows:
        """Residuals of the coordinates, over the noise."""
        offsets = _full(self.parameters, values, 9)
        R_d, p_d = self.frame_at(offsets)
        tilt_vector = left_jacobian(offsets[3:6])
        p, _, R_b = _tool_point(now, self.tool, offsets[6:], sag)
        count = len(p)
        residual, by_device = np.zeros((count, 6)), np.zeros((count, 6, 9))
        measured = np.full((count, 6), np.nan)
        measured[:, [AXES.index(name) for name in self.coordinates]] = self.values
        residual[:, :3] = (p - p_d) @ R_d - measured[:, :3]
        # d (R_d^T (p - p_d)) by exp(w) R_d is R_d^T ((p - p_d) x w).
        by_device[:, :3, :3] = -R_d.T
        by_device[:, :3, 3:6] = R_d.T @ skews(p - p_d) @ tilt_vector
        by_device[:, :3, 6:] = R_d.T @ R_b
        maps = np.zeros((count, 6, 6))
        maps[:, :3] = R_d.T @ velocity_maps(p)
        maps[:, 3:, 3:] = R_d.T
        if "rx" in self.coordinates:
            sagging = sag[:, 3:] if self.tool.body == PLATFORM else np.zeros((count, 3))
            tilt = quat_multiply(quat_exp(sagging), quat_from_matrices(R_b))
            seen = quat_multiply(quat_conjugate(quat_from_rotation(R_d)), tilt)
            off = quat_multiply(seen, quat_conjugate(quat_exp(np.nan_to_num(measured[:, 3:]))))
            residual[:, 3:] = quat_log(off)
            by_device[:, 3:, 3:6] = -R_d.T @ tilt_vector
            # Where residuals are small their rate is the angular velocity; exactly, J^-1 of them.
            inverse = inverse_left_jacobians(residual[:, 3:])
            maps[:, 3:] = inverse @ maps[:, 3:]
            by_device[:, 3:] = inverse @ by_device[:, 3:]
            residual[np.isnan(measured)] = np.nan
        keep = [AXES.index(name) for name in self.coordinates]
        weight = 1.0 / np.broadcast_to(np.asarray(self.noise, dtype=float), (len(keep),))[:, None]
        response = now.body(self.tool.body).transform(weight * maps[:, keep])
        return Rows(
            residual[:, keep] * weight[:, 0], response, _free(self.parameters, weight * by_device[:, keep])
        )

    def simulate(self, now: Linearised, sag: Array, values: Array, rng: np.random.Generator) -> Tracker:
        """The device with what it would measure at states, noise added."""
        blank = np.where(np.isnan(self.values), np.nan, 0.0)
        residual = replace(self, values=blank).rows(now, sag, values).residual
        return replace(self, values=blank + self.noise * (residual + rng.normal(size=residual.shape)))


def inverse_left_jacobians(r: Array) -> Array:
    """J(r)^-1 = 1 - K / 2 + (1 - a sin a / (2 (1 - cos a))) K K / a^2 (S, 3, 3), K = skew(r), a = |r|."""
    K, square = skews(r), np.sum(r * r, axis=1)
    safe = np.where(square > 1e-4, square, 1.0)
    a = np.sqrt(safe)
    exact = (1.0 - a * np.sin(a) / (2.0 * (1.0 - np.cos(a)))) / safe
    series = 1.0 / 12.0 + square / 720.0 + square**2 / 30240.0
    factor = np.where(square > 1e-4, exact, series)
    return np.asarray(np.eye(3) - 0.5 * K + factor[:, None, None] * (K @ K))


@dataclass(frozen=True, eq=False)
class Distance(_Measured):
    """Distances of a tool point from a point of the base: a double ball bar, a wire.

    Attributes:
        values: (S, 1), m; NaN where nothing was measured.
        noise: standard deviation, m.
        point: of the base (3,), m.
        tolerance: standard deviations (x, y, z, offset) before anything is measured, m; 0 where known.
        tool: what is measured.
        name: its name.
    """

    values: Array
    noise: float
    point: Array
    tolerance: tuple[float, float, float, float] = (0.0,) * 4
    tool: Tool = field(default_factory=Tool)
    name: str = "ball bar"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The point, the offset and the tool point, as far as they are unknown."""
        tolerances = (*self.tolerance, *(self.tool.tolerance,) * 3)
        return _own_parameters(self.name, ("x", "y", "z", "offset", *_TOOL), tolerances)

    def rows(self, now: Linearised, sag: Array, values: Array) -> Rows:
        """Residuals of the distances, over the noise."""
        offsets = _full(self.parameters, values, 7)
        p, moves, R_b = _tool_point(now, self.tool, offsets[4:], sag)
        d = p - (self.point + offsets[:3])
        length = np.linalg.norm(d, axis=1, keepdims=True)
        e = (d / length)[:, None] / self.noise
        item = np.full((len(p), 1, 1), 1.0 / self.noise)
        by_device = np.concatenate([-e, item, e @ R_b], axis=2)
        residual = (length + offsets[3] - self.values) / self.noise
        return Rows(residual, moves.transform(e), _free(self.parameters, by_device))

    def simulate(self, now: Linearised, sag: Array, values: Array, rng: np.random.Generator) -> Distance:
        """The device with what it would measure at states, noise added."""
        residual = self.rows(now, sag, values).residual
        return replace(self, values=self.values + self.noise * (residual + rng.normal(size=residual.shape)))


@dataclass(frozen=True, eq=False)
class Target(_Measured):
    """A tool point in the images of a camera.

    Attributes:
        values: pixels (S, 2), NaN where it was not seen.
        noise: standard deviation, px.
        camera: with its pose in the base.
        tolerance: standard deviations (6,) of its pose before anything is measured, m and rad, base axes.
        tool: what is seen.
        name: its name.
    """

    values: Array
    noise: float
    camera: Camera
    tolerance: tuple[float, ...] = (0.0,) * 6
    tool: Tool = field(default_factory=Tool)
    name: str = "camera"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The camera's pose and the tool point, as far as they are unknown."""
        tolerances = (*self.tolerance, *(self.tool.tolerance,) * 3)
        return _own_parameters(self.name, (*AXES, *_TOOL), tolerances)

    def rows(self, now: Linearised, sag: Array, values: Array) -> Rows:
        """Residuals of the pixels, over the noise."""
        offsets = _full(self.parameters, values, 9)
        pose = self.camera.pose
        R_d, p_d = rotation_vector(offsets[3:6]) @ pose.R, pose.p + offsets[:3]
        p, moves, R_b = _tool_point(now, self.tool, offsets[6:], sag)
        rays = (p - p_d) @ R_d
        bent = self.camera.pixel_jacobian(rays) @ R_d.T / self.noise
        residual = (self.camera.pixels(rays) - self.values) / self.noise
        by_device = np.concatenate(
            [-bent, bent @ skews(p - p_d) @ left_jacobian(offsets[3:6]), bent @ R_b], axis=2
        )
        return Rows(residual, moves.transform(bent), _free(self.parameters, by_device))

    def simulate(self, now: Linearised, sag: Array, values: Array, rng: np.random.Generator) -> Target:
        """The device with what it would measure at states, noise added."""
        residual = self.rows(now, sag, values).residual
        return replace(self, values=self.values + self.noise * (residual + rng.normal(size=residual.shape)))


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
        return _own_parameters(self.name, AXES, self.tolerance)

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

    def rows(self, now: Linearised, sag: Array, values: Array) -> Rows:
        """Residuals n . u and n . a -+ r, whitened by the covariance of the normals."""
        offsets = _full(self.parameters, values, 6)
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
        return Rows((W @ residual[:, :, None])[:, :, 0], response, _free(self.parameters, W @ by_device))


def edge_devices(
    robot: Robot,
    x: Array,
    sightings: Sequence[Sequence[EdgeMeasurement]],
    camera: Camera,
    tolerance: Sequence[float],
) -> tuple[Edges, ...]:
    """All edges that a camera has seen at poses x (S, nx) of the description, one device for each.

    The residuals n . u, n . a of an edge have the covariance [u; a] C [u; a]^T, C that of its normal.
    """
    cylinders, result = visible_cylinders(robot), []
    bodies = inverse_kinematics(robot, x, limits=False).bodies
    for k, cylinder in enumerate(cylinders):
        A, B = cylinder.ends_in_base(*bodies)
        axes = np.stack([(B - A) / cylinder.length, 0.5 * (A + B) - camera.pose.p], axis=1) @ camera.pose.R
        for side in range(2):
            edges = tuple(
                next((edge for edge in seen if (edge.cylinder, edge.side) == (k, side)), None)
                for seen in sightings
            )
            if not any(edges):
                continue
            weights = np.zeros((len(edges), 2, 2))
            for s, edge in enumerate(edges):
                if edge is not None:
                    weights[s] = np.linalg.inv(np.linalg.cholesky(axes[s] @ edge.covariance @ axes[s].T))
            result.append(Edges(edges, weights, cylinder, side, camera, tuple(tolerance)))
    return tuple(result)


@dataclass(frozen=True, eq=False)
class Pairs:
    """What was measured between two samples: the distance of tool points, or that they are one place.

    Attributes:
        samples: pairs of samples (N, 2).
        values: distances (N, 1), m; or zeros (N, 3): the same place.
        noise: standard deviation, m.
        tool: whose place it is.
        name: its name.
    """

    samples: Array
    values: Array
    noise: float
    tool: Tool = field(default_factory=Tool)
    name: str = "pairs"

    def between(self, now: Linearised, sag: Array) -> tuple[Array, Response, Response]:
        """Residuals (N, k), and how they change with the first and with the second sample of each pair."""
        p, moves, _ = _tool_point(now, self.tool, np.zeros(3), sag)
        first, second = self.samples.T
        d = p[second] - p[first]
        if self.values.shape[1] == 3:
            maps = np.broadcast_to(np.eye(3), (len(d), 3, 3)) / self.noise
            residual = (d - self.values) / self.noise
        else:
            length = np.linalg.norm(d, axis=1, keepdims=True)
            maps = (d / length)[:, None] / self.noise
            residual = (length - self.values) / self.noise
        at = [Response(moves.by_motion[k], moves.by_parameters[k]) for k in (first, second)]
        return residual, at[0].transform(-maps), at[1].transform(maps)

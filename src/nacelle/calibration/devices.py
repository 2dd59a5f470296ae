"""What measures a robot: its predictions, and how they change with the robot and with the device itself.

Each device gives residuals r = predicted - measured at every sample, over the standard deviations; NaN was
not measured. With V the spatial twist of the body that carries the tool point p = p_b + R_b t, and the
device's frame (R_d, p_d) in the base, R_d <- exp(d) R_d,

    Tracker   R_d^T (p - p_d), log(R_pred R_meas^T)             position, orientation, axes of the device;
                                                                R_pred = R_d^T R_b R_t of a mark turned by R_t
    Distance  |p - a| + offset                                  a a point of the base: a ball bar, a wire
    Target    pixels of the tool point, seen by a camera whose frame is (R_d, p_d)
    Places    p - P_k                                           a place P_k that nobody knows, visited again
    Pairs     |p_i - p_j|                                       of two samples: the distance of two of them

Heights of a probed plane are a tracker of which "z" alone is measured; edges of the robot's rods in
images are in `camera_edges`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from nacelle.calibration.lines_of_sight import UNLIMITED, PointOfBody, View, seen_poses
from nacelle.calibration.loops import Linearised, Response, velocity_maps
from nacelle.calibration.parameters import AXES, Parameter
from nacelle.errors import CalibrationError, did_you_mean
from nacelle.kinematics.solve.inverse import BodyPoses
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
    skews,
)
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera


class Tool(NamedTuple):
    """What is measured on a body: a point of its frame (3,), m, and a mark turned by R against it (3, 3).

    Both are known to tolerances, m and rad.
    """

    body: int = PLATFORM
    point: Array = np.zeros(3)
    tolerance: float = 0.0
    R: Array = np.eye(3)
    rotation_tolerance: float = 0.0


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

    @property
    def present(self) -> Array:
        """Which residuals (S, rows) were measured."""
        return np.isfinite(self.measured)

    def sees(self, robot: Robot, bodies: BodyPoses) -> Array:
        """Which poses of the bodies (S,) it would see."""
        return np.ones(len(bodies.p), dtype=bool)

    @abstractmethod
    def subset(self, rows: Array) -> Device:
        """What was measured at some samples."""

    @abstractmethod
    def with_values(self, values: Array) -> Device:
        """The device with other measurements (S, k)."""

    def blank(self, count: int) -> Device:
        """The device with nothing measured yet at some samples: zeros."""
        return self.with_values(np.zeros((count, self.rows_each)))

    @abstractmethod
    def rows(self, now: Linearised, sag: Array, values: Array) -> Rows:
        """Residuals at states; `sag` (S, 6) displaces the platform, `values` (d,) are the device's own."""

    @abstractmethod
    def simulate(self, now: Linearised, sag: Array, values: Array, rng: np.random.Generator) -> Device:
        """The device with what it would measure at states, noise added."""


def own_parameters(name: str, labels: Sequence[str], tolerances: Sequence[float]) -> tuple[Parameter, ...]:
    """Those whose tolerance is not zero."""
    return tuple(
        Parameter(
            f"{name}.{label}",
            "device",
            "rad" if label.rpartition(".")[2].startswith("r") else "m",
            tolerance,
            (k,),
        )
        for k, (label, tolerance) in enumerate(zip(labels, tolerances, strict=True))
        if tolerance > 0.0
    )


_TOOL, _MARK = ("tool.x", "tool.y", "tool.z"), ("tool.rx", "tool.ry", "tool.rz")


def full_values(parameters: Sequence[Parameter], values: Array, count: int) -> Array:
    """All `count` numbers of a device from those that are free."""
    result = np.zeros(count)
    for item, value in zip(parameters, values, strict=True):
        result[item.target[0]] = value
    return result


def free_columns(parameters: Sequence[Parameter], columns: Array) -> Array:
    """The columns of those that are free."""
    return columns[:, :, [item.target[0] for item in parameters]]


class ToolPoints(NamedTuple):
    """Tool points at samples, sag included: p = p_b + s + S R_b t, S the rotation by which the platform sags.

    Attributes:
        p: positions (S, 3), m.
        response: their change.
        R: orientations S R_b (S, 3, 3) of the body, along whose axes the tool point is known.
        rotation: the change of these, as angular velocities (S, 3, ...).
    """

    p: Array
    response: Response
    R: Array
    rotation: Response


def tool_points(now: Linearised, tool: Tool, offset: Array, sag: Array) -> ToolPoints:
    """Where a tool point is, `offset` (3,) from where it is described."""
    R, origin = now.values["R"][:, tool.body], now.values["p"][:, tool.body]
    arm = R @ (tool.point + offset)
    twist = now.body(tool.body)
    turns = np.zeros((len(R), 3, 6))
    turns[:, :, 3:] = np.eye(3)
    if tool.body != PLATFORM or not np.any(sag):
        p = origin + arm
        return ToolPoints(p, twist.transform(velocity_maps(p)), R, twist.transform(turns))
    S = np.stack([rotation_vector(vector) for vector in sag[:, 3:]])
    maps = velocity_maps(origin)
    maps[:, :, 3:] -= S @ skews(arm)
    turns[:, :, 3:] = S
    p = origin + sag[:, :3] + (S @ arm[:, :, None])[:, :, 0]
    return ToolPoints(p, twist.transform(maps), S @ R, twist.transform(turns))


class _Measured(Device):
    """Devices whose measurements are numbers."""

    values: Array
    noise: Any

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

    def simulate(self, now: Linearised, sag: Array, values: Array, rng: np.random.Generator) -> Device:
        """The device with what it would measure at states, noise added."""
        blank = np.where(np.isnan(self.values), np.nan, 0.0)
        residual = self.with_values(blank).rows(now, sag, values).residual
        return self.with_values(blank + self.noise * (residual + rng.normal(size=residual.shape)))


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
        view: what limits its sight.
    """

    values: Array
    noise: Array
    coordinates: tuple[str, ...] = AXES[:3]
    frame: Pose = field(default_factory=identity)
    tolerance: tuple[float, ...] = (np.inf,) * 6
    tool: Tool = field(default_factory=Tool)
    name: str = "tracker"
    view: View = UNLIMITED

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
        """The frame, the tool point and the mark's rotation, as far as they are unknown."""
        tolerances = (*self.tolerance, *(self.tool.tolerance,) * 3, *(self.tool.rotation_tolerance,) * 3)
        return own_parameters(self.name, (*AXES, *_TOOL, *_MARK), tolerances)

    def sees(self, robot: Robot, bodies: BodyPoses) -> Array:
        """Which poses of the bodies (S,) it would see.

        Raises:
            CalibrationError: if it has a view and no place.
        """
        if self.is_lost and self.view != UNLIMITED:
            raise CalibrationError(
                f"{self.name} has a range or a line of sight: give its position in the base, with a tolerance"
            )
        return seen_poses(
            robot, bodies, PointOfBody(self.tool.body, self.tool.point), self.frame.p, self.view
        )

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
        offsets = full_values(self.parameters, values, 12)
        R_d, p_d = self.frame_at(offsets)
        tilt_vector = left_jacobian(offsets[3:6])
        seen = tool_points(now, self.tool, offsets[6:9], sag)
        count, off = len(seen.p), seen.p - p_d
        residual, by_device = np.zeros((count, 6)), np.zeros((count, 6, 12))
        measured = np.full((count, 6), np.nan)
        measured[:, [AXES.index(name) for name in self.coordinates]] = self.values
        residual[:, :3] = off @ R_d - measured[:, :3]
        # d (R_d^T (p - p_d)) by exp(w) R_d is R_d^T ((p - p_d) x w).
        by_device[:, :3, :3] = -R_d.T
        by_device[:, :3, 3:6] = R_d.T @ skews(off) @ tilt_vector
        by_device[:, :3, 6:9] = R_d.T @ seen.R
        maps = np.broadcast_to(R_d.T, (count, 3, 3))
        parts = [seen.response.transform(maps)]
        if "rx" in self.coordinates:
            mark = seen.R @ rotation_vector(offsets[9:]) @ self.tool.R
            tilt = quat_multiply(quat_conjugate(quat_from_rotation(R_d)), quat_from_matrices(mark))
            residual[:, 3:] = quat_log(
                quat_multiply(tilt, quat_conjugate(quat_exp(np.nan_to_num(measured[:, 3:]))))
            )
            by_device[:, 3:, 3:6] = -R_d.T @ tilt_vector
            by_device[:, 3:, 9:] = R_d.T @ seen.R @ left_jacobian(offsets[9:])
            # Where residuals are small their rate is the angular velocity; exactly, J^-1 of them.
            inverse = inverse_left_jacobians(residual[:, 3:])
            by_device[:, 3:] = inverse @ by_device[:, 3:]
            parts.append(seen.rotation.transform(inverse @ maps))
            residual[np.isnan(measured)] = np.nan
        keep = [AXES.index(name) for name in self.coordinates]
        weight = 1.0 / np.broadcast_to(np.asarray(self.noise, dtype=float), (len(keep),))[:, None]
        by_motion, by_parameters = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        return Rows(
            residual[:, keep] * weight[:, 0],
            Response(weight * by_motion[:, keep], weight * by_parameters[:, keep]),
            free_columns(self.parameters, weight * by_device[:, keep]),
        )


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
        view: what limits its reach.
    """

    values: Array
    noise: float
    point: Array
    tolerance: tuple[float, float, float, float] = (0.0,) * 4
    tool: Tool = field(default_factory=Tool)
    name: str = "ball bar"
    view: View = UNLIMITED

    def sees(self, robot: Robot, bodies: BodyPoses) -> Array:
        """Which poses of the bodies (S,) it reaches."""
        return seen_poses(robot, bodies, PointOfBody(self.tool.body, self.tool.point), self.point, self.view)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The point, the offset and the tool point, as far as they are unknown."""
        tolerances = (*self.tolerance, *(self.tool.tolerance,) * 3)
        return own_parameters(self.name, ("x", "y", "z", "offset", *_TOOL), tolerances)

    def rows(self, now: Linearised, sag: Array, values: Array) -> Rows:
        """Residuals of the distances, over the noise."""
        offsets = full_values(self.parameters, values, 7)
        p, moves, R_b, _ = tool_points(now, self.tool, offsets[4:], sag)
        d = p - (self.point + offsets[:3])
        length = np.linalg.norm(d, axis=1, keepdims=True)
        e = (d / length)[:, None] / self.noise
        item = np.full((len(p), 1, 1), 1.0 / self.noise)
        by_device = np.concatenate([-e, item, e @ R_b], axis=2)
        residual = (length + offsets[3] - self.values) / self.noise
        return Rows(residual, moves.transform(e), free_columns(self.parameters, by_device))


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
        view: what limits its sight, in addition to its image.
    """

    values: Array
    noise: float
    camera: Camera
    tolerance: tuple[float, ...] = (0.0,) * 6
    tool: Tool = field(default_factory=Tool)
    name: str = "camera"
    view: View = UNLIMITED

    def sees(self, robot: Robot, bodies: BodyPoses) -> Array:
        """Which poses of the bodies (S,) it would see."""
        p = bodies.p[:, self.tool.body] + bodies.R[:, self.tool.body] @ self.tool.point
        seen = seen_poses(
            robot, bodies, PointOfBody(self.tool.body, self.tool.point), self.camera.pose.p, self.view
        )
        return np.asarray(seen & self.camera.contains(self.camera.project(p)))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The camera's pose and the tool point, as far as they are unknown."""
        tolerances = (*self.tolerance, *(self.tool.tolerance,) * 3)
        return own_parameters(self.name, (*AXES, *_TOOL), tolerances)

    def rows(self, now: Linearised, sag: Array, values: Array) -> Rows:
        """Residuals of the pixels, over the noise."""
        offsets = full_values(self.parameters, values, 9)
        pose = self.camera.pose
        R_d, p_d = rotation_vector(offsets[3:6]) @ pose.R, pose.p + offsets[:3]
        p, moves, R_b, _ = tool_points(now, self.tool, offsets[6:], sag)
        rays = (p - p_d) @ R_d
        bent = self.camera.pixel_jacobian(rays) @ R_d.T / self.noise
        residual = (self.camera.pixels(rays) - self.values) / self.noise
        by_device = np.concatenate(
            [-bent, bent @ skews(p - p_d) @ left_jacobian(offsets[3:6]), bent @ R_b], axis=2
        )
        return Rows(residual, moves.transform(bent), free_columns(self.parameters, by_device))


@dataclass(frozen=True, eq=False)
class Places(_Measured):
    """Places that nobody knows, each visited several times: a socket, a pin, a mark under a probe.

    Attributes:
        values: (S, 1), which place each sample is at, numbers from 0; NaN: at none.
        noise: standard deviation of a visit along each axis, m.
        tool: what visits them.
        name: its name.
        coordinates: in which a place is the same, along the axes of the base.
        near: where they are about (places, 3), m; where the description goes at their samples if None.
        tolerance: how well that is known, m.
    """

    values: Array
    noise: float
    tool: Tool = field(default_factory=Tool)
    name: str = "places"
    coordinates: tuple[str, ...] = AXES[:3]
    near: Array | None = None
    tolerance: float = np.inf

    @property
    def count(self) -> int:
        """Number of places."""
        return int(np.nanmax(self.values, initial=-1.0)) + 1 if self.near is None else len(self.near)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The places, and the tool point as far as it is unknown."""
        labels = (*(f"{k}.{axis}" for k in range(self.count) for axis in "xyz"), *_TOOL)
        each = tuple(self.tolerance if axis in self.coordinates else 0.0 for axis in "xyz")
        tolerances = each * self.count + (self.tool.tolerance,) * 3
        return tuple(
            replace(item, kind="device" if ".tool." in item.name else "place", unit="m")
            for item in own_parameters(self.name, labels, tolerances)
        )

    @property
    def rows_each(self) -> int:
        """Number of residuals at each sample."""
        return len(self.coordinates)

    @property
    def present(self) -> Array:
        """Which residuals (S, rows) were measured."""
        return np.repeat(np.isfinite(self.values), self.rows_each, axis=1)

    def blank(self, count: int) -> Places:
        """The device at as many samples as it has; at others it is at no place."""
        return self if count == len(self.values) else replace(self, values=np.full((count, 1), np.nan))

    def near_points(self, points: Array, size: float) -> Places:
        """The same, places about where points (S, 3) are in the mean at their samples, within a size, m."""
        index = self.values[:, 0]
        near = [
            points[index == k].mean(axis=0) if np.any(index == k) else np.zeros(3) for k in range(self.count)
        ]
        return replace(self, near=np.array(near).reshape(-1, 3), tolerance=size)

    def rows(self, now: Linearised, sag: Array, values: Array) -> Rows:
        """Residuals of the visits, over the noise."""
        assert self.near is not None
        offsets = full_values(self.parameters, values, 3 * self.count + 3)
        p, moves, R_b, _ = tool_points(now, self.tool, offsets[-3:], sag)
        visited = np.isfinite(self.values[:, 0])
        index = np.where(visited, self.values[:, 0], 0.0).astype(int)
        residual = p - self.near[index] - offsets[:-3].reshape(-1, 3)[index]
        by_device = np.zeros((len(p), 3, len(offsets)))
        for axis in range(3):
            by_device[np.arange(len(p)), axis, 3 * index + axis] = -1.0
        by_device[:, :, -3:] = R_b
        residual[~visited] = np.nan
        keep = [AXES.index(axis) for axis in self.coordinates]
        weights = np.broadcast_to(np.eye(3)[keep] / self.noise, (len(p), len(keep), 3))
        return Rows(
            residual[:, keep] / self.noise,
            moves.transform(weights),
            free_columns(self.parameters, by_device[:, keep] / self.noise),
        )

    def simulate(self, now: Linearised, sag: Array, values: Array, rng: np.random.Generator) -> Places:
        """The same: what is at a place is there (`simulate_campaign` brings the robot there)."""
        return self


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distances of a tool point at two samples: an artefact, an interferometer.

    Attributes:
        samples: pairs of samples (N, 2).
        values: distances (N, 1), m.
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
        """Residuals (N, 1), and how they change with the first and with the second sample of each pair."""
        p, moves, _, _ = tool_points(now, self.tool, np.zeros(3), sag)
        first, second = self.samples.T
        d = p[second] - p[first]
        length = np.linalg.norm(d, axis=1, keepdims=True)
        maps = (d / length)[:, None] / self.noise
        at = [Response(moves.by_motion[k], moves.by_parameters[k]) for k in (first, second)]
        return (length - self.values) / self.noise, at[0].transform(-maps), at[1].transform(maps)

"""What came of a closed loop: errors of actuators, tool and contour, forces, work, saturation.

Contour error: how far a point is from a path, wherever on it the desired point is. The path is a polygon fine
enough to be taken for the curve; the distance of a point is that from the two segments at its nearest corner.
A controller that only lags has a tracking error and no contour error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nacelle.control.controller import Controller
from nacelle.control.loop.desired import DesiredSamples, PathRequirement
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.tools import tool_pose
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.simulation.plant import Plant
from nacelle.simulation.protocol import PlantLike
from nacelle.simulation.sensors import Sensors
from nacelle.simulation.simulate import Simulation
from nacelle.spatial.rotation import quat_from_matrices, quat_log
from nacelle.spatial.scalar import Array
from nacelle.tables.csv import write_table
from nacelle.trajectory.sampling import sample_trajectory
from nacelle.tree.actuation import unwrap_angles


def contour_error(path: Array, points: Array) -> Array:
    """Distances (N,) of points (N, d) from a polygon with corners (M, d), in their unit."""
    from scipy.spatial import cKDTree

    corners = path[np.concatenate([[True], np.any(np.diff(path, axis=0) != 0.0, axis=1)])]
    finite = np.isfinite(points).all(axis=1)
    result = np.full(len(points), np.nan)
    nearest, corner = cKDTree(corners).query(points[finite])
    best = np.asarray(nearest, dtype=float)
    for predicted_state in (-1, 1):
        neighbour = np.clip(corner + predicted_state, 0, len(corners) - 1)
        start, way = corners[corner], corners[neighbour] - corners[corner]
        length = np.maximum(np.einsum("ni,ni->n", way, way), np.finfo(float).tiny)
        part = np.clip(np.einsum("ni,ni->n", points[finite] - start, way) / length, 0.0, 1.0)
        off = np.linalg.norm(points[finite] - start - part[:, None] * way, axis=1)
        best = np.minimum(best, off)
    result[finite] = best
    return result


# ---- where a tool is, or the frame of the platform, at poses of a run


class FramePoses(NamedTuple):
    """Origins p (N, 3), m, and orientations R (N, 3, 3) of a frame in the base."""

    p: Array
    R: Array

    def angle_to(self, other: FramePoses) -> Array:
        """Angles (N,) of the rotations from others to these, rad."""
        return np.asarray(np.linalg.norm(_rotation_vectors(self.R, other.R), axis=1))

    def rotations_from(self, reference: FramePoses) -> Array:
        """Rotation vectors (N, 3) from the first orientation of others to these, rad, base axes."""
        return _rotation_vectors(self.R, reference.R[:1])


def frame_poses(robot: Robot, x: Array, tool: str = "") -> FramePoses:
    """Where a tool, or the platform's frame, is at reduced poses (N, nx)."""
    if tool:
        at = tool_pose(robot, x, tool)
        return FramePoses(at.p, at.R)
    bodies = inverse_kinematics(robot, x, limits=False).bodies
    return FramePoses(bodies.p[:, PLATFORM], bodies.R[:, PLATFORM])


def _rotation_vectors(R: Array, R_0: Array) -> Array:
    """Rotation vectors (N, 3) of R R_0^T, rad."""
    return quat_log(quat_from_matrices(R @ np.swapaxes(R_0, -1, -2)))


# ---- what came of a closed loop: errors of actuators and of the tool, forces, work, saturation


# Forces this near to their limit are at it.
_SATURATION_RATIO = 1.0 - 1e-9
# Points of the path between two samples, for the contour.
_PATH_POINTS_PER_SAMPLE = 4


def rms(values: Array) -> Array:
    """Root of the mean of the squares over samples (N, ...)."""
    return np.asarray(np.sqrt(np.mean(np.square(values), axis=0)))


@dataclass(frozen=True, eq=False)
class ControlRun(Plottable):
    """A run of a controller against a plant, or as much of it as there is.

    Arrays are at the samples of the path, N of them; settling before t = 0 is left out.

    Attributes:
        controller: what was run.
        label: what it is called among others.
        simulation: the run, settling included, at every step of the integration.
        plants: what moved, at first and after each change.
        desired_motion: the desired motion, settling included.
        required: what it requires of the actuators, by the controller's model.
        limits: largest forces of the drives (actuators,), N or N m.
        sensors: the encoders.
        delay: from a sample to the time at which its forces act, s.
        seed: of noise and losses.
        notes: what was said before the run.
        tool: the name of the tool that is looked at; the platform's frame if empty.
    """

    controller: Controller
    label: str
    simulation: Simulation
    plants: tuple[PlantLike, ...]
    desired_motion: DesiredSamples
    required: PathRequirement
    limits: Array
    sensors: Sensors
    delay: float
    seed: int
    notes: tuple[str, ...] = ()
    tool: str = ""

    # ---- samples

    @property
    def robot(self) -> Robot:
        """The model that the controller has."""
        return self.controller.robot

    @property
    def status(self) -> str:
        """How it ended: "done", "event" (a limit, a controller that stopped), "interrupted" or "failed"."""
        return self.simulation.status

    @property
    def message(self) -> str:
        """A message that says how the run ended."""
        return self.simulation.message

    @property
    def ok(self) -> bool:
        """Whether the run came to its end."""
        return self.simulation.ok

    @cached_property
    def _sample_indices(self) -> Array:
        """Places of the samples of the path among the steps of the simulation."""
        time = self.desired_motion.time
        h = self.controller.period
        steps = np.rint((self.simulation.t - time[0]) / h)
        on = np.abs(self.simulation.t - time[0] - h * steps) < 1e-6 * h
        inside = on & (steps >= self.desired_motion.first) & (steps < len(time))
        return np.flatnonzero(inside)

    @cached_property
    def _desired_rows(self) -> slice:
        """The rows of the desired motion that belong to the samples of the path that were reached."""
        first = self.desired_motion.first
        return slice(first, first + len(self._sample_indices))

    @property
    def time(self) -> Array:
        """Times of the samples (N,), s; the path begins at 0."""
        return self.desired_motion.time[self._desired_rows]

    @property
    def samples(self) -> int:
        """How many samples of the path were reached."""
        return len(self._sample_indices)

    # ---- actuators

    @property
    def desired(self) -> Array:
        """Desired coordinates of the actuators (N, actuators), rad or m, by the controller's model."""
        return self.required.q[self._desired_rows]

    @cached_property
    def _coordinates(self) -> Array:
        """Coordinates of the actuators as encoders see them at every step (steps, actuators), rad or m."""
        q = encoder_coordinates(self.plants[0], self.simulation.states)
        return unwrap_angles(q, self.robot.revolute_actuators)

    @property
    def actual_coordinates(self) -> Array:
        """True coordinates of the actuators (N, actuators), rad or m."""
        return self._coordinates[self._sample_indices]

    @cached_property
    def error(self) -> Array:
        """Tracking errors of the actuators, desired less actual coordinates (N, actuators), rad or m."""
        off = self.desired - self.actual_coordinates
        # Both are without jumps, but may be whole turns apart.
        return unwrap_angles(off, self.robot.revolute_actuators, np.zeros(off.shape[1]))

    @cached_property
    def commanded_forces(self) -> Array:
        """Forces that the controller commands, from each sample's delay on (N, actuators), N or N m."""
        # Forces at a time act from it on; those of a sample act after the delay.
        substeps = max(1, round(self.controller.period / float(np.median(np.diff(self.simulation.t)))))
        late = round(self.delay / self.controller.period * substeps)
        index = np.minimum(self._sample_indices + late, len(self.simulation.t) - 1)
        return np.asarray(self.simulation.tau[index])

    @cached_property
    def acting_forces(self) -> Array:
        """Forces of the motors at the joints at the samples (N, actuators), N or N m."""
        return self._motor_forces[self._sample_indices]

    @cached_property
    def _motor_forces(self) -> Array:
        return motor_forces(self.plants[0], self.simulation.states, self.simulation.tau)

    @property
    def model_force(self) -> Array:
        """What the controller's model requires along the desired motion (N, actuators), N or N m."""
        return self.required.tau[self._desired_rows]

    # ---- the platform and the tool

    @property
    def x(self) -> Array:
        """True reduced poses of the platform (N, nx), m and rad or quat_xyzw, base axes."""
        return self.simulation.x[self._sample_indices]

    @property
    def estimated_poses(self) -> Array:
        """Where the controller took the platform to be (N, nx), by one that remembers a pose.

        Raises:
            KinematicsError: if it remembers none.
        """
        part = self.controller.kind.memory(self.robot).slice_of("x")
        assert self.simulation.memory is not None
        # The row of a sample has what it takes; the row of the next step has what it gives.
        return self.simulation.memory[self._sample_indices + 1, part]

    @property
    def estimate_error(self) -> Array:
        """Distances (N,) between where the controller took the tool to be and where it is, m."""
        estimated = frame_poses(self.robot, self.estimated_poses, self.tool)
        return np.asarray(np.linalg.norm(self.tool_poses.p - estimated.p, axis=1))

    @cached_property
    def tool_poses(self) -> FramePoses:
        """Where the tool is: origins (N, 3), m, and orientations (N, 3, 3), base axes."""
        x = self.simulation.plant.split(self.simulation.states[self._sample_indices])[0]
        return frame_poses(self.robot, x, self.tool)

    @cached_property
    def desired_tool_poses(self) -> FramePoses:
        """Where the tool should be: origins (N, 3), m, and orientations (N, 3, 3), base axes."""
        return frame_poses(self.robot, self.desired_motion.x[self._desired_rows], self.tool)

    @property
    def tool_error(self) -> Array:
        """Distances (N,) of the tool from where it should be, m."""
        return np.asarray(np.linalg.norm(self.tool_poses.p - self.desired_tool_poses.p, axis=1))

    @property
    def rotation_error(self) -> Array:
        """Angles (N,) between the tool's orientation and the desired one, rad."""
        return self.tool_poses.angle_to(self.desired_tool_poses)

    @cached_property
    def path(self) -> FramePoses:
        """The desired path of the tool, four points to a sample: origins, m, and orientations, base axes."""
        trajectory = self.desired_motion.trajectory
        count = max(2, _PATH_POINTS_PER_SAMPLE * round(trajectory.duration / self.controller.period) + 1)
        t = np.linspace(0.0, trajectory.duration, count)
        return frame_poses(self.robot, sample_trajectory(self.robot, trajectory, t).x, self.tool)

    @cached_property
    def contour_error(self) -> Array:
        """Distances (N,) of the tool from the path, m; of a path that only rotates it, angles, rad."""
        if self.is_rotation_only:
            return contour_error(
                self.path.rotations_from(self.path), self.tool_poses.rotations_from(self.path)
            )
        return contour_error(self.path.p, self.tool_poses.p)

    @property
    def is_rotation_only(self) -> bool:
        """Whether the path rotates the tool in one place: contour errors are angles then."""
        return bool(np.max(np.ptp(self.path.p, axis=0)) < 1e-9)

    # ---- drives

    @cached_property
    def _work_steps(self) -> Array:
        """Work of each drive over each step of the path (steps, actuators), J: the mean force times dq."""
        begin = self._sample_indices[0] if self.samples else 0
        held = self.simulation.tau[:-1]
        mean = 0.5 * (
            self._motor_forces[:-1] + motor_forces(self.plants[0], self.simulation.states[1:], held)
        )
        return np.asarray((mean * np.diff(self._coordinates, axis=0))[begin:])

    @property
    def work(self) -> Array:
        """Work of each drive over the path (actuators,), J."""
        return np.asarray(np.sum(self._work_steps, axis=0))

    @property
    def energy(self) -> float:
        """Energy that the drives give off while they drive, without what they take up while they brake, J."""
        return float(np.sum(np.maximum(self._work_steps, 0.0)))

    @property
    def saturation(self) -> Array:
        """Share of the samples at which each drive is at its limit (actuators,), 0 to 1."""
        at = np.abs(self.commanded_forces) >= _SATURATION_RATIO * self.limits
        return np.asarray(np.mean(at, axis=0)) if len(at) else np.zeros(len(self.limits))

    # ---- as numbers, as text, as files

    def summary(self) -> dict[str, Any]:
        """All figures as plain data, SI units."""
        names = [actuator.name for actuator in self.robot.actuators]
        data: dict[str, Any] = {
            "controller": self.controller.name,
            "label": self.label,
            "status": self.status,
            "message": self.message,
            "time": float(self.time[-1]) if self.samples else 0.0,
            "samples": self.samples,
            "period": self.controller.period,
            "delay": self.delay,
            "seed": self.seed,
            "notes": list(self.notes),
        }
        if not self.samples:
            return data
        units = ["rad" if revolute else "m" for revolute in self.robot.revolute_actuators]
        columns = {
            "rms_error": rms(self.error),
            "max_error": np.max(np.abs(self.error), axis=0),
            "rms_force": rms(self.commanded_forces),
            "max_force": np.max(np.abs(self.commanded_forces), axis=0),
            "work": self.work,
            "saturation": self.saturation,
        }
        data["actuators"] = [
            {"name": name, "unit": unit, **{key: float(values[i]) for key, values in columns.items()}}
            for i, (name, unit) in enumerate(zip(names, units, strict=True))
        ]
        data["tool"] = {
            "rms_error": float(rms(self.tool_error)),
            "max_error": float(np.max(self.tool_error)),
            "rms_turn": float(rms(self.rotation_error)),
            "max_turn": float(np.max(self.rotation_error)),
            "rms_contour": float(rms(self.contour_error)),
            "max_contour": float(np.max(self.contour_error)),
            "contour_unit": "rad" if self.is_rotation_only else "m",
        }
        data["energy"] = self.energy
        data["saturation"] = float(np.max(self.saturation))
        return data

    @property
    def _tables(self) -> dict[str, Any]:
        """What is written of the actuators, by kind: positions, then forces (N, actuators)."""
        return {
            "desired": self.desired,
            "actual": self.actual_coordinates,
            "error": self.error,
            "commanded": self.commanded_forces,
            "acting": self.acting_forces,
            "model": self.model_force,
        }

    def _columns(self) -> tuple[list[str], list[str], Array]:
        labels = self.simulation.plant.labels
        actuators = [actuator.name for actuator in self.robot.actuators]
        lengths = ["rad" if turns else "m" for turns in self.robot.revolute_actuators]
        forces = [unit.replace(" ", "*") for _, unit in labels.inputs]
        names, units, values = ["t"], ["s"], [self.time[:, None]]
        for (kind, table), of in zip(self._tables.items(), [lengths] * 3 + [forces] * 3, strict=True):
            names += [f"{name}.{kind}" for name in actuators]
            units += of
            values.append(table)
        x, desired = self.x, self.desired_motion.x[self._desired_rows]
        for suffix, poses in (("", x), (".desired", desired)):
            names += [f"{name}{suffix}" for name, _ in labels.x]
            units += [unit for _, unit in labels.x]
            values.append(poses)
        names += ["tool.error", "tool.turn", "tool.contour"]
        units += ["m", "rad", "rad" if self.is_rotation_only else "m"]
        values.append(np.column_stack([self.tool_error, self.rotation_error, self.contour_error]))
        return names, units, np.hstack(values)

    def to_csv(self, path: str | Path) -> None:
        """Write coordinates, errors, forces, poses and errors of the tool over time as CSV."""
        write_table(Path(path), *self._columns())

    def to_npz(self, path: str | Path) -> None:
        """Write the same as npz, an array a kind, with the names of the actuators."""
        np.savez(
            path,
            t=self.time,
            actuators=np.array([actuator.name for actuator in self.robot.actuators]),
            **self._tables,
            x=self.simulation.x[self._sample_indices],
            x_desired=self.desired_motion.x[self._desired_rows],
            tool_error=self.tool_error,
            turn_error=self.rotation_error,
            contour_error=self.contour_error,
        )

    def __repr__(self) -> str:
        """Give controller, robot, time and the largest rms error."""
        text = f"<ControlRun {self.label} on {self.robot.name}: {self.status}"
        if self.samples:
            text += f", {self.time[-1]:.4g} s, rms error up to {float(np.max(rms(self.error))):.3g}"
        return text + ">"


def encoder_coordinates(plant: PlantLike, states: Array) -> Array:
    """Coordinates of the actuators as encoders see them (N, actuators) at states (N, size), rad or m."""
    if isinstance(plant, Plant):
        return plant.signal(states, "q")
    measured: Any = plant
    return np.array([measured.signals(s, ("q",))["q"] for s in states])


def motor_forces(plant: PlantLike, states: Array, commands: Array) -> Array:
    """Forces of the motors (N, actuators) at states under commands: what drives make of them."""
    forces = getattr(plant, "forces", None)
    return commands if forces is None else np.asarray(forces(states, commands))

"""The loop with a camera: samples of a law in Python around a true robot in native code.

At every sample t_k a feedback takes what its sensors have shown until then and gives forces, which act from
t_k + delay until the next ones do. Images cannot be traced, so the loop is no one program as that of
`nacelle.control.loop` is; law, observer and robot are each compiled, and the loop between them is Python.
Truth is the pose of the true platform; errors are against the desired motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from nacelle.control.controller import STOP_REASONS, Controller
from nacelle.control.loop.desired import Desired
from nacelle.control.loop.places import FramePlaces, places
from nacelle.control.loop.run import rms
from nacelle.control.sensors import Sensors, reading
from nacelle.control.vision.deviation import Deviation
from nacelle.control.vision.plant import TruePlant
from nacelle.errors import KinematicsError, renamed
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


class CameraFeedback(Protocol):
    """Sensors and a law.

    Attributes:
        label: what it is called beside others.
        controller: the law's gains, model and sample time.
    """

    label: str
    controller: Controller

    def start(self, plant: TruePlant, desired: Desired) -> None:
        """Begin at rest at the start of the desired motion."""

    def force(self, k: int, row: Array) -> Array:
        """Forces (actuators,) of sample k for a desired motion [x; v; a]."""

    @property
    def pose(self) -> Array:
        """Where the platform is taken to be at the last sample (nx,)."""


@dataclass(frozen=True, eq=False)
class LookRun:
    """What came of a loop, at the samples of the path.

    Attributes:
        robot: the model.
        label: of the feedback.
        time: (N,), s; settling before 0 is left out.
        x: true poses (N, nx).
        believed: where the feedback took the platform to be (N, nx).
        desired: desired poses (N, nx).
        force: of the actuators (N, actuators), N or N m.
    """

    robot: Robot
    label: str
    time: Array
    x: Array
    believed: Array
    desired: Array
    force: Array

    @cached_property
    def _places(self) -> tuple[FramePlaces, FramePlaces, FramePlaces]:
        true, believed, desired = (places(self.robot, x, "") for x in (self.x, self.believed, self.desired))
        return true, believed, desired

    @property
    def error(self) -> Array:
        """Distances (N,) of the true platform from the desired one, m."""
        true, _, desired = self._places
        return np.asarray(np.linalg.norm(true.p - desired.p, axis=1))

    @property
    def rotation_error(self) -> Array:
        """Angles (N,) between the true platform and the desired one, rad."""
        true, _, desired = self._places
        return true.angle_to(desired)

    turn_error = renamed("turn_error", "rotation_error")

    @property
    def estimate_error(self) -> Array:
        """Distances (N,) between where the platform is taken to be and where it is, m."""
        true, believed, _ = self._places
        return np.asarray(np.linalg.norm(true.p - believed.p, axis=1))

    def summary(self) -> dict[str, Any]:
        """Figures as plain data, SI units."""
        return {
            "label": self.label,
            "rms_error": float(rms(self.error)),
            "max_error": float(np.max(self.error)),
            "rms_turn": float(rms(self.rotation_error)),
            "rms_estimate": float(rms(self.estimate_error)),
        }


class EncoderFeedback:
    """Computed torque as it is: encoders, forward kinematics of the model in the loop.

    Args:
        controller: the law.
        sensors: encoders.
        deviation: of the true robot, whose zeros the readings have.
        seed: of the noise.
        label: what it is called.
    """

    def __init__(
        self,
        controller: Controller,
        sensors: Sensors,
        deviation: Deviation,
        *,
        seed: int = 0,
        label: str = "encoders",
    ) -> None:
        self.controller, self.label = controller, label
        self.encoders = Encoders(controller.robot, sensors, deviation, seed)
        self._fields = controller.kind.memory(controller.robot)
        self._law = controller.compiled

    def start(self, plant: TruePlant, desired: Desired) -> None:
        """Begin at rest at the start of the desired motion."""
        self.encoders.start(plant, desired)
        self._memory = self.controller.start(desired.x[0])

    def force(self, k: int, row: Array) -> Array:
        """Forces (actuators,), N or N m, of sample k; `row` is the reference then."""
        found = self._law(self._memory, self.encoders.read(k), row, self.controller.gains)
        self._memory = np.asarray(found["memory"])
        stopped = self._memory[self._fields.place("stopped")][0]
        if stopped > 0.0:
            raise KinematicsError(STOP_REASONS[stopped])
        return np.asarray(found["force"])

    @property
    def pose(self) -> Array:
        """The reduced pose (nx,) of the law's memory."""
        return self._memory[self._fields.place("x")].copy()


class Encoders:
    """Readings of the true robot's encoders: steps, noise, and zeros that are off.

    Args:
        robot: the model.
        sensors: the encoders.
        deviation: of the true robot.
        seed: of the noise.
    """

    def __init__(self, robot: Robot, sensors: Sensors, deviation: Deviation, seed: int) -> None:
        self._robot, self._sensors, self._zeros, self._seed = robot, sensors, deviation.zeros, seed
        self.resolution = sensors.resolutions(robot)

    def start(self, plant: TruePlant, desired: Desired) -> None:
        """Draw the noise of a run."""
        self._plant = plant
        self._rows = self._sensors.rows(self._robot, desired.time, self._seed)

    def read(self, k: int) -> Array:
        """Readings (actuators,) at sample k, rad or m."""
        m = len(self._zeros)
        q = self._plant.signals()["q"] + self._zeros
        noise, there = self._rows[k, :m], self._rows[k, m:]
        entries = zip(q.tolist(), noise.tolist(), there.tolist(), self.resolution.tolist(), strict=True)
        return np.array([reading(*entry) for entry in entries], dtype=float)


def run_loop(plant: TruePlant, feedback: CameraFeedback, desired: Desired, *, delay: float = 0.0) -> LookRun:
    """Run a feedback against a true robot along a desired motion.

    Args:
        plant: the true robot.
        feedback: sensors and law.
        desired: the motion, settling included.
        delay: from a sample to the time at which its forces act, s, at most the sample time.

    Raises:
        KinematicsError: if the controller stops, or the robot leaves what it can do.
    """
    period, rows = feedback.controller.period, desired.rows
    if not 0.0 <= delay <= period:
        raise KinematicsError(f"the delay of {delay:g} s is not within the sample time of {period:g} s")
    plant.start(desired.x[0], desired.v[0], float(desired.time[0]))
    feedback.start(plant, desired)
    true, believed, forces = [], [], []
    last = None
    for k, time in enumerate(desired.time.tolist()):
        true.append(plant.signals()["x"])
        force = feedback.force(k, rows[k])
        believed.append(feedback.pose)
        forces.append(force)
        if delay:
            plant.advance(force if last is None else last, time + delay)
        plant.advance(force, time + period)
        last = force
    first = desired.first
    return LookRun(
        feedback.controller.robot,
        feedback.label,
        desired.time[first:],
        np.array(true[first:]),
        np.array(believed[first:]),
        desired.x[first:],
        np.array(forces[first:]),
    )

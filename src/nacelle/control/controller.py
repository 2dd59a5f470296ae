"""Controllers: a kind of law for a robot, tuned, with a sample time."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.control.kind import ControllerKind, DesiredMotion
from nacelle.control.law import law_of
from nacelle.control.pieces.signals import DESIRED_REFUSED, MEASURED_REFUSED, STOPPED
from nacelle.errors import KinematicsError
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.pictures import Shown
from nacelle.simulation.sampled.law import Sampled
from nacelle.simulation.sampled.programs import law_alone
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False, repr=False)
class Controller(Shown):
    """A tuned controller.

    Attributes:
        kind: the law.
        robot: the model that it has.
        period: sample time, s.
        gains: the parts of `kind.gains`, as one vector.
    """

    kind: ControllerKind
    robot: Robot
    period: float
    gains: Array

    def __post_init__(self) -> None:
        """Check the sample time and the gains.

        Raises:
            KinematicsError: if they cannot be used.
        """
        if not (math.isfinite(self.period) and self.period > 0.0):
            raise KinematicsError(f"the sample time is above zero, got {self.period:g} s")
        size = self.kind.gains(self.robot).size
        if np.shape(self.gains) != (size,) or not np.isfinite(self.gains).all():
            raise KinematicsError(f"{self.name} has {size} finite gains, got {self.gains}")

    @property
    def name(self) -> str:
        """What it is called."""
        return self.kind.name

    def gain(self, name: str) -> Array:
        """One part of the gains by name, SI units; its size is that of `ControllerKind.gains`."""
        return np.asarray(self.gains[self.kind.gains(self.robot).place(name)])

    def with_gains(self, **parts: Any) -> Controller:
        """The same with some parts of the gains changed."""
        fields = self.kind.gains(self.robot)
        return dataclasses.replace(self, gains=fields.join(fields.split(self.gains) | parts))

    def for_motion(self, rows: Array) -> Controller:
        """The same with gains that suit a desired motion, where the kind has such.

        Args:
            rows: the desired motion [x; v; a] (N, nx + 2 n).
        """
        parts = self.kind.gains(self.robot).split(self.gains)
        return self.with_gains(**self.kind.for_motion(self.robot, parts, np.asarray(rows, dtype=float)))

    def start(self, x: Any) -> Array:
        """Memory at a start at rest, at a reduced pose x (nx,).

        Raises:
            UnreachableError: if the pose is out of reach.
        """
        joints = inverse_kinematics(self.robot, x, limits=False)
        return self.kind.memory(self.robot).join(
            self.kind.start(self.robot, np.asarray(x, dtype=float), joints.y)
        )

    def sampled(
        self, x: Any, rows: Array, *, delay: float = 0.0, first_force: Array | None = None
    ) -> Sampled:
        """The controller in its loop, for `simulate`.

        Args:
            x: pose at the start (nx,).
            rows: the desired motion [x; v; a] (N, nx + 2 n), a row for every sample.
            delay: from a sample to the time at which its forces act, s.
            first_force: what acts before (actuators,).
        """
        return Sampled(
            law_of(self.kind),
            self.period,
            memory=self.start(x),
            reference=rows,
            gains=self.gains,
            robot=self.robot,
            delay=delay,
            first_force=first_force,
            stop=(self.kind.memory(self.robot).place("stopped").start, STOP_REASONS),
        )

    def step(self, memory: Array, q: Any, motion: DesiredMotion) -> tuple[Array, Array]:
        """One sample as native code: forces (actuators,) and the memory after it.

        Args:
            memory: before it, from `start` or the sample before.
            q: readings (actuators,), rad or m.
            motion: the desired motion.
        """
        law = self.compiled
        outputs = law(memory, np.asarray(q, dtype=float), np.concatenate(motion), self.gains)
        return np.asarray(outputs["force"]), np.asarray(outputs["memory"])

    @property
    def compiled(self) -> Any:
        """The law by itself as native code, of (z, q, r, gains)."""
        fields = self.kind.memory(self.robot)
        law = Sampled(law_of(self.kind), self.period, memory=np.zeros(fields.size), gains=self.gains)
        return law_alone(law, self.robot)

    def coordinates(self, x: Any) -> Array:
        """Coordinates (..., actuators), rad or m, of the actuators of the model at poses (..., nx)."""
        return np.asarray(inverse_kinematics(self.robot, x, limits=False).actuators)


_BEYOND = "out of reach, beyond limits of joints or speeds, or at a singularity"
STOP_REASONS = {
    STOPPED: "the controller stopped: readings were missing for too many samples in a row",
    DESIRED_REFUSED: f"the controller stopped: the desired motion is not finite, {_BEYOND}",
    MEASURED_REFUSED: f"the controller stopped: the measured state is {_BEYOND}",
}
"""Why a controller stopped, by the number in its memory."""

"""What a control law is: z+, force = law(z, q, [x_d; v_d; a_d], gains), written once over any scalar.

A *kind* of controller says which parts its memory and its gains have, how a sample goes, with which memory it
starts, and which gains follow from a bandwidth. From it comes the physics function (`nacelle.control.law`)
that runs in the native loop (`nacelle.simulation.sampled`) and that is exported. What it measures are the
coordinates q of the actuators as encoders read them; the desired motion is that of the platform.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from nacelle.control.fields import Fields
from nacelle.control.words import COMMON
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


class DesiredMotion(NamedTuple):
    """The desired motion at a sample: pose x (nx,), twist v (n,), its derivative a (n,)."""

    x: Array
    v: Array
    a: Array


class ControlStep(NamedTuple):
    """What a sample gives, and the measured state that is checked before its forces leave.

    Attributes:
        force: of the actuators (actuators,), N or N m, within the limits of the drives.
        memory: its parts, but for those of the desired motion (`pieces.admissible`).
        state: where the forces act, by a law that knows: pose (nx,), what iteration finds at it (ny,), twist
            (n,).
        rate: rates of the actuators (actuators,), rad/s or m/s, by a law that knows no more.
    """

    force: Array
    memory: dict[str, Any]
    state: tuple[Array, Array, Array] | None = None
    rate: Array | None = None


class FeltMasses(NamedTuple):
    """What actuators feel, by M^-1 J^T diag(held) J with eigenvalues k (`nacelle.control.gains`).

    Attributes:
        held: mass of each actuator in the reference pose while the others are held (actuators,), kg, kg m^2.
        lightest: the largest k over the workspace.
        heaviest: the smallest.
    """

    held: Array
    lightest: float
    heaviest: float


class Tuning(NamedTuple):
    """What gains are made from.

    Attributes:
        period: sample time, s.
        bandwidth: of the loop, Hz.
        damping: ratio of its poles.
        delay: from a sample to the time at which its forces act, s.
        masses: what the actuators feel.
        limits: the largest forces (actuators,), N or N m; infinite where there is none.
    """

    period: float
    bandwidth: float
    damping: float
    delay: float
    masses: FeltMasses
    limits: Array


class ControllerKind(ABC):
    """A kind of controller. Subclasses are frozen dataclasses: their fields shape the program."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called on the command line."""

    @property
    def looped(self) -> bool:
        """Whether it has a bandwidth that its poles follow."""
        return True

    @property
    def by_masses(self) -> bool:
        """Whether it takes account of the robot's masses, so that heavy motions are damped as light ones."""
        return False

    @property
    def feedback(self) -> ControllerKind:
        """The kind with the same memory, gains and poles whose program is the smallest."""
        return self

    @abstractmethod
    def memory(self, robot: Robot) -> Fields:
        """The parts of its memory, among them those of `pieces.admissible`.

        "stopped" (1,) is 0, or the status of the sample that stopped it (`pieces.signals`).
        """

    @abstractmethod
    def gains(self, robot: Robot) -> Fields:
        """The parts of its gains."""

    @abstractmethod
    def step(
        self, robot: Robot, z: dict[str, Array], q: Array, motion: DesiredMotion, k: dict[str, Array]
    ) -> ControlStep:
        """A sample, over any scalar.

        Args:
            robot: the model.
            z: parts of the memory.
            q: measured coordinates of the actuators (actuators,), rad or m; NaN where there is none.
            motion: the desired motion.
            k: parts of the gains.
        """

    @abstractmethod
    def start(self, robot: Robot, x: Array, y: Array) -> dict[str, Any]:
        """Parts of the memory at a start at rest, over any scalar: an exported controller computes it, too.

        Args:
            robot: the model.
            x: the pose (nx,).
            y: what iteration finds at it (ny,).
        """

    def plausible_gains(self, robot: Robot) -> Array:
        """Gains of the right order for samples of 1 ms, 10 Hz and masses of 1 kg."""
        m = len(robot.actuators)
        masses = FeltMasses(np.ones(m), 1.0, 1.0)
        tuning = Tuning(1e-3, 10.0, 1.0, 0.0, masses, np.full(m, 1e3))
        return self.gains(robot).join(self.tuned(robot, tuning))

    def words(self) -> dict[str, str]:
        """What the parts are, with units: by "memory.NAME" and "gains.NAME"."""
        return dict(COMMON)

    @abstractmethod
    def tuned(self, robot: Robot, tuning: Tuning) -> dict[str, Any]:
        """Parts of the gains from a bandwidth."""

    def for_motion(self, robot: Robot, k: dict[str, Array], rows: Array) -> dict[str, Any]:
        """Parts of the gains that suit a desired motion better; none unless a kind says so.

        Args:
            robot: the model.
            k: parts of the gains.
            rows: the desired motion [x; v; a] (N, nx + 2 n).
        """
        return {}


def row_size(robot: Robot) -> tuple[int]:
    """Shape of the desired motion [x; v; a]."""
    return (mechanism_of(robot).layout.nx + 2 * robot.motion.n,)


def desired_of_row(robot: Robot, row: Array) -> DesiredMotion:
    """The desired motion of a row [x; v; a]."""
    nx, n = mechanism_of(robot).layout.nx, robot.motion.n
    return DesiredMotion(row[:nx], row[nx : nx + n], row[nx + n : nx + 2 * n])

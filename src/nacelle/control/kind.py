"""What a control law is: z+, force = law(z, q, [x_d; v_d; a_d], gains), written once over any scalar.

A *kind* of controller says which parts its memory and its gains have, how a sample goes, with which memory it
starts, and which gains follow from a bandwidth. From it comes the physics function
(`nacelle.control.controller`) that runs in the native loop (`nacelle.simulation.digital_controller`) and that
is exported. What it measures are the coordinates q of the actuators as encoders read them; the desired motion
is that of the platform. Memory and gains are vectors with named parts; what these are, with units, is for
the pages and headers of exported controllers.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, Scalar, pack


class VectorLayout:
    """Names and sizes of the parts of a vector, in their order.

    Args:
        **sizes: how many numbers each part has.
    """

    def __init__(self, **sizes: int) -> None:
        self.sizes = sizes

    @property
    def size(self) -> int:
        """Numbers of the whole vector."""
        return sum(self.sizes.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts."""
        return tuple(self.sizes)

    def slice_of(self, name: str) -> slice:
        """Where a part is.

        Raises:
            KinematicsError: if none has that name.
        """
        start = 0
        for part, size in self.sizes.items():
            if part == name:
                return slice(start, start + size)
            start += size
        raise KinematicsError(f"nothing is called {name!r}; {did_you_mean(name, self.names)}")

    def split(self, vector: Array) -> dict[str, Array]:
        """The parts of a vector (..., size), by name."""
        return {name: vector[..., self.slice_of(name)] for name in self.sizes}

    def join(self, parts: Mapping[str, Any]) -> Array:
        """A vector (size,) of parts; a single number stands for all of its part. Any scalar.

        Raises:
            KinematicsError: if a part is missing, unnamed, or of another size.
        """
        for name in parts:
            self.slice_of(name)
        entries: list[Any] = []
        for name, size in self.sizes.items():
            if name not in parts:
                raise KinematicsError(f"{name!r} is missing: {size} numbers")
            part = np.asarray(parts[name])
            if part.shape not in ((), (size,)):
                raise KinematicsError(f"{name!r} has {size} numbers, got the shape {part.shape}")
            entries += [part[()]] * size if part.shape == () else list(part)
        return pack(entries) if entries else np.zeros(0)


# ---- what the parts of memories and gains are, with units


COMMON_LABELS = {
    "memory.x": "pose of the platform as the encoders have it",
    "memory.y": "passive coordinates at that pose",
    "memory.v": "reduced twist of the platform; m/s, rad/s",
    "memory.unmodelled": "acceleration that the model lacks; m/s^2, rad/s^2",
    "memory.acceleration": "what the last forces give by the model; m/s^2, rad/s^2",
    "memory.earlier": "the same of the sample before; m/s^2, rad/s^2",
    "memory.a_d": "last desired acceleration; m/s^2, rad/s^2",
    "memory.y_d": "passive coordinates at the desired pose",
    "memory.q_d": "coordinates of the actuators at the last desired pose; rad, m",
    "memory.side": "sign of the determinant of the actuators' Jacobian at the start",
    "memory.started": "above 0 after the first sample",
    "memory.missed": "samples in a row without all readings",
    "memory.stopped": "0, or the reason for which the controller stopped",
    "memory.reading": "last readings that counted; rad, m",
    "memory.age": "samples since these",
    "memory.latest": "readings of the last sample, whether they counted or not; rad, m",
    "memory.leapt": "above 0 once a reading after a stop was near to the last sample alone",
    "memory.halt_pose": "pose of the platform by the last readings, for a stop",
    "memory.halt_unknowns": "passive coordinates at that pose",
    "memory.halt_rate": "rates of the actuators, filtered, for a stop; rad/s, m/s",
    "memory.halt_change": "change of these rates that the last readings asked for; rad/s, m/s",
    "memory.rest": "samples in a row since a stop in which nothing is seen to move",
    "gains.limit": "largest forces of the drives; N, N m",
    "gains.period": "sample time T; s",
    "gains.delay": "from a sample to the time at which its forces act; s",
    "gains.correction": "of the twist by what a prediction missed, b of v = v- + b e / T",
    "gains.learning": "of what the model lacks, c of u = u- + c e / T^2",
    "gains.halt_brake": "rate at which motion decays after a stop; 1/s",
    "gains.halt_damping": "of a stop without a pose, force over rate of the actuators; N s/m, N m s/rad",
    "gains.halt_smoothing": "of the filter of these rates, 1 - exp(-T w) at its bandwidth w",
    "gains.halt_slew": "largest change of these rates in a sample; rad/s, m/s",
    "gains.halt_decay": "part of the rate of an unseen actuator that a stop takes off in a sample",
    "gains.singularity": "least determinant of the actuators' Jacobian, over that at the reset",
    "gains.ahead": "time by which the desired motion is looked ahead for singularities; s",
    "memory.stuck": "above 0 for a drive that was too far off and has stood still since",
    "gains.following": "largest distance of readings from the desired motion; rad, m",
    "memory.conditioning": "determinant of the actuators' Jacobian at the start, over its rows",
    "gains.rest_rate": "rates at rest, for a stop; rad/s, m/s",
    "gains.patience": "samples in a row without all readings after which the controller stops",
}
"""Parts that mean the same in all kinds."""

SINGLE_JOINT_LABELS = COMMON_LABELS | {
    "memory.error": "last error of the actuators, desired less measured; rad, m",
    "memory.rate": "rate of that error, filtered; rad/s, m/s",
    "memory.integral": "force of the integral; N, N m",
    "gains.stiffness": "force over error; N/m, N m/rad",
    "gains.damping": "force over rate of the error; N s/m, N m s/rad",
    "gains.integral": "rate of the integral's force over error; N/(m s), N m/(rad s)",
    "gains.unwinding": "part of what a limit cuts off that is taken out of the integral at a sample",
    "gains.smoothing": "of the filter of the rate, 1 - exp(-T w) at its bandwidth w",
}
"""Feedback of each actuator."""

COMPUTED_TORQUE_LABELS = COMMON_LABELS | {
    "memory.disturbance": "force along the twist that the model lacks; N, N m",
    "gains.stiffness": "acceleration over error; 1/s^2",
    "gains.damping": "acceleration over rate of the error; 1/s",
}
"""Feedback linearisation."""

IMPEDANCE_LABELS = COMMON_LABELS | {
    "gains.stiffness": "force along the twist over displacement, row by row; N/m, N, N m/rad",
    "gains.damping": "force along the twist over twist, row by row; N s/m, N s, N m s/rad",
}
"""Impedance of the platform."""

ADAPTIVE_LABELS = COMMON_LABELS | {
    "memory.parameters": "parameters of the linear form, as adapted; SI units",
    "memory.excitation": "mean square of the forces that each parameter makes, over those of the robot",
    "gains.rate": "at which errors decay on the sliding surface; 1/s",
    "gains.decay": "at which the sliding variable decays; 1/s",
    "gains.damping": "K on the sliding variable, row by row; N s/m, N s, N m s/rad",
    "gains.adaptation": "P, row by row",
    "gains.lower": "lower bounds of the parameters",
    "gains.upper": "upper bounds of the parameters",
    "gains.dead_zone": "rates of the actuators that do not count; rad/s, m/s",
    "gains.scale": "sizes of the parameters",
    "gains.typical": "forces of the robot that excitation is counted in; N, N m",
    "gains.forgetting": "part of the excitation that is forgotten at a sample",
    "gains.unfelt": "excitation below which a parameter is frozen",
    "gains.fastest": "largest rate of adaptation along the sliding variable; 1/s",
}
"""Adaptive control in the parameters of the linear form."""


# ---- what a control law is


class DesiredMotion(NamedTuple):
    """The desired motion at a sample: pose x (nx,), twist v (n,), its derivative a (n,)."""

    x: Array
    v: Array
    a: Array


class LawSample(NamedTuple):
    """What goes into a sample, in addition to the memory.

    Attributes:
        q: readings as they are (actuators,), rad or m.
        screened: those that count, NaN or beyond measure for a missing one (actuators,).
        motion: the desired motion.
        k: parts of the gains.
        branch_tolerance: how far relations of a branch's unknowns may be off, rad or robot's sizes.
    """

    q: Array
    screened: Array
    motion: DesiredMotion
    k: dict[str, Array]
    branch_tolerance: float


class ControlStep(NamedTuple):
    """What a sample gives, and the measured state that is checked before its forces leave.

    Attributes:
        tau: of the actuators (actuators,), N or N m, within the limits of the drives.
        memory: its parts, but for those of the desired motion (`pieces.admissible`).
        state: where the forces act, by a law that knows: pose (nx,), passive coordinates at it (ny,), twist
            (n,).
        rate: rates of the actuators (actuators,), rad/s or m/s, by a law that knows no more.
    """

    tau: Array
    memory: dict[str, Any]
    state: tuple[Array, Array, Array] | None = None
    rate: Array | None = None


class EffectiveMasses(NamedTuple):
    """What actuators feel, by M^-1 J^T diag(held) J with eigenvalues k (`nacelle.control.gains`).

    Attributes:
        held: mass of each actuator in the reference pose while the others are held (actuators,), kg, kg m^2.
        lightest: the largest k over the workspace.
        heaviest: the smallest.
    """

    held: Array
    lightest: float
    heaviest: float


class LoopSpecification(NamedTuple):
    """What a loop is made for.

    Attributes:
        period: sample time, s.
        damping: ratio of its poles; chosen if None.
        delay: from a sample to the time at which its forces act, s.
        lag: time constant of the current loops, s.
        resolution: counts of the encoders (actuators), rad or m.
        ripple: the largest force of a count over that of its drive; None for any.
    """

    period: float
    damping: float | None
    delay: float
    lag: float
    resolution: tuple[float, ...]
    ripple: float | None = None


class TunedLoop(NamedTuple):
    """What the gains of a controller were made for: specification, bandwidth (Hz), whether it was forced."""

    specification: LoopSpecification
    bandwidth: float
    forced: bool = False


class Tuning(NamedTuple):
    """What gains are made from.

    Attributes:
        period: sample time, s.
        bandwidth: of the loop, Hz.
        damping: ratio of its poles.
        delay: from a sample to the time at which its forces act, s.
        masses: what the actuators feel.
        limits: the largest forces (actuators,), N or N m; infinite where there is no limit.
        resolution: counts of the encoders (actuators,), rad or m.
    """

    period: float
    bandwidth: float
    damping: float
    delay: float
    masses: EffectiveMasses
    limits: Array
    resolution: Array


class ControlLaw(ABC):
    """A kind of controller. Subclasses are frozen dataclasses: their fields shape the program.

    Attributes:
        uses_mass_matrix: whether it takes account of the robot's masses, so that heavy motions are damped as
            light
            ones.
        labels: what the parts of memory and gains are, with units: by "memory.NAME" and "gains.NAME".
    """

    uses_mass_matrix: ClassVar[bool] = False
    labels: ClassVar[dict[str, str]] = COMMON_LABELS

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called on the command line."""

    @property
    def has_feedback(self) -> bool:
        """Whether it has a bandwidth that its poles follow."""
        return True

    @property
    def feedback_law(self) -> ControlLaw:
        """The kind with the same memory, gains and poles whose program is the smallest."""
        return self

    @abstractmethod
    def memory(self, robot: Robot) -> VectorLayout:
        """The parts of its memory, among them those of `pieces.admissible`.

        "stopped" (1,) is 0, or why it stopped (`blocks.signals.StopReason`).
        """

    @abstractmethod
    def gains(self, robot: Robot) -> VectorLayout:
        """The parts of its gains."""

    def parameter_names(self, robot: Robot) -> tuple[str, ...]:
        """Names of the numbers of its memory's part "parameters"; none unless it adapts."""
        return ()

    @abstractmethod
    def step(
        self, robot: Robot, z: dict[str, Array], q: Array, motion: DesiredMotion, k: dict[str, Array]
    ) -> ControlStep:
        """A sample, over any scalar.

        Args:
            robot: the model.
            z: parts of the memory.
            q: measured coordinates of the actuators (actuators,), rad or m; NaN for a missing one.
            motion: the desired motion.
            k: parts of the gains.
        """

    def screen_readings(self, robot: Robot, z: dict[str, Array], q: Array, k: dict[str, Array]) -> Array:
        """The readings (actuators,), rad or m, that the law and its checks take; arguments as of `step`."""
        return q

    def further_checks(
        self, robot: Robot, z: dict[str, Array], sample: LawSample
    ) -> list[tuple[int, Scalar]]:
        """Reasons of a stop (`StopReason`), each with a number above zero where it does not apply."""
        return []

    def after_release(
        self, robot: Robot, z: dict[str, Array], sample: LawSample, step: ControlStep
    ) -> ControlStep:
        """What leaves in place of a sample with its checks.

        Args:
            robot: the model.
            z: parts of the memory before the sample.
            sample: readings, desired motion, gains.
            step: forces, zero where the controller has stopped, and memory after it with the reason.
        """
        return step

    @abstractmethod
    def start(self, robot: Robot, x: Array, y: Array) -> dict[str, Any]:
        """Parts of the memory at a start at rest, over any scalar: an exported controller computes it, too.

        Args:
            robot: the model.
            x: the pose (nx,).
            y: passive coordinates at it (ny,).
        """

    @property
    def untuned(self) -> Self:
        """The same law with its numbers of tuning (fields that do not compare) at their defaults."""
        law: Any = self
        parts = getattr(self, "__dataclass_fields__", {})
        tuned = {name: part.default for name, part in parts.items() if not part.compare}
        return cast("Self", dataclasses.replace(law, **tuned)) if tuned else self

    def plausible_gains(self, robot: Robot) -> Array:
        """Gains of the right order for samples of 1 ms, 10 Hz and masses of 1 kg."""
        m = len(robot.actuators)
        masses = EffectiveMasses(np.ones(m), 1.0, 1.0)
        tuning = Tuning(1e-3, 10.0, 1.0, 0.0, masses, np.full(m, 1e3), np.full(m, 1e-5))
        return self.gains(robot).join(self.tune_gains(robot, tuning))

    @abstractmethod
    def tune_gains(self, robot: Robot, tuning: Tuning) -> dict[str, Any]:
        """Parts of the gains from a bandwidth."""

    def for_motion(self, robot: Robot, k: dict[str, Array], rows: Array) -> dict[str, Any]:
        """Parts of the gains that suit a desired motion better; none unless a kind says so.

        Args:
            robot: the model.
            k: parts of the gains.
            rows: the desired motion [x; v; a] (N, nx + 2 n).
        """
        return {}


def desired_row_shape(robot: Robot) -> tuple[int]:
    """Shape of the desired motion [x; v; a]."""
    return (mechanism_of(robot).layout.nx + 2 * robot.motion.n,)


def desired_motion_from_row(robot: Robot, row: Array) -> DesiredMotion:
    """The desired motion of a row [x; v; a]."""
    nx, n = mechanism_of(robot).layout.nx, robot.motion.n
    return DesiredMotion(row[:nx], row[nx : nx + n], row[nx + n : nx + 2 * n])

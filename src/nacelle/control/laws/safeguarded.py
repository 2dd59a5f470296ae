"""Any law with a choice of what a stop does, and of what becomes of a wild reading.

A stop (`nacelle.control.blocks.admissible`) leaves

    zero     no force: drives off, brakes hold
    hold     s g(x) - D q'
    brake    the same until nothing has moved for `patience` samples, then no force

g (actuators,) are the forces of the model that hold the platform's pose x against gravity and springs, N or
N m, q' (actuators,) the filtered rates of the readings, rad/s or m/s, and D a diagonal of N s/m or N m s/rad.
The factor s = 1 / max(1, max_i |g_i| / limit_i) keeps g within the limits of the drives and its direction:
next to a singularity no drive is asked for more. Each force is cut at its limit after that, and since |s g_i|
is within it the damping of no drive does positive work.

The pose is followed by one of Newton's steps in a sample, x + J^+ (q - q(x)), from the desired pose while the
controller runs and from itself after a stop. It is kept where a reading is missing or wild, and where the
step leads to a state that is not admissible. A drive whose reading is missing or wild is not damped.

A reading is wild where it is further from the last one than the drive moves by its described speed in a
sample, times the margin of the measured state. `bridge` takes it for a missing one, which laws predict for
at most `patience` samples in a row; each of these widens what is not wild by a step. `stop` leaves it to the
law, whose checks stop at it. Drives without a described speed have no wild readings.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nacelle.control.blocks.admissible import (
    MEASURED_TOLERANCE,
    Aspect,
    check_state,
    described_speeds,
    first_failure,
)
from nacelle.control.blocks.desired import model_force, solve_passive_coordinates
from nacelle.control.blocks.pose import displace_pose, twist_from_rates
from nacelle.control.blocks.signals import (
    StopReason,
    coordinate_difference,
    finite_force,
    limit_forces,
    presence_sign,
    select,
    smallest_sign,
)
from nacelle.control.kind import ControlLaw, ControlStep, DesiredMotion, LawSample, Tuning, VectorLayout
from nacelle.dynamics.physics import WITHOUT_FRICTION
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.kinematic_model import actuator_positions, inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.simulation.sensors import MISSING
from nacelle.spatial.scalar import Array, Scalar, absolute, divide, maximum, minimum, pack, where

STOPS = {
    "zero": "zero",
    "hold": "gravity and damping, within the limits of the drives",
    "brake": "gravity and damping, within the limits, until at rest for `patience` samples; then zero",
}
"""What a stop does, and the forces that it leaves."""
WILD_READINGS = {
    "stop": "left to the checks of the measured state, which stop",
    "bridge": "predicted for at most `patience` samples, then a stop",
}
"""What becomes of a wild reading."""

# Damping of a stop over the sample time and the delay: the crossover of the lightest motion, and the filter's
# bandwidth over the damping's.
_CROSSOVER, _FILTER_RATIO = 0.2, 10.0
# Rates at rest: over the described speed, without one in rad/s or m/s, and in counts of encoders a sample.
_REST_SPEED, _REST_RATE, _REST_COUNTS = 0.005, 0.02, 2.0
# Steps of Newton's iteration that close the loops at the pose of a stop.
_CLOSING_STEPS = 2


class Safeguards(NamedTuple):
    """What a stop does, a key of `STOPS`, and what becomes of a wild reading, a key of `WILD_READINGS`."""

    on_stop: str
    on_glitch: str


def safeguards_of(kind: ControlLaw) -> Safeguards:
    """Those of a law."""
    if isinstance(kind, Safeguarded):
        return Safeguards(kind.on_stop, kind.on_glitch)
    return Safeguards("zero", "stop")


@dataclass(frozen=True)
class Safeguarded(ControlLaw):
    """A law with a choice of what a stop does, and of what becomes of a wild reading.

    Attributes:
        law: the law.
        on_stop: "zero", "hold" or "brake".
        on_glitch: "stop" or "bridge".
    """

    law: ControlLaw
    on_stop: str = "zero"
    on_glitch: str = "stop"

    def __post_init__(self) -> None:
        """Check the choices, and take over what the law says of itself.

        Raises:
            KinematicsError: if there is no such choice.
        """
        for option, chosen, known in (
            ("on_stop", self.on_stop, tuple(STOPS)),
            ("on_glitch", self.on_glitch, tuple(WILD_READINGS)),
        ):
            if chosen not in known:
                raise KinematicsError(
                    f"{option} is {' or '.join(known)}, got {chosen!r}; {did_you_mean(chosen, known)}"
                )
        object.__setattr__(self, "uses_mass_matrix", self.law.uses_mass_matrix)
        object.__setattr__(self, "labels", self.law.labels)

    @property
    def name(self) -> str:
        """That of the law."""
        return self.law.name

    @property
    def has_feedback(self) -> bool:
        """As the law."""
        return self.law.has_feedback

    @property
    def feedback_law(self) -> ControlLaw:
        """That of the law, whose gains come first among these."""
        return self.law.feedback_law

    @property
    def untuned(self) -> Safeguarded:
        """The same of the law without its numbers of tuning."""
        return dataclasses.replace(self, law=self.law.untuned)

    def parameter_names(self, robot: Robot) -> tuple[str, ...]:
        """Those of the law."""
        return self.law.parameter_names(robot)

    @property
    def _halts(self) -> bool:
        """Whether a stop has forces."""
        return self.on_stop != "zero"

    def memory(self, robot: Robot) -> VectorLayout:
        """That of the law, last readings, and what a stop begins with."""
        m, mechanism = len(robot.actuators), mechanism_of(robot)
        parts = {"reading": m} if self._halts or self.on_glitch == "bridge" else {}
        if self._halts:
            parts |= {
                "halt_pose": mechanism.layout.nx,
                "halt_unknowns": mechanism.unknown_count,
                "halt_rate": m,
            }
        if self.on_stop == "brake":
            parts["rest"] = 1
        return VectorLayout(**self.law.memory(robot).sizes, **parts)

    def gains(self, robot: Robot) -> VectorLayout:
        """Those of the law, then damping of a stop, its filter, and rates at rest."""
        m = len(robot.actuators)
        parts = {"halt_damping": m, "halt_smoothing": 1} if self._halts else {}
        if self.on_stop == "brake":
            parts["rest_rate"] = m
        return VectorLayout(**self.law.gains(robot).sizes, **parts)

    def step(
        self, robot: Robot, z: dict[str, Array], q: Array, motion: DesiredMotion, k: dict[str, Array]
    ) -> ControlStep:
        """A sample of the law."""
        return self.law.step(robot, z, q, motion, k)

    def start(self, robot: Robot, x: Array, y: Array) -> dict[str, Any]:
        """The memory of the law, and the pose."""
        parts = {
            "reading": np.asarray(actuator_positions(robot, x, y)["q"]),
            "halt_pose": x,
            "halt_unknowns": y,
            "halt_rate": 0.0,
            "rest": 0.0,
        }
        return self.law.start(robot, x, y) | {
            name: part for name, part in parts.items() if name in self.memory(robot).sizes
        }

    def tune_gains(self, robot: Robot, tuning: Tuning) -> dict[str, Any]:
        """Gains of the law; a stop damps at w = 2 pi bandwidth, slower where sampling allows no more."""
        period, light = tuning.period, max(1.0, tuning.masses.lightest)
        w = min(2.0 * math.pi * tuning.bandwidth, _CROSSOVER / ((period + tuning.delay) * light))
        smoothing = 1.0 - math.exp(-_FILTER_RATIO * w * period)
        counts = tuning.resolution * smoothing / period
        speeds = described_speeds(robot)
        rest = [_REST_SPEED * speeds[i] if i in speeds else _REST_RATE for i in range(len(counts))]
        parts = {
            "halt_damping": w * tuning.masses.held,
            "halt_smoothing": smoothing,
            "rest_rate": np.maximum(rest, _REST_COUNTS * counts),
        }
        return self.law.tune_gains(robot, tuning) | {
            name: part for name, part in parts.items() if name in self.gains(robot).sizes
        }

    def for_motion(self, robot: Robot, k: dict[str, Array], rows: Array) -> dict[str, Any]:
        """As the law."""
        return self.law.for_motion(robot, k, rows)

    # ---- before and after the law

    def screen_readings(self, robot: Robot, z: dict[str, Array], q: Array, k: dict[str, Array]) -> Array:
        """The readings, of which wild ones are missing if they are bridged."""
        if self.on_glitch != "bridge":
            return q
        # As long as nothing has been read there is nothing to be far from.
        samples = where(z["started"][0], z["missed"][0] + 1.0, 1e9)
        tame = _tame_signs(robot, z, q, k["period"][0] * samples)
        return pack([where(sign, value, MISSING) for sign, value in zip(tame, q, strict=True)])

    def after_release(
        self, robot: Robot, z: dict[str, Array], sample: LawSample, step: ControlStep
    ) -> ControlStep:
        """The same while the controller runs; after a stop the forces of the choice."""
        memory, stopped = dict(step.memory), step.memory["stopped"][0]
        if "reading" in z:
            # A stop counts from reading to reading, so that a jump is wild for one sample.
            memory["reading"] = pack(
                [
                    where(
                        presence_sign(counted),
                        counted,
                        where(presence_sign(raw), where(stopped, raw, last), last),
                    )
                    for counted, raw, last in zip(sample.screened, sample.q, z["reading"], strict=True)
                ]
            )
        if not self._halts:
            return step._replace(memory=memory)
        k, T = sample.k, sample.k["period"][0]
        tame = _tame_signs(robot, z, sample.q, T)
        change = coordinate_difference(robot, sample.q, z["reading"])
        rate = pack(
            [
                last + k["halt_smoothing"][0] * (where(sign, divide(off, T), 0.0) - last)
                for last, sign, off in zip(z["halt_rate"], tame, change, strict=True)
            ]
        )
        x, y = _follow_pose(robot, z, sample, memory, tame)
        force = _halting_force(robot, x, y, rate, k)
        # A controller that has not started has no pose to hold.
        halting = where(stopped - StopReason.NOT_STARTED - 0.5, 1.0, -1.0)
        if self.on_stop == "brake":
            quiet = smallest_sign(
                [
                    where(sign, where(limit - absolute(value), 1.0, -1.0), 1.0)
                    for sign, limit, value in zip(tame, k["rest_rate"], rate, strict=True)
                ]
            )
            rest = z["rest"][0]
            at_rest = where(rest - k["patience"][0], 1.0, -1.0)
            count = where(at_rest, rest, where(quiet, rest + 1.0, 0.0))
            memory["rest"] = pack([where(stopped, count, 0.0)])
            halting = where(at_rest, -1.0, halting)
        off = np.zeros(len(rate))
        halted = select(minimum(halting, finite_force(force)), force, off)
        memory |= {"halt_pose": x, "halt_unknowns": y, "halt_rate": rate}
        return step._replace(tau=select(stopped, halted, step.tau), memory=memory)


def _tame_signs(robot: Robot, z: dict[str, Array], q: Array, time: Scalar) -> list[Scalar]:
    """1 for every reading (actuators,) that is there and not wild within a time (s), else -1."""
    signs, speeds = [presence_sign(value) for value in q], described_speeds(robot)
    change = coordinate_difference(robot, q, z["reading"])
    for i, speed in speeds.items():
        slack = (MEASURED_TOLERANCE.speed * speed) * time - absolute(change[i])
        signs[i] = where(slack, signs[i], -1.0)
    return signs


def _follow_pose(
    robot: Robot, z: dict[str, Array], sample: LawSample, memory: dict[str, Any], tame: list[Scalar]
) -> tuple[Array, Array]:
    """Pose (nx,) and passive coordinates (ny,) at the readings of a sample."""
    stopped = memory["stopped"][0]
    before = select(stopped, z["halt_pose"], sample.motion.x)
    unknowns = select(stopped, z["halt_unknowns"], memory["y_d"])
    at = inverse_jacobian(robot, before, unknowns)
    off = coordinate_difference(robot, sample.q, np.asarray(at["q"]))
    gap = pack([where(sign, value, 0.0) for sign, value in zip(tame, off, strict=True)])
    x = displace_pose(robot, before, unknowns, twist_from_rates(np.asarray(at["J"]), gap))
    y = solve_passive_coordinates(robot, unknowns, x, _CLOSING_STEPS)
    room = MEASURED_TOLERANCE._replace(wrong=sample.branch_tolerance)
    state = check_state(robot, z, (x, y, np.zeros(robot.motion.n)), room)
    checks = [check for check in state.checks if check.aspect in (Aspect.REACH, Aspect.SINGULARITY)]
    failure = first_failure(StopReason.FORCE_NOT_FINITE, checks)
    kept = maximum(failure, -smallest_sign(tame))
    return select(kept, before, x), select(kept, unknowns, y)


def _halting_force(robot: Robot, x: Array, y: Array, rate: Array, k: dict[str, Array]) -> Array:
    """S g - D q' (actuators,), N or N m, within the limits of the drives."""
    n = robot.motion.n
    at_rest = DesiredMotion(x, np.zeros(n), np.zeros(n))
    held = model_force(robot, y, at_rest, physics=WITHOUT_FRICTION)
    over: Scalar = 1.0
    for force, limit in zip(held, k["limit"], strict=True):
        over = maximum(over, divide(absolute(force), limit))
    return limit_forces(divide(1.0, over) * held - k["halt_damping"] * rate, k["limit"])

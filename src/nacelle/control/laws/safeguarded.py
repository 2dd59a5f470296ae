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
step leads to a state that is not admissible, and after a stop for missing readings. The rate of a drive whose
reading is missing or wild goes on as that of a damped mass: it is braked without being seen.

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
    conditioning,
    described_speeds,
    first_failure,
)
from nacelle.control.blocks.desired import desired_rates, model_force, solve_passive_coordinates
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
# How far the desired motion is looked ahead, s; and how near what stands still must be, over what moves.
_AHEAD, _STILL = 0.05, 0.1
# Steps of Newton's iteration that close the loops at the pose of a stop.
_CLOSING_STEPS = 2


class Safeguards(NamedTuple):
    """Choices of what is done around a law.

    Attributes:
        on_stop: what a stop does, a key of `STOPS`.
        on_glitch: what becomes of a wild reading, a key of `WILD_READINGS`.
        singularity: the least determinant of the actuators' Jacobian at the desired pose, over that at the
            reset; 0 for the margin of every law alone.
        following: how far readings may be from the desired motion, rad or m, one for all or one for each;
            None for any.
    """

    on_stop: str = "zero"
    on_glitch: str = "stop"
    singularity: float = 0.0
    following: float | tuple[float, ...] | None = None


def safeguards_of(kind: ControlLaw) -> Safeguards:
    """Those of a law."""
    return kind.guards if isinstance(kind, Safeguarded) else Safeguards()


@dataclass(frozen=True)
class Safeguarded(ControlLaw):
    """A law with a choice of what a stop does, and of what becomes of a wild reading.

    Attributes:
        law: the law.
        guards: the choices.
    """

    law: ControlLaw
    guards: Safeguards

    def __post_init__(self) -> None:
        """Check the choices, and take over what the law says of itself.

        Raises:
            KinematicsError: if there is no such choice.
        """
        for option, chosen, known in (
            ("on_stop", self.guards.on_stop, tuple(STOPS)),
            ("on_glitch", self.guards.on_glitch, tuple(WILD_READINGS)),
        ):
            if chosen not in known:
                raise KinematicsError(
                    f"{option} is {' or '.join(known)}, got {chosen!r}; {did_you_mean(chosen, known)}"
                )
        if not 0.0 <= self.guards.singularity < 1.0:
            raise KinematicsError(f"singularity is from 0 to below 1, got {self.guards.singularity:g}")
        following = np.atleast_1d(np.inf if self.guards.following is None else self.guards.following)
        if not np.all(following > 0.0):
            raise KinematicsError(f"following is above zero, got {self.guards.following}")
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
        return self.guards.on_stop != "zero"

    def memory(self, robot: Robot) -> VectorLayout:
        """That of the law, last readings, and what a stop begins with."""
        m, mechanism = len(robot.actuators), mechanism_of(robot)
        parts = {"reading": m} if self._halts or self.guards.on_glitch == "bridge" else {}
        if self._halts:
            parts |= {
                "halt_pose": mechanism.layout.nx,
                "halt_unknowns": mechanism.unknown_count,
                "halt_rate": m,
            }
        if self.guards.on_stop == "brake":
            parts["rest"] = 1
        if self.guards.singularity:
            parts["conditioning"] = 1
        if self.guards.following is not None:
            parts |= {"reading": m, "unseen": m}
        return VectorLayout(**self.law.memory(robot).sizes, **parts)

    def gains(self, robot: Robot) -> VectorLayout:
        """Those of the law, then damping of a stop, its filter, and rates at rest."""
        m = len(robot.actuators)
        parts = {"halt_damping": m, "halt_smoothing": 1, "halt_decay": 1} if self._halts else {}
        if self.guards.on_stop == "brake":
            parts["rest_rate"] = m
        if self.guards.singularity:
            parts |= {"singularity": 1, "ahead": 1}
        if self.guards.following is not None:
            parts["following"] = m
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
            "unseen": 0.0,
        }
        if self.guards.singularity:
            parts["conditioning"] = pack(
                [conditioning(robot, np.asarray(inverse_jacobian(robot, x, y)["J"]))]
            )
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
            "halt_decay": 1.0 - math.exp(-w * period),
            "rest_rate": np.maximum(rest, _REST_COUNTS * counts),
            "singularity": self.guards.singularity,
            "ahead": _AHEAD,
            "following": self.guards.following,
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
        if self.guards.on_glitch != "bridge":
            return q
        # As long as nothing has been read there is nothing to be far from.
        samples = where(z["started"][0], z["missed"][0] + 1.0, 1e9)
        tame = _tame_signs(robot, z, q, k["period"][0] * samples)
        return pack([where(sign, value, MISSING) for sign, value in zip(tame, q, strict=True)])

    def further_checks(
        self, robot: Robot, z: dict[str, Array], sample: LawSample
    ) -> list[tuple[int, Scalar]]:
        """How far the desired pose is from singularities, and the readings from it."""
        checks: list[tuple[int, Scalar]] = []
        if not (self.guards.singularity or self.guards.following is not None):
            return checks
        (x, v, _), k = sample.motion, sample.k
        if self.guards.following is not None:
            numbers = _following_margins(robot, z, sample)
            checks += [(StopReason.MEASURED_TOO_FAR, number) for number in numbers]
        if self.guards.singularity:
            # Both are squares.
            least = k["singularity"][0] * k["singularity"][0] * z["conditioning"][0]
            y = solve_passive_coordinates(robot, z["y_d"], x)
            coming = displace_pose(robot, x, y, k["ahead"][0] * v)
            for pose, start in ((x, z["y_d"]), (coming, y)):
                at = inverse_jacobian(robot, pose, solve_passive_coordinates(robot, start, pose))
                number = conditioning(robot, np.asarray(at["J"])) - least
                checks.append((StopReason.DESIRED_SINGULAR, number))
        return checks

    def after_release(
        self, robot: Robot, z: dict[str, Array], sample: LawSample, step: ControlStep
    ) -> ControlStep:
        """The same while the controller runs; after a stop the forces of the choice."""
        memory, stopped = dict(step.memory), step.memory["stopped"][0]
        memory |= {name: z[name] for name in ("conditioning", "unseen") if name in z}
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
        going_on = z["halt_rate"]
        if self.guards.following is not None:
            # A drive that was too far is not trusted: it went on as desired, as far as is known.
            too_far = where(stopped - StopReason.MEASURED_TOO_FAR + 0.5, 1.0, -1.0)
            first, margins = where(z["stopped"][0], -1.0, too_far), _following_margins(robot, z, sample)
            flags = [where(number, 0.0, 1.0) for number in margins]
            unseen = [
                where(stopped, where(first, now, before), 0.0)
                for now, before in zip(flags, z["unseen"], strict=True)
            ]
            memory["unseen"] = pack(unseen)
            tame = [where(flag, -1.0, sign) for flag, sign in zip(unseen, tame, strict=True)]
            desired = desired_rates(robot, memory["y_d"], sample.motion)
            begins = [minimum(first, where(flag, 1.0, -1.0)) for flag in unseen]
            going_on = pack(
                [where(b, goal, rate) for b, goal, rate in zip(begins, desired, going_on, strict=True)]
            )
        change = coordinate_difference(robot, sample.q, z["reading"])
        # The rate of a drive that is not seen goes on, and after a stop dies out as that of a damped mass.
        unseen = where(stopped, 1.0 - k["halt_decay"][0], 1.0)
        rate = pack(
            [
                where(sign, last + k["halt_smoothing"][0] * (divide(off, T) - last), unseen * last)
                for last, sign, off in zip(going_on, tame, change, strict=True)
            ]
        )
        x, y = _follow_pose(robot, z, sample, memory, tame)
        force = _halting_force(robot, x, y, rate, k)
        # A controller that has not started has no pose to hold.
        halting = where(stopped - StopReason.NOT_STARTED - 0.5, 1.0, -1.0)
        if self.guards.on_stop == "brake":
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


def _following_margins(robot: Robot, z: dict[str, Array], sample: LawSample) -> list[Scalar]:
    """Numbers (actuators,) above zero where a reading is near enough to the desired motion, or missing.

    A reading that stands still must be nearer by `_STILL`: an encoder that is stuck is seen early.
    """
    x = sample.motion.x
    q = actuator_positions(robot, x, solve_passive_coordinates(robot, z["y_d"], x))["q"]
    off = coordinate_difference(robot, np.asarray(q), sample.screened)
    margins = []
    for reading, last, value, limit in zip(
        sample.screened, z["reading"], off, sample.k["following"], strict=True
    ):
        near = where(absolute(reading - last), limit, _STILL * limit) - absolute(value)
        margins.append(where(presence_sign(reading), near, 1.0))
    return margins


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
    # Readings that were missing or wild for too long are not to be trusted after the stop.
    doubtful = where(stopped - StopReason.READINGS_MISSING - 0.5, -1.0, stopped)
    kept = maximum(maximum(failure, -smallest_sign(tame)), doubtful)
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

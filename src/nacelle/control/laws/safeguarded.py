"""Any law with a choice of what a stop does, and of what becomes of a wild reading.

A stop (`nacelle.control.blocks.admissible`) leaves

    zero     no force: drives off, brakes hold
    hold     s (g(x) - w M_a(x) q')
    brake    the same until nothing has moved for `patience` samples, then no force

g (actuators,) are the forces of the model that hold the platform's pose x against gravity and springs, N or
N m, q' (actuators,) the filtered rates of the readings, rad/s or m/s, and M_a = J^+T M J^+ the mass matrix at
the actuators: all motions of the platform, heavy and light, decay at the rate w, 1/s. The factor
s = 1 / max(1, max_i |force_i| / limit_i) keeps the force within the limits of the drives and its direction:
it brakes with all that the drives have, and next to a singularity no drive is asked for more.

M_a couples the drives. So where the pose is not known, as readings are missing, wild or stuck, each brakes by
its own rate: s g(x) - D q', D a diagonal of N s/m or N m s/rad, cut at the limits. As |s g_i| is within them,
the damping of no drive does positive work.

The pose is followed by one of Newton's steps in a sample, x + J^+ (q - q(x)), from the desired pose while the
controller runs and from itself after a stop. It is kept where a reading is missing or wild, and where the
step leads to a state that is not admissible, and after a stop for missing readings. The rate of a drive whose
reading is missing or wild goes on as that of a damped mass: it is braked without being seen. So does one that
changes by more than drives make, until the next sample confirms it; other changes of rates, too, count as far
as the sample before confirms them.

A reading is wild where it is further from the last one than the drive moves by its described speed in a
sample, times the margin of the measured state. `bridge` takes it for a missing one, which laws predict for
at most `patience` samples in a row; each of these widens what is not wild by a step. `stop` leaves it to the
law, whose checks stop at it. Drives without a described speed have no wild readings.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
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
    parallel_singularity_margin,
)
from nacelle.control.blocks.desired import desired_rates, model_force, solve_passive_coordinates
from nacelle.control.blocks.pose import displace_pose, twist_from_rates
from nacelle.control.blocks.signals import (
    UNLIMITED,
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
# Accelerations of drives that are believed, over those that their forces give to the lightest motion.
_FASTEST = 3.0
# Rates at rest: over the described speed, without one in rad/s or m/s, and in counts of encoders a sample.
_REST_SPEED, _REST_RATE, _REST_COUNTS = 0.005, 0.02, 2.0
# How far the desired motion is looked ahead, s; and how near what stands still must be, over what moves.
_AHEAD, _STILL = 0.05, 0.1
# Samples since a reading where there was none: any may be the first.
_UNREAD = 1e9
# Steps of Newton's iteration that close the loops at the pose of a stop.
_CLOSING_STEPS = 2


class Safeguards(NamedTuple):
    """Choices of what is done around a law.

    Attributes:
        on_stop: what a stop does, a key of `STOPS`: "zero" (no force), "hold" (gravity and damping), "brake"
            (the same until at rest, then no force).
        on_glitch: what becomes of a wild reading, one that jumps further than a described speed allows, a key
            of `WILD_READINGS`: "stop", or "bridge" (predicted for a few samples in a row, then a stop).
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
        parts: dict[str, int] = {}
        if self.guards != Safeguards(singularity=self.guards.singularity):
            parts |= {"reading": m, "age": m}
        if self._halts:
            parts |= {
                "latest": m,
                "leapt": 1,
                "halt_pose": mechanism.layout.nx,
                "halt_unknowns": mechanism.unknown_count,
                "halt_rate": m,
                "halt_change": m,
            }
        if self.guards.on_stop == "brake":
            parts["rest"] = 1
        if self.guards.singularity:
            parts["conditioning"] = 1
        if self._halts and self.guards.following is not None:
            parts["stuck"] = m
        return VectorLayout(**self.law.memory(robot).sizes, **parts)

    def gains(self, robot: Robot) -> VectorLayout:
        """Those of the law, then damping of a stop, its filter, and rates at rest."""
        m = len(robot.actuators)
        parts = (
            {"halt_brake": 1, "halt_damping": m, "halt_smoothing": 1, "halt_slew": m, "halt_decay": 1}
            | {"rest_rate": m}
            if self._halts
            else {}
        )
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
            "age": _UNREAD,
            "latest": MISSING,
            "leapt": 0.0,
            "halt_pose": x,
            "halt_unknowns": y,
            "halt_rate": 0.0,
            "halt_change": 0.0,
            "rest": 0.0,
            "stuck": 0.0,
        }
        if self.guards.singularity:
            parts["conditioning"] = pack(
                [conditioning(robot, np.asarray(inverse_jacobian(robot, x, y)["J"]))]
            )
        return self.law.start(robot, x, y) | {
            name: part for name, part in parts.items() if name in self.memory(robot).sizes
        }

    def tune_gains(self, robot: Robot, tuning: Tuning) -> dict[str, Any]:
        """Gains of the law; a stop brakes at w = 2 zeta 2 pi bandwidth, slower where sampling allows no more.

        These are the damping and the crossover of the law's own rates.
        """
        period, light = tuning.period, max(1.0, tuning.masses.lightest)
        fastest = _CROSSOVER / (period + tuning.delay)
        damping = 4.0 * math.pi * tuning.damping * tuning.bandwidth
        brake, w = (min(damping, rate) for rate in (fastest, fastest / light))
        smoothing = 1.0 - math.exp(-_FILTER_RATIO * brake * period)
        limits = np.minimum(tuning.limits, UNLIMITED)
        counts = tuning.resolution * smoothing / period
        speeds = described_speeds(robot)
        rest = [_REST_SPEED * speeds[i] if i in speeds else _REST_RATE for i in range(len(counts))]
        parts = {
            "halt_brake": brake,
            "halt_damping": w * tuning.masses.held,
            "halt_smoothing": smoothing,
            "halt_slew": np.maximum(_FASTEST * period * light * limits / tuning.masses.held, 2.0 * counts),
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
        tame = _compare_readings(robot, z, q, k).tame
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
            # The determinant counts by its square, and by its sign: what is looked at may lie beyond.
            least = k["singularity"][0] * k["singularity"][0] * z["conditioning"][0]
            y = solve_passive_coordinates(robot, z["y_d"], x)
            J = np.asarray(inverse_jacobian(robot, x, y)["J"])
            rows = [J]
            # Ahead by the twist that is desired, and by that of the machine: the first may not be true.
            for twist in (v, twist_from_rates(J, z["halt_rate"])) if self._halts else (v,):
                pose = displace_pose(robot, x, y, k["ahead"][0] * twist)
                coming = solve_passive_coordinates(robot, y, pose)
                rows.append(np.asarray(inverse_jacobian(robot, pose, coming)["J"]))
            numbers = [parallel_singularity_margin(robot, at, z["side"], least) for at in rows]
            checks += [(StopReason.DESIRED_SINGULAR, number) for number in numbers]
        return checks

    def after_release(
        self, robot: Robot, z: dict[str, Array], sample: LawSample, step: ControlStep
    ) -> ControlStep:
        """The same while the controller runs; after a stop the forces of the choice."""
        memory, stopped = dict(step.memory), step.memory["stopped"][0]
        memory |= {name: z[name] for name in ("conditioning", "stuck") if name in z}
        if "reading" not in z:
            return step._replace(memory=memory)
        k, counts = sample.k, [presence_sign(value) for value in sample.screened]
        tame, rates, leapt = _compare_readings(robot, z, sample.q, k, stopped)
        counts = [where(stopped, after, now) for after, now in zip(tame, counts, strict=True)]
        memory["reading"] = pack(
            [where(sign, *pair) for sign, *pair in zip(counts, sample.q, z["reading"], strict=True)]
        )
        memory["age"] = pack(
            [where(sign, 0.0, age + 1.0) for sign, age in zip(counts, z["age"], strict=True)]
        )
        if not self._halts:
            return step._replace(memory=memory)
        memory["leapt"] = pack([where(stopped, maximum(z["leapt"][0], leapt), 0.0)])
        memory["latest"] = pack([where(presence_sign(value), value, MISSING) for value in sample.q])
        going_on = z["halt_rate"]
        if self.guards.following is not None:
            # A drive that was too far and has stood still since is stuck: it went on as desired.
            first = where(absolute(stopped - StopReason.MEASURED_TOO_FAR) - 0.5, -1.0, 1.0 - z["stopped"][0])
            stuck = [
                where(
                    where(absolute(value - last), -1.0, stopped),
                    where(first, where(margin, 0.0, 1.0), before),
                    0.0,
                )
                for value, last, margin, before in zip(
                    *(sample.q, z["reading"], _following_margins(robot, z, sample), z["stuck"]), strict=True
                )
            ]
            memory["stuck"] = pack(stuck)
            tame = [where(flag, -1.0, sign) for flag, sign in zip(stuck, tame, strict=True)]
            desired = desired_rates(robot, memory["y_d"], sample.motion)
            going_on = pack(
                [
                    where(minimum(first, flag), goal, rate)
                    for flag, goal, rate in zip(stuck, desired, going_on, strict=True)
                ]
            )
        change = k["halt_smoothing"][0] * (pack(rates) - going_on)
        possible = _confirmed_change(change, z["halt_change"], k)
        memory["halt_change"] = pack(
            [where(sign, *pair) for sign, *pair in zip(tame, change, z["halt_change"], strict=True)]
        )
        tame = [
            where(_believe_change(*row), sign, -1.0)
            for sign, *row in zip(tame, change, z["halt_change"], k["halt_slew"], strict=True)
        ]
        # The rate of a drive that is not seen goes on, and after a stop dies out as that of a damped mass.
        unseen = where(stopped, 1.0 - k["halt_decay"][0], 1.0)
        rate = pack(
            [
                where(sign, last + step, unseen * last)
                for last, sign, step in zip(going_on, tame, possible, strict=True)
            ]
        )
        x, y, followed = _follow_pose(robot, z, sample, memory, tame)
        force = _halting_force(robot, x, y, rate, k, followed)
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


class _Compared(NamedTuple):
    """What readings say of the drives.

    Attributes:
        tame: 1 for every one (actuators,) that is there and not wild, else -1.
        rates: since then (actuators,), rad/s or m/s.
        leapt: 1 if one is near to the last sample alone, else -1.
    """

    tame: list[Scalar]
    rates: list[Scalar]
    leapt: Scalar


def _compare_readings(
    robot: Robot, z: dict[str, Array], q: Array, k: dict[str, Array], stopped: Scalar = 0.0
) -> _Compared:
    """The readings q (actuators,) against those that counted last, and after a stop those of the last sample.

    Those may be far from what counted: a zero that was lost is wild once.
    """
    T, speeds, count = k["period"][0], described_speeds(robot), len(q)

    def compare(last: Array, samples: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        tame, change = [presence_sign(value) for value in q], coordinate_difference(robot, q, last)
        for i, speed in speeds.items():
            time = T * samples[i]
            off = absolute(change[i])
            if "halt_rate" in z:
                # A machine that is too fast is not wild.
                off = minimum(off, absolute(change[i] - time * z["halt_rate"][i]))
            tame[i] = where((MEASURED_TOLERANCE.speed * speed) * time - off, tame[i], -1.0)
        return tame, [divide(change[i], T * samples[i]) for i in range(count)]

    tame, rates = compare(z["reading"], [age + 1.0 for age in z["age"]])
    if "latest" not in z:
        return _Compared(tame, rates, -1.0)
    latest, latest_rates = compare(z["latest"], [1.0] * count)
    there = [where(stopped, presence_sign(value), -1.0) for value in z["latest"]]
    near = [minimum(*signs) for signs in zip(latest, there, strict=True)]
    leapt = [minimum(sign, -counted) for sign, counted in zip(near, tame, strict=True)]
    return _Compared(
        [maximum(*signs) for signs in zip(tame, near, strict=True)],
        [where(*row) for row in zip(tame, rates, latest_rates, strict=True)],
        -smallest_sign([-sign for sign in leapt]),
    )


def _confirmed_change(change: Array, before: Array, k: dict[str, Array]) -> Array:
    """Changes of rates (actuators,), rad/s or m/s, as far as those that the samples before asked for.

    A single wrong reading asks for a change and, a sample later, for the opposite one: both are cut to the
    rate that counts as rest. All changes are limited to what the drives can make.
    """
    return pack(
        [
            minimum(maximum(value, minimum(last, 0.0) - rest), maximum(last, 0.0) + rest)
            for value, last, rest in zip(
                limit_forces(change, k["halt_slew"]), before, k["rest_rate"], strict=True
            )
        ]
    )


def _believe_change(change: Scalar, before: Scalar, slew: Scalar) -> Scalar:
    """Above zero where a change of a rate is believed, after the one that the sample before asked for.

    One beyond what drives make counts from its second sample in a row: a single wrong reading
    causes a change and then the opposite one, at most twice as large. The second counts if the first did.
    """
    returns = minimum(slew - absolute(before), 2.0 * absolute(before) - absolute(change))
    confirmed = where(change * before, absolute(before) - slew, returns)
    return where(absolute(change) - slew, confirmed, 1.0)


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
) -> tuple[Array, Array, Scalar]:
    """Pose (nx,) and passive coordinates (ny,) at the readings of a sample, above zero if they are."""
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
    # Readings that were missing or wild for too long, or have leapt, say nothing of the pose after the stop.
    kept = maximum(maximum(failure, -smallest_sign(tame)), memory["leapt"][0])
    kept = maximum(kept, 0.5 - absolute(stopped - StopReason.READINGS_MISSING))
    return select(kept, before, x), select(kept, unknowns, y), where(kept, -1.0, 1.0)


def _halting_force(
    robot: Robot, x: Array, y: Array, rate: Array, k: dict[str, Array], followed: Scalar
) -> Array:
    """Forces of a stop (actuators,), N or N m: with all that is known, or with what each drive knows."""
    n = robot.motion.n
    J = np.asarray(inverse_jacobian(robot, x, y)["J"])

    def scale_force(a: Array) -> Array:
        """Forces of an acceleration from rest, scaled until each is within the limit of its drive."""
        motion = DesiredMotion(x, np.zeros(n), a)
        force, over = model_force(robot, y, motion, physics=WITHOUT_FRICTION), 1.0
        for value, limit in zip(force, k["limit"], strict=True):
            over = maximum(over, divide(absolute(value), limit))
        return np.asarray(divide(1.0, over) * force)

    braked = scale_force(-k["halt_brake"][0] * twist_from_rates(J, rate))
    damped = limit_forces(scale_force(np.zeros(n)) - k["halt_damping"] * rate, k["limit"])
    # Rounding of the scale is beyond no limit.
    return select(minimum(followed, finite_force(braked)), limit_forces(braked, k["limit"]), damped)

"""Controllers: a kind of law for a robot, tuned, with a sample time, and its physics function.

Identities of programs of laws are recognised at samples of their inputs. The desired pose is one of the
robot, to all digits (`nacelle.kinematics.samples`). The readings and the memory are near those at it: a
memory at rest there, off by two hundredths. So every step of Newton's iteration that a law takes is seen to
move something (2e-2, 4e-4, 2e-7), while what the last of three leaves open, 3e-14 of a small factor, is below
rounding: identities of closed loops hold behind it. Rates and errors are drawn at random, and gains around
those that a kind gives itself.

Every law, with the checks before a force leaves, runs through here: in the native loop, sample by sample, and
in exported packages.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.control.blocks.admissible import release_force
from nacelle.control.blocks.signals import StopReason
from nacelle.control.kind import (
    ControlLaw,
    DesiredMotion,
    LawSample,
    TunedLoop,
    desired_motion_from_row,
    desired_row_shape,
)
from nacelle.errors import KinematicsError, NacelleError
from nacelle.kinematics.branch import RELATION_TOLERANCE
from nacelle.kinematics.kinematic_model import actuator_positions
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.samples import input_samples
from nacelle.kinematics.shapes import actuators_shape
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.program.identities.values import PreciseInputs, Row
from nacelle.results import HasTable
from nacelle.simulation.digital_controller import DigitalController, compiled_law
from nacelle.spatial.physics import check_inputs_with, depends_on_form, draw_inputs_with, physics
from nacelle.spatial.scalar import Array

# How far memory and readings are from those at the pose, over their own size.
_PERTURBATION = 2e-2
_SEED = 17
# How far readings are from the desired pose where programs are checked, rad or m.
_READING_OFFSET = 1e-5
# Rates of desired motions that are checked, over those that are drawn: drives have limits.
_RATE_FACTOR = 0.1
# Number of passive coordinates beyond which identities are not sought: that takes a minute, and gains little.
_MAX_UNKNOWNS = 16


def law_sampler(kind: ControlLaw, *, identities: bool) -> Callable[..., PreciseInputs | None]:
    """The sampler of a law of (z, q, r, gains).

    Args:
        kind: the law.
        identities: whether identities are sought at the samples. Else its program is checked there: samples
            that a law takes, so that there are forces to compare, with the memory at rest and readings near
            those of the desired pose, so that Newton's steps begin next to where they end, in every form.
    """

    def sampler(
        robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: tuple[str, ...] = ()
    ) -> PreciseInputs | None:
        mechanism, fields = mechanism_of(robot), kind.memory(robot)
        nx, ny, n = mechanism.layout.nx, mechanism.unknown_count, robot.motion.n
        # A law that finds the pose by itself is many times as long, and identities take off a hundredth.
        if groups or (identities and (ny > _MAX_UNKNOWNS or not {"x", "halt_pose"}.isdisjoint(fields.names))):
            return None
        states = input_samples(robot, {"x": (nx,), "y": (ny,), "rates": (2 * n,)})
        if states is None:
            return None
        rng = np.random.default_rng(_SEED)

        def row(sample: Row) -> Row:
            x, y, rates = np.split(np.array(sample, dtype=float), (nx, nx + ny))
            z = np.asarray(fields.join(kind.start(robot, x, y)), dtype=float)
            q, gains = np.asarray(actuator_positions(robot, x, y)["q"]), kind.plausible_gains(robot)
            if identities:
                near = [*_perturb_values(z, rng), *_perturb_values(q, rng)]
                return (*near, *sample[:nx], *sample[nx + ny :], *_perturb_values(np.abs(gains), rng))
            off = _READING_OFFSET * rng.uniform(-1.0, 1.0, len(q))
            numbers = np.concatenate([z, q + off, x, _RATE_FACTOR * rates, gains])
            return tuple(map(Decimal, numbers.astype(float).tolist()))

        if not identities:
            rows = tuple(row(sample) for sample in states.check)
            return PreciseInputs(rows, rows, (0.0,) * sum(shape[0] for shape in shapes.values()))
        try:
            proof, check = (tuple(row(sample) for sample in part) for part in (states.proof, states.check))
        except NacelleError:
            return None
        before = (0.0,) * (fields.size + len(robot.actuators))
        after = (0.0,) * (2 * n + shapes["gains"][0])
        return PreciseInputs(proof, check, (*before, *states.sizes[:nx], *after))

    return sampler


def _perturb_values(values: Array, rng: np.random.Generator) -> list[Decimal]:
    """Numbers close to others; random ones where these are zero."""
    away = rng.uniform(0.5, 1.5, values.shape) * rng.choice([-1.0, 1.0], values.shape)
    return [
        Decimal(float(value))
        for value in np.where(values == 0.0, away, values * (1.0 + _PERTURBATION * away))
    ]


# ---- the physics function of a control law, with the checks before a force leaves


@lru_cache(maxsize=128)
def law_function(
    kind: ControlLaw, branch_tolerance: float = RELATION_TOLERANCE
) -> Callable[..., dict[str, Array]]:
    """The physics function (robot, z, q, r, gains) of a kind of controller.

    Args:
        kind: the kind.
        branch_tolerance: how far relations of a branch's unknowns may be off, rad or robot's sizes: more in
            single
            precision.
    """
    # The first of equal laws makes the function for all of them, and its numbers may suit one robot alone.
    kind = kind.untuned

    # Laws begin with a step of the iteration that finds y: its rounding, over the square of the period, is in
    # what they remember.
    @depends_on_form(lambda robot: bool(mechanism_of(robot).unknown_count))
    @check_inputs_with(law_sampler(kind, identities=False))
    @draw_inputs_with(law_sampler(kind, identities=True))
    @physics(
        z=lambda robot: (kind.memory(robot).size,),
        q=actuators_shape,
        r=desired_row_shape,
        gains=lambda robot: (kind.gains(robot).size,),
    )
    def law(robot: Robot, z: Array, q: Array, r: Array, gains: Array) -> dict[str, Array]:
        memory, motion, k = (
            kind.memory(robot),
            desired_motion_from_row(robot, r),
            kind.gains(robot).split(gains),
        )
        before = memory.split(z)
        screened = kind.screen_readings(robot, before, q, k)
        sample = LawSample(q, screened, motion, k, branch_tolerance)
        step = release_force(
            robot,
            before,
            kind.step(robot, before, screened, motion, k),
            motion,
            k,
            q=screened,
            further=kind.further_checks(robot, before, sample),
            branch_tolerance=branch_tolerance,
        )
        step = kind.after_release(robot, before, sample, step)
        return {"force": np.asarray(step.tau), "memory": memory.join(step.memory)}

    law.__name__ = kind.name
    # All that shapes the program is in the class and in its fields.
    vars(law)["made_from"] = (type(kind).__module__, repr(kind), branch_tolerance)
    return law


# ---- controllers: a kind of law for a robot, tuned, with a sample time


@dataclass(frozen=True, eq=False, repr=False)
class Controller(HasTable):
    """A tuned controller.

    Attributes:
        kind: the law.
        robot: the model that it has.
        period: sample time, s.
        gains: the parts of `kind.gains`, as one vector.
        tuned: what the gains were made for; None if they were given.
    """

    kind: ControlLaw
    robot: Robot
    period: float
    gains: Array
    tuned: TunedLoop | None = field(default=None, kw_only=True)

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
        """One part of the gains by name, SI units; its size is that of `ControlLaw.gains`."""
        return np.asarray(self.gains[self.kind.gains(self.robot).slice_of(name)])

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

    def digital(
        self, x: Any, rows: Array, *, delay: float = 0.0, tau0: Array | None = None
    ) -> DigitalController:
        """The controller in its loop, for `simulate`.

        Args:
            x: pose at the start (nx,).
            rows: the desired motion [x; v; a] (N, nx + 2 n), a row for every sample.
            delay: from a sample to the time at which its forces act, s.
            tau0: what acts before (actuators,).
        """
        return DigitalController(
            law_function(self.kind),
            self.period,
            memory=self.start(x),
            reference=rows,
            gains=self.gains,
            robot=self.robot,
            delay=delay,
            tau0=tau0,
            stop=(self.kind.memory(self.robot).slice_of("stopped").start, STOP_REASONS),
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
        return compiled_law(law_function(self.kind), self.robot)

    def coordinates(self, x: Any) -> Array:
        """Coordinates (..., actuators), rad or m, of the actuators of the model at poses (..., nx)."""
        return np.asarray(inverse_kinematics(self.robot, x, limits=False).q)


STOP_REASONS = {int(reason): f"the controller stopped: {reason.text}" for reason in StopReason if reason}
"""Why a controller stopped, by the number in its memory."""

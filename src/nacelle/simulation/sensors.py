"""What sensors give: steps and noise of encoders, readings that are missing, noise of forces.

At a sample, with the coordinates q of the actuators, noise n drawn beforehand and the resolution d,

    reading = d floor((q + n) / d + 1/2)      where it has arrived,      nothing where it has not

A reading that comes after its sample is late, and counts as missing: the controller has gone on without it.
Noise and what arrives come in rows with the desired motion, so that the loop stays one program and the same
seed gives the same numbers. Rows are finite; a missing reading is the number `MISSING` inside the program,
which controllers take for none, as they do with NaN (`nacelle.control.blocks.signals.present`). Forces are
measured by currents, with normal noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean
from nacelle.model.robot import Robot
from nacelle.simulation.digital_controller import DigitalController, derived_law
from nacelle.spatial.physics import input_shapes
from nacelle.spatial.scalar import Array, floor, maximum, where

# What a reading is that has not arrived, rad or m: beyond what any coordinate can be.
MISSING = 1e12
# What an encoder counts if nothing is said: a part of a turn of the motor, rad; at linear motors, m.
_ENCODER_COUNT, _LINEAR_ENCODER_COUNT = 2.0 * math.pi / 2**17, 1e-6
# Encoder steps below this, rad or m, mean no quantisation.
_FINEST_RESOLUTION = 1e-15
# Noise of measured forces if nothing is said, over the root of the mean square of those that are expected.
_FORCE_NOISE = 0.01

Numbers = float | Sequence[float]


@dataclass(frozen=True)
class Gap:
    """A time in which readings are missing.

    Attributes:
        start: first time without readings, s.
        end: first time with readings again, s.
        actuator: the name of the only actuator that it concerns; all of them if empty.
    """

    start: float
    end: float
    actuator: str = ""


@dataclass(frozen=True)
class Sensors:
    """Encoders and current sensors of a robot; one number for all actuators, or one for each.

    Attributes:
        resolution: at the joint, rad or m, 0 for none; that of 17 bits a turn of the motor behind its gear,
            and 1 um at a prismatic joint without a gear, if None. Readings are multiples of it.
        noise: standard deviation before that, rad or m.
        dropout: probability with which each reading is missing.
        late: probability with which a whole sample comes too late.
        gaps: times in which readings are missing.
        force_noise: standard deviation of measured forces, N or N m; 1 % of the root of the mean square of
            those that are expected if None.
    """

    resolution: Numbers | None = None
    noise: Numbers = 0.0
    dropout: Numbers = 0.0
    late: float = 0.0
    gaps: tuple[Gap, ...] = ()
    force_noise: Numbers | None = None

    @staticmethod
    def ideal() -> Sensors:
        """Sensors without noise and steps, from which every reading arrives."""
        return Sensors(resolution=0.0, force_noise=0.0)

    @property
    def is_complete(self) -> bool:
        """Whether all readings arrive."""
        return not (np.any(np.asarray(self.dropout)) or self.late or self.gaps)

    def resolutions(self, robot: Robot) -> Array:
        """Resolution of each encoder (actuators,), rad or m.

        Raises:
            KinematicsError: if numbers do not fit the robot.
        """
        if self.resolution is not None:
            return per_actuator(robot, "resolution of the sensors", self.resolution)
        joints = [robot.joints[actuator.joint] for actuator in robot.actuators]
        return np.array(
            [
                _LINEAR_ENCODER_COUNT
                if joint.gear_ratio == 1.0 and not revolute
                else _ENCODER_COUNT / abs(joint.gear_ratio)
                for joint, revolute in zip(joints, robot.revolute_actuators, strict=True)
            ]
        )

    def rows(self, robot: Robot, time: Array, seed: int) -> Array:
        """Noise and whether readings have arrived, [n; there] (N, 2 actuators), at samples (N,).

        Args:
            robot: the robot.
            time: of the samples, s.
            seed: of noise and losses; of equal seeds the numbers are equal, whatever the amount of noise.

        Raises:
            KinematicsError: if numbers do not fit the robot.
        """
        count, rng = len(robot.actuators), np.random.default_rng(seed)
        noise = per_actuator(robot, "noise of the sensors", self.noise) * rng.normal(size=(len(time), count))
        dropout = per_actuator(robot, "dropout of the sensors", self.dropout, most=1.0)
        lost = rng.uniform(size=(len(time), count)) < dropout
        if not 0.0 <= self.late <= 1.0:
            raise KinematicsError(f"the probability of late samples is from 0 to 1, got {self.late:g}")
        lost |= rng.uniform(size=(len(time), 1)) < self.late
        names = [actuator.name for actuator in robot.actuators]
        for gap in self.gaps:
            if gap.actuator and gap.actuator not in names:
                raise KinematicsError(
                    f"{robot.name} has no actuator {gap.actuator!r}; {did_you_mean(gap.actuator, names)}"
                )
            inside = (time >= gap.start) & (time < gap.end)
            lost[inside, slice(None) if not gap.actuator else names.index(gap.actuator)] = True
        return np.hstack([noise, np.where(lost, -1.0, 1.0)])

    def force_errors(self, robot: Robot, expected: Array, seed: int) -> Array:
        """Errors (N, actuators) of forces that are measured at samples, N or N m.

        Args:
            robot: the robot.
            expected: forces (N, actuators) from which the amount of noise follows where none is given.
            seed: as in `rows`; the errors are independent of those of the encoders.

        Raises:
            KinematicsError: if numbers do not fit the robot.
        """
        deviation = _FORCE_NOISE * np.sqrt(np.mean(np.square(expected), axis=0))
        if self.force_noise is not None:
            deviation = per_actuator(robot, "force_noise of the sensors", self.force_noise)
        _, noise = np.random.default_rng(seed).normal(size=(2, *expected.shape))
        return np.asarray(deviation * noise)

    def before(self, law: DigitalController, robot: Robot, rows: Array) -> DigitalController:
        """A law in its loop that reads the encoders.

        Args:
            law: the law; its reference has a row for every sample.
            robot: the model that the law has.
            rows: of the sensors (N, 2 actuators), `Sensors.rows`.
        """
        return replace(
            law,
            function=law_with_encoders(law.function),
            reference=np.hstack([law.reference, rows]),
            gains=np.concatenate([law.gains, self.resolutions(robot)]),
        )


def per_actuator(
    robot: Robot, what: str, value: Numbers, *, least: float = 0.0, most: float = math.inf
) -> Array:
    """One number for each actuator (actuators,), within bounds.

    Raises:
        KinematicsError: if there are not as many, or one is out of bounds.
    """
    count, values = len(robot.actuators), np.asarray(value, dtype=float)
    if values.shape not in ((), (count,)):
        names = ", ".join(actuator.name for actuator in robot.actuators)
        raise KinematicsError(
            f"the {what} is one number, or one for each of the {count} actuators of {robot.name} "
            f"({names}), got {value!r}"
        )
    inside = (values >= least) & (values <= most)
    values, inside = np.broadcast_to(values, (count,)).copy(), np.broadcast_to(inside, (count,))
    if not np.all(inside):
        k = int(np.argmin(inside))
        bound = "not negative" if most == math.inf else f"from 0 to {most:g}"
        raise KinematicsError(f"the {what} is {bound}, got {values[k]:g} for {robot.actuators[k].name}")
    return values


def encoder_reading(q: Any, noise: Any, arrived: Any, resolution: Any) -> Any:
    """What encoders give, rad or m; `MISSING` where nothing has arrived. Any scalar, or arrays of them."""
    noisy = q + noise
    counted = resolution * floor(noisy / maximum(resolution, _FINEST_RESOLUTION) + 0.5)
    return where(arrived, where(resolution - _FINEST_RESOLUTION, counted, noisy), MISSING)


@lru_cache(maxsize=128)
def law_with_encoders(function: Callable[..., Any]) -> Callable[..., Any]:
    """A law that reads encoders: of [r; noise; there] and [gains; resolution] in the place of r and gains.

    Args:
        function: a law as in `nacelle.simulation.digital_controller`, of z, q, r, gains, and others.
    """

    def longer(name: str, by: int) -> Callable[[Robot], tuple[int]]:
        return lambda robot: (
            (input_shapes(function, robot) or {}).get(name, (0,))[0] + by * len(robot.actuators),
        )

    def arrays_of(robot: Robot, arguments: dict[str, Array]) -> dict[str, Array]:
        m, r, gains = len(robot.actuators), arguments["r"], arguments["gains"]
        noise, arrived, resolution = r[len(r) - 2 * m : len(r) - m], r[len(r) - m :], gains[len(gains) - m :]
        return {
            "r": r[: len(r) - 2 * m],
            "gains": gains[: len(gains) - m],
            "q": encoder_reading(arguments["q"], noise, arrived, resolution),
        }

    law = derived_law(function, {"r": longer("r", 2), "gains": longer("gains", 1)}, arrays_of)
    vars(law)["made_from"] = (function, "sensed")
    return law

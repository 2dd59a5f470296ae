"""What drives of a robot do between the commands of a controller and its joints, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.simulation.drives.lugre import LuGre

Numbers = float | Sequence[float]
DESCRIBED = "described"


class Cogging(NamedTuple):
    """Cogging A sin(k q + phase) of a drive at its joint's coordinate q, a force that no current shows.

    Attributes:
        amplitude: A, N m or N.
        cycles: k, rad per rad or rad per m.
        phase: rad.
    """

    amplitude: float
    cycles: float
    phase: float


class DriveNumbers(NamedTuple):
    """Numbers of the drives of a robot, one for each actuator.

    Attributes:
        lag: time constants of the current loops, s; 0 where there is none.
        limit: largest forces of the motors, N m or N; infinite where there is none.
        cogging: of each drive; empty if there is none at all.
        stiction: friction with bristles; None where there is none.
    """

    lag: tuple[float, ...]
    limit: tuple[float, ...]
    cogging: tuple[Cogging, ...]
    stiction: tuple[LuGre | None, ...]

    @property
    def lagged(self) -> list[int]:
        """Actuators whose current loops have a lag: their forces are states."""
        return [i for i, lag in enumerate(self.lag) if lag]

    @property
    def bristled(self) -> list[tuple[int, LuGre]]:
        """Actuators with stiction, whose bristles are states, and their friction."""
        return [(i, model) for i, model in enumerate(self.stiction) if model is not None]

    @property
    def states(self) -> int:
        """Number of states: forces of motors and bristles."""
        return len(self.lagged) + len(self.bristled)


@dataclass(frozen=True)
class Drives:
    """Drives of a robot; one number for all actuators, or one for each.

    Attributes:
        lag: time constant of the current loops, s: the motor's force g follows the command u with
            g' = (u - g) / lag; 0 for none.
        bandwidth: of the current loops instead of their lag, Hz: lag = 1 / (2 pi bandwidth).
        limits: largest force of the motors, at which commands end, N m or N; those of the description
            (`actuator.force`) by default, None or infinite for none.
        cogging: amplitude (N m or N), cycles (rad per rad, rad per m) and phase (rad) of the force
            A sin(k q + phase): one triple for all, or one for each; None for none.
        stiction: friction with bristles in the actuated joints (`LuGre`), beside the friction that the robot
            has: one for all, or for each actuator one or None (`stiction_of`).

    Raises:
        KinematicsError: if something cannot be used.
    """

    lag: Any = 0.0
    bandwidth: Any = None
    limits: Any = DESCRIBED
    cogging: Any = None
    stiction: Any = None

    def __post_init__(self) -> None:
        """Check and normalise."""
        given: dict[str, Any] = {"lag": _plain(self.lag, "lag of the current loops")}
        if np.any(np.less(given["lag"], 0.0)) or not np.all(np.isfinite(given["lag"])):
            raise KinematicsError(f"the lag of the current loops is not negative, got {self.lag!r}")
        if self.bandwidth is not None:
            given["bandwidth"] = _plain(self.bandwidth, "bandwidth of the current loops")
            if not np.all(np.greater(given["bandwidth"], 0.0)):
                raise KinematicsError(
                    f"the bandwidth of the current loops is above 0 Hz, got {self.bandwidth!r}"
                )
            if np.any(given["lag"]):
                raise KinematicsError("current loops have a lag or a bandwidth: give one of them")
        if self.limits != DESCRIBED if isinstance(self.limits, str) else self.limits is not None:
            given["limits"] = _plain(self.limits, "force limit")
            if not np.all(np.greater(given["limits"], 0.0)):
                raise KinematicsError(f"force limits are above zero, or None for none, got {self.limits!r}")
        if self.cogging is not None:
            given["cogging"] = _cogging(self.cogging)
        if self.stiction is not None and not isinstance(self.stiction, LuGre):
            given["stiction"] = _models(self.stiction)
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def numbers(self, robot: Robot) -> DriveNumbers:
        """Numbers for each actuator of a robot.

        Raises:
            KinematicsError: if there are not as many as actuators.
        """
        lag = _each(robot, "lag", self.lag)
        if self.bandwidth is not None:
            lag = tuple(1.0 / (2.0 * np.pi * f) for f in _each(robot, "bandwidth", self.bandwidth))
        limits = tuple(actuator.force for actuator in robot.actuators)
        if self.limits != DESCRIBED:
            limits = _each(robot, "limits", np.inf if self.limits is None else self.limits)
        cogging: tuple[Cogging, ...] = ()
        if self.cogging is not None:
            one = isinstance(self.cogging, Cogging)
            cogging = _each(robot, "cogging", self.cogging, one=one)
        one = self.stiction is None or isinstance(self.stiction, LuGre)
        return DriveNumbers(
            lag,
            limits,
            cogging if any(term.amplitude for term in cogging) else (),
            _each(robot, "stiction", self.stiction, one=one),
        )


def _plain(given: Any, what: str) -> float | tuple[float, ...]:
    """A number, or one for each actuator, as plain floats."""
    try:
        values = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise KinematicsError(f"the {what} is a number, or one for each actuator, got {given!r}") from None
    if values.ndim > 1 or np.isnan(values).any():
        raise KinematicsError(f"the {what} is a number, or one for each actuator, got {given!r}")
    return float(values) if values.ndim == 0 else tuple(values.tolist())


def _cogging(given: Any) -> Cogging | tuple[Cogging, ...]:
    words = "cogging is (amplitude, cycles, phase), or one such triple for each actuator"
    try:
        values = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise KinematicsError(f"{words}, got {given!r}") from None
    if values.ndim not in (1, 2) or values.shape[-1] != 3 or not np.isfinite(values).all():
        raise KinematicsError(f"{words}, got {given!r}")
    return Cogging(*values.tolist()) if values.ndim == 1 else tuple(Cogging(*row) for row in values.tolist())


def _models(given: Any) -> tuple[LuGre | None, ...]:
    listed = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    for model in listed:
        if model is not None and not isinstance(model, LuGre):
            raise KinematicsError(
                f"stiction is a LuGre(coulomb, static, rate, stiffness), or for each actuator one or None, "
                f"got {model!r}"
            )
    return listed


def _each(robot: Robot, what: str, given: Any, *, one: bool | None = None) -> tuple[Any, ...]:
    """What is given for all actuators or for each, for each."""
    count = len(robot.actuators)
    if (isinstance(given, float) or given is None) if one is None else one:
        return (given,) * count
    if len(given) != count:
        names = ", ".join(actuator.name for actuator in robot.actuators)
        raise KinematicsError(
            f"{what} of the drives is one, or one for each of the {count} actuators of {robot.name} "
            f"({names}), got {len(given)}"
        )
    return tuple(given)

"""What an observer assumes of noise, of anchors and clocks, and what it tolerates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import ObserverError
from nacelle.kinematics.shapes import twist_scales
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


@dataclass(frozen=True)
class ObserverSettings:
    """What an observer assumes.

    Attributes:
        acceleration: square root of the density of what the acceleration has besides that of the control law,
            m/s^2/sqrt(Hz): one number, which for angles counts over the robot's size, or (n,). An error of
            1 m/s^2 rms that lasts 10 ms has 0.14.
        encoders: standard deviation of readings, rad or m: one number or (actuators,).
        anchors: standard deviation of displacements of the anchors on the base before anything is measured,
            m; 0: they are where the description says, and no states.
        anchors_walk: standard deviation that these gain in a second, m/sqrt(s): thermal growth.
        clock: standard deviation of the camera's clock about the given offset, s; 0: it is no state.
        clock_walk: standard deviation that it gains in a second, s/sqrt(s).
        gate: probability with which a right measurement is rejected.
        patience: how many measurements of one kind may be rejected in a row before the estimate has diverged.
        stale: time without a measurement after which an estimate is flagged, s.
        horizon: how late a measurement may come, s.
    """

    acceleration: float | tuple[float, ...] = 0.2
    encoders: float | tuple[float, ...] = 1e-5
    anchors: float = 0.0
    anchors_walk: float = 0.0
    clock: float = 0.0
    clock_walk: float = 0.0
    gate: float = 1e-5
    patience: int = 30
    stale: float = 0.1
    horizon: float = 0.1

    def __post_init__(self) -> None:
        numbers = {name: np.asarray(getattr(self, name), dtype=float) for name in self.__dataclass_fields__}
        for name, value in numbers.items():
            if not np.all(np.isfinite(value)) or np.any(value < 0.0):
                raise ObserverError(f"{name} of an observer must not be negative, got {getattr(self, name)}")
        for name in ("acceleration", "encoders", "patience", "stale", "horizon"):
            if np.any(numbers[name] == 0.0):
                raise ObserverError(f"{name} of an observer must be positive")
        if not 0.0 < self.gate < 1.0:
            raise ObserverError(f"gate is a probability between 0 and 1, got {self.gate}")

    def density(self, robot: Robot) -> Array:
        """Density of the acceleration's noise (n, n), (m/s^2)^2/Hz and (rad/s^2)^2/Hz."""
        return np.diag(twist_deviations(robot, self.acceleration) ** 2)


@dataclass(frozen=True, eq=False)
class Start:
    """Where an observer begins.

    Attributes:
        x: reduced pose (nx,).
        v: reduced twist (n,); zero if None.
        sigma_x: standard deviation of the pose, m; over the robot's size for angles; or (n,).
        sigma_v: standard deviation of the twist, m/s, likewise.
        time: by the robot's clock, s.
        clock: camera's clock minus robot's clock, as far as it is known, s.
    """

    x: Any
    v: Any = None
    sigma_x: Any = 1e-3
    sigma_v: Any = 1e-2
    time: float = 0.0
    clock: float = 0.0

    def covariance(self, robot: Robot) -> Array:
        """Covariance (2 n, 2 n) of the errors of pose and twist: m, rad, m/s and rad/s, squared."""
        parts = [twist_deviations(robot, sigma) for sigma in (self.sigma_x, self.sigma_v)]
        return np.diag(np.concatenate(parts) ** 2)


def twist_deviations(robot: Robot, values: Any) -> Array:
    """Numbers (n,) for the entries of the reduced twist, or a length (or its rate): angles over the size."""
    array = np.asarray(values, dtype=float)
    if array.ndim == 0:
        return np.asarray(float(array) / robot.size * twist_scales(robot))
    if array.shape != (robot.motion.n,):
        raise ObserverError(f"{robot.name} takes {robot.motion.n} numbers there, got the shape {array.shape}")
    return array

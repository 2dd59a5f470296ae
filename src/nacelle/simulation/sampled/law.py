"""Digital controllers: laws with a memory and a sample time of their own, in a loop with a plant.

At every sample t_k = start + k T a law takes its memory z, what the plant's sensors show, and a row r of the
reference, and gives

    z+, u = law(z, signals, r)

The forces u act from t_k + delay on, until the next ones do. In between the plant is integrated by steps
h = T / substeps of the classical Runge-Kutta method; a delay is rounded to whole steps. With a plant that can
be compiled (`Compilable`) the whole loop is native: the state that the driver carries is X = [s; z; u]. Other
plants say what they measure (`HasSignals`) and are stepped in Python.

A law is a physics function of its model of the robot, which may differ from the robot that moves. It declares
what it takes, among the signals of `nacelle.simulation.feedback` and

    z   its memory, (nz,)       gains   numbers that are tuned without compiling anew, (ng,)

and gives {"force": (actuators,), "memory": (nz,)}.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean
from nacelle.model.robot import Robot
from nacelle.simulation.feedback import SIGNALS, signal_shapes
from nacelle.simulation.flow import Options
from nacelle.simulation.protocol import Plant
from nacelle.spatial.physics import input_shapes
from nacelle.spatial.scalar import Array

_OWN = ("z", "gains")


@dataclass(frozen=True, eq=False)
class Sampled:
    """A law with memory in its loop.

    Attributes:
        function: the law, a physics function.
        period: sample time T, s.
        memory: z at the start (nz,).
        reference: r: an array with a row (k,) for every sample, or one row (k,), held throughout; None if the
            law takes none.
        gains: numbers of the law (ng,).
        robot: the model that the law has; that of the plant if None.
        delay: from a sample to the time at which its forces act, s, at most the sample time.
        first_force: forces that act before the first sample's do (actuators,); zero if None.
        options: keyword arguments for the law, which shape the program.
        stop: a place in the memory and words, or words by the number there: where it is above zero the run
            ends, and says so.
    """

    function: Callable[..., Any]
    period: float
    memory: Array = field(default_factory=lambda: np.zeros(0))
    reference: Any = None
    gains: Array = field(default_factory=lambda: np.zeros(0))
    robot: Robot | None = None
    delay: float = 0.0
    first_force: Array | None = None
    options: Options = ()
    stop: tuple[int, str | Mapping[int, str]] | None = None

    def __post_init__(self) -> None:
        """Check what does not depend on the plant.

        Raises:
            KinematicsError: if the function declares no inputs, or a time cannot be used.
        """
        if not hasattr(self.function, "physics_inputs"):
            raise KinematicsError(
                f"the controller {self.name!r} does not declare its inputs: decorate it with "
                "@physics(z=(2,), q=(2,), ...)"
            )
        if not (math.isfinite(self.period) and self.period > 0.0):
            raise KinematicsError(f"the sample time is above zero, got {self.period:g} s")
        if not 0.0 <= self.delay <= self.period * (1.0 + 1e-12):
            raise KinematicsError(
                f"forces of a sample act before the next one is taken: the delay of {self.delay:g} s is not "
                f"within the sample time of {self.period:g} s; take a longer sample time or a smaller law"
            )
        for name in ("memory", "gains"):
            array = np.asarray(getattr(self, name), dtype=float)
            if array.ndim != 1 or not np.isfinite(array).all():
                raise KinematicsError(f"the {name} of {self.name!r} are finite numbers (n,), got {array}")
            object.__setattr__(self, name, array)

    @property
    def name(self) -> str:
        """The law's name."""
        return str(getattr(self.function, "__name__", "controller"))

    def model(self, plant_robot: Robot) -> Robot:
        """The model of the robot that the law has."""
        return plant_robot if self.robot is None else self.robot

    def shapes(self, plant_robot: Robot) -> dict[str, tuple[int, ...]]:
        """What the law takes.

        Raises:
            KinematicsError: if it takes something that there is not, or in another size.
        """
        model = self.model(plant_robot)
        shapes = input_shapes(self.function, model) or {}
        there = signal_shapes(plant_robot) | {"z": self.memory.shape, "gains": self.gains.shape}
        for name, shape in shapes.items():
            if name not in (*SIGNALS, *_OWN):
                raise KinematicsError(
                    f"the controller {self.name!r} takes {name!r}; {did_you_mean(name, (*SIGNALS, *_OWN))} "
                    f"(there are {', '.join((*SIGNALS, *_OWN))})"
                )
            if name != "r" and shape != there[name]:
                raise KinematicsError(
                    f"the controller {self.name!r} takes {name} with the shape {shape}; of "
                    f"{plant_robot.name} it is {there[name]}"
                )
        return shapes

    def rows(self, plant: Plant, robot: Robot, count: int) -> Array:
        """The reference (count, k), a row for every sample.

        Raises:
            KinematicsError: if there is none, or of another shape, or not finite.
        """
        size = self.shapes(robot).get("r", (0,))[0]
        if size and self.reference is None:
            raise KinematicsError(f"the reference of {self.name!r} is missing: rows of {size} numbers")
        table = np.asarray(np.zeros(size) if self.reference is None else self.reference, dtype=float)
        if table.ndim == 1:
            table = np.broadcast_to(table, (count, len(table)))
        if table.ndim != 2 or table.shape[1] != size or len(table) < count:
            raise KinematicsError(
                f"the reference of {self.name!r} for {count} samples of {plant.name} has the shape "
                f"({size},) or ({count}, {size}), got {np.shape(self.reference)}"
            )
        if not np.isfinite(table[:count]).all():
            row = int(np.argmin(np.isfinite(table[:count]).all(axis=1)))
            raise KinematicsError(f"the reference of {self.name!r} is not finite in row {row}")
        return np.ascontiguousarray(table[:count])

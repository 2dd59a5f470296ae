"""The record of a robot's free numbers: their names and values, and how all numbers follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nacelle.program.program import Program

SEED = 20_110


def nearby(values: Any, seed: int = SEED) -> Any:
    """Random numbers near some others, 1 to 3 % away; zeros stay."""
    rng = np.random.default_rng(seed)
    values = np.asarray(values, dtype=float)
    return values * (1.0 + rng.uniform(0.01, 0.03, values.shape) * rng.choice([-1.0, 1.0], values.shape))


@dataclass(frozen=True, eq=False)
class Record:
    """What a description declares.

    Attributes:
        names: of the free numbers.
        groups: the group of each: the first of `GROUPS` that it has a part in.
        values: in SI units, as described.
        entries: names of the robot's own numbers (`Robot.parameter_names`).
        program: from the free numbers to the robot's own.
    """

    names: tuple[str, ...]
    groups: tuple[str, ...]
    values: tuple[float, ...]
    entries: tuple[str, ...]
    program: Program

    @property
    def record(self) -> Record:
        """The record itself: a robot with other numbers needs its description no more."""
        return self


class Declaration(Protocol):
    """What knows the free numbers of a robot, perhaps only when they are first needed."""

    @property
    def record(self) -> Record:
        """The free numbers, and how the robot's follow from them."""
        ...

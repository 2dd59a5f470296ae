"""Samples of the inputs of control laws, by which identities of their programs are recognised.

The desired pose is one of the robot, to all digits (`nacelle.kinematics.iteration.samples`). The readings and
the memory are beside those at it: a memory at rest there, off by a thousandth. So every step of Newton's
iteration that a law takes is seen to move something (1e-3, 1e-6, 1e-12), while what the last of three leaves
open, 1e-24, is far below rounding: identities of closed loops hold behind it. Rates, errors and gains are
drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from nacelle.control.fields import Fields
from nacelle.errors import NacelleError
from nacelle.kinematics.iteration.samples import samples_of
from nacelle.kinematics.kinematic_model import actuator_positions
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.program.identities.samples import Row, Samples
from nacelle.spatial.scalar import Array

# How far memory and readings are from those at the pose, over their own size.
_OFF = 1e-3
_SEED = 17
# Numbers that iteration finds beyond which identities are not sought: that takes a minute, and gains little.
_MOST = 16


def law_samples(
    memory: Callable[[Robot], Fields], start: Callable[[Robot, Array, Array], Mapping[str, Any]]
) -> Callable[..., Samples | None]:
    """The sampler of a law of (z, q, r, gains).

    Args:
        memory: parts of its memory.
        start: of (robot, x, y), the memory at rest.
    """

    def sampler(
        robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: tuple[str, ...] = ()
    ) -> Samples | None:
        mechanism = mechanism_of(robot)
        nx, ny, n = mechanism.layout.nx, mechanism.ny, robot.motion.n
        if groups or ny > _MOST:
            return None
        drawn = {"x": (nx,), "y": (ny,), "rates": (2 * n,), "gains": shapes["gains"]}
        found = samples_of(robot, drawn)
        if found is None:
            return None
        rng = np.random.default_rng(_SEED)

        def row(given: Row) -> Row:
            x, y = np.array(given[:nx], dtype=float), np.array(given[nx : nx + ny], dtype=float)
            z = memory(robot).join(start(robot, x, y))
            q = np.asarray(actuator_positions(robot, x, y)["q"])
            near = [*_beside(np.asarray(z, dtype=float), rng), *_beside(q, rng)]
            rates, gains = given[nx + ny : nx + ny + 2 * n], given[nx + ny + 2 * n :]
            return (*near, *given[:nx], *rates, *map(abs, gains))

        try:
            rows = [tuple(row(given) for given in part) for part in (found.proof, found.check)]
        except NacelleError:
            return None
        sizes = found.sizes
        none = (0.0,) * (memory(robot).size + len(robot.actuators))
        return Samples(rows[0], rows[1], (*none, *sizes[:nx], *sizes[nx + ny :]))

    return sampler


def _beside(values: Array, rng: np.random.Generator) -> list[Decimal]:
    """Numbers beside others; random ones where these are zero."""
    away = rng.uniform(0.5, 1.5, values.shape) * rng.choice([-1.0, 1.0], values.shape)
    return [Decimal(float(own)) for own in np.where(values == 0.0, away, values * (1.0 + _OFF * away))]

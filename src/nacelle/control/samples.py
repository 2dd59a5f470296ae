"""Samples of the inputs of control laws, by which identities of their programs are recognised.

The desired pose is one of the robot, to all digits (`nacelle.kinematics.iteration.samples`). The readings and
the memory are beside those at it: a memory at rest there, off by two hundredths. So every step of Newton's
iteration that a law takes is seen to move something (2e-2, 4e-4, 2e-7), while what the last of three leaves
open, 3e-14 of a small factor, is below rounding: identities of closed loops hold behind it. Rates and errors
are drawn at random, and gains around those that a kind gives itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from nacelle.control.fields import Fields
from nacelle.errors import NacelleError
from nacelle.kinematics.iteration.samples import input_samples
from nacelle.kinematics.kinematic_model import actuator_positions
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.program.identities.samples import PreciseInputs, Row
from nacelle.spatial.scalar import Array

# How far memory and readings are from those at the pose, over their own size.
_OFF = 2e-2
_SEED = 17
# How far readings are from the desired pose where programs are checked, rad or m.
_NEAR = 1e-5
# Rates of desired motions that are checked, over those that are drawn: drives have limits.
_SLOW = 0.1
# Numbers that iteration finds beyond which identities are not sought: that takes a minute, and gains little.
_MOST = 16


def law_samples(
    memory: Callable[[Robot], Fields],
    start: Callable[[Robot, Array, Array], Mapping[str, Any]],
    gains: Callable[[Robot], Array],
) -> Callable[..., PreciseInputs | None]:
    """The sampler of a law of (z, q, r, gains).

    Args:
        memory: parts of its memory.
        start: of (robot, x, y), the memory at rest.
        gains: some that it can have.
    """

    def sampler(
        robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: tuple[str, ...] = ()
    ) -> PreciseInputs | None:
        mechanism = mechanism_of(robot)
        nx, ny, n = mechanism.layout.nx, mechanism.ny, robot.motion.n
        fields = memory(robot)
        # A law that finds the pose by itself is many times as long, and identities take off a hundredth.
        if groups or ny > _MOST or "x" in fields.sizes:
            return None
        states = input_samples(robot, {"x": (nx,), "y": (ny,), "rates": (2 * n,)})
        if states is None:
            return None
        rng = np.random.default_rng(_SEED)

        def row(given: Row) -> Row:
            x, y = np.array(given[:nx], dtype=float), np.array(given[nx : nx + ny], dtype=float)
            z = np.asarray(fields.join(start(robot, x, y)), dtype=float)
            q = np.asarray(actuator_positions(robot, x, y)["q"])
            near = [*_beside(z, rng), *_beside(q, rng)]
            return (*near, *given[:nx], *given[nx + ny :], *_beside(np.abs(gains(robot)), rng))

        try:
            rows = [tuple(row(given) for given in part) for part in (states.proof, states.check)]
        except NacelleError:
            return None
        before = (0.0,) * (fields.size + len(robot.actuators))
        after = (0.0,) * (2 * n + shapes["gains"][0])
        return PreciseInputs(rows[0], rows[1], (*before, *states.sizes[:nx], *after))

    return sampler


def law_states(
    memory: Callable[[Robot], Fields],
    start: Callable[[Robot, Array, Array], Mapping[str, Any]],
    gains: Callable[[Robot], Array],
) -> Callable[..., PreciseInputs | None]:
    """The same for the check of its program: samples that a law takes, so that there are forces to compare.

    Memory at rest and readings near those of the desired pose: Newton's steps begin next to where they end,
    in every form.
    """

    def sampler(
        robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: tuple[str, ...] = ()
    ) -> PreciseInputs | None:
        if groups:
            return None
        mechanism = mechanism_of(robot)
        nx, ny, n = mechanism.layout.nx, mechanism.ny, robot.motion.n
        states = input_samples(robot, {"x": (nx,), "y": (ny,), "rates": (2 * n,)})
        if states is None:
            return None

        def row(given: Row) -> Row:
            x, y, rates = np.split(np.array(given, dtype=float), (nx, nx + ny))
            z, q = fields.join(start(robot, x, y)), actuator_positions(robot, x, y)["q"]
            off = _NEAR * rng.uniform(-1.0, 1.0, len(q))
            numbers = np.concatenate([z, q + off, x, _SLOW * rates, gains(robot)])
            return tuple(map(Decimal, numbers.astype(float).tolist()))

        fields, rng = memory(robot), np.random.default_rng(_SEED)
        rows = tuple(row(given) for given in states.check)
        return PreciseInputs(rows, rows, (0.0,) * sum(shape[0] for shape in shapes.values()))

    return sampler


def _beside(values: Array, rng: np.random.Generator) -> list[Decimal]:
    """Numbers beside others; random ones where these are zero."""
    away = rng.uniform(0.5, 1.5, values.shape) * rng.choice([-1.0, 1.0], values.shape)
    return [Decimal(float(own)) for own in np.where(values == 0.0, away, values * (1.0 + _OFF * away))]

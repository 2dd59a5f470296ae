"""Closed configurations around the reference pose, on its branch: where decisions about a robot are made."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from nacelle.kinematics.branch import is_on_branch
from nacelle.kinematics.mechanism.assembly import close_after_step, independent_rate_mask
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

_SAMPLES = 12


def closed_sample_states(robot: Robot) -> tuple[tuple[Array, Array], ...]:
    """A dozen sample states (x, y) of a robot, the reference first; found once."""
    numeric = robot.numeric
    return _cached_sample_states(numeric, numeric.all_names)


@lru_cache(maxsize=64)
def _cached_sample_states(robot: Robot, names: tuple[str, ...]) -> tuple[tuple[Array, Array], ...]:
    del names
    with np.errstate(all="ignore"):
        return tuple(sample_states(mechanism_of(robot), _SAMPLES))


def sample_states(mechanism: Mechanism, count: int, seed: int = 7) -> list[tuple[Array, Array]]:
    """Closed configurations (x, y) around the reference, moved along the independent coordinates."""
    robot, start = mechanism.robot, mechanism.assembly
    rng = np.random.default_rng(seed)
    held = independent_rate_mask(robot)
    states = [mechanism.reference]
    reach, tries = 0.3, 0
    while len(states) < count and tries < 12 * count:
        tries += 1
        step = np.where(held, rng.uniform(0.3, 1.0, held.size) * rng.choice([-1, 1], held.size), 0.0)
        closed = close_after_step(robot, start, reach * step, 1e-12)
        state = None if closed is None else mechanism.coordinates(*closed[:2])
        if state is not None and is_on_branch(mechanism, *state):
            states.append(state)
        else:
            reach *= 0.8
    return states

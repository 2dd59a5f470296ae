"""The columns of a robot's linear form over sample states, in double and with 30 digits.

Forces along the reduced twist are linear in the inertial numbers, F = sum_k Y_k p_k with Y_k = J_k . W_k
(`columns`). Numbers whose columns depend on each other at every state and motion can be put together,

    Y_j = sum_k c_k Y_k   for all (x, v, a)     gives     p_k + c_k p_j in the place of p_k, and p_j = 0

so that fewer numbers remain. The columns are traced once to a program: over many states and motions in double
it says which columns depend on which, and at some of the states, what iteration finds there solved to all
digits, it says by what factors c_k, in 30 digits (`basis`).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from decimal import Decimal
from functools import lru_cache

import numpy as np

from nacelle.compile import make_program
from nacelle.dynamics.general.columns import Key, unit_numbers
from nacelle.dynamics.general.inertia import length_power
from nacelle.kinematics.general.legs import factorised
from nacelle.kinematics.general.placed import GeneralPlan, place
from nacelle.kinematics.general.vectors import inner
from nacelle.kinematics.iteration.precise_states import PreciseStates
from nacelle.kinematics.mechanism.assembly import rate_scale
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.model.robot import Robot
from nacelle.program.precise import exact
from nacelle.spatial.scalar import Array, pack

# Motions at every sample state.
_MOTIONS = 5
# A column that is smaller than this part of the largest is zero.
_NOTHING = 1e-10
# Digits of precise columns, the fewest states of them, and how many times more equations than unknowns.
_DIGITS, _STATES, _SPARE = 30, 3, 2.0


@lru_cache(maxsize=16)
def _precise_states(mechanism: Mechanism) -> PreciseStates:
    """States of a robot, the same for all plans of it."""
    return PreciseStates(mechanism.robot, digits=_DIGITS)


class SampledColumns:
    """Columns at the sample states of a plan.

    Attributes:
        keys: of the columns.
        W: (rows, keys) in double, a row for every state, motion and rate of v; exactly zero without effect.
    """

    def __init__(self, plan: GeneralPlan, given: Collection[Key]) -> None:
        """Columns of the given numbers, and of all masses at ends and inertias along rates.

        Rates of the nacelle's joints count where there are no legs; beside legs, only where they are given.
        """
        self._plan = plan
        mechanism = plan.mechanism
        beside = set(mechanism.nacelle_rates) if mechanism.legs else set()
        keys: list[Key] = []

        def columns(robot: Robot, *state: Array) -> dict[str, Array]:
            x, y, v, a = state
            legs = factorised(plan, place(robot, plan.parts, x, y))
            listed = {
                key: [inner(motion.tolist(), wrench.tolist()) for motion in J]
                for key, J, wrench in unit_numbers(legs, v, a)
                if key in given or key[0] == "end" or (key[0] == "rate" and key[1] not in beside)
            }
            keys[:] = listed
            return {"Y": pack(list(listed.values()))}

        robot = plan.mechanism.robot
        n, count = robot.motion.n, len(plan.samples) * _MOTIONS
        x, y = plan.samples[0]
        shapes = {"x": x.shape, "y": y.shape, "v": (n,), "a": (n,)}
        self._program = make_program(columns, robot, shapes, minimised=False)
        self.keys = tuple(keys)
        # Rates of the order of one, lengths in the robot's size: products of rates weigh as much as
        # accelerations.
        rng = np.random.default_rng(11)
        unit = rate_scale(robot)[list(plan.mechanism.independent)]
        v, a = rng.normal(size=(2, count, n)) * unit
        x, y = (np.repeat(np.stack(part), _MOTIONS, axis=0) for part in zip(*plan.samples, strict=True))
        self._rows = np.concatenate([x, y, v, 3.0 * a], axis=1)
        with np.errstate(all="ignore"):
            results = self._program.evaluate(list(self._rows.T))
        values = np.stack([np.broadcast_to(value, (count,)) for value in results], axis=1)
        W = values.reshape(count, len(keys), n).transpose(0, 2, 1).reshape(count * n, -1)
        W = W[np.all(np.isfinite(W), axis=1)]
        # In units of masses, so that neither units nor scale decide what is nothing.
        size = np.linalg.norm(W, axis=0) * [_masses(robot, key) for key in keys]
        self.W = np.where(size <= _NOTHING * np.max(size, initial=0.0), 0.0, W)

    def precise(self, unknowns: int) -> list[list[Decimal]] | None:
        """The columns with 30 digits, at enough states for so many unknowns; None where loops stay open."""
        n = self._plan.mechanism.robot.motion.n
        wanted = max(_STATES, math.ceil(_SPARE * unknowns / n))
        states = _precise_states(self._plan.mechanism)
        columns: list[list[Decimal]] = [[] for _ in self.keys]
        for turn in range(_MOTIONS):
            for k, (x, y) in enumerate(self._plan.samples):
                if wanted <= 0:
                    break
                state = states.at(x, y)
                if state is None:
                    continue
                row = self._rows[k * _MOTIONS + turn, len(x) + len(y) :]
                results = exact(
                    self._program, [*state[0], *state[1], *(Decimal(value) for value in row.tolist())]
                )
                for place_, column in enumerate(columns):
                    column += results[place_ * n : (place_ + 1) * n]
                wanted -= 1
        return columns if wanted <= 0 else None


def _masses(robot: Robot, key: Key) -> float:
    """The number that does about as much as a mass of 1 kg: h and S of it at the robot's size."""
    kind, index, place_ = key
    if kind == "rate":
        return float(robot.size / rate_scale(robot)[index]) ** 2
    return float(robot.size) ** length_power(place_)

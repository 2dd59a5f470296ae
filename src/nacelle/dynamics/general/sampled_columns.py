"""The columns of a robot's linear form over sample states, in double and with 50 digits.

They are traced once to a program (`columns`): over many states and motions in double it says which columns
depend on which, and at some of the states, what iteration finds there solved to all digits, it says by what
factors.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from decimal import Decimal

import numpy as np

from nacelle.compile import make_program
from nacelle.dynamics.general.columns import Key, unit_numbers
from nacelle.kinematics.general.legs import factorised
from nacelle.kinematics.general.placed import Plan, place
from nacelle.kinematics.general.vectors import inner
from nacelle.kinematics.iteration.precise_states import PreciseStates
from nacelle.kinematics.mechanism.assembly import rate_scale
from nacelle.model.robot import Robot
from nacelle.program.precise import exact
from nacelle.spatial.scalar import Array, absolute, pack

# Motions at every sample state.
_MOTIONS = 5
# A column whose sums are smaller than this part of their terms is zero.
_CANCELLED = 1e-9
# So many times more equations than unknowns are kept with 50 digits.
_SPARE = 2.0


class SampledColumns:
    """Columns at the sample states of a plan.

    Attributes:
        keys: of the columns.
        W: (rows, keys) in double, a row for every state, motion and rate of v; exactly zero without effect.
    """

    def __init__(self, plan: Plan, given: Collection[Key]) -> None:
        """Columns of the given numbers, and of all masses at ends and inertias along rates."""
        self._plan = plan
        keys: list[Key] = []

        def columns(robot: Robot, *state: Array) -> dict[str, Array]:
            x, y, v, a = state
            numbers = list(unit_numbers(factorised(plan, place(robot, plan.parts, x, y)), v, a))
            numbers = [
                number for number in numbers if number.key in given or number.key[0] in ("rate", "end")
            ]
            keys[:] = [number.key for number in numbers]
            Y = [[inner(J.tolist(), number.wrench.tolist()) for J in number.J] for number in numbers]
            terms = [
                [inner(absolute(J).tolist(), absolute(number.wrench).tolist()) for J in number.J]
                for number in numbers
            ]
            return {"Y": pack(Y), "terms": pack(terms)}

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
        Y, terms = values.reshape(count, 2, len(keys), n).transpose(1, 0, 3, 2).reshape(2, count * n, -1)
        nothing = np.linalg.norm(Y, axis=0) <= _CANCELLED * np.linalg.norm(terms, axis=0)
        self.W = np.where(nothing, 0.0, Y)

    def precise(self, unknowns: int) -> list[list[Decimal]] | None:
        """The columns with 50 digits, at enough states for so many unknowns; None where loops stay open."""
        n = self._plan.mechanism.robot.motion.n
        wanted = math.ceil(_SPARE * unknowns / n)
        states = PreciseStates(self._plan.mechanism.robot)
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

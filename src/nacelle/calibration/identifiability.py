"""What data show of parameters and what they do not: combinations, by name.

With s and V^T the singular values and right singular vectors of the whitened rows, scaled by the tolerances,
the vectors of s = 0 span N, the changes that nothing shows: s is zero below its largest drop between what is
surely information and what is surely rounding. Reduced to echelon form, with a pivot each,

    n_i = e_p(i) + sum_j c_ij e_j,      f_j = z_j - sum_i c_ij z_p(i)

f_j is what the data show of parameter j, as base parameters are: the same whatever the n_i add. N is taken
apart first by what it does to the platform with the encoders held: nothing, a rigid motion of the base, or
one of the platform's frame in the platform.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nacelle.calibration.fit import Campaign
from nacelle.calibration.loops import velocity_maps
from nacelle.calibration.parameters import Parameter
from nacelle.calibration.poses import platform_rates
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.leg import PLATFORM
from nacelle.spatial.scalar import Array

# Singular values above the first part of the largest are information, those below the second rounding.
_SURE, _ROUNDING = 1e-10, 1e-15
# Where no drop between the two is larger it is in doubt where rounding begins.
_CLEAR = 1e3
# A parameter with a smaller part in what nothing shows, in tolerances, is determined.
_PART = 1e-4
# Entries of a combination below this part of its largest are left out of its text.
_SMALL = 1e-3
# A change of the platform is of a kind if no more than this part of it is not, and none below this part of
# what a parameter changes: both are looked at near the machine, at the description.
_OF_KIND, _STILL = 5e-2, 1e-5


class Combination(NamedTuple):
    """A combination of parameters: factors (P,), the first parameter's 1; and what it means, or nothing."""

    text: str
    factors: Array
    meaning: str = ""


class Information(NamedTuple):
    """What data say of parameters.

    Attributes:
        values: singular values s (P,) of the rows, parameters in tolerances.
        directions: the right singular vectors (P, P), a row each.
    """

    values: Array
    directions: Array

    @classmethod
    def of(cls, J: Array) -> Information:
        """Of whitened rows J (rows, P), scaled by the tolerances."""
        count = J.shape[1]
        return cls(*np.linalg.svd(np.concatenate([J, np.zeros((count, count))]), full_matrices=False)[1:])

    @property
    def rank(self) -> int:
        """How many directions of the parameters the data show."""
        return int(np.argmax(self._drops))

    @property
    def is_clear(self) -> bool:
        """Whether a drop tells information from rounding."""
        return bool(np.max(self._drops) > _CLEAR)

    @property
    def _drops(self) -> Array:
        """By how much values (P,), within where rounding may begin, fall to each and to rounding (P + 1,)."""
        part = np.clip(self.values / (self.values[0] or 1.0), _ROUNDING, _SURE)
        return np.asarray(np.append(_SURE, part) / np.append(part, _ROUNDING))

    def unidentified_names(self, parameters: Sequence[Parameter]) -> tuple[str, ...]:
        """Names of parameters in a combination that nothing shows: the data do not determine them alone."""
        null = np.linalg.norm(self.directions[self.rank :], axis=0)
        return tuple(item.name for item, part in zip(parameters, null, strict=True) if part > _PART)


@dataclass(frozen=True, eq=False)
class Identifiability:
    """What the data show.

    Attributes:
        parameters: of robot and devices.
        information: what they say.
        unseen: groups of what nothing shows, scaled (k, P), with their meaning.
    """

    parameters: tuple[Parameter, ...]
    information: Information
    unseen: tuple[tuple[str, Array], ...]

    @cached_property
    def _null(self) -> Array:
        return np.concatenate([np.zeros((0, len(self.parameters))), *(rows for _, rows in self.unseen)])

    @cached_property
    def hidden(self) -> tuple[Combination, ...]:
        """Changes of the parameters that nothing measured shows, the pivot first."""
        tolerance = np.array([item.tolerance for item in self.parameters])
        return tuple(
            self._combination(pivot, row * tolerance / tolerance[pivot], np.abs(row) > _SMALL, meaning)
            for meaning, group in self.unseen
            for pivot, row in zip(*echelon(group), strict=True)
        )

    @cached_property
    def identified(self) -> tuple[Combination, ...]:
        """What the data show of the parameters that they do not determine alone, as base parameters."""
        tolerance = np.array([item.tolerance for item in self.parameters])
        pivots, rows = echelon(self._null)
        result = []
        for j in np.flatnonzero(np.max(np.abs(rows), axis=0, initial=0.0) > _SMALL).tolist():
            if j in pivots:
                continue
            factors = np.zeros(len(tolerance))
            factors[j] = 1.0
            factors[pivots] = -rows[:, j] * tolerance[j] / tolerance[pivots]
            seen = np.zeros(len(tolerance), dtype=bool)
            seen[pivots] = np.abs(rows[:, j]) > _SMALL
            result.append(self._combination(j, factors, seen))
        return tuple(result)

    def _combination(self, first: int, factors: Array, seen: Array, meaning: str = "") -> Combination:
        terms = [self.parameters[first].name]
        for k in np.flatnonzero(seen).tolist():
            if k != first:
                units = [self.parameters[i].unit or "1" for i in (first, k)]
                ratio = "" if units[0] == units[1] else f"[{units[0]}/{units[1]}] "
                terms.append(f"{factors[k]:+.4g} {ratio}{self.parameters[k].name}")
        return Combination(" ".join(terms), factors, meaning)


def echelon(rows: Array) -> tuple[list[int], Array]:
    """Pivots and the reduced echelon form of rows (k, P), pivots 1, the largest first."""
    rows, pivots = rows.copy(), []
    for row in range(len(rows)):
        column = int(np.argmax(np.max(np.abs(rows[row:]), axis=0)))
        best = row + int(np.argmax(np.abs(rows[row:, column])))
        rows[[row, best]] = rows[[best, row]]
        rows[row] /= rows[row, column]
        for k in range(len(rows)):
            if k != row:
                rows[k] -= rows[k, column] * rows[row]
        pivots.append(column)
    return pivots, rows


def identifiability(
    campaign: Campaign, parameters: Sequence[Parameter], information: Information, x: Array
) -> Identifiability:
    """What the data show of parameters (P), those of the robot first.

    Args:
        campaign: of which robot, with which encoders.
        parameters: P of them.
        information: what the data say of them, scaled by their tolerances.
        x: poses (S, nx) at which the platform's motion is compared.
    """
    null = information.directions[information.rank :]
    robot_count = sum(item.kind != "device" for item in parameters)
    robot, unseen = campaign.robot, []
    if len(null):
        tolerance = np.array([item.tolerance for item in parameters[:robot_count]])
        L = platform_rates(robot, x, parameters[:robot_count], campaign.encoders) * tolerance
        R, p = (part[:, PLATFORM] for part in inverse_kinematics(robot, x, limits=False).bodies)
        base = np.zeros((len(x), 6, 6))
        base[:, :3], base[:, 3:, 3:] = velocity_maps(p), np.eye(3)
        platform = np.zeros((len(x), 6, 6))
        platform[:, :3, :3] = platform[:, 3:, 3:] = R
        weigh = np.array([1.0 / robot.size] * 3 + [float(robot.platform_nv == 6)] * 3)[:, None]
        kinds = {
            "the pose stays as it is": np.zeros((len(x), 6, 0)),
            "the base moves": base,
            "the platform's frame moves in the platform": platform,
        }
        fields = (weigh * L).reshape(-1, robot_count)
        largest = float(np.max(np.linalg.norm(fields, axis=0)))
        for meaning, motions in kinds.items():
            M = (weigh * motions).reshape(len(fields), -1)
            effects = fields @ null[:, :robot_count].T
            rest = effects - M @ (np.linalg.pinv(M) @ effects)
            W = np.linalg.svd(rest)[2]
            size, whole = (np.linalg.norm(part @ W.T, axis=0) for part in (rest, effects))
            of_kind = size < (_OF_KIND * whole if M.shape[1] else _STILL * largest)
            if np.any(of_kind):
                unseen.append((meaning, W[of_kind] @ null))
            null = W[~of_kind] @ null
        if len(null):
            unseen.append(("", null))
    return Identifiability(tuple(parameters), information, tuple(unseen))

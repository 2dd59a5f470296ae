"""Quantities of a study: what is asked of every variant, as folds over states.

Most quantities look at every state of a motion or a region through channels (`nacelle.studies.channels`), and
fold what they see, m numbers a state, part by part:

    largest     max_s c_s          smallest   min_s c_s          weighted   sum_s w_s c_s

so that states need not be kept. Those of regions keep one bit a state, and those of whole robots (elastic
frequencies, reactions by other formulations, a function of the user's) are magnitude variant by variant.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.dynamics.reactions import solve_reactions
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.jacobian import conditioning, scaled_inverse, singularity_measures
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.studies import channels as ch
from nacelle.studies.channels import Part

LARGEST, SMALLEST, WEIGHTED = "largest", "smallest", "weighted"


class Quantity(ABC):
    """A quantity of a study, on some states.

    Attributes:
        states: name of the motion or region that it looks at.
    """

    states: str

    @property
    @abstractmethod
    def channels(self) -> frozenset[str]:
        """Channels that it needs at states."""

    @abstractmethod
    def fold(self, robot: Robot, count: int, weights: Array) -> Fold:
        """A new fold over `count` variants; weights of the states, which sum to 1."""


class Fold(ABC):
    """What a quantity has gathered so far."""

    @abstractmethod
    def add(self, part: Part) -> None:
        """Add some states of all variants."""

    @abstractmethod
    def result(self) -> Array:
        """The quantity of every variant (N,), NaN where it has none."""


@dataclass(frozen=True)
class StateQuantity(Quantity):
    """A fold of numbers that every state has.

    Attributes:
        of: the numbers (N, S, m) of a part.
        how: `LARGEST`, `SMALLEST` or `WEIGHTED`.
        finish: from folded numbers (N, m) to the quantity (N,).
        asks: channels.
        unit: SI.
        states: of what.
        partial: whether states out of reach are left out; else one of them takes the quantity away.
    """

    of: Callable[[Robot, Part], Any]
    how: str
    finish: Callable[[Any], Any]
    asks: frozenset[str]
    unit: str = ""
    states: str = ""
    partial: bool = False

    @property
    def channels(self) -> frozenset[str]:
        """Channels that it needs at states."""
        return self.asks

    def fold(self, robot: Robot, count: int, weights: Array) -> Fold:
        """A new fold."""
        return _StateFold(self, robot, weights)


class _StateFold(Fold):
    def __init__(self, quantity: StateQuantity, robot: Robot, weights: Array) -> None:
        self._quantity, self._robot, self._weights = quantity, robot, weights
        self._total: Any = None
        self._missing: Any = None
        self._weight: Any = 0.0

    def add(self, part: Part) -> None:
        """Add some states of all variants."""
        quantity = self._quantity
        values = quantity.of(self._robot, part)
        bad = part.failed[..., None]
        if quantity.how == WEIGHTED:
            w = self._weights[part.states]
            good = np.where(bad, 0.0, values)
            now = (good * w[:, None]).sum(axis=1)
            self._weight = self._weight + np.where(part.failed, 0.0, w).sum(axis=1)
            self._total = now if self._total is None else self._total + now
        else:
            worst = -math.inf if quantity.how == LARGEST else math.inf
            good = np.where(bad, worst, values)
            now = good.max(axis=1) if quantity.how == LARGEST else good.min(axis=1)
            choose = np.maximum if quantity.how == LARGEST else np.minimum
            self._total = now if self._total is None else choose(self._total, now)
        missing = part.failed.any(axis=1) if not quantity.partial else part.failed.all(axis=1)
        if self._missing is None:
            self._missing = missing
        elif quantity.partial:
            self._missing = self._missing & missing
        else:
            self._missing = self._missing | missing

    def result(self) -> Array:
        """The quantity of every variant."""
        total = self._total
        if self._quantity.how == WEIGHTED:
            total = total / np.maximum(self._weight, 1e-300)[:, None]
        return np.where(self._missing, math.nan, self._quantity.finish(total))


# ---- quantities of motions


def _largest(total: Any) -> Any:
    return total.max(axis=-1)


def _smallest(total: Any) -> Any:
    return total.min(axis=-1)


_CHANNELS_OF = {"force": {ch.FORCE}, "speed": {ch.RATE}, "power": {ch.FORCE, ch.RATE}}


@dataclass(frozen=True)
class DriveQuantity(Quantity):
    """Peak or rms force, speed or power of the drives along a motion: of the drive where it is largest.

    It is written over any scalar, so that a device folds it within the program.

    Attributes:
        kind: "peak force", "rms force", "peak speed", "peak power", "rms power" or "mean power" (of all
            drives, what they take and do not give back).
        states: the motion.
        drives: indices of the drives that count.
        limits: what forces or speeds of these are divided by, unless variants have their own; empty for
            themselves.
    """

    kind: str
    states: str
    drives: tuple[int, ...]
    limits: tuple[float, ...] = ()

    @property
    def channels(self) -> frozenset[str]:
        """Channels that it needs at states."""
        return frozenset(_CHANNELS_OF[self.kind.split()[1]])

    @property
    def how(self) -> str:
        """How it is folded."""
        return LARGEST if self.kind.startswith("peak") else WEIGHTED

    def numbers(self, values: Mapping[str, Any], maximum_of: Callable[[Any, Any], Any]) -> list[Any]:
        """What is folded, for each drive, from "force" and "rate" (..., actuators), and variants' limits."""
        what, result = self.kind.split()[1], []
        own_limits = values.get(f"{what} limit")
        for k, drive in enumerate(self.drives):
            value = values["rate"][..., drive] if what == "speed" else values["force"][..., drive]
            if what == "power":
                value = value * values["rate"][..., drive]
            if self.limits:
                value = value / (self.limits[k] if own_limits is None else own_limits[..., drive])
            if self.how == LARGEST:
                value = maximum_of(value, -value)
            else:
                value = maximum_of(value, 0.0) if self.kind == "mean power" else value * value
            result.append(value)
        return result

    def finish(self, total: Any) -> Any:
        """The quantity (N,) from what was folded (N, drives)."""
        if self.how == LARGEST:
            return total.max(axis=-1)
        return total.sum(axis=-1) if self.kind == "mean power" else total.max(axis=-1) ** 0.5

    def fold(self, robot: Robot, count: int, weights: Array) -> Fold:
        """A new fold."""

        def numbers(robot: Robot, part: Part) -> Array:
            return np.stack(self.numbers(part.values, np.maximum), axis=-1)

        whole = StateQuantity(numbers, self.how, self.finish, self.channels, states=self.states)
        return whole.fold(robot, count, weights)


def reaction_quantity(states: str, joint: int, component: str) -> StateQuantity:
    """Largest force (N) or moment (N m) that a joint transmits along a motion."""
    part_of = slice(0, 3) if component == "force" else slice(3, 6)

    def numbers(robot: Robot, part: Part) -> Array:
        prefix = "reactions_"
        shape = part.failed.shape
        terms = {
            name.removeprefix(prefix): np.where(
                part.failed.reshape(*shape, *(1,) * (value.ndim - 2)), 0.0, value
            ).reshape(-1, *value.shape[2:])
            for name, value in part.values.items()
            if name.startswith(prefix)
        }
        wrench = np.full((part.failed.size, len(robot.joints), 6), np.nan)
        good = ~part.failed.ravel()
        if np.any(good):
            wrench[good] = solve_reactions(robot, {k: v[good] for k, v in terms.items()}).wrench
        magnitude = np.linalg.norm(wrench[:, joint, part_of], axis=-1)
        return np.asarray(magnitude.reshape(*shape, 1))

    return StateQuantity(numbers, LARGEST, _largest, frozenset({ch.REACTIONS}), states=states)


# ---- quantities of the kinematics


def dexterity_quantity(states: str, how: str, *, partial: bool) -> StateQuantity:
    """Inverse condition of the scaled Jacobian: the smallest, or its mean."""

    def numbers(robot: Robot, part: Part) -> Array:
        J = np.where(part.failed[..., None, None], 1.0, part.values["J"])
        return conditioning(scaled_inverse(robot, J))[..., None]

    return StateQuantity(numbers, how, _smallest, frozenset({ch.JACOBIAN}), states=states, partial=partial)


def singularity_quantity(states: str, kind: str, *, partial: bool) -> StateQuantity:
    """Smallest distance from singularities of a kind, or of all: as `nacelle.singularities` measures it."""

    def numbers(robot: Robot, part: Part) -> Array:
        matrices = {}
        for name, value in part.values.items():
            if name.startswith("closures_"):
                matrices[name.removeprefix("closures_")] = np.where(part.failed[..., None, None], 0.0, value)
        serial, constraint, parallel = singularity_measures(mechanism_of(robot), **matrices)
        measures = {
            "serial": np.min(serial, axis=-1, initial=1.0),
            "parallel": parallel,
            "constraint": constraint,
        }
        chosen = list(measures.values()) if kind == "all" else [measures[kind]]
        return np.asarray(np.min(np.stack(chosen, axis=-1), axis=-1)[..., None])

    return StateQuantity(
        numbers, SMALLEST, _smallest, frozenset({ch.CLOSURES}), states=states, partial=partial
    )


def stiffness_quantity(states: str, drives: Array, columns: list[int], *, partial: bool) -> StateQuantity:
    """Smallest stiffness of the platform, N/m or N m/rad, from that of the drives.

    The compliance of the platform is C = J_r diag(1/k) J_r^T; its largest eigenvalue over the translations,
    or the rotations, is the inverse of what is asked for.

    Args:
        states: where.
        drives: stiffness of the actuators k (actuators,), N/m or N m/rad.
        columns: entries of the reduced twist that count.
        partial: whether states out of reach are left out.
    """

    def numbers(robot: Robot, part: Part) -> Array:
        J = np.where(part.failed[..., None, None], np.eye(*part.values["J"].shape[-2:]), part.values["J"])
        K = np.swapaxes(J, -1, -2) @ (drives[:, None] * J)
        scale = np.sqrt(np.einsum("...ii->...i", K))
        scale = np.where(scale > 0.0, scale, 1.0)
        C = np.linalg.pinv(K / (scale[..., :, None] * scale[..., None, :]), hermitian=True)
        C = C / (scale[..., :, None] * scale[..., None, :])
        chosen = C[..., columns, :][..., columns]
        return np.asarray(1.0 / np.linalg.eigvalsh(chosen)[..., -1:])

    return StateQuantity(
        numbers, SMALLEST, _smallest, frozenset({ch.JACOBIAN}), states=states, partial=partial
    )


def mass_quantity(states: str) -> StateQuantity:
    """Mass of all bodies but the base, with payloads, kg."""
    return StateQuantity(
        lambda robot, part: part.values["mass"],
        LARGEST,
        _largest,
        frozenset({ch.MASS}),
        "kg",
        states,
    )


# ---- quantities of regions


@dataclass(frozen=True)
class RegionQuantity(Quantity):
    """What is made of the reached points of a grid.

    Attributes:
        finish: from points that are reached (N, *counts) to the quantity (N,).
        counts: points of the grid along each coordinate.
        unit: SI.
        states: the region.
    """

    finish: Callable[[Array], Array]
    counts: tuple[int, ...]
    unit: str = ""
    states: str = ""

    @property
    def channels(self) -> frozenset[str]:
        """Flags alone."""
        return frozenset()

    def fold(self, robot: Robot, count: int, weights: Array) -> Fold:
        """A new fold."""
        return _RegionFold(self, count)


class _RegionFold(Fold):
    def __init__(self, quantity: RegionQuantity, count: int) -> None:
        self._quantity = quantity
        self._reached = np.zeros((count, math.prod(quantity.counts)), dtype=bool)

    def add(self, part: Part) -> None:
        """Keep which states are reached."""
        self._reached[:, part.states] = (part.flags & ~int(Flag.NEAR_SINGULAR)) == 0

    def result(self) -> Array:
        """The quantity of every variant."""
        return self._quantity.finish(self._reached.reshape(-1, *self._quantity.counts))


def volume_of(cell: float) -> Callable[[Array], Array]:
    """Length, area or volume of the reached points of a grid, counted in cells."""
    return lambda reached: cell * np.count_nonzero(reached.reshape(len(reached), -1), axis=1)


def largest_box(steps: tuple[float, ...]) -> Callable[[Array], Array]:
    """Volume of the largest box with all its grid points reached: from the first to the last point each way.

    Args:
        steps: distances of the grid's points along each coordinate.
    """

    def volumes(reached: Array) -> Array:
        best = np.zeros(len(reached))
        for size, mask in _shrunk(reached, steps[:-1]):
            run = np.zeros(mask.shape[:-1])
            longest = np.zeros(mask.shape[:-1])
            for k in range(mask.shape[-1]):
                run = np.where(mask[..., k], run + 1.0, 0.0)
                longest = np.maximum(longest, run)
            points = longest.reshape(len(reached), -1).max(axis=1)
            best = np.maximum(best, size * steps[-1] * np.maximum(points - 1.0, 0.0))
        return best

    return volumes


def _shrunk(reached: Array, steps: tuple[float, ...]) -> Any:
    """Windows over all coordinates but the last: their size, and where the whole window is reached."""
    if not steps:
        yield 1.0, reached
        return
    axis = len(steps)  # the last but one of (N, ..., last)
    mask = reached
    for width in range(1, reached.shape[axis]):
        rows = reached.shape[axis] - width
        mask = np.take(mask, range(rows), axis=axis) & np.take(reached, range(width, width + rows), axis=axis)
        if not mask.any():
            return
        # What comes before this coordinate is shrunk likewise.
        for size, inner in _shrunk(np.moveaxis(mask, axis, -2), steps[:-1]):
            yield size * width * steps[-1], inner


def largest_cylinder(steps: tuple[float, ...], upright: int) -> Callable[[Array], Array]:
    """Volume of the largest cylinder whose grid points are reached, its axis along one coordinate.

    Its radius ends a step before the nearest point that is not reached, or that lies outside the grid.

    Args:
        steps: distances of the grid's points along the three coordinates.
        upright: the coordinate along its axis.
    """
    from scipy.ndimage import distance_transform_edt

    across = [step for k, step in enumerate(steps) if k != upright]

    def volumes(reached: Array) -> Array:
        columns = np.moveaxis(reached, 1 + upright, 1)
        best = np.zeros(len(reached))
        for n, grid in enumerate(columns):
            for first in range(len(grid)):
                mask = grid[first]
                for last in range(first + 1, len(grid)):
                    mask = mask & grid[last]
                    if not mask.any():
                        break
                    padded = np.pad(mask, 1)
                    reach = distance_transform_edt(padded, sampling=across).max() - max(across)
                    volume = math.pi * max(reach, 0.0) ** 2 * (last - first) * steps[upright]
                    best[n] = max(best[n], volume)
        return best

    return volumes


# ---- quantities of whole robots


@dataclass(frozen=True)
class RobotQuantity:
    """A quantity that is magnitude variant by variant.

    Attributes:
        function: from a variant, and its columns so far by name, to a number.
        unit: SI.
        needs_robot: whether the variant is needed as a robot; else None is handed over.
    """

    function: Callable[[Robot | None, Mapping[str, float]], float]
    unit: str = ""
    needs_robot: bool = True

"""Weak states: where fixed pivots lose digits, margins are small or the branch is another, the tree decides.

Programs of the compact form come with a pivot figure and with margins from their factors. Where one of them
is weak the results come from the equivalent tree, whose elimination needs no pivots, and whose margins are
the dense ones of `nacelle.kinematics.margins`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from nacelle.kinematics.flags import Flag, fold_columns, is_finite
from nacelle.kinematics.kinematic_model import dense_margins
from nacelle.kinematics.margins import NEAR_MARGIN, TRUSTED_MARGIN
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

PivotedFunction = Callable[..., Mapping[str, Array]]
"""A function of the inputs of another one that gives some of its outputs without fixed pivots."""
ILL_CONDITIONED_PIVOT = 1e-2
"""Pivot figures below this are weak."""


def regular_thresholds(robot: Robot) -> dict[str, float]:
    """What "margins" and "pivot" lie above at an ordinary state."""
    return {
        "margins": NEAR_MARGIN if mechanism_of(robot).has_closed_form else TRUSTED_MARGIN,
        "pivot": ILL_CONDITIONED_PIVOT,
    }


def reevaluate_with_pivoting(
    robot: Robot,
    outputs: Mapping[str, Array],
    inputs: Sequence[Array],
    flags: Array,
    pivoted: PivotedFunction | None = None,
) -> dict[str, Array]:
    """Results in which those of weak states come from another program.

    Args:
        robot: the robot.
        outputs: by name at states, with "margins" (..., legs), and "pivot" (...) where there is one.
        inputs: what they were found from: x (..., nx), y (..., ny), ...
        flags: of the iteration (...): identities that programs use need not hold on other branches.
        pivoted: the other program, of the same inputs; its outputs replace those of the same name. The dense
            margins if None.
    """
    where = _is_ill_conditioned(robot, outputs, inputs) | ((flags & int(Flag.OTHER_BRANCH)) != 0)
    if not np.any(where):
        return dict(outputs)
    states = [np.broadcast_to(part, where.shape + part.shape[-1:])[where] for part in inputs]
    if pivoted is None:
        again: Mapping[str, Array] = {"margins": compile_native(dense_margins, robot)(*states[:2])}
    else:
        again = pivoted(*states)
    results = {}
    for name, values in outputs.items():
        results[name] = values
        if name in again:
            results[name] = np.array(values)
            results[name][where] = again[name]
    return results


def _is_ill_conditioned(robot: Robot, outputs: Mapping[str, Array], inputs: Sequence[Array]) -> Array:
    """Which states are weak (...); what is out of reach or has no solution is not."""
    mechanism, margins = mechanism_of(robot), outputs["margins"]
    iterated = [*mechanism.iterated_legs, *range(len(mechanism.legs), margins.shape[-1])]
    closed = [k for k in range(margins.shape[-1]) if k not in iterated]
    with np.errstate(invalid="ignore"):
        where = fold_columns(np.logical_or, ~(margins[..., iterated] >= TRUSTED_MARGIN), False)
        if "pivot" in outputs:
            # Not a number where a strut lies across the upright axis.
            where = where | ~(outputs["pivot"] >= ILL_CONDITIONED_PIVOT)
        where = where & ~np.any(margins[..., closed] < 0.0, axis=-1)
    for part in inputs[:2]:
        where = where & is_finite(part) if np.any(where) else where
    return np.asarray(where)

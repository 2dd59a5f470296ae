"""The picture of any result that has named numbers: curves over its samples, bars of one sample."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nacelle.errors import NacelleError
from nacelle.report.draw.panels import draw_panels, panels_of
from nacelle.report.results.described import chosen, quantities, robot_in
from nacelle.report.results.quantity import SAMPLE, TIME, ResultQuantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What is drawn where nothing is said; of other classes everything.
_USUAL = {
    "InverseKinematics": ("actuators",),
    "ForwardKinematics": ("pose",),
    "ToolPose": ("position",),
    "BodyMotion": ("speeds",),
    "Samples": ("pose", "forces"),
    "StaticDeflection": ("displacement", "forces"),
}


def plot_result(
    result: Any, *keys: str, times: Any = None, title: str | None = None, shown: bool = True
) -> Figure:
    """Draw quantities of a result: curves over its samples, or bars where there is one sample.

    Entries with different units are in panels of their own. Samples without a result, and those that are
    near a singularity or beyond limits, are shaded.

    Args:
        result: the result.
        *keys: which of its quantities, as `docs/plots.md` lists them; the usual ones if none is given.
        times: times of the samples (N,), s, where the result has none; they are numbered if None.
        title: above the picture; robot and kind of result if None.
        shown: whether pyplot keeps the figure, for `pyplot.show`.

    Raises:
        NacelleError: if there is no such quantity, the times do not fit, or matplotlib is missing.
    """
    usual = _USUAL.get(type(result).__name__, ())
    found = chosen(result, keys or usual) if keys or usual else quantities(result)
    if times is not None:
        found = [_timed(one, np.asarray(times, dtype=float).ravel()) for one in found]
    words = _title(result) if title is None else title
    flags = getattr(result, "flags", None)
    return draw_panels(panels_of(found), title=words, flags=flags, shown=shown)


def _timed(one: ResultQuantity, times: Any) -> ResultQuantity:
    """A quantity over times, unless it is over something else."""
    if one.single or one.across not in (SAMPLE, TIME):
        return one
    if len(times) != len(one.values):
        raise NacelleError(f"there are {len(one.values)} samples, and {len(times)} times")
    return replace(one, across=TIME, places=times)


def _title(result: Any) -> str:
    """Robot and kind of result in words, such as "delta: inverse dynamics"."""
    kind = type(result).__name__
    words = "".join(f" {sign.lower()}" if sign.isupper() else sign for sign in kind).strip()
    robot = robot_in(result)
    return words if robot is None else f"{getattr(robot, 'name', robot)}: {words}"

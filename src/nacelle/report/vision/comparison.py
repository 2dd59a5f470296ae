"""Encoders against vision as a figure, a panel for each sweep, and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nacelle.control.vision.comparison import LookingComparison
from nacelle.errors import NacelleError
from nacelle.report.draw import style
from nacelle.report.draw.canvas import new_figure
from nacelle.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

# What is written below each panel, and the factor from SI units.
LABELS: dict[str, tuple[str, str, float]] = {
    "anchors": ("error of the anchors", "mm", 1e3),
    "growth": ("growth of the base", "1e-6", 1e6),
    "lengths": ("error of lengths", "1e-6", 1e6),
    "zeros": ("error of the encoders' zeros", "mrad or mm", 1e3),
    "noise": ("noise of pixels", "grey levels", 1.0),
    "rate": ("regions a second", "Hz", 1.0),
}
# Series of each kind of sensors, and their markers.
_SERIES = {"encoders": (1, "s"), "vision": (0, "o"), "both": (2, "^")}
_WORDS = {"encoders": "encoders", "vision": "vision", "both": "vision and encoders"}

# Points of a curve between zero and the smallest value.
_FINE = 64


def plot_looking(
    comparisons: LookingComparison | Sequence[LookingComparison], *, shown: bool = True
) -> Figure:
    """Draw rms tracking errors over what is swept: a row a robot, a column a sweep.

    Lines are medians over the seeds, bands go from the best to the worst of them; a dotted line is where
    vision and encoders are equally good. The scale is logarithmic; where zero is a value it is linear from
    there to the smallest other one, with the curves interpolated as the crossings are (`Crossing`).

    Args:
        comparisons: one, or one for each of several robots with the same sweeps.
        shown: whether pyplot keeps the figure, for `pyplot.show`.

    Raises:
        NacelleError: if there is nothing to draw, or matplotlib is missing.
    """
    rows = [comparisons] if isinstance(comparisons, LookingComparison) else list(comparisons)
    if not rows or not rows[0].cases:
        raise NacelleError("there is no case to draw")
    sweeps = rows[0].sweeps
    figure = new_figure((2.6 * len(sweeps) + 0.6, 2.35 * len(rows) + 0.7), shown=shown)
    axes = figure.subplots(len(rows), len(sweeps), squeeze=False, sharey="row")
    for row, comparison in zip(axes, rows, strict=True):
        for ax, sweep in zip(row, sweeps, strict=True):
            _panel(ax, comparison, sweep)
        row[0].set_ylabel(f"{style.picture_name(comparison.robot.name)}\nrms error (mm)")
    style.shared_legend(figure, axes[0][0])
    return figure


def _panel(ax: Any, comparison: LookingComparison, sweep: str) -> None:
    words, unit, factor = LABELS[sweep]
    cases = comparison.of(sweep)
    values = np.array([case.value for case in cases])
    places = factor * values
    fine = _between(places)
    for name in cases[0].rms:
        middle = 1e3 * np.array([case.median(name) for case in cases])
        middle = np.where(np.isfinite(middle), middle, np.nan)
        with np.errstate(invalid="ignore"):
            low, high = (
                1e3 * np.array([_of(case.rms[name], of) for case in cases]) for of in (np.nanmin, np.nanmax)
            )
        k, marker = _SERIES[name]
        low, middle, high = (_errors_between(places, fine, errors) for errors in (low, middle, high))
        ax.fill_between(fine, low, high, color=style.COLOURS[k], alpha=0.15, linewidth=0.0)
        marks = {"marker": marker, "markersize": 3.0, "markevery": np.isin(fine, places)}
        style.draw_curve(ax, fine, middle, k, _WORDS[name], linewidth=1.0, **marks)
    for crossing in comparison.crossings:
        if crossing.sweep == sweep:
            ax.axvline(factor * crossing.value, color=style.QUIET, linewidth=0.8, linestyle=":")
    if places[0] > 0.0:
        ax.set_xscale("log")
    else:
        # A decade's width from zero to the smallest value.
        ax.set_xscale("symlog", linthresh=places[1], linscale=0.9)
        ax.set_xlim(-0.15 * places[1], 1.15 * places[-1])
    ax.set_yscale("log")
    ax.set_xlabel(style.axis_label(words, unit))
    style.plain_axes(ax)
    ax.set_xticks(places, [f"{factor * value:g}" for value in values])
    ax.minorticks_off()


def _between(places: Array) -> Array:
    """The places of the values, with more of them between zero and the next one."""
    if places[0] > 0.0 or len(places) == 1:
        return places
    return np.concatenate([np.linspace(0.0, places[1], _FINE)[:-1], places[1:]])


def _errors_between(places: Array, fine: Array, errors: Array) -> Array:
    """Errors at all places: next to zero their squares are linear in the square of the value.

    Errors that are independent add up so, and the crossings are those of these curves.
    """
    if len(fine) == len(places):
        return errors
    part = (fine[: _FINE - 1] / places[1]) ** 2
    first = np.sqrt(errors[0] ** 2 + part * (errors[1] ** 2 - errors[0] ** 2))
    return np.concatenate([first, errors[1:]])


def _of(values: Any, function: Any) -> float:
    return float(function(values)) if np.isfinite(values).any() else float("nan")


def looking_table(comparison: LookingComparison) -> Table:
    """Medians of the rms errors in mm, a row a case, with the verdict of each sweep."""
    from nacelle.report.table import plain_table

    names = list(comparison.cases[0].rms)
    table = plain_table("sweep", "value>", *(f"{_WORDS[name]} (mm)>" for name in names), "better")
    for sweep in comparison.sweeps:
        words, unit, factor = LABELS[sweep]
        for k, case in enumerate(comparison.of(sweep)):
            medians = {name: case.median(name) for name in names}
            best = min(medians, key=lambda name: medians[name])
            cells = [f"{1e3 * value:.3g}" if np.isfinite(value) else "lost" for value in medians.values()]
            table.add_row("" if k else f"{words} ({unit})", f"{factor * case.value:g}", *cells, _WORDS[best])
    return table


def verdicts(comparison: LookingComparison) -> list[str]:
    """For each sweep, in words, when vision alone is better than encoders alone."""
    lines = []
    for sweep in comparison.sweeps:
        words, unit, factor = LABELS[sweep]
        crossings = [one for one in comparison.crossings if one.sweep == sweep]
        if crossings:
            sides = " and ".join(
                f"{'above' if one.wins else 'below'} {float(f'{factor * one.value:.2g}'):g} {unit}"
                for one in crossings
            )
            lines.append(f"{words}: vision wins {sides}")
        else:
            lines.append(f"{words}: {comparison.verdict(sweep)}")
    return lines

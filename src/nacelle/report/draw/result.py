"""The picture of any result that has named numbers: curves over its samples, bars of one sample.

Those of simulations and of forces along a motion have titles, and limits, of their own.

Entries with different units are in panels of their own; samples that are flagged are shaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nacelle.errors import NacelleError, did_you_mean
from nacelle.kinematics.flags import FAILED as WITHOUT_RESULT
from nacelle.page.svg import true_runs
from nacelle.report.draw import style
from nacelle.report.draw.canvas import Paper, import_matplotlib, picture
from nacelle.report.flagged import flag_counts
from nacelle.report.results.panels import MAX_BARS, MAX_CURVES, Panel, panels_of
from nacelle.report.results.quantities import quantities, select_quantities
from nacelle.report.results.quantity import SAMPLE, TIME, ResultQuantity, robot_of_result, spaced_class_name
from nacelle.spatial.scalar import Array

if TYPE_CHECKING:
    from nacelle.dynamics.sizing import Sizing
    from nacelle.elastic.shaping import ShapedMotion
    from nacelle.motion.time_optimal import TimeOptimal
    from nacelle.simulation.simulate import Simulation


# ---- panels of curves and bars


_WIDTH = 7.2


def draw_panels(paper: Paper, panels: Sequence[Panel], *, flags: Any = None) -> None:
    """Draw panels from above to below, with a common axis where all have the same.

    Args:
        paper: what they are drawn on.
        panels: at least one.
        flags: of the samples; those with some are shaded.
    """
    heights = [_panel_height(panel) for panel in panels]
    # The labels of an axis, and the title.
    separate = len({panel.quantity.x_label for panel in panels if not panel.quantity.single}) > 1
    rows = len(panels) if separate or all(panel.quantity.single for panel in panels) else 1
    figure = paper.figure(_WIDTH, 0.45 + sum(heights) + 0.3 * rows)
    ratios = {"height_ratios": heights}
    share = not separate and not any(panel.quantity.single for panel in panels)
    axes = np.ravel(figure.subplots(len(panels), 1, sharex=share, squeeze=False, gridspec_kw=ratios))
    for ax, panel in zip(axes, panels, strict=True):
        if panel.quantity.single:
            _draw_panel_bars(ax, panel)
        else:
            _draw_curves(ax, panel, flags)
            if not share or ax is axes[-1]:
                ax.set_xlabel(panel.quantity.x_label)
        style.plain_axes(ax)
    if not any(panel.quantity.single for panel in panels):
        figure.align_ylabels()
    figure.set_layout_engine("tight")


def _panel_height(panel: Panel) -> float:
    """Inches."""
    if panel.quantity.single:
        return 0.45 + 0.21 * min(len(panel.entries), MAX_BARS)
    return max(1.6, 0.35 + 0.155 * min(len(panel.entries), MAX_CURVES))


def _draw_curves(ax: Any, panel: Panel, flags: Any) -> None:
    quantity = panel.quantity
    x, entries = quantity.along(), panel.largest(MAX_CURVES)
    for k, entry in enumerate(entries):
        style.draw_curve(ax, x, quantity.values[:, entry], k, quantity.names[entry])
    if quantity.logarithmic and np.any(quantity.values[:, entries] > 0.0):
        ax.set_yscale("log")
    for k, limit in enumerate(panel.limits):
        for side in (-limit, limit):
            ax.axhline(side, label="limit" if k == 0 and side > 0.0 else None, **style.LIMIT_STYLE)
    ax.set_ylabel(panel.label)
    _write_selection(ax, panel, entries)
    _widen_constant_axis(ax)
    if not len(x):
        at = {"transform": ax.transAxes, "ha": "center", "va": "center"}
        ax.text(0.5, 0.5, "no samples", fontsize=style.LABEL, color=style.INK, **at)
        ax.tick_params(labelleft=False, labelbottom=False)
    elif len(x) > 1 and x[-1] > x[0]:
        ax.set_xlim(x[0], x[-1])
    elif quantity.x is None:
        ax.set_xlim(x[0] - 0.5, x[0] + 0.5)
    if quantity.x is None:
        ax.xaxis.set_major_locator(import_matplotlib("matplotlib.ticker").MaxNLocator(integer=True))
    if flags is not None and np.size(flags) == len(x):
        _shade_flagged(ax, x, np.ravel(flags))
    style.side_legend(ax)


def _widen_constant_axis(ax: Any) -> None:
    """Give a curve that is constant but for rounding room, so that it is drawn as a line."""
    low, high = ax.get_ylim()
    middle = 0.5 * (low + high)
    if high - low < 1e-9 * max(abs(low), abs(high)):
        ax.set_ylim(middle - 0.05 * abs(middle), middle + 0.05 * abs(middle))


def _shade_flagged(ax: Any, x: Array, flags: Array) -> None:
    """Shade samples without a result, and those that are worth a word; each kind with its own hatching."""
    without = (flags & int(WITHOUT_RESULT)) != 0
    kinds = ((without, style.FAILED_COLOUR, "////"), ((flags != 0) & ~without, style.WARNING_COLOUR, "...."))
    edges = np.concatenate([x[:1], 0.5 * (x[1:] + x[:-1]), x[-1:]]) if len(x) else x
    if len(x) == 1:
        edges = x[0] + np.array([-0.5, 0.5])
    for picked, colour, hatch in kinds:
        if not np.any(picked):
            continue
        label = ", ".join(flag_counts(flags[picked]))
        for k, run in enumerate(true_runs(picked)):
            ax.axvspan(
                edges[run.start],
                edges[run.stop],
                facecolor="none",
                edgecolor=colour,
                alpha=0.45,
                hatch=hatch,
                linewidth=0.0,
                zorder=0.6,
                label=label if k == 0 else None,
            )


def _draw_panel_bars(ax: Any, panel: Panel) -> None:
    """A bar for each entry, with its number."""
    quantity, entries = panel.quantity, panel.largest(MAX_BARS)
    values = quantity.values[entries]
    draw_bars(
        ax, [quantity.names[k] for k in entries], {"": values}, logarithmic=quantity.logarithmic, numbers=True
    )
    ax.set_xlabel(panel.label)
    _write_selection(ax, panel, entries)


def _write_selection(ax: Any, panel: Panel, entries: list[int]) -> None:
    """Say how many entries of a panel are drawn, where these are not all."""
    if len(entries) < len(panel.entries):
        remark = f"{len(entries)} of {len(panel.entries)}: those with the largest values"
        ax.set_title(remark, fontsize=style.SMALL, color=style.INK, loc="right")


def draw_bars(
    ax: Any,
    names: Sequence[str],
    groups: dict[str, Array],
    *,
    logarithmic: bool = False,
    numbers: bool = False,
) -> None:
    """Bars next to names, the first above; groups have their own colours and hatchings.

    Args:
        ax: the axes.
        names: of the entries.
        groups: values (entries,) by the name of each group.
        logarithmic: whether the axis is; then only positive values have bars.
        numbers: whether to write the values.
    """
    rows, wide = np.arange(len(names)), 0.72 / max(len(groups), 1)
    hatches = ("", "////", "....", "xxxx")
    finite = [np.where(np.isfinite(values), values, 0.0) for values in groups.values()]
    for k, (name, values) in enumerate(zip(groups, finite, strict=True)):
        ax.barh(
            rows + (k - 0.5 * (len(groups) - 1)) * wide,
            values,
            0.92 * wide,
            color=style.COLOURS[k % 7],
            edgecolor="white",
            hatch=hatches[k % 4],
            linewidth=0.0,
            label=style.printable_name(name) or None,
        )
    if logarithmic and any(np.any(values > 0.0) for values in finite):
        ax.set_xscale("log")
    ax.set_yticks(rows, [style.printable_name(name, 34) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.axvline(0.0, color=style.QUIET, linewidth=0.8)
    if numbers:
        (values,) = groups.values()
        # Compared with numbers that are so much larger, rounding is zero.
        tiny = 1e-13 * float(np.max(np.abs(finite[0]), initial=0.0))
        for row, value in zip(rows, values, strict=True):
            at = float(value) if np.isfinite(value) and abs(value) > tiny else 0.0
            text = f"{at:.4g}" if np.isfinite(value) else "no result" if np.isnan(value) else "unbounded"
            ax.annotate(
                text,
                (at, row),
                xytext=(-3 if at < 0.0 else 3, 0),
                textcoords="offset points",
                ha="right" if at < 0.0 else "left",
                va="center",
                fontsize=6.5,
                color=style.INK,
            )
        ax.margins(x=0.16)


# ---- any result


# What is drawn where nothing is said; of other classes everything.
_DEFAULT_QUANTITIES = {
    "InverseKinematics": ("actuators",),
    "ForwardKinematics": ("pose",),
    "ToolPose": ("position",),
    "BodyMotion": ("speeds",),
    "Samples": ("pose", "forces"),
    "StaticDeflection": ("displacement", "forces"),
}


def draw_result(paper: Paper, result: Any, *keys: str, times: Any = None) -> str:
    """Draw quantities of a result: curves over its samples, or bars where there is one sample.

    Entries with different units are in panels of their own. Samples without a result, and those that are
    near a singularity or beyond limits, are shaded.

    Args:
        paper: what they are drawn on.
        result: the result.
        *keys: which of its quantities, as `docs/plots.md` lists them; the usual ones if none is given.
        times: times of the samples (N,), s, where the result has none; they are numbered if None.

    Returns:
        The title: robot and kind of result, such as "delta: inverse dynamics".

    Raises:
        NacelleError: if there is no such quantity, or the times do not fit.
    """
    usual = _DEFAULT_QUANTITIES.get(type(result).__name__, ())
    selected = select_quantities(result, keys or usual) if keys or usual else quantities(result)
    if times is not None:
        selected = [_with_times(quantity, np.asarray(times, dtype=float).ravel()) for quantity in selected]
    draw_panels(paper, panels_of(selected), flags=getattr(result, "flags", None))
    title, robot = spaced_class_name(type(result).__name__), robot_of_result(result)
    return title if robot is None else f"{getattr(robot, 'name', robot)}: {title}"


plot_result = picture(draw_result)


def _with_times(quantity: ResultQuantity, times: Any) -> ResultQuantity:
    """A quantity over times, unless it is over something else."""
    if quantity.single or quantity.x_label not in (SAMPLE, TIME):
        return quantity
    if len(times) != len(quantity.values):
        raise NacelleError(f"there are {len(quantity.values)} samples, and {len(times)} times")
    return replace(quantity, x_label=TIME, x=times)


# ---- simulations, and forces along a motion


SIMULATION_PANELS = ("pose", "twist", "forces", "energies", "balance")


@picture
def plot_run(paper: Paper, run: Simulation, *panels: str) -> str:
    """Draw a simulation over time.

    Args:
        paper: what it is drawn on.
        run: the simulation.
        *panels: what to draw, from above: "pose", "twist", "forces", "energies", "balance"; all but the last
            if none is given. Entries with different units are in panels of their own.

    Raises:
        NacelleError: if there is no such panel.
    """
    for name in panels:
        if name not in SIMULATION_PANELS:
            raise NacelleError(f"no panel is called {name!r}; {did_you_mean(name, SIMULATION_PANELS)}")
    draw_panels(paper, panels_of(select_quantities(run, panels or SIMULATION_PANELS[:-1])))
    return f"{run.plant.name}: {run.method}, {run.status} at {run.t[-1]:.4g} s"


@picture
def plot_forces(paper: Paper, sizing: Sizing, *keys: str) -> str:
    """Draw the forces of the actuators along a motion, with their limits; torques in a panel of their own.

    Args:
        paper: what they are drawn on.
        sizing: the motion, sized.
        *keys: "forces", "rates" or "coordinates"; the forces if none is given.

    Raises:
        NacelleError: if there is no such quantity.
    """
    selected = select_quantities(sizing, keys or ("forces",))
    panels = [_with_limits(sizing, panel) for panel in panels_of(selected)]
    draw_panels(paper, panels, flags=sizing.flags)
    return f"{sizing.robot.name}: a motion of {sizing.times[-1]:.4g} s" if len(sizing.times) else ""


@picture
def plot_timing(paper: Paper, result: TimeOptimal | ShapedMotion, *keys: str) -> str:
    """Draw the phase plane of a motion that was timed along a path, and forces over their limits.

    Args:
        paper: what they are drawn on.
        result: the motion.
        *keys: "phase plane" or "forces", both if none is given; "frequencies" of a shaped motion.

    Raises:
        NacelleError: if there is no such quantity.
    """
    panels = panels_of(select_quantities(result, keys or ("phase plane", "forces")))
    panels = [replace(panel, limits=(1.0,)) if panel.quantity.key == "forces" else panel for panel in panels]
    draw_panels(paper, panels)
    return f"{result.robot.name}: {result.duration:.4g} s from rest to rest"


def _with_limits(sizing: Sizing, panel: Panel) -> Panel:
    """A panel with the limits of its actuators."""
    kinds = {"forces": "force_limit", "rates": "speed_limit"}
    if panel.quantity.key not in kinds:
        return panel
    sizes = {getattr(sizing.loads[k], kinds[panel.quantity.key]) for k in panel.entries}
    return replace(panel, limits=tuple(sorted(size for size in sizes if np.isfinite(size))))

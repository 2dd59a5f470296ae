"""Pictures that compare numbers: measured and predicted, before and after, ours and others'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nacelle.dynamics.gravity_balance import GravityBalance
from nacelle.errors import NacelleError, did_you_mean
from nacelle.identification.experiment.simulated import SimulatedExperiment
from nacelle.identification.identify import Identification
from nacelle.identification.validation import Validation
from nacelle.page.svg import true_runs
from nacelle.report.draw import style
from nacelle.report.draw.canvas import Paper, picture
from nacelle.report.draw.result import draw_bars
from nacelle.report.operations import Operations
from nacelle.report.results import names
from nacelle.report.results.panels import MAX_BARS, axis_label, quantity_name
from nacelle.report.results.quantities import sample_axis
from nacelle.report.results.quantity import TIME
from nacelle.report.results.units import row_units
from nacelle.spatial.scalar import Array

# Rows of forces that are drawn if nothing is said.
_MAX_ROWS = 6
FIGURE_KINDS = ("forces", "parameters")


@picture
def plot_validation(paper: Paper, validation: Validation, *, rows: Sequence[str] | None = None) -> str:
    """Draw measured and predicted forces over time, and what is left in percent; shaded samples do not count.

    Args:
        paper: what it is drawn on.
        validation: the forces.
        rows: which ones, by name; the first six if None.

    Raises:
        NacelleError: if there is no such row.
    """
    data = validation.regression
    used = np.asarray(data.used)[:, None]
    x, across = _sample_axis(data.time)
    curves = {
        name: (x, np.where(used, values, np.nan))
        for name, values in (("measured", validation.measured), ("predicted", validation.predicted))
    }
    remarks = [f"residual {100.0 * part:.3g} %" if np.isfinite(part) else "" for part in validation.relative]
    labels = list(zip(validation.rows, row_units(data), strict=True))
    draw_rows(
        paper,
        curves,
        labels,
        select_rows(validation.rows, rows, _MAX_ROWS, "row"),
        x_label=across,
        first_wide=True,
        remarks=remarks,
        unused_samples=~np.asarray(data.used),
    )
    return f"{validation.robot.name}: forces, R² = {float(validation.score):.4f}"


@picture
def plot_simulated_experiment(
    paper: Paper, experiment: SimulatedExperiment, *, actuators: Sequence[str] | None = None
) -> str:
    """Draw the forces of the motors over time: as measured, with noise, and as they were.

    Args:
        paper: what it is drawn on.
        experiment: the experiment.
        actuators: which ones, by name; the first six if None.

    Raises:
        NacelleError: if there is no such actuator.
    """
    x, across = _sample_axis(experiment.time)
    curves = {"measured": (x, experiment.measurement.tau), "true": (x, experiment.tau)}
    labels = names.actuators(experiment.robot)
    rows = select_rows([name for name, _ in labels], actuators, _MAX_ROWS, "actuator")
    draw_rows(paper, curves, labels, rows, x_label=across, first_wide=True)
    return f"{experiment.robot.name}: measured and true forces of the motors"


def _sample_axis(times: Array) -> tuple[Array, str]:
    """Places of samples, and the label of their axis: times, or numbers where several runs follow."""
    over = sample_axis(times)
    return over.get("x", np.arange(1.0, len(times) + 1.0)), over["x_label"]


def plot_identification(identification: Identification, kind: str = "forces", **options: Any) -> Any:
    """Draw what an identification is worth.

    Args:
        identification: the estimates.
        kind: "forces", measured and predicted ones of the data that were fitted; "parameters", relative
            standard deviations of the base parameters, those with the largest last.
        **options: title and shown (`picture`).

    Returns:
        The figure.

    Raises:
        NacelleError: if there is no such picture.
    """
    if kind not in FIGURE_KINDS:
        raise NacelleError(f"no figure is called {kind!r}; {did_you_mean(kind, FIGURE_KINDS)}")
    if kind == "forces":
        return plot_validation(identification.fit, **options)
    return _plot_deviations(identification, **options).figure


@picture
def _plot_deviations(paper: Paper, identification: Identification) -> str:
    relative = 100.0 * np.asarray(identification.estimator.relative_std_, dtype=float)
    ascending = np.argsort(np.where(np.isfinite(relative), relative, np.inf), kind="stable")
    order = ascending[-MAX_BARS:]
    ax = paper.axes(height=1.1 + 0.22 * len(order))
    draw_bars(ax, [identification.base.names[k] for k in order], {"": relative[order]}, numbers=True)
    style.plain_axes(ax)
    ax.set_xlabel("standard deviation over the estimate (%)")
    finite = relative[order][np.isfinite(relative[order])]
    ax.set_xlim(0.0, 1.25 * float(np.clip(np.max(finite, initial=0.0), 1e-9, 200.0)))
    return f"{identification.robot.name}: {len(order)} of {len(relative)} base parameters"


@picture
def plot_balance(paper: Paper, balance: GravityBalance) -> str:
    """Draw the forces that hold a robot before and after it is balanced, root mean squares over the poses."""
    labels = names.actuators(balance.robot)
    units = list(dict.fromkeys(unit for _, unit in labels))
    heights = [sum(unit == shared for _, unit in labels) for shared in units]
    figure = paper.figure(6.4, 1.1 + sum(0.6 + 0.36 * height for height in heights))
    axes = np.ravel(
        figure.subplots(len(units), 1, squeeze=False, gridspec_kw={"height_ratios": [1 + h for h in heights]})
    )
    for ax, unit in zip(axes, units, strict=True):
        rows = [k for k, (_, row_unit) in enumerate(labels) if row_unit == unit]
        groups = {"before": balance.rms_before[rows], "after": balance.rms_after[rows]}
        draw_bars(ax, [labels[k][0] for k in rows], groups)
        ax.set_xlabel(axis_label(f"rms {quantity_name(unit, 'force')}", unit))
        style.plain_axes(ax)
    style.shared_legend(figure, axes[0])
    return f"{balance.robot.name}: gravity balance"


@picture
def plot_operations(paper: Paper, count: Operations) -> str:
    """Draw how many operations a model takes, compared with what others have published."""
    totals = [entry.total for entry in count.published_counts]
    none = [0] * len(totals)
    labels = ["nacelle", *(entry.source for entry in count.published_counts)]
    groups = {
        "additions, subtractions": [count.count.add, *none],
        "products, quotients": [count.count.mul, *none],
        "both together": [count.total, *totals],
    }
    ax = paper.axes(height=1.5 + 0.5 * len(labels))
    draw_bars(ax, labels, {name: np.asarray(values, dtype=float) for name, values in groups.items()})
    ax.set_xlabel("operations (-)")
    style.plain_axes(ax)
    style.legend_below(ax, 3)
    friction = "with friction" if count.friction else "without friction"
    return f"{count.robot}: {count.model.replace('_', ' ')} {friction}, {count.total} operations"


@picture
def plot_agreement(paper: Paper, report: Any) -> str:
    """Draw how far results (a report of `nacelle.verify`) are from other engines, and what is allowed."""
    names = list(dict.fromkeys(quantity.name for engine in report.engines for quantity in engine.quantities))
    groups: dict[str, Array] = {}
    allowed: dict[str, float] = {}
    for engine in report.engines:
        by_name = {quantity.name: quantity for quantity in engine.quantities}
        allowed |= {name: quantity.tolerance for name, quantity in by_name.items()}
        groups[f"{engine.engine} {engine.version}"] = np.array(
            [by_name[name].error if name in by_name else np.nan for name in names]
        )
    ax = paper.axes(height=1.5 + 0.34 * len(names))
    draw_bars(ax, names, groups, logarithmic=True)
    for row, name in enumerate(names):
        label = "allowed" if row == 0 else None
        ax.plot([allowed[name]] * 2, [row - 0.4, row + 0.4], color=style.INK, linewidth=1.6, label=label)
    ax.set_xlabel("largest relative error (-)")
    style.plain_axes(ax)
    style.legend_below(ax, 3)
    verdict = "agrees" if report.ok else "does not agree"
    return f"{report.robot}: {verdict} in {report.states} states"


def draw_rows(
    paper: Paper,
    curves: dict[str, tuple[Array, Array]],
    labels: Sequence[tuple[str, str]],
    rows: Sequence[int],
    *,
    x_label: str = TIME,
    first_wide: bool = False,
    remarks: Sequence[str] = (),
    unused_samples: Array | None = None,
) -> list[Any]:
    """Axes for every row, with a curve of each kind, and one legend below all.

    Args:
        paper: what they are drawn on.
        curves: places (N,) and values (N, rows) by name.
        labels: name and unit of every row.
        rows: which rows.
        x_label: label of the axis of the places.
        first_wide: whether the first curve is wide and pale below the others: what was measured.
        remarks: what is written above every row.
        unused_samples: which samples of the first curve do not count (N,).
    """
    columns = 1 if len(rows) < (3 if first_wide else 2) else 2
    lines = -(-len(rows) // columns)
    figure = paper.figure(7.6, 0.9 + 1.8 * lines)
    axes = np.ravel(figure.subplots(lines, columns, sharex=True, squeeze=False))
    for ax, row in zip(axes, rows, strict=False):
        for k, (name, (x, values)) in enumerate(curves.items()):
            line: dict[str, Any] = {"linewidth": 1.0}
            if first_wide and k == 0:
                line = {"color": "#b4bdc7", "linewidth": 3.2, "linestyle": "-"}
            style.draw_curve(ax, x, values[:, row], max(k - first_wide, 0), name, **line)
        for run in true_runs(unused_samples) if unused_samples is not None else ():
            x = next(iter(curves.values()))[0]
            ends = x[[max(run.start - 1, 0), min(run.stop, len(x) - 1)]]
            ax.axvspan(*ends, color="#eceff2", linewidth=0.0, zorder=0.5)
        name, unit = labels[row]
        ax.set_ylabel(axis_label(style.printable_name(name, 20), unit))
        if remarks:
            ax.set_title(remarks[row], fontsize=style.SMALL, color=style.INK, loc="right")
        style.plain_axes(ax)
    for ax in axes[len(rows) :]:
        ax.set_visible(False)
    for ax in axes[max(len(rows) - columns, 0) : len(rows)]:
        ax.set_xlabel(x_label)
        ax.tick_params(labelbottom=True)
    style.shared_legend(figure, axes[0])
    return list(axes[: len(rows)])


def select_rows(
    names: Sequence[str], selection: Sequence[str] | None, max_count: int, kind: str
) -> list[int]:
    """Places of rows by name; the first ones if None.

    Raises:
        NacelleError: if none has such a name.
    """
    for name in selection or ():
        if name not in names:
            raise NacelleError(f"there is no {kind} {name!r}; {did_you_mean(name, names)}")
    return [names.index(name) for name in selection] if selection else list(range(min(max_count, len(names))))

"""Closed loops in pictures and tables, one run or several, and encoders against vision.

Pictures of runs show errors and forces of actuators over time, or the path of the tool; those of encoders
against vision have a panel for each sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from nacelle.control.compare import Comparison
from nacelle.control.loop.run import ControlRun, rms
from nacelle.control.vision.comparison import VisualFeedbackComparison
from nacelle.errors import NacelleError, did_you_mean
from nacelle.report.draw import style
from nacelle.report.draw.canvas import Paper, picture
from nacelle.report.draw.compared import draw_rows, select_rows
from nacelle.report.results import names
from nacelle.report.results.panels import axis_label
from nacelle.report.results.quantity import TIME
from nacelle.report.table import Part, plain_table
from nacelle.spatial.scalar import Array

# ---- closed loops


FIGURE_KINDS = ("errors", "forces", "path")
# Actuators that are drawn if nothing is said.
_MAX_ACTUATORS = 4
# Contour errors are drawn so large, of the size of the path.
_LARGEST_OFFSET = 0.12


@picture
def plot_runs(
    paper: Paper,
    runs: ControlRun | Comparison | Sequence[ControlRun],
    kind: str = "errors",
    *,
    actuators: Sequence[str] | None = None,
    average: float = 5e-3,
) -> str:
    """Draw closed loops.

    Args:
        paper: what they are drawn on.
        runs: one, several of one robot, or their comparison.
        kind: "errors", tracking errors of actuators over time, a curve a controller ([AGH2005] Fig. 6);
            "forces", what acts and what the model of the last controller gives (Fig. 5); "path", the path of
            the tool with the errors across it enlarged, and contour errors over time.
        actuators: which ones, by name; the first four if None.
        average: time over which acting forces are averaged, s: steps of encoders make them ripple.

    Raises:
        NacelleError: if there is no such picture or actuator, or nothing to draw.
    """
    check_figure(kind)
    all_runs = [runs] if isinstance(runs, ControlRun) else runs.runs if isinstance(runs, Comparison) else runs
    sampled_runs = [run for run in all_runs if run.samples]
    if not sampled_runs:
        raise NacelleError("no run came to the path: there is nothing to draw")
    if kind == "path":
        _draw_path(paper, sampled_runs)
    else:
        names = [actuator.name for actuator in sampled_runs[0].robot.actuators]
        rows = select_rows(names, actuators, _MAX_ACTUATORS, "actuator")
        if kind == "errors":
            _draw_errors(paper, sampled_runs, rows)
        else:
            _draw_forces(paper, sampled_runs[-1], rows, average)
    usual = {"errors": "tracking errors", "forces": "forces", "path": "path of the tool"}[kind]
    return f"{sampled_runs[0].robot.name}: {usual}"


def check_figure(kind: str) -> None:
    """Refuse a name that no picture of `plot_runs` has."""
    if kind not in FIGURE_KINDS:
        raise NacelleError(f"no figure is called {kind!r}; {did_you_mean(kind, FIGURE_KINDS)}")


def _draw_errors(paper: Paper, runs: Sequence[ControlRun], rows: list[int]) -> None:
    """Tracking errors, mm and mrad."""
    labels = [
        (name, {"m": "mm", "rad": "mrad"}[unit])
        for name, unit in names.actuators(runs[0].robot, "coordinate")
    ]
    curves = {run.label: (run.time, 1e3 * run.error) for run in runs}
    draw_rows(paper, curves, labels, rows)


def average_forces(run: ControlRun, time: float) -> Array:
    """Acting forces (N, actuators), each the mean over a time (s) around its sample."""
    count = 2 * int(0.5 * time / run.controller.period) + 1
    if count < 3 or run.samples < count:
        return run.acting_forces
    edge = count // 2
    padded = np.pad(run.acting_forces, ((edge, edge), (0, 0)), mode="edge")
    sums = np.cumsum(np.vstack([np.zeros(run.acting_forces.shape[1]), padded]), axis=0)
    return np.asarray((sums[count:] - sums[:-count]) / count)


def prediction_error(run: ControlRun, average: float = 5e-3) -> Array:
    """Root of the mean square of acting less model forces over that of the acting ones (actuators,)."""
    acting = average_forces(run, average)
    return np.asarray(rms(acting - run.model_force) / np.maximum(rms(acting), np.finfo(float).tiny))


def _draw_forces(paper: Paper, run: ControlRun, rows: list[int], average: float) -> None:
    """What acts, what the model says along the desired motion, and the prediction error as a number."""
    share, acting = prediction_error(run, average), average_forces(run, average)
    curves = {f"acting ({run.label})": (run.time, acting), "model": (run.time, run.model_force)}
    remarks = [f"prediction error {100.0 * part:.3g} %" for part in share]
    axes = draw_rows(paper, curves, names.actuators(run.robot), rows, remarks=remarks)
    for ax, i in zip(axes, rows, strict=True):
        if np.isfinite(run.limits[i]) and np.max(np.abs(acting[:, i])) > 0.8 * run.limits[i]:
            for side in (-run.limits[i], run.limits[i]):
                ax.axhline(side, **style.LIMIT_STYLE)


def _draw_path(paper: Paper, runs: Sequence[ControlRun]) -> None:
    """The path in the plane in which it is widest, errors enlarged, and contour errors over time."""
    figure = paper.figure(8.4, 3.6)
    left, right = figure.subplots(1, 2)
    turning = runs[0].is_rotation_only
    path = _path_points(runs[0], runs[0].path)
    spread = np.ptp(path, axis=0)
    first, second = sorted(np.argsort(spread)[-2:])
    largest = max(float(np.max(run.contour_error)) for run in runs)
    scale = _LARGEST_OFFSET * float(np.max(spread)) / largest if largest > 0.0 else 1.0
    steps = np.outer(10.0 ** np.arange(7), [1.0, 2.0, 5.0]).ravel()
    scale = float(steps[max(0, int(np.searchsorted(steps, scale, side="right")) - 1)])
    factor = 1e3
    left.plot(
        factor * path[:, first], factor * path[:, second], color=style.PALE, linewidth=3.0, label="desired"
    )
    for k, run in enumerate(runs):
        desired, actual = _path_points(run, run.desired_tool_poses), _path_points(run, run.tool_poses)
        bent = desired + scale * (actual - desired)
        x, y = factor * bent[:, first], factor * bent[:, second]
        label = f"{style.printable_name(run.label)}, errors times {scale:g}"
        style.draw_curve(left, x, y, k, "", linewidth=0.9, label=label)
        style.draw_curve(right, run.time, factor * run.contour_error, k, run.label, linewidth=0.9)
    axes = ("rx", "ry", "rz") if turning else ("x", "y", "z")
    unit = "mrad" if turning else "mm"
    left.set_aspect("equal", adjustable="datalim")
    left.set_xlabel(f"{axes[first]} ({unit})")
    left.set_ylabel(f"{axes[second]} ({unit})")
    right.set_xlabel(TIME)
    right.set_ylabel(f"contour error ({unit})")
    for ax in (left, right):
        style.plain_axes(ax)
        style.legend_below(ax, 1)
    figure.set_layout_engine("tight")


def _path_points(run: ControlRun, poses: Any) -> Array:
    """Points (N, 3) of a path, m; of one that only turns rotation vectors, rad."""
    return np.asarray(poses.rotations_from(run.path) if run.is_rotation_only else poses.p)


# ---- the table


def run_parts(run: ControlRun) -> list[Part]:
    """What a closed loop has come to."""
    return [f"{run.robot.name}, {run.label}; {run.status}: {run.message}", result_table([run])]


def comparison_parts(comparison: Comparison) -> list[Part]:
    """Results of several closed loops, side by side."""
    return [result_table(comparison.runs)] if comparison.runs else []


def result_table(runs: Sequence[ControlRun]) -> Table:
    """Errors of actuators and tool in mm and mrad, energy and saturation; a column rms/max a controller."""
    robot = runs[0].robot
    reached = [run for run in runs if run.samples]
    names = [
        f"{actuator.name} ({'mrad' if turns else 'mm'})"
        for actuator, turns in zip(robot.actuators, robot.revolute_actuators, strict=True)
    ]
    contour = "mrad" if reached and reached[0].is_rotation_only else "mm"
    names += ["tool (mm)", "rotation (mrad)", f"contour ({contour})"]
    table = plain_table("rms / largest error", *(f"{escape(run.label)}>" for run in runs))
    columns = [_result_cells(run, len(names)) for run in runs]
    for k, name in enumerate([*names, "energy (J)", "saturated", "status"]):
        table.add_row(escape(name), *(column[k] for column in columns))
    return table


def _result_cells(run: ControlRun, errors: int) -> list[str]:
    """The column of a controller: errors, energy, saturation, status."""
    if not run.samples:
        return [*[""] * (errors + 2), run.status]
    values = (run.error, run.tool_error, run.rotation_error, run.contour_error)
    mean = np.hstack([rms(part) for part in values])
    most = np.hstack([np.max(np.abs(part), axis=0) for part in values])
    cells = [f"{1e3 * a:.3g} / {1e3 * b:.3g}" for a, b in zip(mean, most, strict=True)]
    return [*cells, f"{run.energy:.4g}", f"{100.0 * float(np.max(run.saturation)):.3g} %", run.status]


# ---- encoders against vision


# Label below each panel, its unit, and the factor from SI units.
SWEEP_LABELS: dict[str, tuple[str, str, float]] = {
    "anchors": ("error of the anchors", "mm", 1e3),
    "growth": ("growth of the base", "1e-6", 1e6),
    "lengths": ("error of lengths", "1e-6", 1e6),
    "zeros": ("error of the encoders' zeros", "mrad or mm", 1e3),
    "noise": ("pixel noise", "grey levels", 1.0),
    "rate": ("image regions per second", "Hz", 1.0),
}
# Series of each kind of sensors, and their markers.
_SENSOR_STYLES = {"encoders": (1, "s"), "vision": (0, "o"), "both": (2, "^")}
_SENSOR_LABELS = {"encoders": "encoders", "vision": "vision", "both": "vision and encoders"}

# Points of a curve between zero and the smallest value.
_FINE_POINTS = 64


@picture
def plot_visual_comparison(
    paper: Paper, comparisons: VisualFeedbackComparison | Sequence[VisualFeedbackComparison]
) -> str:
    """Draw rms tracking errors over what is swept: a row a robot, a column a sweep.

    Lines are medians over the seeds, bands go from the best to the worst of them; a dotted line is where
    vision and encoders are equally good. The scale is logarithmic; where zero is a value it is linear from
    there to the smallest other one, with the curves interpolated as the crossings are (`Crossing`).

    Args:
        paper: what they are drawn on.
        comparisons: one, or one for each of several robots with the same sweeps.

    Raises:
        NacelleError: if there is nothing to draw.
    """
    rows = [comparisons] if isinstance(comparisons, VisualFeedbackComparison) else list(comparisons)
    if not rows or not rows[0].cases:
        raise NacelleError("there is no case to draw")
    sweeps = rows[0].sweeps
    figure = paper.figure(2.6 * len(sweeps) + 0.6, 2.35 * len(rows) + 0.7)
    axes = figure.subplots(len(rows), len(sweeps), squeeze=False, sharey="row")
    for row, comparison in zip(axes, rows, strict=True):
        for ax, sweep in zip(row, sweeps, strict=True):
            _draw_sweep(ax, comparison, sweep)
        row[0].set_ylabel(f"{style.printable_name(comparison.robot.name)}\nrms error (mm)")
    style.shared_legend(figure, axes[0][0])
    return ""


def _draw_sweep(ax: Any, comparison: VisualFeedbackComparison, sweep: str) -> None:
    label, unit, factor = SWEEP_LABELS[sweep]
    cases = comparison.of(sweep)
    values = np.array([case.value for case in cases])
    abscissae = factor * values
    fine = _refine_abscissae(abscissae)
    for name in cases[0].rms:
        middle = 1e3 * np.array([case.median(name) for case in cases])
        middle = np.where(np.isfinite(middle), middle, np.nan)
        with np.errstate(invalid="ignore"):
            low, high = (
                1e3 * np.array([_reduce_finite(case.rms[name], of) for case in cases])
                for of in (np.nanmin, np.nanmax)
            )
        k, marker = _SENSOR_STYLES[name]
        low, middle, high = (_interpolate_errors(abscissae, fine, errors) for errors in (low, middle, high))
        ax.fill_between(fine, low, high, color=style.COLOURS[k], alpha=0.15, linewidth=0.0)
        marks = {"marker": marker, "markersize": 3.0, "markevery": np.isin(fine, abscissae)}
        style.draw_curve(ax, fine, middle, k, _SENSOR_LABELS[name], linewidth=1.0, **marks)
    for crossing in comparison.crossings:
        if crossing.sweep == sweep:
            ax.axvline(factor * crossing.value, color=style.QUIET, linewidth=0.8, linestyle=":")
    if abscissae[0] > 0.0:
        ax.set_xscale("log")
    else:
        # A decade's width from zero to the smallest value.
        ax.set_xscale("symlog", linthresh=abscissae[1], linscale=0.9)
        ax.set_xlim(-0.15 * abscissae[1], 1.15 * abscissae[-1])
    ax.set_yscale("log")
    ax.set_xlabel(axis_label(label, unit))
    style.plain_axes(ax)
    ax.set_xticks(abscissae, [f"{factor * value:g}" for value in values])
    ax.minorticks_off()


def _refine_abscissae(abscissae: Array) -> Array:
    """The places of the values, with more of them between zero and the next one."""
    if abscissae[0] > 0.0 or len(abscissae) == 1:
        return abscissae
    return np.concatenate([np.linspace(0.0, abscissae[1], _FINE_POINTS)[:-1], abscissae[1:]])


def _interpolate_errors(abscissae: Array, fine: Array, errors: Array) -> Array:
    """Errors at all places: next to zero their squares are linear in the square of the value.

    Errors that are independent add up so, and the crossings are those of these curves.
    """
    if len(fine) == len(abscissae):
        return errors
    part = (fine[: _FINE_POINTS - 1] / abscissae[1]) ** 2
    first = np.sqrt(errors[0] ** 2 + part * (errors[1] ** 2 - errors[0] ** 2))
    return np.concatenate([first, errors[1:]])


def _reduce_finite(values: Any, function: Any) -> float:
    return float(function(values)) if np.isfinite(values).any() else float("nan")


def visual_comparison_parts(comparison: VisualFeedbackComparison) -> list[Part]:
    """The table, and for each sweep when vision alone is better than encoders alone."""
    head = (
        f"{comparison.robot.name}: rms distance of the true platform from the desired one, median of "
        f"{len(comparison.seeds)} seeds"
    )
    return [head, visual_comparison_table(comparison), *sweep_verdicts(comparison)]


def visual_comparison_table(comparison: VisualFeedbackComparison) -> Table:
    """Medians of the rms errors in mm, a row a case, with the verdict of each sweep."""
    names = list(comparison.cases[0].rms)
    table = plain_table("sweep", "value>", *(f"{_SENSOR_LABELS[name]} (mm)>" for name in names), "better")
    for sweep in comparison.sweeps:
        label, unit, factor = SWEEP_LABELS[sweep]
        for k, case in enumerate(comparison.of(sweep)):
            medians = {name: case.median(name) for name in names}
            best = min(medians, key=lambda name: medians[name])
            cells = [f"{1e3 * value:.3g}" if np.isfinite(value) else "lost" for value in medians.values()]
            table.add_row(
                "" if k else f"{label} ({unit})", f"{factor * case.value:g}", *cells, _SENSOR_LABELS[best]
            )
    return table


def sweep_verdicts(comparison: VisualFeedbackComparison) -> list[str]:
    """For each sweep a line that says when vision alone is better than encoders alone."""
    lines = []
    for sweep in comparison.sweeps:
        label, unit, factor = SWEEP_LABELS[sweep]
        crossings = [crossing for crossing in comparison.crossings if crossing.sweep == sweep]
        if crossings:
            sides = " and ".join(
                f"{'above' if crossing.vision_wins_above else 'below'} "
                f"{float(f'{factor * crossing.value:.2g}'):g} {unit}"
                for crossing in crossings
            )
            lines.append(f"{label}: vision wins {sides}")
        else:
            lines.append(f"{label}: {comparison.verdict(sweep)}")
    return lines

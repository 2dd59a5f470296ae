"""The page of a study: one file with linked charts of all variants and the best designs in space.

The charts are drawn by the script "study" of `nacelle.page` from numbers in the page; it requests nothing.
Without JavaScript the page has its tables and a drawing of the front.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import NacelleError, shorten
from nacelle.model.robot import Robot
from nacelle.page.markup import (
    bullets,
    details,
    element,
    embedded_data,
    escape_text,
    format_number,
    format_percent,
    page,
    paragraph,
    plain_text,
)
from nacelle.page.markup import table as markup_table
from nacelle.page.svg import ChartPanel, box, disc, drawing, line, span, text_at
from nacelle.scene.figure import SceneItem, outline_points, pack_base64, scene_figure
from nacelle.scene.geometry import robot_geometry
from nacelle.scene.motion import motion_at_rest
from nacelle.spatial.scalar import Array
from nacelle.studies.statistics import Sensitivity
from nacelle.studies.table import OK, STATUSES, VARIABLE, Column, StudyTable

MAX_ROWS = 20_000
"""Variants that a page holds; of more it holds the front, the best designs and an even subset."""
MAX_DESIGNS = 6
# Points of the drawing for readers without JavaScript, reasons that are listed, bars of a chart.
_STATIC_POINTS, _REASONS, _CHART_ROWS = 1500, 20, 12
# From left to right as `scene3d.js` shows robots at first: in space, and flat ones across x, y and z.
_TO_THE_RIGHT: dict[int | None, list[float]] = {
    None: [0.8669, 0.4985, 0.0],
    0: [0.0, 1.0, 0.0],
    1: [1.0, 0.0, 0.0],
    2: [1.0, 0.0, 0.0],
}


@dataclass(frozen=True)
class Note:
    """A line about a study, such as its robot or its sampling: what it is about, and the text."""

    name: str
    text: str


@dataclass(frozen=True, eq=False)
class Design:
    """A variant that is drawn in space.

    Attributes:
        row: of the table.
        robot: the variant.
        label: why it is drawn, such as "lightest".
    """

    row: int
    robot: Robot
    label: str


def study_page(
    table: StudyTable,
    *,
    title: str,
    notes: Sequence[Note] = (),
    front: Array | None = None,
    feasible: Array | None = None,
    designs: Sequence[Design] = (),
    sensitivities: Sequence[Sensitivity] = (),
) -> str:
    """The text of a page that needs nothing besides itself.

    Args:
        table: the results.
        title: of the page, plain words.
        notes: lines about the study.
        front: variants of the Pareto front: rows (K,), or a mask (N,); may be left out.
        feasible: which variants (N,) keep all constraints; may be left out.
        designs: the best ones; the first `MAX_DESIGNS` are drawn.
        sensitivities: of quantities to the variables of the table.

    Raises:
        NacelleError: if a row of the front or of a design is not in the table.
    """
    every, best = np.arange(len(table)), designs[:MAX_DESIGNS]
    try:
        front = np.unique(every[front]) if front is not None and len(front) else every[:0]
        best_rows = every[[design.row for design in best]] if best else every[:0]
    except IndexError as error:
        raise NacelleError(f"the front or a design is not in the table: {error}") from None
    rows = _page_rows(len(table), front, best_rows)
    axes, pictures = _front_axes(table.columns), _draw_designs(best)
    feasible = np.ones(len(table), bool) if feasible is None else feasible
    data = _page_data(table, rows, front, feasible) | {
        "axes": axes,
        "map": [0, min(1, len(table.columns) - 1), axes[0]],
        "designs": [
            {"at": at, "item": pictures.positions.get(k, -1)}
            for k, at in enumerate(np.searchsorted(rows, best_rows).tolist())
        ],
    }
    parallel = paragraph("Drag along an axis to select a range, click it to clear the range.", "quiet")
    parallel += element("div", element("div", kind="study-parallel"), kind="wide")
    sections = [
        ("summary", "Summary", _summary(table, front, np.isin(rows, front))),
        ("front", "Front and map" if len(front) else "Scatter and map", _front_section(table, front, axes)),
        ("parallel", "Parallel coordinates", parallel),
        ("sensitivities", "Sensitivities", _sensitivities_section(table, sensitivities)),
        ("histograms", "Histograms", element("div", kind="study-histograms")),
        ("designs", "Best designs", _designs_section(table, best, pictures)),
        ("variants", "Variants", element("div", kind="study-table") + embedded_data(data, "study-data")),
    ]
    head = bullets(f"{note.name}: {note.text}" for note in notes)
    head += element("div", kind="study-bar", hidden="hidden")
    scripts = ("scene3d", "study") if pictures.items else ("study",)
    return page(title, head, [part for part in sections if part[-1]], scripts=scripts)


# ---- data of the script


def _page_rows(count: int, front: Array, best: Array) -> Array:
    """Rows that the page holds, ascending: all, or the front, the best and an even subset of the others."""
    if count <= MAX_ROWS:
        return np.arange(count)
    first = np.union1d(_even_subset(front, MAX_ROWS // 2), best)
    others = np.setdiff1d(np.arange(count), first)
    return np.union1d(first, _even_subset(others, MAX_ROWS - len(first)))


def _even_subset(rows: Array, most: int) -> Array:
    return np.asarray(rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int)])


def _page_data(table: StudyTable, rows: Array, front: Array, feasible: Array) -> dict[str, Any]:
    """Columns as 32-bit numbers, NaN where a value is not finite, and what became of each variant."""
    with np.errstate(over="ignore"):
        values = np.asarray(table.values[rows], dtype=np.float32).T
    columns = [
        {
            "name": plain_text(column.name),
            "unit": plain_text(column.unit),
            "kind": column.kind,
            "goal": column.goal,
            "values": pack_base64(np.where(np.isfinite(numbers), numbers, np.nan)),
        }
        for column, numbers in zip(table.columns, values, strict=True)
    ]
    return {
        "columns": columns,
        "rows": pack_base64(rows, "<u4"),
        "status": pack_base64(table.status[rows], "u1"),
        "statuses": STATUSES,
        "front": pack_base64(np.isin(rows, front), "u1"),
        "feasible": pack_base64(feasible[rows], "u1"),
    }


def _front_axes(columns: Sequence[Column]) -> list[int]:
    """The two columns that the scatter shows first: objectives before quantities before variables."""
    order = sorted(range(len(columns)), key=lambda k: (not columns[k].goal, columns[k].kind == VARIABLE, k))
    return [order[0], order[min(1, len(order) - 1)]]


# ---- sections


def _summary(table: StudyTable, front: Array, is_front: Array) -> str:
    """Counts and reasons; `is_front` says which of the variants that the page holds are on the front."""
    count, variables = len(table), sum(column.kind == VARIABLE for column in table.columns)
    text = f"Variants: {count}, with {variables} variables and {len(table.columns) - variables} quantities"
    text += f"; {np.count_nonzero(table.ok)} are {STATUSES[OK]}"
    goals = len(front) or any(column.goal for column in table.columns)
    text += f"; {len(front)} are on the Pareto front." if goals else "."
    parts = [paragraph(text)]
    if len(is_front) < count:
        parts.append(
            paragraph(
                f"The charts and the table of variants hold {len(is_front)} of them: the best designs, "
                f"{np.count_nonzero(is_front)} of the front and an even subset of the others. "
                "This summary is of all."
            )
        )
    statuses = [
        (escape_text(name), str(number), format_percent(number / count))
        for name, number in zip(STATUSES, np.bincount(table.status, minlength=len(STATUSES)), strict=True)
        if number
    ]
    parts.append(markup_table(("status", "[number]variants", "[number]part"), statuses))
    if table.reasons:
        reasons = sorted(table.reasons.items(), key=lambda item: -item[1])
        lines = [f"{number} times: {reason}" for reason, number in reasons[:_REASONS]]
        lines += [f"{len(reasons) - _REASONS} further reasons"] if len(reasons) > _REASONS else []
        parts.append(details("Why variants are not a robot or failed", bullets(lines)))
    heads = ["column", "kind", "unit", "[number]known", "[number]lowest", "[number]median", "[number]highest"]
    cells = [_column_cells(*pair) for pair in zip(table.columns, table.values.T, strict=True)]
    parts.append(details("Columns: lowest and highest values", markup_table(heads, cells)))
    return "".join(parts)


def _column_cells(column: Column, values: Array) -> list[str]:
    finite = values[np.isfinite(values)]
    numbers = np.quantile(finite, (0.0, 0.5, 1.0)).tolist() if len(finite) else [np.nan] * 3
    name = escape_text(column.name) + element("span", escape_text(column.text), kind="more")
    kind = f"{column.kind}, {column.goal}" if column.goal else column.kind
    cells = [name, escape_text(kind), escape_text(column.unit), str(len(finite))]
    return cells + [format_number(number, 5) for number in numbers]


def _front_section(table: StudyTable, front: Array, axes: Sequence[int]) -> str:
    text = "Drag a rectangle to select variants in all charts, click to clear it."
    charts = element("div", kind="study-scatter") + element("div", kind="study-map")
    reason = paragraph("The charts need JavaScript; this drawing does not.")
    return (
        paragraph(f"{text} Variants of the front are orange." if len(front) else text, "quiet")
        + element("div", charts, kind="study-pair")
        + element("noscript", reason, _static_front(table, front, axes))
    )


def _static_front(table: StudyTable, front: Array, axes: Sequence[int]) -> str:
    """The front before an even subset of all variants, as SVG."""
    x, y = table.values.T[axes]
    labels = [f"{c.name} ({c.unit})" if c.unit else c.name for c in (table.columns[k] for k in axes)]
    panel = ChartPanel(70.0, 24.0, 640.0, 320.0, span(x), span(y))
    parts = [panel.axes(x_label=labels[0], y_label=labels[1])]
    for rows, radius, kind in ((np.arange(len(x)), 2.0, "study-point"), (front, 3.5, "study-front")):
        drawable = rows[np.isfinite(x[rows]) & np.isfinite(y[rows])]
        for k in _even_subset(drawable, _STATIC_POINTS):
            parts.append(disc(float(panel.across(x[k])), float(panel.down(y[k])), radius, kind))
    return drawing(730.0, 390.0, f"{labels[1]} over {labels[0]}", *parts, kind="chart")


def _sensitivities_section(table: StudyTable, sensitivities: Sequence[Sensitivity]) -> str:
    """A chart for each quantity; empty without any."""
    names = [column.name for column in table.columns if column.kind == VARIABLE]
    charts = [_sensitivity_chart(names, of) for of in sensitivities if np.isfinite(of.first).any()]
    text = (
        "Parts of the variance that variables cause (Sobol indices): blue alone, grey together with others."
        if any(of.total for of in sensitivities)
        else "Rank correlations of the variants that are ok: 1 where a quantity rises with a variable, -1 "
        "where it falls, near 0 also where it does both. Sobol indices need sample: {method: sensitivity}."
    )
    intro = paragraph(f"{text} Lines are intervals of 95 %.", "quiet")
    return intro + element("div", *charts, kind="maps") if charts else ""


def _sensitivity_chart(names: Sequence[str], of: Sensitivity) -> str:
    """Bars of the variables with the largest values, each with its interval."""
    series = [part for part in (of.first, of.total) if part]
    low, left, right, row = (0.0 if of.total else -1.0), 140.0, 400.0, 18.0
    sizes = np.abs([estimate.value for estimate in series[-1]])
    rows = np.argsort(-np.nan_to_num(sizes), kind="stable")[:_CHART_ROWS]
    bottom = row * len(rows) + 4.0

    def across(value: float) -> float:
        return left + (right - left) * (float(np.clip(value, low, 1.0)) - low) / (1.0 - low)

    parts = []
    for value in np.linspace(low, 1.0, 5):
        parts.append(line(across(value), 0.0, across(value), bottom, "grid"))
        parts.append(text_at(across(value), bottom + 13.0, f"{value:g}", anchor="middle"))
    for n, k in enumerate(rows):
        parts.append(text_at(left - 6.0, row * (n + 0.5) + 6.0, shorten(names[k], 22), anchor="end"))
        high = 12.0 / len(series)
        for m, (part, kind) in enumerate(zip(series, ("interval", "study-point"), strict=False)):
            value, *ends = part[k]
            top = row * n + 5.0 + m * high
            if np.isfinite(value):
                parts.append(box(across(0.0), top, across(value), top + high, kind))
            if np.isfinite(ends).all():
                parts.append(
                    line(across(ends[0]), top + high / 2.0, across(ends[1]), top + high / 2.0, "normal")
                )
    title = f"{of.quantity}: {len(rows)} of {len(names)} variables" if len(rows) < len(names) else of.quantity
    chart = drawing(right + 12.0, bottom + 18.0, f"Sensitivities of {of.quantity}", *parts, kind="chart")
    return element("div", element("h3", escape_text(title)), chart)


# ---- designs in space


class _Pictures(NamedTuple):
    """Robots of a figure, the position of each design in it, and why others are not drawn."""

    items: list[SceneItem]
    positions: dict[int, int]
    reasons: list[str]


def _design_name(k: int, design: Design) -> str:
    return plain_text(f"{k + 1} {design.label}")


def _draw_designs(designs: Sequence[Design]) -> _Pictures:
    """Robots at their reference poses side by side, as the reader sees them at first."""
    pictures = _Pictures([], {}, [])
    for k, design in enumerate(designs):
        name = _design_name(k, design)
        try:
            motion = motion_at_rest(design.robot)
            item = SceneItem(robot_geometry(design.robot, motion), motion, label=name)
        except NacelleError as error:
            pictures.reasons.append(f"{name} is not drawn: {error}")
            continue
        pictures.positions[k] = len(pictures.items)
        pictures.items.append(item)
    normals = {item.geometry.across for item in pictures.items}
    direction = np.array(_TO_THE_RIGHT[normals.pop() if len(normals) == 1 else None])
    edge = 0.0
    for k, item in enumerate(pictures.items):
        reach = outline_points([item]) @ direction
        pictures.items[k] = replace(item, offset=((edge - float(reach.min())) * direction).tolist())
        edge += float(np.ptp(reach)) + 0.15 * item.geometry.extent
    return pictures


def _designs_section(table: StudyTable, designs: Sequence[Design], pictures: _Pictures) -> str:
    """Robots in space and a table with a column for each; empty without designs."""
    if not designs:
        return ""
    caption = "Reference poses, all in one scale; robots that are not selected fade."
    figure = scene_figure(pictures.items, caption=caption) if pictures.items else ""
    heads = ["column", "unit", *(f"[number]{escape_text(_design_name(k, d))}" for k, d in enumerate(designs))]
    lines = [["variant", "", *(str(design.row) for design in designs)]]
    for column, values in zip(table.columns, table.values.T, strict=True):
        cells = [format_number(float(values[design.row]), 5) for design in designs]
        lines.append([escape_text(column.name), escape_text(column.unit), *cells])
    return figure + bullets(pictures.reasons) + markup_table(heads, lines)

"""What a study has found as lines and tables, for the terminal and notebooks, and as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nacelle.errors import format_count
from nacelle.report.table import Part, plain_table
from nacelle.studies.table import QUANTITY, VARIABLE

if TYPE_CHECKING:
    from nacelle.studies.result import StudyResult
    from nacelle.studies.statistics import Estimate, Summary

_FIRST = 10


def study_parts(result: StudyResult) -> list[Part]:
    """Counts, quantities with their intervals, sensitivities, the front."""
    table, study = result.variants, result.study
    listing = ", ".join(f"{number} {name}" for name, number in result.counts.items())
    parts: list[Part] = [
        f"{study.name}: {format_count(len(table), 'variant')} of {study.robot.name}: {listing}"
    ]
    parts += [f"  {number} times: {reason}" for reason, number in sorted(table.reasons.items())[:_FIRST]]
    columns = [column for column in table.columns if column.kind == QUANTITY]
    rows = []
    for column in columns:
        found = result.summary(column.name)
        rows.append([column.name, column.unit, *_summary_cells(found)])
    heads = ("quantity", "unit", "lowest 5 %>", "median>", "highest 5 %>", "mean>", "± 95 %>", "deviation>")
    parts.append(plain_table(*heads, rows=rows))
    sample = study.spec.sample
    if sample is not None and sample.method == "sensitivity":
        parts += _sensitivity_parts(result)
    if np.any(result.front):
        parts += _front_parts(result)
    return parts


def _summary_cells(found: Summary) -> list[str]:
    low, middle, high = found.quantiles
    half = 0.5 * (found.mean.high - found.mean.low)
    values = (low.value, middle.value, high.value, found.mean.value, half, found.deviation.value)
    return [_text(value) for value in values]


def _sensitivity_parts(result: StudyResult) -> list[Part]:
    names = [column.name for column in result.variants.columns if column.kind == VARIABLE]
    parts: list[Part] = []
    for column in result.variants.columns:
        if column.kind != QUANTITY:
            continue
        found = result.sensitivity(column.name)
        rows = [
            [name, *_estimate_cells(first), *_estimate_cells(total)]
            for name, first, total in zip(names, found.first, found.total, strict=True)
        ]
        heads = (f"{column.name} depends on", "alone>", "95 %", "with others>", "95 %")
        parts.append(plain_table(*heads, rows=rows))
    return parts


def _estimate_cells(estimate: Estimate) -> list[str]:
    return [_text(estimate.value), f"{_text(estimate.low)} to {_text(estimate.high)}"]


def _front_parts(result: StudyResult) -> list[Part]:
    rows = np.flatnonzero(result.front)
    rows = rows[np.argsort(result.objectives[rows, 0], kind="stable")]
    columns = result.variants.columns
    what = "the best variant" if len(rows) == 1 else f"{len(rows)} variants on the Pareto front"
    cells = [[str(row), *(_text(value) for value in result.variants.values[row])] for row in rows[:_FIRST]]
    heads = ["variant>", *(f"{column.name} {column.unit}".strip() + ">" for column in columns)]
    more = [f"… {len(rows) - _FIRST} more"] if len(rows) > _FIRST else []
    return [what, plain_table(*heads, rows=cells), *more]


def _text(value: float) -> str:
    return f"{value:.4g}"


def study_data(result: StudyResult) -> dict[str, Any]:
    """The result as plain data: counts, statistics of every quantity, the front."""
    table = result.variants
    quantities = {}
    for column in table.columns:
        if column.kind != QUANTITY:
            continue
        found = result.summary(column.name)
        low, middle, high = (estimate._asdict() for estimate in found.quantiles)
        quantities[column.name] = {
            "unit": column.unit,
            "mean": found.mean._asdict(),
            "deviation": found.deviation._asdict(),
            "quantiles": {"5 %": low, "50 %": middle, "95 %": high},
        }
    front = [
        {"variant": int(row), **dict(zip(table.names, table.values[row].tolist(), strict=True))}
        for row in np.flatnonzero(result.front)
    ]
    return {
        "study": result.study.name,
        "robot": result.study.robot.name,
        "variants": len(table),
        "counts": result.counts,
        "reasons": table.reasons,
        "quantities": quantities,
        "front": front,
    }

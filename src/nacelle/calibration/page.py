"""The page of a calibration: verdicts, parameters, residuals, what is not known, in one file of its own."""

from __future__ import annotations

import numpy as np

from nacelle.calibration.calibration import Calibration, PoseError, shown_unit
from nacelle.calibration.parameters import number_of
from nacelle.page.markup import (
    bullets,
    element,
    escape_text,
    format_number,
    format_percent,
    page,
    paragraph,
    table,
)
from nacelle.page.svg import ChartPanel, Series, box, disc, drawing, line, line_chart

# Of each parameter's drawing, pixels; and how far it reaches, in tolerances.
_WIDTH, _HEIGHT, _REACH = 150.0, 16.0, 2.5


def calibration_page(result: Calibration) -> str:
    """HTML of a calibration."""
    kind = "good" if result.is_sound else "poor"
    sections = [
        ("verdict", "Verdict", element("div", bullets(_verdicts(result)), kind=f"verdict {kind}")),
        (
            "findings",
            "Findings",
            bullets(
                f"{'Error' if finding.is_error else 'Warning'}: {finding.text}" for finding in result.findings
            )
            or paragraph("None."),
        ),
        ("error", "Expected error", _errors(result)),
        ("parameters", "Parameters", _parameters(result)),
        ("combinations", "What the data do not show alone", _combinations(result)),
        ("residuals", "Residuals", _residuals(result)),
    ]
    return page(f"{result.nominal.name}: calibration", "", sections)


def _verdicts(result: Calibration) -> list[str]:
    before, after = result.before, result.after
    rotations = [format_number(float(np.degrees(error.rotation))) for error in (before, after)]
    verdicts = [
        "Expected error of the position over the workspace: "
        f"{format_number(before.position * 1e3)} mm before, "
        f"{format_number(after.position * 1e3)} mm after (rms); of the orientation "
        f"{rotations[0]} and {rotations[1]} deg.",
        f"Residuals are {format_number(result.noise_ratio)} times the stated noise; the chance of more is "
        f"{format_number(result.probability)}.",
        f"The data show {result.rank} of {len(result.parameters)} directions of the parameters.",
    ]
    if result.validation is not None:
        count, first, last = result.validation
        verdicts.append(
            f"{count} poses were left out of a fit: their residuals fall from {format_number(first)} to "
            f"{format_number(last)} times the noise."
        )
    return verdicts


def _errors(result: Calibration) -> str:
    """How much of the workspace has at most which error, before and after."""

    def chart(error: PoseError, title: str) -> str:
        values = np.array(error.positions)
        part = 100.0 * np.arange(1, len(values) + 1) / len(values)
        series = [Series("", 1e3 * values, part)]
        return line_chart(
            series,
            x="expected error (mm)",
            y="part of the workspace (%)",
            title=title,
            width=400.0,
            height=180.0,
        )

    charts = chart(result.before, "as described"), chart(result.after, "as calibrated")
    return element("div", *charts, kind="pair")


def _parameters(result: Calibration) -> str:
    head = [
        "parameter",
        "described>",
        "calibrated>",
        "deviation>",
        "standard deviation>",
        "tolerance>",
        "unit",
    ]
    head += ["[bar]within the tolerance", "decided by data>"]
    rows, kinds = [], []
    for item, value, deviation, part in zip(
        result.parameters, result.values, result.deviations, result.decided, strict=True
    ):
        factor, unit = shown_unit(item.unit)
        numbers = [number_of(robot, item) for robot in (result.nominal, result.robot)]
        scale = 1.0 if item.kind == "gear" else factor
        cells = ["" if number is None else format_number(number * scale, 7) for number in numbers]
        cells += [format_number(float(number) * factor) for number in (value, deviation, item.tolerance)]
        interval = _interval_chart(float(value), float(deviation), item.tolerance)
        rows.append([escape_text(item.name), *cells, unit, interval, format_percent(float(part))])
        kinds.append("fair" if part < 0.5 else "")
    return table(head, rows, kinds)


def _interval_chart(value: float, deviation: float, tolerance: float) -> str:
    """A value with its 95 % interval, over the tolerance before it (shaded)."""
    reach = max(_REACH * tolerance, 1.1 * (abs(value) + 2.0 * deviation))
    panel = ChartPanel(0.0, 0.0, _WIDTH, _HEIGHT, (-reach, reach), (0.0, 1.0))

    def across(number: float) -> float:
        return float(panel.across(number))

    middle = 0.5 * _HEIGHT
    parts = [
        box(across(-tolerance), 1.0, across(tolerance), _HEIGHT - 1.0, "noise"),
        line(across(0.0), 0.0, across(0.0), _HEIGHT, "zero"),
        box(
            across(value - 1.96 * deviation),
            middle - 2.0,
            across(value + 1.96 * deviation),
            middle + 2.0,
            "interval",
        ),
        disc(across(value), middle, 3.0, "estimate"),
    ]
    return drawing(_WIDTH, _HEIGHT, f"{value:.3g} of a tolerance of {tolerance:.3g}", *parts, kind="small")


def _combinations(result: Calibration) -> str:
    if not result.combinations:
        return paragraph("Everything shows.")
    hidden = [
        f"{text}{f' ({meaning})' if meaning else ''}" for text, _, meaning in result.identifiability.hidden
    ]
    rows = []
    for text, value, deviation, unit in result.identified_combinations:
        factor, label = shown_unit(unit)
        rows.append(
            [escape_text(text), format_number(value * factor), format_number(deviation * factor), label]
        )
    identified = table(["[name]combination", "value>", "standard deviation>", "unit"], rows)
    return (
        paragraph("Changes that nothing measured shows; tolerances alone decide along them:")
        + bullets(hidden)
        + paragraph("What the data show of these parameters, as base parameters:")
        + identified
    )


def _residuals(result: Calibration) -> str:
    samples = np.arange(len(next(iter(result.residuals.values()))), dtype=float)
    series = [Series(name, samples, values) for name, values in result.residuals.items()]
    chart = line_chart(
        series, x="sample", y="residual over the noise", title="root mean square at each sample"
    )
    if not result.outliers:
        return chart
    named = [f"{name} at sample {sample}" for sample, name in result.outliers]
    return chart + paragraph("Left out as outliers:") + bullets(named)

"""The sections of measured and predicted forces, of a fit or of a validation."""

from __future__ import annotations

import math

from nacelle.identification.validation import AT_FLOOR, WELL, Validation
from nacelle.page.markup import bullets, element, number, paragraph, percent, table, text
from nacelle.report.identification.figures import force_figure, memory_figure, spread_figure
from nacelle.report.identification.units import row_units

# Residuals with memory: chance alone gives as much with a lower probability.
MEMORY = 0.01


def predicted_well(validation: Validation) -> list[bool]:
    """Of every row whether it is predicted down to the noise, or well."""
    return [
        (math.isfinite(ratio) and ratio <= AT_FLOOR) or left <= math.sqrt(1.0 - WELL)
        for ratio, left in zip(validation.ratio.tolist(), validation.relative.tolist(), strict=True)
    ]


def force_table(validation: Validation) -> str:
    """A row for every actuator: size of the residuals, of the noise, and memory."""
    rows = []
    for k, (name, unit) in enumerate(zip(validation.rows, row_units(validation.regression), strict=True)):
        rows.append(
            [
                text(name),
                text(unit),
                number(float(validation.rms[k]), 3),
                percent(float(validation.relative[k])),
                number(float(validation.floor[k]), 3),
                number(float(validation.ratio[k]), 3),
                _memory(float(validation.whiteness[k])),
            ]
        )
    heads = [
        "force",
        "unit",
        "residual, rms>",
        "part of the force left>",
        "noise>",
        "residual / noise>",
        "memory",
    ]
    return table(heads, rows)


def _memory(probability: float) -> str:
    if not math.isfinite(probability):
        return "not known"
    shown = "below 0.001" if probability < 1e-3 else number(probability, 2)
    return f"{'yes' if probability < MEMORY else 'no'} (p {shown})"


def force_section(validation: Validation) -> str:
    """What the numbers say, the table, and figures of every row."""
    data = validation.regression
    parts = [
        bullets(validation.words()),
        force_table(validation),
        paragraph(
            "The noise is that of the measured forces in the band that the filters keep; residuals of its "
            "size are the best that any model can leave. Residuals with memory follow one another: something "
            "systematic is not in the model. p is the probability that white noise shows as much memory "
            "(Ljung and Box).",
            "quiet",
        ),
    ]
    if len(data.rows) != len(data.base.robot.actuators):
        parts.append(
            paragraph(
                "The robot has more actuators than degrees of freedom. How they divide a force among them "
                "does not follow from the motion, so the rows are forces along the coordinates of the "
                "platform, J_a^T times those of the actuators, and their noise is not known."
            )
        )
    if data.count < len(data.used):
        parts.append(
            paragraph(
                f"{len(data.used) - data.count} of {len(data.used)} samples do not count and are grey in the "
                "figures: there is no pose, or a joint with dry friction hardly moves.",
                "quiet",
            )
        )
    parts.append(
        paragraph(
            "Figures: measured and predicted force, and below measured less predicted; a green band holds "
            "95 % of the noise, where it is known. White residuals stay within the dashed lines at 95 of 100 "
            "lags.",
            "quiet",
        )
    )
    for k, (name, unit) in enumerate(zip(validation.rows, row_units(data), strict=True)):
        pair = memory_figure(validation, k) + spread_figure(validation, k, unit)
        parts.append(
            element(
                "figure",
                element("h3", text(name)),
                element("div", force_figure(validation, k, unit), kind="wide"),
                element("div", pair, kind="pair"),
            )
        )
    return "".join(parts)

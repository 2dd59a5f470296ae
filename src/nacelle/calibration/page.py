"""The page of a calibration: verdicts, parameters, what is not known; one file that requests nothing."""

from __future__ import annotations

import numpy as np

from nacelle.calibration.calibration import Calibration, shown_unit
from nacelle.page.markup import bullets, format_number, format_percent, page, paragraph, table


def calibration_page(result: Calibration) -> str:
    """HTML of a calibration."""
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
    rows = []
    for item, value, deviation, part in zip(
        result.parameters, result.values, result.deviations, result.decided, strict=True
    ):
        factor, unit = shown_unit(item.unit)
        numbers = (value * factor, deviation * factor, item.tolerance * factor)
        rows.append(
            [
                item.name,
                *(format_number(float(number)) for number in numbers),
                unit,
                format_percent(float(part)),
            ]
        )
    head = [
        "parameter",
        "deviation from the description",
        "standard deviation",
        "tolerance",
        "unit",
        "decided by data",
    ]
    sections = [
        ("verdict", "Verdict", bullets(verdicts)),
        (
            "findings",
            "Findings",
            bullets([finding.text for finding in result.findings]) if result.findings else paragraph("None."),
        ),
        ("parameters", "Parameters", table(head, rows)),
        (
            "unknown",
            "What nothing shows",
            bullets(result.combinations) if result.combinations else paragraph("Everything shows."),
        ),
    ]
    if result.outliers:
        named = [f"{name} at sample {sample}" for sample, name in result.outliers]
        sections.append(("outliers", "Left out as outliers", bullets(named)))
    return page(f"{result.nominal.name}: calibration", "", sections)

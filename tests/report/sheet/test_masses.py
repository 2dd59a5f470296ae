"""Masses on a data sheet: sums, and reasons where forces are not determined."""

from __future__ import annotations

import nacelle
from nacelle.report.sheet.masses import WeightTable
from nacelle.report.sheet.subject import subject_of


def test_sums_and_reasons() -> None:
    data, robot = subject_of("delta").summary, nacelle.load("delta")
    reason = {"reason": "too few actuators"}
    page = WeightTable(
        "nacelle show delta", data["bodies"], data["gravity"], reason, reason, robot.size
    ).markup()
    assert f"{sum(body.mass for body in robot.bodies):.4g} kg" in page
    assert page.count("Not determined: too few actuators.") == 2

"""Equations of a leg on the page: those of [OAM], line by line."""

from __future__ import annotations

from nacelle.report.elements.page import element_report
from support.uncompiled import any_robot


def test_fivebar() -> None:
    report = element_report(any_robot("fivebar"))
    assert report.grammar == "2BB"
    text = report.text()
    # [OAM] (29), (41), (43), (53), (64), and the reaction that (61) leaves out.
    for line in (
        "B_i = P_i + l_i,1 x_i,1 + l_i,2 x_i,2",
        "y_i,1 = z_i,1 × x_i,1",
        "q'_i = (x_i,2ᵀ B'_i) / (l_i,1 x_i,2ᵀ y_i,1), x'_i,1 = y_i,1 q'_i",
        "x'_i,2 = (B'_i - l_i,1 x'_i,1) / (l_i,2)",
        "F_x_i,1 = s_i,1 f_i,1 + [x_i,1]×ᵀ τ_i,1 + l_i,1 f_i,2",
        "F_x_i,2 = s_i,2 f_i,2 + [x_i,2]×ᵀ τ_i,2",
        "A = [M_x_1,1ᵀ y_1,1, M_x_2,1ᵀ y_2,1]",
    ):
        assert f"  {line}\n" in text, line
    forces = next(s for s in report.sections if s.title.endswith("forces and torques")).grids[0]
    row = next(row for row in forces.rows if row[0] == "left.proximal")
    assert str(row[3]) == "-τ\u0304_proximal-input"
    assert str(row[4]) == "τ\u0304_distal-input"

"""Actuators on a data sheet: without a motion the reason is given."""

from __future__ import annotations

from nacelle.report.sheet.drives import ActuatorLoads
from nacelle.report.sheet.subject import subject_of


def test_limits_are_shown_and_a_missing_motion_says_why() -> None:
    actuators = subject_of("delta").summary["actuators"]
    made = ActuatorLoads("nacelle show delta", actuators, "", None, "it <cannot> move")
    page = made.markup()
    assert "60 N m" in page
    assert "There is no standard motion: it &lt;cannot&gt; move." in page
    assert made.data()["motion"] == {"reason": "it <cannot> move"}

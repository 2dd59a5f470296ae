"""Steps as plain data."""

from __future__ import annotations

from nacelle.report.demo.step import FAILED, DemoStep
from support.demo_steps import steps


def test_all_steps_are_plain_data() -> None:
    import json

    listed = json.loads(json.dumps([step.data() for step in steps()], allow_nan=False))
    assert all("result" in step and "message" not in step for step in listed)
    assert DemoStep("a", "A", FAILED, 1.0, None, "why").data() == {
        "step": "a",
        "title": "A",
        "state": "failed",
        "seconds": 1.0,
        "message": "why",
    }

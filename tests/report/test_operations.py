"""Counts of models: stages add up, and published counts stand beside."""

from __future__ import annotations

from nacelle.report.operations import operation_count
from support.uncompiled import any_robot


def test_stages_add_up() -> None:
    found = operation_count(any_robot("fivebar"))
    assert found.total == found.count.total
    measured = operation_count(any_robot("fivebar"), input="elements")
    for one in (found, measured):
        if one.stages:
            assert sum(stage.add + stage.mul for stage in one.stages) == one.total
    data = found.data()
    assert data["robot"] == "fivebar"
    assert all(entry.total > found.total for entry in found.published)

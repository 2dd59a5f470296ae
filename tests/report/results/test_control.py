"""Quantities of what cameras see: none where there is no pose."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from nacelle.report.results.control import control_run, observation


def test_runs_and_images_that_give_nothing_have_no_numbers() -> None:
    nothing: Any = SimpleNamespace(samples=0, time=[], is_rotation_only=False, pose=None)
    assert control_run(nothing) == []
    assert observation(nothing) == []

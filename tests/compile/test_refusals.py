"""Forms that are out of use for a robot: kept in the user's cache, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacelle.compile import refusals
from nacelle.emit.registry import warn_once
from nacelle.errors import CompilerWarning
from nacelle.spatial.form import Form, forget_refusals, form_for
from support.library import library_robot


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("NACELLE_CACHE", str(tmp_path))
    for forget in (forget_refusals, warn_once.cache_clear, refusals._recall.cache_clear):
        forget()
    yield
    for forget in (forget_refusals, warn_once.cache_clear, refusals._recall.cache_clear):
        forget()


def test_a_later_process_knows_the_reason() -> None:
    robot, other = library_robot("fivebar"), library_robot("delta")
    assert refusals.refused_form(robot) == ""
    refusals.note_refusal(robot, (other,), Form.COMPACT, "forces were off")
    for _ in range(2):
        with pytest.warns(CompilerWarning, match="fivebar: forces were off"):
            assert refusals.refused_form(robot) == "forces were off"
        with pytest.warns(CompilerWarning, match="delta: forces were off"):
            refusals.refused_form(other)
        assert form_for(robot.hash) is form_for(other.hash) is Form.JOINTS
        # As if the process began.
        forget_refusals()
        warn_once.cache_clear()
        refusals._recall.cache_clear()


def test_another_cache_knows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = library_robot("fivebar")
    refusals.note_refusal(robot, (), Form.COMPACT, "forces were off")
    forget_refusals()
    monkeypatch.setenv("NACELLE_CACHE", str(tmp_path / "another"))
    assert refusals.refused_form(robot) == ""

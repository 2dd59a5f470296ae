"""The table of engines: what fails is seen."""

from __future__ import annotations

import pytest

from nacelle.errors import NacelleError
from nacelle.report.sheet.engines import engine_table, engines
from nacelle.report.sheet.subject import subject_of


def test_a_quantity_that_fails_or_is_missing_is_seen() -> None:
    def quantity(name: str, error: float | None, ok: bool) -> dict[str, object]:
        return {"name": name, "error": error, "tolerance": 1e-9, "ok": ok}

    one = {"engine": "a", "version": "1", "quantities": [quantity("q", 1e-3, False)]}
    two = {"engine": "b", "version": "2", "quantities": [quantity("r", None, False)]}
    shown = engine_table({"engines": [one, two]})
    assert "<strong>1.0e-03 fails</strong>" in shown
    assert "<strong>no number fails</strong>" in shown
    assert shown.count("–") == 2


def test_without_engines_the_command_is_named() -> None:
    with pytest.raises(NacelleError, match="nacelle verify fivebar"):
        engines(subject_of("fivebar"), None)

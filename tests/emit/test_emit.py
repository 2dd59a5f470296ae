"""Targets by name."""

from __future__ import annotations

import pytest

from nacelle.emit import registry
from nacelle.emit.registry import NAMES, Target, TargetError, register, target
from nacelle.program.trace import trace

# ---- Targets by name: they are found when they are first needed, and faults name the nearest


@pytest.mark.parametrize("name", NAMES)
def test_every_target_writes_source(name: str) -> None:
    program = trace(lambda x: {"y": x * x + 1.0}, {"x": (2,)}, "square").program()
    found = target(name)
    assert found.name == name
    assert "square" in found.source(program) or len(found.source(program)) > 50


def test_a_new_target_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_targets", {})
    register(Target("spoken", lambda program: program.name))
    assert target("spoken").kernel is None
    with pytest.raises(TargetError, match="did you mean"):
        target("pyton")

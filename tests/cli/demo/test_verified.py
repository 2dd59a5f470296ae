"""Engines that agree, that disagree, and that are not there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import nacelle.verify
from nacelle.cli.demo.verified import verified
from nacelle.errors import NacelleError
from nacelle.library import load
from nacelle.verify import MissingEngineError, engine


def test_without_engines_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise MissingEngineError(name)

    monkeypatch.setattr(engine, "builder", missing)
    (line,) = verified(load("fivebar")).lines()
    assert line == ("Not compared: pinocchio and mujoco are not installed (pip install 'nacelle[verify]').")


def test_an_engine_that_disagrees_fails_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    report = SimpleNamespace(ok=False, text=lambda: "inverse dynamics 0.1")
    monkeypatch.setattr(engine, "builder", lambda name: None)
    monkeypatch.setattr(nacelle.verify, "verify", lambda *_: report)
    with pytest.raises(NacelleError, match="an engine disagrees:\ninverse dynamics"):
        verified(load("fivebar"))


def test_one_engine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    own = engine.builder

    def only(name: str) -> Any:
        if name == "pinocchio":
            raise MissingEngineError(name)
        return own(name)

    pytest.importorskip("mujoco")
    monkeypatch.setattr(engine, "builder", only)
    result = verified(load("fivebar"))
    assert result.missing == ("pinocchio",)
    assert 0.0 < result.worst < 1e-9
    assert result.lines()[-1].startswith("pinocchio is not installed")

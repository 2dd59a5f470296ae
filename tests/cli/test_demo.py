"""The demonstration: short, with its pictures and code, and a status that says whether all went well."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nacelle.cli import app, demo
from nacelle.errors import NacelleError
from nacelle.library import load
from nacelle.report.operations import operation_count


def run(folder: Path, *arguments: str) -> Any:
    result = CliRunner().invoke(
        app, ["demo", "--out", str(folder), "--states", "2", "--no-gallery", *arguments]
    )
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_the_demonstration(tmp_path: Path) -> None:
    result = run(tmp_path / "demo")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(lines) <= 40
    text = result.stdout
    assert "pinocchio" in text
    assert "mujoco" in text
    counted = re.search(r" (\d+) nacelle, from the pose to all drive forces", text)
    assert counted is not None
    assert int(counted[1]) == operation_count(load("palida"), friction=True).total <= 1132
    assert " 1987 [AGH2005] Table II" in text
    for name in ("palida-circle-forces.png", "palida.png", "palida-workspace-rx-ry.png"):
        assert (tmp_path / "demo" / name).read_bytes().startswith(b"\x89PNG")
        assert name in text
    assert (tmp_path / "demo" / "palida-c" / "include" / "palida.h").is_file()
    if shutil.which("make") and any(map(shutil.which, ("cc", "gcc", "clang"))):
        assert "self-test: all is well" in text
    else:
        assert "the self-test is left out: there is no C compiler" in text
    again = run(tmp_path / "demo")
    assert again.exit_code == 1
    assert "not empty" in again.stderr


def test_without_a_compiler_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    lines = demo._exported(load("palida"), tmp_path)
    assert "there is no C compiler" in lines[-1]


def test_a_step_that_fails_is_told_and_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[str]:
        raise NacelleError("an engine disagrees")

    for name in ("_counted", "_driven", "_exported", "_drawn"):
        monkeypatch.setattr(demo, name, lambda *_: ["done"])
    monkeypatch.setattr(demo, "_verified", broken)
    result = run(tmp_path / "demo")
    assert result.exit_code == 1
    assert "FAILED: an engine disagrees" in result.stdout
    assert "1 of 6 steps failed: The same robot in two other engines" in result.stdout


def test_a_self_test_that_fails_fails_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess

    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(
        subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 2, "worst error 1: BAD\n", "")
    )
    with pytest.raises(NacelleError, match="self-test of the C package fails"):
        demo._exported(load("palida"), tmp_path)

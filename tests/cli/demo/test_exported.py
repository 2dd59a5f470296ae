"""The package is written and tested; without a compiler the step says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nacelle.cli.demo.exported import exported
from nacelle.cli.demo.folder import DemoFolder
from nacelle.library import load


def test_without_a_compiler_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    result = exported(load("fivebar"), DemoFolder(tmp_path))
    assert "there is no C compiler" in result.lines()[-1]
    assert "left out" in result.claim
    assert result.prototype.startswith("void fivebar_inverse_dynamics(")
    # A second run replaces the package.
    exported(load("fivebar"), DemoFolder(tmp_path))


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_the_package_has_passed_its_self_test(tmp_path: Path) -> None:
    result = exported(load("fivebar"), DemoFolder(tmp_path))
    assert result.verdict == "all is well"
    assert not (tmp_path / "palida-c" / "build").exists()

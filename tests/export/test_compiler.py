"""Compilers: which one is found, what it says, and which of them make no programs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nacelle.errors import ExportError
from nacelle.export.compiler import Compiler, TimeLimitError, find_compiler, run_within


def test_a_compiler_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "my-cc"
    own.write_text("#!/bin/sh\necho one; echo two\n")
    own.chmod(0o755)
    monkeypatch.setenv("CC", f"{own} -m32 -g")
    found = find_compiler("c")
    assert found is not None
    assert found.command == (str(own), "-m32", "-g")
    assert found.name == "my-cc -m32 -g"
    assert found.version == "one"
    # It says that it has compiled, and has made nothing.
    assert not found.works()
    monkeypatch.setenv("CC", "no-such-cc")
    assert find_compiler("c") is None
    with pytest.raises(ExportError, match="there is no C\\+\\+ compiler 'no-such-c\\+\\+'"):
        find_compiler("c++", "no-such-c++")


@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_compilers_of_this_machine(language: str, tmp_path: Path) -> None:
    found = find_compiler(language)
    if found is None:
        pytest.skip(f"there is no compiler of {language}")
    assert found.works()
    (tmp_path / "a.c").write_text("int f(void) { return wrong; }\n")
    with pytest.raises(ExportError, match=r"a\.c:1.*error.*wrong"):
        found.build(["-c", "a.c"], tmp_path, 60.0)


@pytest.mark.skipif(not shutil.which("sleep"), reason="there is no sleep")
def test_programs_that_take_too_long_or_do_not_start(tmp_path: Path) -> None:
    with pytest.raises(TimeLimitError, match=r"sleep takes longer than 0\.1 s"):
        run_within(["sleep", "20"], tmp_path, 0.1)
    with pytest.raises(ExportError, match="nothing does not run"):
        run_within(["./nothing"], tmp_path, 1.0)
    assert not Compiler("c", ("./nothing",)).works()

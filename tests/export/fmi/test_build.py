"""Building an FMU: its own sources alone compile without a warning; the same files are the same bytes."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nacelle.errors import ExportError
from nacelle.export.fmi.build import binary, this_platform, zipped
from support.fmus import fmu


def test_the_sources_in_the_file_compile_elsewhere(tmp_path: Path) -> None:
    """What buildDescription.xml lists is all that a compiler needs, and it has nothing to say."""
    with zipfile.ZipFile(fmu("fivebar")) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "sources"
    listed = ElementTree.parse(folder / "buildDescription.xml").getroot().iter("SourceFile")
    sources = [file.attrib["name"] for file in listed]
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-fsyntax-only"]
    done = subprocess.run(["cc", *strict, *sources], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    where, ending = this_platform()
    assert (tmp_path / "binaries" / where / f"model{ending}").stat().st_size > 1000


def test_compilers_that_fail() -> None:
    with pytest.raises(ExportError, match=r"no C compiler 'no-such-cc'"):
        binary("one", {"a.c": ""}, "no-such-cc")
    with pytest.raises(ExportError, match=r"does not compile the FMU: a.c.*error"):
        binary("one", {"a.c": "int f(void) { return wrong; }"})


def test_without_a_compiler_there_is_no_binary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-cc")
    assert binary("one", {"a.c": ""}) is None


def test_the_same_files_are_the_same_bytes() -> None:
    files = {"a": "text", "binaries/b": b"\0\1"}
    assert zipped(files) == zipped(files)

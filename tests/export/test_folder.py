"""Writing packages: whole or not at all, and never over what others wrote."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nacelle.errors import ExportError
from nacelle.export.folder import MANIFEST, check_file, write_file, write_folder

FILES = {
    "README.md": "page\n",
    "src/a.c": "int a;\n",
    MANIFEST: json.dumps({"files": ["src/a.c", "README.md"]}),
}


def listed(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_new_and_empty_folders(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        write_folder(tmp_path / name, FILES, False)
        assert listed(tmp_path / name) == set(FILES)
        assert (tmp_path / name / "src" / "a.c").read_text() == "int a;\n"
        assert (tmp_path / name).stat().st_mode & 0o755 == 0o755 & ~_umask()
    assert {path.name for path in tmp_path.iterdir()} == {"new", "empty"}


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_what_others_wrote_stays(tmp_path: Path) -> None:
    write_folder(tmp_path / "p", FILES, False)
    (tmp_path / "p" / "mine.txt").write_text("mine")
    with pytest.raises(ExportError, match="not empty"):
        write_folder(tmp_path / "p", FILES, False)
    later = {"README.md": "other\n", "src/b.c": "int b;\n", MANIFEST: "{}"}
    write_folder(tmp_path / "p", later, True)
    assert listed(tmp_path / "p") == {*later, "mine.txt"}
    assert (tmp_path / "p" / "README.md").read_text() == "other\n"


def test_a_manifest_reaches_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "p").mkdir()
    names = ["../precious", str(tmp_path / "precious"), 7, ""]
    (tmp_path / "p" / MANIFEST).write_text(json.dumps({"files": names}))
    write_folder(tmp_path / "p", FILES, True)
    assert (tmp_path / "precious").read_text() == "precious"


def test_clear_errors(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ExportError, match="no folder"):
        write_folder(tmp_path / "file", FILES, True)
    with pytest.raises(ExportError, match="there is no folder"):
        write_folder(tmp_path / "missing" / "p", FILES, False)
    with pytest.raises(ExportError, match="cannot write"):
        write_folder(tmp_path / ("x" * 300), FILES, False)


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(ExportError, match="No space left"):
        write_folder(tmp_path / "p", FILES, False)
    assert not list(tmp_path.iterdir())


def test_a_file_appears_whole_and_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "one.fmu"
    check_file(out, ".fmu", False)
    write_file(out, b"\0first")
    with pytest.raises(ExportError, match="there already"):
        check_file(out, ".fmu", False)
    check_file(out, ".fmu", True)
    write_file(out, b"\0second")
    assert out.read_bytes() == b"\0second"
    assert list(tmp_path.iterdir()) == [out]
    for wrong, words in (
        (tmp_path / "one.zip", r"to end in \.fmu"),
        (tmp_path / "no" / "one.fmu", "there is no folder"),
    ):
        with pytest.raises(ExportError, match=words):
            check_file(wrong, ".fmu", False)
    (tmp_path / "folder.fmu").mkdir()
    with pytest.raises(ExportError, match="is a folder"):
        check_file(tmp_path / "folder.fmu", ".fmu", True)
    with pytest.raises(ExportError, match="cannot write"):
        write_file(tmp_path / "no" / "one.fmu", b"")

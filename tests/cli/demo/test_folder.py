"""A second run replaces what a demonstration wrote, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacelle.cli.demo.folder import LIST, DemoFolder
from nacelle.errors import NacelleError


def written(path: Path) -> DemoFolder:
    """A folder with a file, and one of another's making in a folder inside."""
    folder = DemoFolder(path)
    folder.write("report.html", "<p>")
    (path / "code").mkdir()
    (path / "code" / "a.c").write_text("int a;")
    folder.add("code/a.c")
    return folder


def test_a_second_run_replaces_what_the_first_wrote(tmp_path: Path) -> None:
    written(tmp_path / "new" / "demo")
    (tmp_path / "new" / "demo" / "notes.txt").write_text("mine")
    DemoFolder(tmp_path / "new" / "demo")
    assert sorted(p.name for p in (tmp_path / "new" / "demo").iterdir()) == ["notes.txt", LIST]


def test_what_others_put_beside_it_keeps_its_folder(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "code" / "mine.c").write_text("int mine;")
    DemoFolder(tmp_path)
    assert [p.name for p in (tmp_path / "code").iterdir()] == ["mine.c"]


def test_a_file_that_was_changed_is_not_lost(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "code" / "a.c").write_text("int a = 1;")
    with pytest.raises(NacelleError, match=r"changed since \(code/a\.c\)"):
        DemoFolder(tmp_path)
    assert (tmp_path / "report.html").read_text() == "<p>"


@pytest.mark.parametrize(
    "listed", [None, "[]", '{"files": {"../outside": ""}}', '{"files": {"/etc/x": "1"}}']
)
def test_a_folder_of_others_is_refused(tmp_path: Path, listed: str | None) -> None:
    (tmp_path / "outside").write_text("x")
    place = tmp_path / "demo"
    place.mkdir()
    (place / "mine.txt").write_text("x")
    if listed is not None:
        (place / LIST).write_text(listed)
    with pytest.raises(NacelleError, match="not written by nacelle demo"):
        DemoFolder(place)
    assert (place / "mine.txt").exists()
    assert (tmp_path / "outside").exists()


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(NacelleError, match="no folder"):
        DemoFolder(tmp_path / "file")
    with pytest.raises(NacelleError, match="cannot write"):
        DemoFolder(tmp_path / "file" / "demo")


def test_the_list_grows_with_every_file(tmp_path: Path) -> None:
    """So that whatever ends a run, the next one knows what is its own."""
    folder = DemoFolder(tmp_path)
    for name in ("a", "b"):
        folder.write(name, name)
        assert name in json.loads((tmp_path / LIST).read_text())["files"]

"""Files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacelle.files import why_unread, write_whole


def test_a_file_that_cannot_be_encoded_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_whole(file, "first Ω")
    with pytest.raises(UnicodeEncodeError):
        write_whole(file, "x" * 100_000 + "\ud800")
    with pytest.raises(FileExistsError):
        write_whole(file, "second", new=True)
    assert file.read_text(encoding="utf-8") == "first Ω"
    assert list(tmp_path.iterdir()) == [file]
    write_whole(file, "third")
    write_whole(tmp_path / "b.txt", "new", new=True)
    assert sorted(path.read_text(encoding="utf-8") for path in tmp_path.iterdir()) == ["new", "third"]


@pytest.mark.parametrize(
    ("name", "words"),
    [("none.csv", "no such file"), (".", "a folder"), ("binary.csv", "byte 2 (0xff) is not UTF-8 text")],
)
def test_why_a_file_is_not_read(name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "binary.csv").write_bytes(b"ab\xff")
    with pytest.raises((OSError, UnicodeDecodeError)) as caught:
        (tmp_path / name).read_text(encoding="utf-8")
    message, hint = why_unread(tmp_path / name, caught.value, "CSV file")
    assert words in message
    assert "CSV file" in hint

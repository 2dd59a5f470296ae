"""The cache of native code: made once, loaded afterwards, made anew where it is damaged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nacelle.compile.cache import CachedForm, cached_search, load_or_compile
from nacelle.compile.specification import Specification, WithCheck
from nacelle.emit.store import Store
from nacelle.errors import CompilerWarning
from nacelle.program.program import Program
from nacelle.spatial.scalar import Array
from support.library import library_robot


def doubled(x: Array) -> Array:
    return 2.0 * x


class Maker:
    """Counts what is traced and compiled; the image is the name of the program."""

    def __init__(self) -> None:
        self.traced = self.compiled = 0
        self.specification = Specification(doubled, None, {"x": (2,)})
        self.form = CachedForm[str](
            "test",
            self.emit,
            lambda image, program, packed: image.decode(),
            lambda program: "plain",
            lambda result, rows: 2.0 * rows,
            is_program=True,
        )

    def emit(self, program: Program, options: object) -> bytes:
        self.compiled += 1
        return program.name.encode()

    def make(self) -> WithCheck[Program]:
        self.traced += 1
        return self.specification.program_with_check()

    def kept(self, store: Store | None) -> str:
        return load_or_compile(self.form, self.specification, self.make, store)


def test_made_once(tmp_path: Path) -> None:
    store, maker = Store(tmp_path / "cache"), Maker()
    assert [maker.kept(store) for _ in range(3)] == ["doubled"] * 3
    assert (maker.traced, maker.compiled) == (1, 1)
    assert Maker().kept(Store(tmp_path / "cache")) == "doubled"


def test_damaged_entries_are_made_anew(tmp_path: Path) -> None:
    store, maker = Store(tmp_path / "cache"), Maker()
    maker.kept(store)
    for file in store.folder.iterdir():
        file.write_bytes(file.read_bytes()[:-1])
    assert maker.kept(store) == "doubled"
    assert maker.compiled == 2


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_code_that_others_may_have_written_is_made_anew(tmp_path: Path) -> None:
    maker, store = Maker(), Store(tmp_path / "cache")
    maker.kept(store)
    store.folder.chmod(0o777)
    with pytest.warns(CompilerWarning, match="other users may write"):
        maker.kept(store)
    assert maker.compiled == 2


def test_without_a_cache(tmp_path: Path) -> None:
    maker = Maker()
    maker.kept(None)
    maker.kept(None)
    assert maker.compiled == 2


def test_results_of_searches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NACELLE_CACHE", str(tmp_path))
    robot, made = library_robot("fivebar"), []

    def search() -> str:
        made.append(1)
        return f"result {len(made)}"

    assert cached_search("kind", robot, [1], search) == "result 1"
    assert cached_search("kind", robot, [1], search) == "result 1"
    assert cached_search("kind", robot, [2], search) == "result 2"
    assert cached_search("other", robot, [1], search) == "result 3"
    assert cached_search("kind", library_robot("delta"), [1], search) == "result 4"

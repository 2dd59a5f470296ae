"""The house stays one that one can live in: no cycles, small folders, files and signatures."""

from __future__ import annotations

import warnings
from pathlib import Path

from support.house import EXEMPT, ROOT, House, draw, many_arguments, mirrored, read_house

# Modules that have no test file at their place under tests/. It only ever falls.
MOST_WITHOUT = 0


def test_house() -> None:
    house = read_house(ROOT / "src")
    assert house.cycles == []
    assert max(house.folders.values()) <= 24
    assert max(house.lines.values()) <= 500


def test_signatures() -> None:
    assert many_arguments(ROOT / "src") == []


def test_tests_mirror_the_package() -> None:
    """As many modules as ever have a test file at the same place; `make house` prints how many."""
    beside, without = mirrored(ROOT / "src", ROOT / "tests")
    assert len(without) <= MOST_WITHOUT, f"{len(beside)} modules have a test file beside them; not {without}"
    if len(without) < MOST_WITHOUT:
        warnings.warn(
            f"{len(without)} modules are without tests beside them: MOST_WITHOUT can fall", stacklevel=1
        )
    assert all((ROOT / "src" / f"{name.replace('.', '/')}.py").is_file() for name in EXEMPT)


def test_a_module_without_tests_is_seen(tmp_path: Path) -> None:
    for name in (
        "src/nacelle/a/b.py",
        "src/nacelle/a/c.py",
        "src/nacelle/a/__init__.py",
        "tests/a/test_b.py",
    ):
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    assert mirrored(tmp_path / "src", tmp_path / "tests") == (["nacelle.a.b"], ["nacelle.a.c"])


def test_cycles_are_found_and_drawn() -> None:
    lines = dict.fromkeys(("nacelle.model.a", "nacelle.model.b", "nacelle.model.c"), 10)
    ties = {("nacelle.model.a", "nacelle.model.b"), ("nacelle.model.b", "nacelle.model.c")}
    folder = dict.fromkeys(lines, "nacelle.model")
    assert House(lines, {}, folder, frozenset(ties)).cycles == []
    round_ = House(lines, {}, folder, frozenset({*ties, ("nacelle.model.c", "nacelle.model.a")}))
    assert round_.cycles == [sorted(lines)]
    assert draw(round_).count("#c33") == 3

"""The house stays one that one can live in: no cycles, small folders, files and signatures."""

from __future__ import annotations

from support.house import ROOT, House, draw, many_arguments, read_house


def test_house() -> None:
    house = read_house(ROOT / "src")
    assert house.cycles == []
    assert max(house.folders.values()) <= 24
    assert max(house.lines.values()) <= 500


def test_signatures() -> None:
    assert many_arguments(ROOT / "src") == []


def test_cycles_are_found_and_drawn() -> None:
    lines = dict.fromkeys(("nacelle.model.a", "nacelle.model.b", "nacelle.model.c"), 10)
    ties = {("nacelle.model.a", "nacelle.model.b"), ("nacelle.model.b", "nacelle.model.c")}
    folder = dict.fromkeys(lines, "nacelle.model")
    assert House(lines, lines, folder, frozenset(ties)).cycles == []
    round_ = House(lines, lines, folder, frozenset({*ties, ("nacelle.model.c", "nacelle.model.a")}))
    assert round_.cycles == [sorted(lines)]
    assert draw(round_).count("#c33") == 3

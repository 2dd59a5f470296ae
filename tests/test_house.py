"""The house stays one that one can live in: no cycles, no longer chains of imports, small signatures."""

from __future__ import annotations

from support.house import ROOT, House, draw, many_arguments, read_house

# The longest chain of imports. It only ever falls.
LONGEST_CHAIN = 64


def test_house() -> None:
    house = read_house(ROOT / "src")
    assert house.cycles == []
    assert len(house.chain) <= LONGEST_CHAIN, " imports ".join(house.chain)


def test_signatures() -> None:
    assert many_arguments(ROOT / "src") == []


def test_cycles_are_found_and_drawn() -> None:
    lines = dict.fromkeys(("nacelle.model.a", "nacelle.model.b", "nacelle.model.c"), 10)
    ties = {("nacelle.model.a", "nacelle.model.b"), ("nacelle.model.b", "nacelle.model.c")}
    folder = dict.fromkeys(lines, "nacelle.model")
    assert House(lines, {}, folder, frozenset(ties)).cycles == []
    round_ = House(lines, {}, folder, frozenset({*ties, ("nacelle.model.c", "nacelle.model.a")}))
    assert round_.cycles == [sorted(lines)]
    assert draw(round_).count("#c33") == 3


def test_the_longest_chain() -> None:
    lines = dict.fromkeys(("a", "b", "c", "d"), 10)
    house = House(lines, {}, lines, frozenset({("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")}))
    assert house.chain == ["a", "b", "c"]

"""Numbers as they are written: whoever takes them is asked which part of the text they are."""

from __future__ import annotations

from nacelle.model.written import WrittenNumber, WrittenText, given, pieces


def test_the_taker_gets_part_value_and_quantity() -> None:
    taken: list[tuple[int, float, str]] = []

    def take(part: int, value: float, quantity: str) -> float:
        taken.append((part, value, quantity))
        return 10.0 * value

    text = WrittenText("1 2 mm", take)
    assert text == "1 2 mm"
    parts = pieces(text, ["1", "2"], "mm")
    assert parts == ["1 mm", "2 mm"]
    assert [given(part, 0.001, "length") for part in parts] == [0.01, 0.01]
    assert given(WrittenNumber(3.0, take), 3.0, "mass") == 30.0
    assert taken == [(0, 0.001, "length"), (1, 0.001, "length"), (-1, 3.0, "mass")]


def test_plain_values_stay() -> None:
    assert given("3 kg", 3.0, "mass") == 3.0
    assert pieces("1 2", ["1", "2"], "") == ["1", "2"]

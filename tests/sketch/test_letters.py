"""Legs as people write them."""

from __future__ import annotations

import pytest

from nacelle.errors import NacelleError
from nacelle.sketch.letters import LegLetters, is_counted, named, read_legs


@pytest.mark.parametrize(
    ("text", "letters", "active"),
    [
        ("UPS", "UPS", (1,)),
        ("ups", "UPS", (1,)),
        ("U_PS", "UPS", (1,)),
        ("U[P]S", "UPS", (1,)),
        ("UP*S", "UPS", (1,)),
        ("UpS", "UPS", (1,)),
        ("UP\N{COMBINING LOW LINE}S", "UPS", (1,)),
        ("RRR", "RRR", (0,)),
        ("R[R]R", "RRR", (1,)),
        ("R*P*S", "RPS", (0, 1)),
        ("U-P-S", "UPS", (1,)),
        ("RUS", "RUS", (0,)),
    ],
)
def test_one_leg(text: str, letters: str, active: tuple[int, ...]) -> None:
    assert read_legs(text) == [LegLetters(letters, active)]
    assert read_legs(f"3-{text}") == read_legs(f"3{text}") == [LegLetters(letters, active)] * 3
    # What is printed is read again.
    assert read_legs(str(read_legs(text)[0])) == read_legs(text)


def test_several_legs() -> None:
    rus, prr = read_legs("RUS")[0], read_legs("PRR")[0]
    assert read_legs("RUS,RUS,PRR") == [rus, rus, prr]
    assert read_legs("2-RUS, 1-PRR") == [rus, rus, prr]
    assert read_legs("RUS", 4) == read_legs("4-RUS", 4) == [rus] * 4
    assert named([rus, rus, prr]) == "2-[R]US, 1-[P]RR"
    assert [is_counted(text) for text in ("UPS", "6-UPS", "UPS,UPS")] == [False, True, True]


def test_freedoms() -> None:
    assert read_legs("UPS")[0].freedoms == 6
    assert (read_legs("SPS")[0].freedoms, read_legs("SPS")[0].rank) == (7, 6)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a leg has no joints"),
        ("6-", "is no leg"),
        ("UQS", "no joint is called 'Q'; use R, P, U, C and S"),
        ("RRPaR", "parallelograms and rods side by side are not sketched"),
        ("R[SS|SS]", "parallelograms and rods side by side are not sketched"),
        ("[U]PS", "a universal joint cannot be actuated"),
        ("UCU", "no revolute or prismatic joint that an actuator could move"),
        ("99-UPS", "more than 12 legs"),
        ("RRRRRRRR", "at most 7"),
    ],
)
def test_what_is_no_leg(text: str, words: str) -> None:
    with pytest.raises(NacelleError) as caught:
        read_legs(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_counts_that_contradict() -> None:
    for text, count in (("6-UPS", 3), ("RUS,PRR", 3), ("UPS", 0)):
        with pytest.raises(NacelleError, match="--count"):
            read_legs(text, count)

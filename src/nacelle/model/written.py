"""Numbers as they are written: texts and numbers of a description that know who takes which number they are.

While a description is recorded (`nacelle.model.build.declared`), its texts and numbers are of these
classes. They are read like any others; the number that was read, in SI units, is then handed to `take`, which
gives the one to go on with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

# Takes which number of the text it is (-1: its only one), its value in SI units and its kind of quantity.
Take = Callable[[int, float, str], float]


class WrittenText(str):
    """A text of one number or of several, with its unit."""

    __slots__ = ("part", "take")
    take: Take
    part: int

    def __new__(cls, text: str, take: Take, part: int = -1) -> WrittenText:
        """Keep who takes the number."""
        self = super().__new__(cls, text)
        self.take, self.part = take, part
        return self


class WrittenNumber(float):
    """A bare number."""

    __slots__ = ("part", "take")
    take: Take
    part: int

    def __new__(cls, value: float, take: Take) -> WrittenNumber:
        """Keep who takes the number."""
        self = super().__new__(cls, value)
        self.take, self.part = take, -1
        return self


def given(value: Any, number: float, quantity: str) -> float:
    """The number to go on with, where `number` was read from a value."""
    if isinstance(value, WrittenText | WrittenNumber):
        return value.take(value.part, number, quantity)
    return number


def pieces(text: str, numbers: Sequence[str], unit: str) -> list[str]:
    """The numbers of a text one by one, each with the unit."""
    each = [f"{number} {unit}".strip() for number in numbers]
    if isinstance(text, WrittenText):
        return [WrittenText(piece, text.take, k) for k, piece in enumerate(each)]
    return each

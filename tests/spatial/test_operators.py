"""Operators: what Python and NumPy ask of a scalar arrives under the name of the operation, in its order."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.spatial.operators import Functions, each


class Spelled(Functions):
    """A scalar that spells what is done with it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _binary(self, op: str, other: Any, swapped: bool = False) -> Any:
        words = [self.text, other.text if isinstance(other, Spelled) else f"{other:g}"]
        return Spelled(f"{op}({', '.join(words[::-1] if swapped else words)})")

    def _unary(self, op: str) -> Any:
        return Spelled(f"{op}({self.text})")


def test_operations_by_name_and_order() -> None:
    a, b = Spelled("a"), Spelled("b")
    for found, expected in (
        (a + b, "add(a, b)"),
        (2.0 - a, "sub(2, a)"),
        (a * 3.0, "mul(a, 3)"),
        (1.0 / b, "div(1, b)"),
        (abs(a), "abs(a)"),
        (np.sqrt(np.array([a], dtype=object))[0], "sqrt(a)"),
    ):
        assert found.text == expected


def test_each_entry_of_an_array() -> None:
    found = each(lambda value: value * value, np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert found.dtype == object
    assert found.tolist() == [[1.0, 4.0], [9.0, 16.0]]

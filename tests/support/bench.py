"""A small robot that descriptions with mistakes are made from."""

from __future__ import annotations

import pytest

import nacelle
from nacelle.errors import DescriptionError, Problem
from support.described import description_text

# A planar robot of three legs with two bars each.
BENCH = description_text("bench")


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(DescriptionError) as caught:
        nacelle.loads(text)
    return caught.value.problems

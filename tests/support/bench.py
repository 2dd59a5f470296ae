"""A small robot that descriptions with mistakes are made from."""

from __future__ import annotations

import pytest

import nacelle
from nacelle.errors import DescriptionError, Problem
from support.described import text

# A planar robot of three legs with two bars each.
BENCH = text("bench")


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(DescriptionError) as caught:
        nacelle.loads(text)
    return caught.value.problems

"""Cases of a test with several parameters: every pair of values once, not every combination.

    @pytest.mark.parametrize(("name", "law", "precision"), pairwise(name=..., law=..., precision=...))

Most defects hang on one value or on two that meet. Of 6 robots, 8 laws and 2 precisions that is 48 cases,
not 96. Two lists alone have as many pairs as combinations: there the longer one is given by kinds. A mapping
of kinds to values has every value at least once, and every kind with every value of the other lists.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

FAMILIES = {
    "planar": ("fivebar", "prrrp", "3rrr"),
    "translating": ("delta", "delta-codourey", "orthoglide", "dymo"),
    "six motions": ("palida", "gough-stewart", "hexa", "hexaglide", "space", "c5"),
    "articulated": ("quattro", "delta4", "h4"),
    "parasitic": ("3rps",),
}
"""Robots of the library by what their legs and platforms need."""

ONE_OF_EACH = tuple(names[-1] for names in FAMILIES.values())
"""A robot of each family."""

Values = Sequence[Any] | Mapping[str, Sequence[Any]]


def pairwise(**lists: Values) -> list[tuple[Any, ...]]:
    """Few cases with every pair of values of two lists, in the order of the lists; the same on every run."""
    # Each list as kinds, each kind as its values; a plain value is a kind of its own.
    columns = [
        list(map(list, values.values() if isinstance(values, Mapping) else ([value] for value in values)))
        for values in lists.values()
    ]
    places = range(len(columns))
    open_pairs = {
        (i, a, j, b): None
        for i, j in itertools.combinations(places, 2)
        for a, b in itertools.product(range(len(columns[i])), range(len(columns[j])))
    }
    used: list[Counter[int]] = [Counter() for _ in columns]
    cases: list[tuple[tuple[int, int], ...]] = []

    def gain(fixed: dict[int, int], place: int, kind: int) -> int:
        """How many open pairs a kind makes with those that are fixed."""
        own = (((other, fixed[other]), (place, kind)) for other in fixed)
        return sum((*first, *second) in open_pairs for first, second in map(sorted, own))

    def add(fixed: dict[int, int]) -> None:
        """A case with some kinds given; of the others those that close most pairs, or were used least."""
        for place in places:
            if place not in fixed:
                kinds = range(len(columns[place]))
                fixed[place] = min(kinds, key=lambda k: (-gain(fixed, place, k), used[place][k]))
        for i, j in itertools.combinations(places, 2):
            open_pairs.pop((i, fixed[i], j, fixed[j]), None)
        # The values of a kind take turns.
        turns = {place: used[place][kind] % len(columns[place][kind]) for place, kind in fixed.items()}
        cases.append(tuple((fixed[place], turns[place]) for place in places))
        for place in places:
            used[place][fixed[place]] += 1

    while open_pairs:
        i, a, j, b = next(iter(open_pairs))
        add({i: a, j: b})
    for place, kinds in enumerate(columns):
        for kind, values in enumerate(kinds):
            while used[place][kind] < len(values):
                add({place: kind})
    return [
        tuple(columns[place][kind][turn] for place, (kind, turn) in enumerate(case)) for case in sorted(cases)
    ]

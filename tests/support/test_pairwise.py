"""Covering sets: every pair of values is there, with few cases, the same on every run."""

from __future__ import annotations

import itertools

import pytest

from support.library import NAMES
from support.pairwise import FAMILIES, pairwise


@pytest.mark.parametrize(("sizes", "most"), [((6, 8, 2), 50), ((3, 3, 3, 3), 13), ((4, 1), 4), ((5,), 0)])
def test_every_pair_is_there(sizes: tuple[int, ...], most: int) -> None:
    lists = {f"p{k}": [f"{k}.{n}" for n in range(size)] for k, size in enumerate(sizes)}
    cases = pairwise(**lists)
    for (i, one), (j, other) in itertools.combinations(enumerate(lists.values()), 2):
        assert {(case[i], case[j]) for case in cases} == set(itertools.product(one, other))
    assert len(cases) == len(set(cases)) <= max(most, *sizes)
    assert cases == pairwise(**lists)


def test_kinds_meet_everything_and_each_of_their_values_is_there() -> None:
    cases = pairwise(name=FAMILIES, model=["inverse", "forward"])
    assert {name for name, _ in cases} == set(NAMES)
    for members in FAMILIES.values():
        assert {model for name, model in cases if name in members} == {"inverse", "forward"}
    assert len(cases) == len(set(cases)) == len(NAMES) + 1


def test_every_robot_of_the_library_is_of_one_kind() -> None:
    assert sorted(name for members in FAMILIES.values() for name in members) == sorted(NAMES)

"""Pairing: sums and products that occur together in several places are computed once.

The most frequent pair of terms (with the ratio of their coefficients) among all sums, or of factors among
all products, becomes an item of its own; then the next one, until no pair occurs twice.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from nacelle.program.algebra.algebra import ONE, Algebra
from nacelle.spatial.rounding import folded_total

# A sum of more terms than this is not searched for pairs: their number grows with the square.
_LONGEST = 60


def pair_sums(algebra: Algebra, budget: int) -> int:
    """Extract pairs of terms that occur in several linear forms; give the number of pairs extracted."""
    one = algebra.constants.one

    def keys(form: dict[int, float], item: int, after: int = ONE) -> list[Any]:
        c = form[item]
        if item == ONE:
            return []
        return [
            (item, other, one(d / c)) if item < other else (other, item, one(c / d))
            for other, d in form.items()
            if other > after and other != item
        ]

    def make(key: Any) -> int:
        first, second, ratio = key
        _, item = algebra.add_linear({first: 1.0, second: ratio})
        return item

    def replace(form: dict[int, float], key: Any, item: int) -> None:
        first, second, _ = key
        # add_linear takes out a common size and the leading sign, which here are 1.
        c = form.pop(first)
        form.pop(second)
        form[item] = folded_total(form.get(item, 0.0), c)
        if form[item] == 0.0:
            del form[item]

    return _extract(algebra.linear, keys, make, replace, budget)


def pair_products(algebra: Algebra, budget: int) -> int:
    """Extract pairs of factors that occur in several products; give the number of pairs extracted."""

    def keys(factors: dict[int, int], item: int, after: int = ONE) -> list[Any]:
        if factors[item] > 0:
            return [
                (item, other, 1) if item < other else (other, item, 1)
                for other, k in factors.items()
                if k > 0 and other > after and other != item
            ]
        return [
            (item, other, -1) if item < other else (other, item, -1)
            for other, k in factors.items()
            if k < 0 and other > after and other != item
        ]

    def make(key: Any) -> int:
        return algebra.add_power({key[0]: 1, key[1]: 1})

    def replace(factors: dict[int, int], key: Any, item: int) -> None:
        first, second, sign = key
        common = min(abs(factors[first]), abs(factors[second])) * sign
        for base in (first, second):
            factors[base] -= common
            if not factors[base]:
                del factors[base]
        factors[item] = factors.get(item, 0) + common
        if not factors[item]:
            del factors[item]

    return _extract(algebra.power, keys, make, replace, budget)


def _extract(
    forms: dict[int, dict[int, Any]],
    keys: Callable[..., list[Any]],
    make: Callable[[Any], int],
    replace: Callable[[dict[int, Any], Any, int], None],
    budget: int,
) -> int:
    """Extract the most frequent pair again and again.

    Args:
        forms: sums or products.
        keys: the pairs of an item of a form with its other items, or with those after a place alone.
        make: a pair as an item of its own.
        replace: put that item in the place of the pair.
        budget: how many pairs are extracted at most.
    """
    places: dict[Any, set[int]] = {}
    for owner in sorted(forms):
        form = forms[owner]
        if 1 < len(form) <= _LONGEST:
            for item in sorted(form):
                for key in keys(form, item, item):
                    if key in places:
                        places[key].add(owner)
                    else:
                        places[key] = {owner}
    heap = [(-len(owners), key) for key, owners in places.items() if len(owners) > 1]
    heapq.heapify(heap)

    def note(owner: int, items: list[int]) -> None:
        form = forms[owner]
        if len(form) > _LONGEST:
            return
        for item in items:
            if item in form:
                for key in keys(form, item):
                    owners = places.get(key)
                    if owners is None:
                        places[key] = {owner}
                    elif owner not in owners:
                        owners.add(owner)
                        if len(owners) > 1:
                            heapq.heappush(heap, (-len(owners), key))

    def forget(owner: int, items: list[int]) -> None:
        form = forms[owner]
        for item in items:
            for key in keys(form, item):
                owners = places.get(key)
                if owners is not None:
                    owners.discard(owner)

    done = 0
    while heap and done < budget:
        negative, key = heapq.heappop(heap)
        owners = places.get(key, set())
        if len(owners) != -negative or len(owners) < 2:
            if 1 < len(owners) < -negative:
                heapq.heappush(heap, (-len(owners), key))
            continue
        users = sorted(owners)
        item = make(key)
        for owner in users:
            if owner == item or not (key[0] in forms[owner] and key[1] in forms[owner]):
                places[key].discard(owner)
                continue
            forget(owner, [key[0], key[1]])
            replace(forms[owner], key, item)
            note(owner, [item, key[0], key[1]])
        done += 1
        if item in forms:
            note(item, sorted(forms[item]))
            places[key].discard(item)
    return done

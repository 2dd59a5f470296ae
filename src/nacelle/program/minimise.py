"""Minimising a program: factoring, pairing and shared reciprocals, in the order that pays most.

Each strategy is a sequence of passes over the algebraic form (`nacelle.program.algebra`); all of them
are tried, the cheapest result is taken, and they (of a long program those that have won) are tried on it
again until nothing improves. The search is deterministic; its budget is a number of instructions read, not a
time.

Factoring: a b + a c becomes a (b + c), where the products are used nowhere else.

Pairing: sums and products that occur together in several places are computed once.

The most frequent pair of terms (with the ratio of their coefficients) among all sums, or of factors among
all products, becomes an item of its own; then the next one, until no pair occurs twice.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nacelle.program.algebra import ONE, Algebra, GraphUses, graph_uses, read_algebra, write_algebra
from nacelle.program.cost import cost, cost_of
from nacelle.program.graph import Graph
from nacelle.program.program import Program
from nacelle.program.trace import program_graph, straight_line_program
from nacelle.spatial.rounding import folded_sum


def factor(algebra: Algebra) -> int:
    """Factor all linear forms as far as it saves products; give the number of products saved."""
    uses = algebra.uses()
    saved = 0
    queue = deque(sorted(algebra.linear))
    while queue:
        item = queue.popleft()
        step = _best_factor(algebra, item, uses)
        if step is None:
            continue
        number, new = _factor_out(algebra, item, *step, uses)
        saved += number
        queue.extendleft(reversed([item, *new]))
    return saved


def _lone_products(algebra: Algebra, item: int, uses: Counter[int]) -> list[int]:
    """Terms of a linear form that are products used nowhere else."""
    return [t for t in algebra.linear[item] if t in algebra.power and uses[t] == 1]


def _best_factor(algebra: Algebra, item: int, uses: Counter[int]) -> tuple[int, int, list[int]] | None:
    """The factor (with the sign of its power) that most products of a sum share."""
    if item not in algebra.linear:
        return None
    shared: dict[tuple[int, int], list[int]] = {}
    for term in _lone_products(algebra, item, uses):
        for base, k in algebra.power[term].items():
            shared.setdefault((base, 1 if k > 0 else -1), []).append(term)
    best: tuple[int, int, list[int]] | None = None
    form = algebra.linear[item]
    for (base, sign), terms in shared.items():
        # a S + c a is a (S + c): a product by a number is one, too.
        if sign > 0 and base in form and abs(form[base]) != 1.0:
            terms.append(base)
    for (base, sign), terms in sorted(shared.items()):
        if len(terms) > 1 and (best is None or len(terms) > len(best[2])):
            best = (base, sign, terms)
    return best


def _factor_out(
    algebra: Algebra, item: int, base: int, sign: int, terms: list[int], uses: Counter[int]
) -> tuple[int, list[int]]:
    """Replace the terms that share a factor by one product of it and their sum."""
    form = algebra.linear[item]
    common = min(abs(algebra.power[term][base]) for term in terms if term != base) * sign
    common = sign if base in terms else common
    inner: dict[int, float] = {}
    for term in terms:
        if term == base:
            inner[ONE] = folded_sum(inner.get(ONE, 0.0), form.pop(base))
            uses[base] -= 1
            continue
        quotient = dict(algebra.power[term])
        quotient[base] -= common
        remainder = algebra.add_power(quotient)
        inner[remainder] = folded_sum(inner.get(remainder, 0.0), form.pop(term))
        uses[term] -= 1
        for child in algebra.power[term]:
            uses[child] -= 1
        uses[remainder] += 1
        if uses[remainder] == 1:
            for child in algebra.power.get(remainder, ()):
                uses[child] += 1
    scale, sum_ = algebra.add_linear(inner)
    # The sum of the rest may be a plain number or item: then the product is that much simpler.
    factors = {base: common}
    if sum_ != ONE:
        factors[sum_] = factors.get(sum_, 0) + 1
    product = algebra.add_power(factors)
    if product in form:
        form[product] = folded_sum(form[product], scale)
    else:
        form[product] = scale
        uses[product] += 1
        if uses[product] == 1:
            for child in algebra.power.get(product, ()):
                uses[child] += 1
    if form[product] == 0.0:
        del form[product]
        uses[product] -= 1
    new = [sum_] if sum_ in algebra.linear else []
    return len(terms) - 1, new


# ---- pairing: sums and products that occur together in several places are computed once


# A sum of more terms than this is not searched for pairs: their number grows with the square.
_LONGEST = 60


def pair_sums(algebra: Algebra, budget: int) -> int:
    """Extract pairs of terms that occur in several linear forms; give the number of pairs extracted."""
    unify = algebra.constants.unify

    def keys(form: dict[int, float], item: int, after: int = ONE) -> list[Any]:
        c = form[item]
        if item == ONE:
            return []
        return [
            (item, partner, unify(d / c)) if item < partner else (partner, item, unify(c / d))
            for partner, d in form.items()
            if partner > after and partner != item
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
        form[item] = folded_sum(form.get(item, 0.0), c)
        if form[item] == 0.0:
            del form[item]

    return _extract_pairs(algebra.linear, keys, make, replace, budget)


def pair_products(algebra: Algebra, budget: int) -> int:
    """Extract pairs of factors that occur in several products; give the number of pairs extracted."""

    def keys(factors: dict[int, int], item: int, after: int = ONE) -> list[Any]:
        sign = 1 if factors[item] > 0 else -1
        return [
            (item, partner, sign) if item < partner else (partner, item, sign)
            for partner, k in factors.items()
            if k * sign > 0 and partner > after and partner != item
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

    return _extract_pairs(algebra.power, keys, make, replace, budget)


def _extract_pairs(
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
    owners_of: dict[Any, set[int]] = {}
    for owner in sorted(forms):
        form = forms[owner]
        if 1 < len(form) <= _LONGEST:
            for item in sorted(form):
                for key in keys(form, item, item):
                    if key in owners_of:
                        owners_of[key].add(owner)
                    else:
                        owners_of[key] = {owner}
    heap = [(-len(owners), key) for key, owners in owners_of.items() if len(owners) > 1]
    heapq.heapify(heap)

    def note(owner: int, items: list[int]) -> None:
        form = forms[owner]
        if len(form) > _LONGEST:
            return
        for item in items:
            if item in form:
                for key in keys(form, item):
                    owners = owners_of.get(key)
                    if owners is None:
                        owners_of[key] = {owner}
                    elif owner not in owners:
                        owners.add(owner)
                        if len(owners) > 1:
                            heapq.heappush(heap, (-len(owners), key))

    def forget(owner: int, items: list[int]) -> None:
        form = forms[owner]
        for item in items:
            for key in keys(form, item):
                owners = owners_of.get(key)
                if owners is not None:
                    owners.discard(owner)

    done = 0
    while heap and done < budget:
        negative, key = heapq.heappop(heap)
        owners = owners_of.get(key, set())
        if len(owners) != -negative or len(owners) < 2:
            if 1 < len(owners) < -negative:
                heapq.heappush(heap, (-len(owners), key))
            continue
        users = sorted(owners)
        item = make(key)
        for owner in users:
            if owner == item or not (key[0] in forms[owner] and key[1] in forms[owner]):
                owners_of[key].discard(owner)
                continue
            forget(owner, [key[0], key[1]])
            replace(forms[owner], key, item)
            note(owner, [item, key[0], key[1]])
        done += 1
        if item in forms:
            note(item, sorted(forms[item]))
            owners_of[key].discard(item)
    return done


# ---- minimising a program: factoring, pairing and shared reciprocals, in the order that pays most


_PAIRS = 100_000
_BUDGET = 60_000
_SHORT = 700

Pass = Callable[[Algebra], object]


def _pair_all_sums(algebra: Algebra) -> int:
    return pair_sums(algebra, _PAIRS)


def _pair_all_products(algebra: Algebra) -> int:
    return pair_products(algebra, _PAIRS)


@dataclass(frozen=True)
class Strategy:
    """How a program is read, and the passes over it."""

    keep: bool
    spread: bool
    passes: tuple[Pass, ...]


STRATEGIES: tuple[Strategy, ...] = (
    Strategy(True, False, (factor, _pair_all_sums, _pair_all_products)),
    Strategy(False, False, (factor, _pair_all_sums, _pair_all_products)),
    Strategy(False, True, (factor, _pair_all_sums, _pair_all_products)),
    Strategy(False, True, (_pair_all_sums, factor, _pair_all_products)),
    Strategy(True, True, (_pair_all_products, factor, _pair_all_sums)),
    Strategy(True, False, (_pair_all_products, _pair_all_sums, factor)),
)


def minimise(program: Program, budget: int = _BUDGET) -> Program:
    """Give a program of the same value and the least weighted cost that was found.

    Args:
        program: any program.
        budget: how many instructions may be read into candidates; at least two candidates are made.
    """
    return Minimiser().minimise(program, budget)


class Minimiser:
    """Minimises programs that are alike; with long ones only strategies that won with the first go on.

    The first strategy wins nearly always with long programs, and the others take most of the time; short ones
    are tried in all ways.
    """

    def __init__(self) -> None:
        """Start with all strategies."""
        self._strategies = STRATEGIES

    def minimise(self, program: Program, budget: int = _BUDGET) -> Program:
        """Give a program of the same value and the least weighted cost that was found; see `minimise`."""
        best, best_cost = program, cost(program)
        spent = candidates = 0
        improved = True
        while improved:
            improved = False
            start, ways = best, ProgramReadings(best)
            is_short = len(start.code) < _SHORT
            winners = [STRATEGIES[0]]
            for strategy in STRATEGIES if is_short else self._strategies:
                if candidates >= 2 and spent + len(start.code) > budget:
                    break
                candidates += 1
                spent += len(start.code)
                graph, roots = ways.write(strategy)
                candidate_cost = cost_of(graph, roots)
                if candidate_cost < best_cost:
                    best = straight_line_program(program.name, graph, program.inputs, program.outputs, roots)
                    best_cost, improved = candidate_cost, True
                    winners.append(strategy)
            if self._strategies is STRATEGIES and not is_short:
                self._strategies = tuple(dict.fromkeys(winners))
        return best


def run_passes(program: Program, strategy: Strategy) -> Program:
    """Read a program into its algebraic form, run passes over it, write it back."""
    graph, roots = ProgramReadings(program).write(strategy)
    return straight_line_program(program.name, graph, program.inputs, program.outputs, roots)


class ProgramReadings:
    """The ways in which one program is read: strategies that read it alike share that."""

    def __init__(self, program: Program) -> None:
        """Read the program as a graph."""
        self._source: GraphUses = graph_uses(*program_graph(program))
        self._read: dict[tuple[bool, bool], Algebra] = {}

    def write(self, strategy: Strategy) -> tuple[Graph, list[int]]:
        """The graph that a strategy makes of the program, and its roots."""
        way = (strategy.keep, strategy.spread)
        algebra = self._read.get(way)
        if algebra is None:
            algebra = self._read[way] = read_algebra(self._source, *way)
        algebra = algebra.copy()
        for k, step in enumerate(strategy.passes):
            if k:
                algebra.prune()
            step(algebra)
        return write_algebra(algebra)

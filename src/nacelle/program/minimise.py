"""Minimises the cost of a program (`nacelle.program.cost`) by factoring and pairing its sums and products.

Factoring: a b + a c becomes a (b + c), where the products are used nowhere else.

Pairing: two terms (with the ratio of their coefficients) that occur together in several sums, or two factors
in several products, become an item of their own, which is computed once. The most frequent pair comes first,
then the next one, until no pair occurs twice.

A strategy is a way to read the program into its algebraic form (`nacelle.program.algebra`) and a sequence of
these passes over it; writing the form back shares reciprocals. All strategies are tried, the cheapest result
is taken, and the strategies are tried on it again until nothing improves. For a long program only those go on
that have won before. The search is deterministic: its budget is a number of instructions read, not a time.
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
    """Factor all linear forms while this saves products; give the number of products saved."""
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
    """The factor that most products of a sum share: its item, the sign of its power, and their terms."""
    if item not in algebra.linear:
        return None
    shared: dict[tuple[int, int], list[int]] = {}
    for term in _lone_products(algebra, item, uses):
        for base, k in algebra.power[term].items():
            shared.setdefault((base, 1 if k > 0 else -1), []).append(term)
    best: tuple[int, int, list[int]] | None = None
    form = algebra.linear[item]
    for (base, sign), terms in shared.items():
        # a S + c a = a (S + c) saves the product c a, too, unless c is 1 or -1.
        if sign > 0 and base in form and abs(form[base]) != 1.0:
            terms.append(base)
    for (base, sign), terms in sorted(shared.items()):
        if len(terms) > 1 and (best is None or len(terms) > len(best[2])):
            best = (base, sign, terms)
    return best


def _factor_out(
    algebra: Algebra, item: int, base: int, sign: int, terms: list[int], uses: Counter[int]
) -> tuple[int, list[int]]:
    """Replace the terms that share a factor by one product of the factor and the sum of the rest.

    Args:
        algebra: the items.
        item: the linear form.
        base: the factor.
        sign: sign of its power, -1 for a divisor.
        terms: the terms that share it; `base` itself stands for a number times the factor.
        uses: how often every item is used; kept up to date.

    Returns:
        The number of products saved, and the linear forms that are new.
    """
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
    # The sum of the rest may have folded to a number (ONE, times scale) or to a single item.
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


# A sum or product with more entries is not searched for pairs, whose number grows with the square.
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
        keys: gives the pairs of an item with the other items of a form, as (item, item, ratio or sign); with
            a third argument only those with items above it.
        make: makes a pair an item of its own, and gives that.
        replace: puts this item in the place of the pair in a form.
        budget: largest number of pairs to extract.

    Returns:
        The number of pairs extracted.
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
        """Register the pairs of some items of a form."""
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
        """Remove the pairs of some items of a form."""
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
        # An entry of the heap may be out of date: owners that left are not searched for there.
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


# ---- strategies, and the search among them


# Largest number of pairs that a pass extracts.
_PAIRS = 100_000
# Instructions that may be read into candidates.
_BUDGET = 60_000
# Programs of fewer instructions are tried with all strategies in every round.
_SHORT = 700

Pass = Callable[[Algebra], object]


def _pair_all_sums(algebra: Algebra) -> int:
    return pair_sums(algebra, _PAIRS)


def _pair_all_products(algebra: Algebra) -> int:
    return pair_products(algebra, _PAIRS)


@dataclass(frozen=True)
class Strategy:
    """How a program is read, and the passes over it.

    Attributes:
        keep: as in `read_algebra`: whether a scaled value that is used several times stays one item.
        spread: as in `read_algebra`: whether short products used several times are merged into their users.
        passes: the passes, in their order.
    """

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
        budget: how many instructions may be read into candidates; two candidates are made in any case.
    """
    return Minimiser().minimise(program, budget)


class Minimiser:
    """Minimises similar programs, such as the parts of one model, one after the other.

    All strategies are tried in the first round of the first long program (`_SHORT`); after it only the first
    strategy and those that improved on it. With long programs the first strategy wins nearly always, and the
    others would take most of the time. Short programs are tried with all strategies.
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
            start, readings = best, ProgramReadings(best)
            is_short = len(start.code) < _SHORT
            winners = [STRATEGIES[0]]
            for strategy in STRATEGIES if is_short else self._strategies:
                if candidates >= 2 and spent + len(start.code) > budget:
                    break
                candidates += 1
                spent += len(start.code)
                graph, roots = readings.write(strategy)
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
    """The algebraic forms of one program, one for each way to read it; strategies share them."""

    def __init__(self, program: Program) -> None:
        """Read the program as a graph."""
        self._source: GraphUses = graph_uses(*program_graph(program))
        self._read: dict[tuple[bool, bool], Algebra] = {}

    def write(self, strategy: Strategy) -> tuple[Graph, list[int]]:
        """The graph that a strategy makes of the program, and its roots."""
        # The passes work in place, so each strategy gets a copy of the form.
        reading = (strategy.keep, strategy.spread)
        algebra = self._read.get(reading)
        if algebra is None:
            algebra = self._read[reading] = read_algebra(self._source, *reading)
        algebra = algebra.copy()
        for k, step in enumerate(strategy.passes):
            if k:
                algebra.prune()
            step(algebra)
        return write_algebra(algebra)

"""Factoring: a b + a c becomes a (b + c), where the products are used nowhere else."""

from __future__ import annotations

from collections import Counter, deque

from nacelle.program.algebra.algebra import ONE, Algebra
from nacelle.spatial.rounding import folded_total


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
        number, new = _take_out(algebra, item, *step, uses)
        saved += number
        queue.extendleft(reversed([item, *new]))
    return saved


def _products(algebra: Algebra, item: int, uses: Counter[int]) -> list[int]:
    """Terms of a linear form that are products used nowhere else."""
    return [t for t in algebra.linear[item] if t in algebra.power and uses[t] == 1]


def _best_factor(algebra: Algebra, item: int, uses: Counter[int]) -> tuple[int, int, list[int]] | None:
    """The factor (with the sign of its power) that most products of a sum share."""
    if item not in algebra.linear:
        return None
    shared: dict[tuple[int, int], list[int]] = {}
    for term in _products(algebra, item, uses):
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


def _take_out(
    algebra: Algebra, item: int, base: int, sign: int, terms: list[int], uses: Counter[int]
) -> tuple[int, list[int]]:
    """Replace the terms that share a factor by one product of it and their sum."""
    form = algebra.linear[item]
    common = min(abs(algebra.power[term][base]) for term in terms if term != base) * sign
    common = sign if base in terms else common
    inner: dict[int, float] = {}
    for term in terms:
        if term == base:
            inner[ONE] = folded_total(inner.get(ONE, 0.0), form.pop(base))
            uses[base] -= 1
            continue
        quotient = dict(algebra.power[term])
        quotient[base] -= common
        remainder = algebra.add_power(quotient)
        inner[remainder] = folded_total(inner.get(remainder, 0.0), form.pop(term))
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
        form[product] = folded_total(form[product], scale)
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

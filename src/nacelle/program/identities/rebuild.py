"""Making values of a program from others that are computed anyway, where that is cheaper.

Every class of values (`values`) has one operation that makes it, and may have others: those of its other
members, and sums, products and multiples of classes that are computed anyway (below). The one in use is
changed where that lowers the weighted cost, counting what is then needed by nobody, and what must be kept:

    gain = cost of all that only c needs - cost of the new operation - cost of what it needs of those

The program stays free of cycles, and the change by rounding (`values`) of the new operation must not be more
than twice that of the old. After each round over all classes the rounding of the whole program is computed
anew; of the changes as many are kept as do not double that of an output.

Which values are the sum, difference, product or constant multiple of two others: a join of numbers.

For c = a + b the difference c - a is looked up, for all c and a at once, in a table of the values at the
first sample; products are sums of logarithms; multiples have the same ratio between two samples. What is near
is held against the other samples in double, and the few that remain against 50 digits (`values`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import localcontext
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nacelle.program.cost import WEIGHTS
from nacelle.program.graph import Graph, depth_first
from nacelle.program.identities.values import (
    NUMBERS,
    OPERATIONS,
    Array,
    Ref,
    SignedDefinition,
    ValueClasses,
    largest_change,
    operation_rounding,
    rms_change,
)
from nacelle.program.precise import decimal_context
from nacelle.program.program import Program, variable_slices
from nacelle.program.trace import straight_line_program
from nacelle.spatial.rounding import ULPS

IndexArray = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]

# How near numbers are in double for a closer look, over the sizes of the terms.
_NEAR = 1e-11
# Numbers are looked up by the last bits of their multiples of a step, 2^-40 of the largest: sums that cancel
# to a thousandth have the rounding of a robot's numbers in their last ten bits.
_STEPS, _MASK = 40, (1 << 20) - 1
# Results that are looked up at once, and multiples of one value that are looked at.
_ROWS = 32
_MULTIPLES = 6


def alternative_definitions(
    values: ValueClasses, present: Sequence[int], targets: Sequence[int]
) -> dict[int, list[SignedDefinition]]:
    """Operations on some classes that make others.

    Args:
        values: the values of a program.
        present: classes that are computed; none of them constant.
        targets: classes of those that are to be made.
    """
    makings: dict[int, list[SignedDefinition]] = defaultdict(list)
    if not len(present) or not len(targets):
        return makings
    table = np.array([values.values[k] for k in present])
    good = np.all(np.isfinite(table), axis=1) & np.all(table != 0.0, axis=1)
    classes, table = np.array(present)[good], table[good]
    inside = np.isin(classes, np.array(targets))
    with localcontext(decimal_context()), np.errstate(all="ignore"):
        for c, making in _find_sums(values, classes, table, inside):
            makings[c].append(making)
        for c, making in _find_products(values, classes, table, inside):
            makings[c].append(making)
        for c, making in _find_multiples(values, classes, table, inside):
            makings[c].append(making)
    return makings


def _find_sum_pairs(column: Array, targets: Array, sizes: Array) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Places (target, a, b) with column[a] + column[b] = target to `_NEAR` of the sizes of the terms.

    They are in the order of the targets, then of a. Of two terms one is at least half the target: only such
    are looked up for all targets, and those smaller than half are what they were found with.
    """
    none = np.zeros(0, dtype=np.intp)
    if not len(column) or not len(targets):
        return none, none, none
    order = np.argsort(column, kind="stable")
    ordered, last = column[order], len(column) - 1
    # The numbers in whole steps; sums of them are those of the steps, but for one.
    step = max(float(np.max(np.abs(column))), 1e-300) * 2.0**-_STEPS
    whole = np.rint(column / step).astype(np.int64) & _MASK
    goals = (np.rint(targets / step).astype(np.int64) & _MASK).astype(np.intp)
    once = np.zeros(_MASK + 1, dtype=bool)
    for shift in (-1, 0, 1):
        once[(whole + shift) & _MASK] = True
    # Twice, so that differences of last bits need not be cut to them.
    present = np.concatenate([once, once])
    below = (_MASK + 1 - whole).astype(np.intp)
    ordered_below = below[order]
    reach = 4.0 * _NEAR * (np.abs(column) + sizes)
    slack = 16.0 * _NEAR * float(np.max(np.abs(column)) + np.max(np.abs(targets)) + np.max(sizes))
    hits = [none]
    by_size = np.argsort(targets, kind="stable")
    for start in range(0, len(targets), _ROWS):
        rows = by_size[start : start + _ROWS]
        first = int(np.searchsorted(ordered, 0.5 * targets[rows[0]] - slack))
        if first > last:
            break
        cells = goals[rows, None] + ordered_below[first:]
        # Of one dimension, in which few places that are true are found four times as fast.
        row, a = np.divmod(np.flatnonzero(present.take(cells, mode="clip")), last + 1 - first)
        row, a = rows[row], order[a + first]
        difference = targets[row] - column[a]
        width = reach[a] + 4.0 * _NEAR * np.abs(difference)
        low, high = (np.searchsorted(ordered, difference + w, side) for w, side in _window_ends(width))
        some = high > low
        row, a, low, number = row[some], a[some], low[some], (high - low)[some]
        # All others of the windows, one behind the other.
        starts = np.cumsum(number) - number
        partners = np.arange(int(np.sum(number))) + np.repeat(low - starts, number)
        hits += [row * (last + 1) + a, np.repeat(row, number) * (last + 1) + order[partners]]
    row, a = np.divmod(np.unique(np.concatenate(hits)), last + 1)
    likely = present.take(goals[row] + below[a], mode="clip")
    row, a = row[likely], a[likely]
    difference = targets[row] - column[a]
    margin = _NEAR * (np.abs(difference) + sizes[a])
    nearest = np.minimum(np.searchsorted(ordered, difference - margin), last)
    near = np.abs(ordered[nearest] - difference) <= 2.0 * margin
    return row[near], a[near], order[nearest[near]]


def _window_ends(width: Array) -> tuple[tuple[Array, Literal["left"]], tuple[Array, Literal["right"]]]:
    """Both ends of a window about a number, and on which side of equal numbers they are."""
    return (-width, "left"), (width, "right")


def _find_sums(
    values: ValueClasses, classes: IndexArray, table: Array, inside: Mask
) -> Iterator[tuple[int, SignedDefinition]]:
    signed = np.concatenate([table, -table])
    refs = np.concatenate([2 * classes, 2 * classes + 1])
    targets = np.flatnonzero(inside)
    t, a, b = _find_sum_pairs(signed[:, 0], table[targets, 0], np.abs(signed[:, 0]))
    c = targets[t]
    apart = np.abs(signed[a] + signed[b] - table[c])
    near = np.all(apart <= 4.0 * _NEAR * (np.abs(signed[a]) + np.abs(signed[b])), axis=1)
    near &= (refs[a] <= refs[b]) & (refs[a] >> 1 != classes[c]) & (refs[b] >> 1 != classes[c])
    for k, first, second in zip(classes[c[near]], refs[a[near]], refs[b[near]], strict=True):
        if _is_sum(values, int(k), int(first), int(second)):
            yield int(k), (0, ("add", int(first), int(second)))


def _find_products(
    values: ValueClasses, classes: IndexArray, table: Array, inside: Mask
) -> Iterator[tuple[int, SignedDefinition]]:
    logarithm = np.log(np.abs(table[:, 0]))
    targets = np.flatnonzero(inside)
    t, a, b = _find_sum_pairs(logarithm, logarithm[targets], np.ones_like(logarithm))
    c = targets[t]
    product = table[a] * table[b]
    sign = np.where((product[:, 0] < 0.0) == (table[c, 0] < 0.0), 1.0, -1.0)
    near = np.all(np.abs(sign[:, None] * product - table[c]) <= 100.0 * _NEAR * np.abs(product), axis=1)
    near &= (a <= b) & (a != c) & (b != c)
    rows = zip(classes[c[near]], classes[a[near]], classes[b[near]], sign[near] < 0.0, strict=True)
    for k, first, second, negative in rows:
        making = (int(negative), ("mul", 2 * int(first), 2 * int(second)))
        if _is_product(values, int(k), making):
            yield int(k), making


def _find_multiples(
    values: ValueClasses, classes: IndexArray, table: Array, inside: Mask
) -> Iterator[tuple[int, SignedDefinition]]:
    ratio = table[:, 1] / table[:, 0]
    order = np.argsort(ratio, kind="stable")
    ends = np.flatnonzero(np.diff(ratio[order]) > 4.0 * _NEAR * np.abs(ratio[order][1:])) + 1
    for group in np.split(order, ends):
        if len(group) < 2:
            continue
        members = sorted(classes[group].tolist())
        for c in sorted(classes[group[inside[group]]].tolist()):
            for a in [k for k in members if k != c][:_MULTIPLES]:
                factor = _constant_factor(values, c, a)
                if factor is not None:
                    yield c, (0, ("mul", factor, 2 * a))


def _is_sum(values: ValueClasses, c: int, a: Ref, b: Ref) -> bool:
    first, second, whole = values.signed_values(a), values.signed_values(b), values.exact[c]
    apart = [x + y - z for x, y, z in zip(first, second, whole, strict=True)]
    noise = values.change(a)[NUMBERS] + values.change(b)[NUMBERS] - values.changes[c][NUMBERS]
    return values.is_negligible(apart, noise, values.sizes[a >> 1] + values.sizes[b >> 1] + values.sizes[c])


def _is_product(values: ValueClasses, c: int, making: SignedDefinition) -> bool:
    negative, (_, a, b) = making
    first, second, whole = values.exact[a >> 1], values.exact[b >> 1], values.exact[c]
    sign = -1 if negative else 1
    apart = [sign * x * y - z for x, y, z in zip(first, second, whole, strict=True)]
    u, v = values.values[a >> 1], values.values[b >> 1]
    du, dv = values.changes[a >> 1][NUMBERS], values.changes[b >> 1][NUMBERS]
    noise = sign * (v[:, None] * du + u[:, None] * dv) - values.changes[c][NUMBERS]
    size = np.abs(v) * values.sizes[a >> 1] + np.abs(u) * values.sizes[b >> 1] + values.sizes[c]
    return values.is_negligible(apart, noise, size)


def _constant_factor(values: ValueClasses, c: int, a: int) -> Ref | None:
    """The constant that c is over a; None if it varies."""
    quotients = [x / y for x, y in zip(values.exact[c], values.exact[a], strict=True)]
    apart = [q - quotients[0] for q in quotients]
    u, ratio = values.values[a], np.array([float(q) for q in quotients])
    noise = (values.changes[c][NUMBERS] - ratio[:, None] * values.changes[a][NUMBERS]) / u[:, None]
    size = (values.sizes[c] + np.abs(ratio) * values.sizes[a]) / np.abs(u)
    if not values.is_negligible(apart, noise - noise[0], size + size[0]):
        return None
    # The sample that says it best: where terms of c cancel, rounding of the robot's numbers is large.
    doubt = largest_change(noise)
    best = int(np.argmin(doubt))
    return values.constant(float(quotients[best]), ULPS * float(doubt[best]))


# ---- A program with one instruction a class of equal values


def program_of_classes(values: ValueClasses, chosen: Sequence[SignedDefinition] | None = None) -> Program:
    """A program of some values from what makes each class: the first that does if None."""
    chosen = chosen or [makings[0] for makings in values.makings]
    graph = Graph()
    nodes: dict[int, int] = {}

    def node(ref: Ref) -> int:
        return graph.neg(nodes[ref >> 1]) if ref & 1 else nodes[ref >> 1]

    for k in class_order(values, chosen):
        constant, (negative, (op, *operands)) = values.constants[k], chosen[k]
        if constant is not None:
            nodes[k] = graph.const(constant)
            continue
        if op in ("const", "input"):
            value = graph.const(operands[0]) if op == "const" else graph.input(operands[0])
        else:
            value = graph.apply(op, *(node(ref) for ref in operands))
        nodes[k] = graph.neg(value) if negative else value
    program = values.program
    roots = [node(ref) for ref in values.results]
    return straight_line_program(program.name, graph, program.inputs, program.outputs, roots)


def class_order(values: ValueClasses, chosen: Sequence[SignedDefinition]) -> list[int]:
    """The classes that the results need, each after those that it is made of."""
    return depth_first([ref >> 1 for ref in values.results], lambda k: operand_classes(values, chosen[k], k))


def operand_classes(values: ValueClasses, making: SignedDefinition, k: int) -> list[int]:
    """The classes that a class is made of."""
    op, *operands = making[1]
    if values.constants[k] is not None or op in ("const", "input"):
        return []
    return [ref >> 1 for ref in operands]


# ---- making values of a program from others that are computed anyway, where that is cheaper


# By how much the rounding of a value, and of a result, may grow.
_GROWTH = 2.0
_ROUNDS = 8


def cheapest_definitions(values: ValueClasses) -> list[SignedDefinition]:
    """For every class what makes it at least cost."""
    search = _Search(values, [makings[0] for makings in values.makings])
    reference, results = search.rounding()
    for _ in range(_ROUNDS):
        before = search.chosen
        moves = search.improve(_GROWTH * reference)
        if not moves:
            break
        # As many of the changes as leave the results exact enough, to a sixteenth of them; those between what
        # does and what does not are not tried again.
        first, last, trial = 0, len(moves), len(moves)
        while first < last:
            search.reset(before, moves[:trial])
            if np.all(search.rounding()[1] <= _GROWTH * results):
                first = trial
                if trial == last:
                    break
            else:
                last = trial - 1
            if 16 * (last - first) < len(moves):
                break
            trial = (first + last + 1) // 2
        if trial != first:
            search.reset(before, moves[:first])
            search.rounding()
        search.refused |= set(moves[first : last + 1])
    return search.chosen


class _Search:
    """What makes each class now, how often each is used, and an order without cycles."""

    def __init__(self, values: ValueClasses, chosen: Sequence[SignedDefinition]) -> None:
        self.values = values
        self.others: dict[int, Sequence[SignedDefinition]] = {}
        self.refused: set[tuple[int, SignedDefinition]] = set()
        self.reset(chosen, ())

    def reset(
        self, chosen: Sequence[SignedDefinition], moves: Sequence[tuple[int, SignedDefinition]]
    ) -> None:
        """Make all classes as given, but for some."""
        self.chosen = list(chosen)
        for k, making in moves:
            self.chosen[k] = making
        self.below: list[list[int]] = []
        self.costs: list[float] = []
        self._extend()
        self.rank = {k: rank for rank, k in enumerate(class_order(self.values, self.chosen))}
        self.uses = [0] * len(self.chosen)
        for ref in self.values.results:
            self.uses[ref >> 1] += 1
        for k in self.rank:
            for child in self.below[k]:
                self.uses[child] += 1
        self.changes: dict[int, Array] = {}

    # ---- rounding

    def rounding(self) -> tuple[Array, Array]:
        """Typical changes by rounding of operations, of every class and, the largest, of every output.

        They are (classes, samples) and (outputs, samples), as the classes are made now.
        """
        values = self.values
        typical_changes = np.zeros((len(values.exact), len(values.values[0])))
        self.changes = {}
        with np.errstate(all="ignore"):
            for k in self.rank:
                self.changes[k] = self._change(k, self.chosen[k])
            if self.changes:
                stacked = np.array([change[OPERATIONS] for change in self.changes.values()])
                typical_changes[list(self.changes)] = rms_change(stacked)
        outputs = []
        for _, span in variable_slices(values.program.outputs):
            classes = [ref >> 1 for ref in values.results[span]]
            outputs.append(np.max(typical_changes[classes], axis=0, initial=0.0))
        return typical_changes, np.array(outputs)

    def _change(self, k: int, making: SignedDefinition) -> Array:
        values = self.values
        negative, (op, *operands) = making
        if values.constants[k] is not None or op in ("const", "input", "sin", "cos"):
            return values.changes[k]
        numbers = [-values.values[ref >> 1] if ref & 1 else values.values[ref >> 1] for ref in operands]
        changes = [-self.changes[ref >> 1] if ref & 1 else self.changes[ref >> 1] for ref in operands]
        value = -values.values[k] if negative else values.values[k]
        result = operation_rounding(op, value, numbers, changes)
        result[OPERATIONS] += value[:, None] * values.directions[k]
        return -result if negative else result

    # ---- improving

    def improve(self, bound: Array) -> list[tuple[int, SignedDefinition]]:
        """Change what makes classes, each at most once, where that lowers the cost; give the changes.

        Args:
            bound: largest change by rounding that is allowed (classes, samples).
        """
        values = self.values
        present = [k for k in self.rank if values.constants[k] is None]
        targets = [k for k in present if self._released_cost(k) > 1.0]
        new = [k for k in targets if k not in self.others]
        makings = alternative_definitions(values, present, new)
        self.others |= {k: makings.get(k, []) for k in new}
        self._extend()
        self.uses += [0] * (len(self.chosen) - len(self.uses))
        moves = []
        for k in targets:
            if not self.uses[k]:
                continue
            options = [
                making
                for making in (*values.makings[k], *self.others[k])
                if making != self.chosen[k] and (k, making) not in self.refused
            ]
            making = self._choose_definition(k, options, bound[k])
            if making is not None:
                moves.append((k, making))
        return moves

    def _extend(self) -> None:
        """Take up constants that were added."""
        values = self.values
        self.chosen += [makings[0] for makings in values.makings[len(self.chosen) :]]
        added = range(len(self.below), len(self.chosen))
        self.below += [operand_classes(values, self.chosen[k], k) for k in added]
        self.costs += [
            0.0 if values.constants[k] is not None else WEIGHTS[self.chosen[k][1][0]] for k in added
        ]

    def _release(self, k: int) -> float:
        """Take away the uses that a class makes of others; give the cost of what nobody needs then."""
        below, costs, uses = self.below, self.costs, self.uses
        total, stack = 0.0, [k]
        while stack:
            now = stack.pop()
            total += costs[now]
            for child in below[now]:
                uses[child] -= 1
                if not uses[child]:
                    stack.append(child)
        return total

    def _claim(self, classes: Sequence[int]) -> float:
        """Add a use of some classes; give the cost of those that nobody needed."""
        below, costs, uses = self.below, self.costs, self.uses
        total, stack = 0.0, list(classes)
        while stack:
            now = stack.pop()
            uses[now] += 1
            if uses[now] == 1:
                total += costs[now]
                stack += below[now]
        return total

    def _unclaim(self, classes: Sequence[int]) -> None:
        stack = list(classes)
        while stack:
            now = stack.pop()
            self.uses[now] -= 1
            if not self.uses[now]:
                stack += self.below[now]

    def _released_cost(self, k: int) -> float:
        freed = self._release(k)
        self._claim(self.below[k])
        return freed

    def _choose_definition(
        self, k: int, options: Sequence[SignedDefinition], bound: Array
    ) -> SignedDefinition | None:
        """Make a class at least cost; give what makes it if that is new."""
        freed = self._release(k)
        best, best_cost = None, freed - 1e-9
        for making in options:
            needed = operand_classes(self.values, making, k)
            price = WEIGHTS[making[1][0]]
            if price >= best_cost or not all(self._is_available(child) for child in needed):
                continue
            price += self._claim(needed)
            self._unclaim(needed)
            if price < best_cost and not self._depends_on(needed, k) and self._is_accurate(k, making, bound):
                best, best_cost = making, price
        if best is not None:
            self.chosen[k], self.below[k] = best, operand_classes(self.values, best, k)
            self.costs[k] = WEIGHTS[best[1][0]]
            self.changes[k] = self._change(k, best)
        self._claim(self.below[k])
        return best

    def _is_available(self, k: int) -> bool:
        return k in self.rank or self.values.constants[k] is not None

    def _depends_on(self, classes: Sequence[int], target: int) -> bool:
        """Whether some classes are made of a target, directly or not."""
        seen, stack = set(classes), list(classes)
        while stack:
            now = stack.pop()
            if now == target:
                return True
            for child in self.below[now]:
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
        return False

    def _is_accurate(self, k: int, making: SignedDefinition, bound: Array) -> bool:
        """Whether the rounding of a class stays within a bound if it is made so."""
        for child in operand_classes(self.values, making, k):
            self.changes.setdefault(child, self.values.changes[child])
        with np.errstate(all="ignore"):
            return bool(np.all(rms_change(self._change(k, making)[OPERATIONS]) <= bound))

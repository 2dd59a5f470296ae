"""Making values of a program from others that are computed anyway, where that is cheaper.

Every class of values (`values`) has one operation that makes it, and may have others: those of its other
members, and sums, products and multiples of classes that are computed anyway (`join`). The one in use is
changed where that lowers the weighted cost, counting what is then needed by nobody, and what must be kept:

    gain = cost of all that only c needs - cost of the new operation - cost of what it needs of those

The program stays free of cycles, and the change by rounding (`noise`) of the new operation must not be more
than twice that of the old. After each round over all classes the rounding of the whole program is computed
anew; of the changes as many are kept as do not double that of an output.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacelle.program.cost import WEIGHTS
from nacelle.program.identities.join import other_makings
from nacelle.program.identities.noise import OPERATIONS, Array, of_operation, typical
from nacelle.program.identities.values import Making, Values
from nacelle.program.identities.written import child_classes, class_order

# By how much the rounding of a value, and of a result, may grow.
_GROWTH = 2.0
_ROUNDS = 8


def rebuilt(values: Values) -> list[Making]:
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

    def __init__(self, values: Values, chosen: Sequence[Making]) -> None:
        self.values = values
        self.others: dict[int, Sequence[Making]] = {}
        self.refused: set[tuple[int, Making]] = set()
        self.reset(chosen, ())

    def reset(self, chosen: Sequence[Making], moves: Sequence[tuple[int, Making]]) -> None:
        """Make all classes as given, but for some."""
        self.chosen = list(chosen)
        for k, making in moves:
            self.chosen[k] = making
        self.below: list[list[int]] = []
        self.costs: list[float] = []
        self._extend()
        self.place = {k: place for place, k in enumerate(class_order(self.values, self.chosen))}
        self.uses = [0] * len(self.chosen)
        for ref in self.values.results:
            self.uses[ref >> 1] += 1
        for k in self.place:
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
            for k in self.place:
                self.changes[k] = self._change(k, self.chosen[k])
            if self.changes:
                stacked = np.array([change[OPERATIONS] for change in self.changes.values()])
                typical_changes[list(self.changes)] = typical(stacked)
        outputs, start = [], 0
        for variable in values.program.outputs:
            own = [ref >> 1 for ref in values.results[start : start + variable.size]]
            start += variable.size
            outputs.append(np.max(typical_changes[own], axis=0, initial=0.0))
        return typical_changes, np.array(outputs)

    def _change(self, k: int, making: Making) -> Array:
        values = self.values
        negative, (op, *operands) = making
        if values.constants[k] is not None or op in ("const", "input", "sin", "cos"):
            return values.changes[k]
        numbers = [-values.values[ref >> 1] if ref & 1 else values.values[ref >> 1] for ref in operands]
        changes = [-self.changes[ref >> 1] if ref & 1 else self.changes[ref >> 1] for ref in operands]
        value = -values.values[k] if negative else values.values[k]
        result = of_operation(op, value, numbers, changes)
        result[OPERATIONS] += value[:, None] * values.directions[k]
        return -result if negative else result

    # ---- improving

    def improve(self, bound: Array) -> list[tuple[int, Making]]:
        """Change what makes classes, each at most once, where that lowers the cost; give the changes.

        Args:
            bound: largest change by rounding that is allowed (classes, samples).
        """
        values = self.values
        present = [k for k in self.place if values.constants[k] is None]
        wanted = [k for k in present if self._freed(k) > 1.0]
        new = [k for k in wanted if k not in self.others]
        makings = other_makings(values, present, new)
        self.others |= {k: makings.get(k, []) for k in new}
        self._extend()
        self.uses += [0] * (len(self.chosen) - len(self.uses))
        moves = []
        for k in wanted:
            if not self.uses[k]:
                continue
            options = [
                making
                for making in (*values.makings[k], *self.others[k])
                if making != self.chosen[k] and (k, making) not in self.refused
            ]
            making = self._best(k, options, bound[k])
            if making is not None:
                moves.append((k, making))
        return moves

    def _extend(self) -> None:
        """Take up constants that were added."""
        values = self.values
        self.chosen += [makings[0] for makings in values.makings[len(self.chosen) :]]
        added = range(len(self.below), len(self.chosen))
        self.below += [child_classes(values, self.chosen[k], k) for k in added]
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

    def _freed(self, k: int) -> float:
        freed = self._release(k)
        self._claim(self.below[k])
        return freed

    def _best(self, k: int, options: Sequence[Making], bound: Array) -> Making | None:
        """Make a class at least cost; give what makes it if that is new."""
        freed = self._release(k)
        best, best_cost = None, freed - 1e-9
        for making in options:
            needed = child_classes(self.values, making, k)
            price = WEIGHTS[making[1][0]]
            if price >= best_cost or not all(self._is_available(child) for child in needed):
                continue
            price += self._claim(needed)
            self._unclaim(needed)
            if price < best_cost and not self._leads_to(needed, k) and self._is_calm(k, making, bound):
                best, best_cost = making, price
        if best is not None:
            self.chosen[k], self.below[k] = best, child_classes(self.values, best, k)
            self.costs[k] = WEIGHTS[best[1][0]]
            self.changes[k] = self._change(k, best)
        self._claim(self.below[k])
        return best

    def _is_available(self, k: int) -> bool:
        return k in self.place or self.values.constants[k] is not None

    def _leads_to(self, classes: Sequence[int], target: int) -> bool:
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

    def _is_calm(self, k: int, making: Making, bound: Array) -> bool:
        """Whether the rounding of a class stays within a bound if it is made so."""
        for child in child_classes(self.values, making, k):
            self.changes.setdefault(child, self.values.changes[child])
        with np.errstate(all="ignore"):
            return bool(np.all(typical(self._change(k, making)[OPERATIONS]) <= bound))

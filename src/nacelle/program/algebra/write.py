"""Writing sums and products of many terms as a graph of binary operations."""

from __future__ import annotations

from collections import Counter

from nacelle.program.algebra.algebra import ONE, Algebra, Scaled
from nacelle.program.graph import Graph, depth_first


def write_algebra(algebra: Algebra) -> tuple[Graph, list[int]]:
    """Write the items that the roots need as a graph of binary operations."""
    return _Writer(algebra).write()


class _Writer:
    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.graph = Graph()
        self.place: dict[int, int] = {ONE: self.graph.const(1.0)}
        needed = depth_first([item for _, item in algebra.roots], algebra.below)
        self.order = [item for item in needed if item != ONE]
        self.shared = self._shared_reciprocals()

    def _shared_reciprocals(self) -> set[int]:
        """Items that more than one product divides by: their reciprocal is computed once."""
        products = (self.algebra.power.get(item) for item in self.order)
        divisors = Counter(item for factors in products if factors for item, k in factors.items() if k < 0)
        return {item for item, number in divisors.items() if number > 1}

    def write(self) -> tuple[Graph, list[int]]:
        for item in self.order:
            self.place[item] = self._item(item)
        return self.graph, [self._scaled(scaled) for scaled in self.algebra.roots]

    def _scaled(self, scaled: Scaled) -> int:
        scale, item = scaled
        place = self.place[item]
        return place if scale == 1.0 else self.graph.mul(self.graph.const(scale), place)

    def _item(self, item: int) -> int:
        algebra = self.algebra
        form = algebra.linear.get(item)
        if form is not None:
            return self._linear(form)
        product = algebra.power.get(item)
        if product is not None:
            return self._power(product)
        op, *entries = algebra.atom[item]
        if op == "input":
            return self.graph.input(entries[0])
        return self.graph.apply(op, *(self._scaled(entry) for entry in entries))

    def _linear(self, terms: dict[int, float]) -> int:
        """A sum; terms with the same size of coefficient share one product."""
        g, places, one = self.graph, self.place, self.algebra.constants.one
        classes: dict[float, list[tuple[bool, int]]] = {}
        constant = 0.0
        for item, c in terms.items():
            if item == ONE:
                constant = c
                continue
            size = abs(one(c))
            if size in classes:
                classes[size].append((c < 0.0, item))
            else:
                classes[size] = [(c < 0.0, item)]
        whole: int | None = None
        # Those without a factor first.
        for size in sorted(classes, key=lambda size: size != 1.0) if len(classes) > 1 else classes:
            part: int | None = None
            entries = classes[size]
            entries.sort()
            for negative, item in entries:
                value = g.neg(places[item]) if negative else places[item]
                part = value if part is None else g.add(part, value)
            assert part is not None
            if size != 1.0:
                part = g.mul(g.const(size), part)
            whole = part if whole is None else g.add(whole, part)
        last = g.const(constant)
        return last if whole is None else g.add(whole, last)

    def _power(self, factors: dict[int, int]) -> int:
        """A product; divisors with a shared reciprocal are factors, the others one division."""
        g = self.graph
        over: list[tuple[int, int]] = []
        under: list[tuple[int, int]] = []
        for item, k in factors.items():
            if k > 0:
                over.append((self.place[item], k))
            elif item in self.shared:
                over.append((g.div(self.place[ONE], self.place[item]), -k))
            else:
                under.append((self.place[item], -k))
        top = self._product(over)
        return top if not under else g.div(top, self._product(under))

    def _product(self, factors: list[tuple[int, int]]) -> int:
        """Product of whole powers by common squaring."""
        g = self.graph
        result = self.place[ONE]
        for base, k in factors:
            if k & 1:
                result = g.mul(result, base)
        halves = [(base, k >> 1) for base, k in factors if k >> 1]
        if halves:
            root = self._product(halves)
            result = g.mul(result, g.mul(root, root))
        return result

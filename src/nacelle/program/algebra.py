"""Sums and products of many terms: the form in which programs are factored and paired.

A graph of binary operations is read into

    linear    c0 + sum of c_i x_i             constants are coefficients, signs are free
    power     product of x_i ** k_i           whole powers, negative ones are divisions
    atom      any other operation

where sums inside sums and products inside products that are used once are merged. It is written back
as a graph after the passes have worked on it.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from nacelle.program.graph import Graph, children, reachable
from nacelle.spatial.rounding import FOLDED_ULPS, Constants, folded_total

# A scaled item: coefficient and item. ONE is the item 1, so that constants are scaled items too.
Scaled = tuple[float, int]
ONE = 0


@dataclass
class Algebra:
    """Items: linear forms, powers and atoms, by index; item 0 is the number 1."""

    linear: dict[int, dict[int, float]] = field(default_factory=dict)
    power: dict[int, dict[int, int]] = field(default_factory=dict)
    atom: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    roots: list[Scaled] = field(default_factory=list)
    size: int = 1
    _known: dict[Any, int] = field(default_factory=dict)
    constants: Constants = field(default_factory=lambda: Constants(FOLDED_ULPS))

    def new(self) -> int:
        """A new index."""
        self.size += 1
        return self.size - 1

    def add_linear(self, terms: dict[int, float]) -> Scaled:
        """A linear form, with a common coefficient and the leading sign taken out."""
        kept = {item: self.constants.one(c) for item, c in terms.items() if c != 0.0}
        if not kept:
            return 0.0, ONE
        if len(kept) == 1:
            ((item, c),) = kept.items()
            return c, item
        first = next(iter(sorted(kept)))
        sizes = {abs(c) for c in kept.values()}
        scale = abs(kept[first]) if len(sizes) == 1 else 1.0
        if kept[first] < 0.0:
            scale = -scale
        if scale != 1.0:
            kept = {item: self.constants.one(c / scale) for item, c in kept.items()}
        return scale, self._intern("linear", kept)

    def add_scaled(self, scale: float, item: int) -> int:
        """An item that is another one scaled, computed once."""
        return self._intern("linear", {item: self.constants.one(scale)})

    def add_power(self, factors: dict[int, int]) -> int:
        """A product of powers."""
        kept = {item: k for item, k in factors.items() if k and item != ONE}
        if not kept:
            return ONE
        if len(kept) == 1 and next(iter(kept.values())) == 1:
            return next(iter(kept))
        return self._intern("power", kept)

    def _intern(self, kind: str, content: dict[int, Any]) -> int:
        key = (kind, tuple(sorted(content.items())))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self.new()
            getattr(self, kind)[found] = content
        return found

    def add_atom(self, *atom: Any) -> int:
        """Any other operation on scaled items."""
        found = self._known.get(atom)
        if found is None:
            found = self._known[atom] = self.new()
            self.atom[found] = atom
        return found

    def below(self, item: int) -> list[int]:
        """Items that an item is made of."""
        if item in self.linear:
            return list(self.linear[item])
        if item in self.power:
            return list(self.power[item])
        if item == ONE:
            return []
        return [entry[1] for entry in self.atom[item][1:] if isinstance(entry, tuple)]

    def prune(self) -> None:
        """Forget items that the roots do not need: merged sums and products, and what passes replaced."""
        needed = {item for _, item in self.roots}
        stack = list(needed)
        while stack:
            for child in self.below(stack.pop()):
                if child not in needed:
                    needed.add(child)
                    stack.append(child)
        for kind in (self.linear, self.power, self.atom):
            for item in [item for item in kind if item not in needed]:
                del kind[item]
        self._known = {key: item for key, item in self._known.items() if item in needed}

    def uses(self) -> Counter[int]:
        """How often each item is used by others and by the roots."""
        result: Counter[int] = Counter(item for _, item in self.roots)
        for form in self.linear.values():
            result.update(form.keys())
        for product in self.power.values():
            result.update(product.keys())
        for atom in self.atom.values():
            result.update(entry[1] for entry in atom[1:] if isinstance(entry, tuple))
        return result


# A product of no more factors than this may be merged into all its users.
_SHORT = 3


def read(graph: Graph, roots: list[int], keep: bool = True, spread: bool = False) -> Algebra:
    """Read what some roots of a graph need; sums and products used once are merged.

    Args:
        graph: the graph.
        roots: what is needed.
        keep: whether a scaled value that is used several times stays one item. Otherwise its factor moves
            into all its users, where it may meet others, or cost a product each.
        spread: whether short products that are used several times are merged into their users too, so
            that factoring sees through them; pairing finds them again.
    """
    order = reachable(graph, roots)
    uses: Counter[int] = Counter(roots)
    for k in order:
        uses.update(children(graph.nodes[k]))
    algebra = Algebra()
    place: dict[int, Scaled] = {}
    for k in order:
        scale, item = _read_node(graph, algebra, k, place, uses, spread)
        scale = algebra.constants.one(scale)
        if keep and uses[k] > 1 and abs(scale) != 1.0 and item != ONE:
            scale, item = math.copysign(1.0, scale), algebra.add_scaled(abs(scale), item)
        place[k] = scale, item
    algebra.roots = [place[k] for k in roots]
    algebra.prune()
    return algebra


def _alone(graph: Graph, k: int, uses: Counter[int]) -> bool:
    """Whether a node is used once, seen through negations and constant factors used once."""
    while uses[k] == 1:
        node = graph.nodes[k]
        if node[0] == "neg":
            k = node[1]
        elif node[0] == "mul" and graph.values[node[1]] is not None:
            k = node[2]
        else:
            return True
    return False


def _read_node(
    graph: Graph, algebra: Algebra, k: int, place: dict[int, Scaled], uses: Counter[int], spread: bool
) -> Scaled:
    op, *c = graph.nodes[k]
    if op == "const":
        return c[0], ONE
    if op == "input":
        return 1.0, algebra.add_atom("input", c[0])
    if op == "neg":
        scale, item = place[c[0]]
        return -scale, item
    if op in ("add", "sub"):
        terms: dict[int, float] = {}
        for child, sign in ((c[0], 1.0), (c[1], 1.0 if op == "add" else -1.0)):
            scale, item = place[child]
            if item in algebra.linear and _alone(graph, child, uses):
                for inner, coefficient in algebra.linear[item].items():
                    terms[inner] = folded_total(terms.get(inner, 0.0), sign * scale * coefficient)
            else:
                terms[item] = folded_total(terms.get(item, 0.0), sign * scale)
        return algebra.add_linear(terms)
    if op in ("mul", "div"):
        scale = 1.0
        factors: dict[int, int] = {}
        for child, power in ((c[0], 1), (c[1], 1 if op == "mul" else -1)):
            own, item = place[child]
            if power < 0 and own == 0.0:
                return 1.0, algebra.add_atom("div", place[c[0]], place[c[1]])
            scale = scale * own if power > 0 else scale / own
            short = spread and len(algebra.power.get(item, ())) <= _SHORT
            if item in algebra.power and (short or _alone(graph, child, uses)):
                for inner, exponent in algebra.power[item].items():
                    factors[inner] = factors.get(inner, 0) + power * exponent
            elif item != ONE:
                factors[item] = factors.get(item, 0) + power
        return scale, algebra.add_power(_without_roots(algebra, factors))
    return 1.0, algebra.add_atom(op, *(place[child] for child in c))


def _without_roots(algebra: Algebra, factors: dict[int, int]) -> dict[int, int]:
    """Replace even powers of a square root by powers of its argument: sqrt(z)^2 is z.

    The argument is not negative where the root is a number, so the value stays.
    """
    result = dict(factors)
    for item, exponent in factors.items():
        atom = algebra.atom.get(item)
        if atom is None or atom[0] != "sqrt" or abs(exponent) < 2:
            continue
        scale, argument = atom[1]
        if scale != 1.0 or argument == ONE:
            continue
        half = int(exponent / 2)
        result[item] = exponent - 2 * half
        result[argument] = result.get(argument, 0) + half
    return result


def write(algebra: Algebra) -> tuple[Graph, list[int]]:
    """Write the items that the roots need as a graph of binary operations."""
    return _Writer(algebra).write()


class _Writer:
    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.graph = Graph()
        self.place: dict[int, int] = {ONE: self.graph.const(1.0)}
        self.shared = self._shared_reciprocals()

    def _shared_reciprocals(self) -> set[int]:
        """Items that more than one product divides by: their reciprocal is computed once."""
        divisors: Counter[int] = Counter()
        for factors in self.algebra.power.values():
            negative = [item for item, k in factors.items() if k < 0]
            divisors.update(negative)
        return {item for item, number in divisors.items() if number > 1}

    def write(self) -> tuple[Graph, list[int]]:
        for item in self._order():
            self.place[item] = self._item(item)
        return self.graph, [self._scaled(scaled) for scaled in self.algebra.roots]

    def _order(self) -> list[int]:
        """Items needed by the roots, each after those it is made of."""
        order: list[int] = []
        state: dict[int, bool] = {ONE: True}
        stack = [item for _, item in reversed(self.algebra.roots)]
        while stack:
            item = stack[-1]
            if state.get(item):
                stack.pop()
                continue
            below = [child for child in self.algebra.below(item) if not state.get(child)]
            if below and item not in state:
                state[item] = False
                stack.extend(reversed(below))
                continue
            state[item] = True
            order.append(item)
            stack.pop()
        return order

    def _scaled(self, scaled: Scaled) -> int:
        scale, item = scaled
        return self.graph.mul(self.graph.const(scale), self.place[item])

    def _item(self, item: int) -> int:
        algebra = self.algebra
        if item in algebra.linear:
            return self._linear(algebra.linear[item])
        if item in algebra.power:
            return self._power(algebra.power[item])
        op, *entries = algebra.atom[item]
        if op == "input":
            return self.graph.input(entries[0])
        return self.graph.apply(op, *(self._scaled(entry) for entry in entries))

    def _linear(self, terms: dict[int, float]) -> int:
        """A sum; terms with the same size of coefficient share one product."""
        g = self.graph
        classes: dict[float, list[tuple[int, float]]] = {}
        constant = 0.0
        for item, c in terms.items():
            if item == ONE:
                constant = c
            else:
                classes.setdefault(abs(self.algebra.constants.one(c)), []).append((item, c))
        whole: int | None = None
        for size in sorted(classes, key=lambda size: size != 1.0):
            part: int | None = None
            for item, c in sorted(classes[size], key=lambda entry: (entry[1] < 0.0, entry[0])):
                value = self.place[item] if c > 0.0 else g.neg(self.place[item])
                part = value if part is None else g.add(part, value)
            assert part is not None
            part = g.mul(g.const(size), part)
            whole = part if whole is None else g.add(whole, part)
        return g.const(constant) if whole is None else g.add(whole, g.const(constant))

    def _power(self, factors: dict[int, int]) -> int:
        """A product; divisors with a shared reciprocal are factors, the others one division."""
        g = self.graph
        over: list[tuple[int, int]] = []
        under: list[tuple[int, int]] = []
        for item, k in factors.items():
            if k > 0:
                over.append((self.place[item], k))
            elif item in self.shared:
                over.append((g.div(g.const(1.0), self.place[item]), -k))
            else:
                under.append((self.place[item], -k))
        top = self._product(over)
        return top if not under else g.div(top, self._product(under))

    def _product(self, factors: list[tuple[int, int]]) -> int:
        """Product of whole powers by common squaring."""
        g = self.graph
        result = g.const(1.0)
        remaining = [(base, k) for base, k in factors if k > 0]
        if not remaining:
            return result
        odd = [base for base, k in remaining if k & 1]
        halves = [(base, k >> 1) for base, k in remaining if k >> 1]
        for base in odd:
            result = g.mul(result, base)
        if halves:
            root = self._product(halves)
            result = g.mul(result, g.mul(root, root))
        return result

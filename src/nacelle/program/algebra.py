"""Sums and products of many terms: the form in which programs are factored and paired.

A graph of binary operations is read into

    linear    c0 + sum of c_i x_i             constants are coefficients, signs are free
    power     product of x_i ** k_i           whole powers, negative ones are divisions
    atom      any other operation

where sums inside sums and products inside products that are used once are merged. It is written back
as a graph after the passes have worked on it.

Linear forms, powers and atoms: the items of a program in algebraic form.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from nacelle.program.graph import Graph, children, depth_first, reachable
from nacelle.spatial.rounding import FOLDED_ULPS, Constants, folded_sum

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
    _indices: dict[Any, int] = field(default_factory=dict)
    _keys: dict[int, Any] = field(default_factory=dict)
    constants: Constants = field(default_factory=lambda: Constants(FOLDED_ULPS))

    def new(self, key: Any) -> int:
        """A new index for what is interned under a key."""
        self._indices[key] = self.size
        self._keys[self.size] = key
        self.size += 1
        return self.size - 1

    def copy(self) -> Algebra:
        """The same items, to work on."""
        return Algebra(
            {item: form.copy() for item, form in self.linear.items()},
            {item: product.copy() for item, product in self.power.items()},
            self.atom.copy(),
            self.roots,
            self.size,
            self._indices.copy(),
            self._keys.copy(),
            self.constants.copy(),
        )

    def add_linear(self, terms: dict[int, float]) -> Scaled:
        """A linear form, with a common coefficient and the leading sign taken out."""
        unify = self.constants.unify
        kept = {item: unify(c) for item, c in terms.items() if c != 0.0}
        if len(kept) < 2:
            for item, c in kept.items():
                return c, item
            return 0.0, ONE
        leading = kept[min(kept)]
        scale = abs(leading)
        for c in kept.values():
            if abs(c) != scale:
                scale = 1.0
                break
        if leading < 0.0:
            scale = -scale
        if scale == -1.0:
            kept = {item: -c for item, c in kept.items()}
        elif scale != 1.0:
            kept = {item: unify(c / scale) for item, c in kept.items()}
        return scale, self._intern_linear(kept)

    def add_scaled(self, scale: float, item: int) -> int:
        """An item that is another one scaled, computed once."""
        return self._intern_linear({item: self.constants.unify(scale)})

    def _intern_linear(self, terms: dict[int, float]) -> int:
        key = ("linear", *sorted(terms.items()))
        item = self._indices.get(key)
        if item is None:
            item = self.new(key)
            self.linear[item] = terms
        return item

    def add_power(self, factors: dict[int, int]) -> int:
        """A product of powers."""
        if ONE in factors or 0 in factors.values():
            factors = {item: k for item, k in factors.items() if k and item != ONE}
        if len(factors) < 2:
            for item, k in factors.items():
                if k == 1:
                    return item
            if not factors:
                return ONE
        key = ("power", *sorted(factors.items()))
        item_index = self._indices.get(key)
        if item_index is None:
            item_index = self.new(key)
            self.power[item_index] = factors
        return item_index

    def add_atom(self, *atom: Any) -> int:
        """Any other operation on scaled items."""
        item = self._indices.get(atom)
        if item is None:
            item = self.new(atom)
            self.atom[item] = atom
        return item

    def below(self, item: int) -> Iterable[int]:
        """Items that an item is made of."""
        form = self.linear.get(item)
        if form is not None:
            return form
        product = self.power.get(item)
        if product is not None:
            return product
        if item == ONE:
            return ()
        return [entry[1] for entry in self.atom[item][1:] if isinstance(entry, tuple)]

    def prune(self) -> None:
        """Forget items that the roots do not need: merged sums and products, and what passes replaced."""
        uses = self.uses()
        stack = [k for kind in (self.linear, self.power, self.atom) for k in kind if k not in uses]
        while stack:
            item = stack.pop()
            for child in self.below(item):
                uses[child] -= 1
                if not uses[child] and child != ONE:
                    stack.append(child)
            del self._indices[self._keys.pop(item)]
            for kind in (self.linear, self.power, self.atom):
                kind.pop(item, None)

    def uses(self) -> Counter[int]:
        """How often each item is used by others and by the roots."""
        return Counter(
            chain(
                (item for _, item in self.roots),
                chain.from_iterable(self.linear.values()),
                chain.from_iterable(self.power.values()),
                (entry[1] for atom in self.atom.values() for entry in atom[1:] if isinstance(entry, tuple)),
            )
        )


# ---- reading a graph of binary operations as sums and products of many terms


# A product of no more factors than this may be merged into all its users.
_SHORT = 3


@dataclass(frozen=True)
class GraphUses:
    """A graph that is to be read, perhaps in several ways.

    Attributes:
        graph: the graph.
        roots: what is needed.
        order: the nodes that the roots need, in order.
        shared: for every node whether it is used several times.
        used_once: for every node whether it is used once, seen through negations and constant factors used
            once.
    """

    graph: Graph
    roots: list[int]
    order: list[int]
    shared: list[bool]
    used_once: list[bool]


def graph_uses(graph: Graph, roots: list[int]) -> GraphUses:
    """What some roots of a graph need, and how often."""
    order = reachable(graph, roots)
    nodes, values = graph.nodes, graph.values
    uses = [0] * len(nodes)
    for k in roots:
        uses[k] += 1
    for k in order:
        for child in children(nodes[k]):
            uses[child] += 1
    alone = [number == 1 for number in uses]
    for k in order:
        if alone[k]:
            node = nodes[k]
            if node[0] == "neg":
                alone[k] = alone[node[1]]
            elif node[0] == "mul" and values[node[1]] is not None:
                alone[k] = alone[node[2]]
    return GraphUses(graph, roots, order, [number > 1 for number in uses], alone)


def read_algebra(uses: GraphUses, keep: bool = True, spread: bool = False) -> Algebra:
    """Read what some roots of a graph need; sums and products used once are merged.

    Args:
        uses: the graph and the roots.
        keep: whether a scaled value that is used several times stays one item. Otherwise its factor moves
            into all its users, where it may meet others, or cost a product each.
        spread: whether short products that are used several times are merged into their users too, so
            that factoring sees through them; pairing finds them again.
    """
    algebra = Algebra()
    nodes, shared, alone = uses.graph.nodes, uses.shared, uses.used_once
    items: dict[int, Scaled] = {}
    unify = algebra.constants.unify
    for k in uses.order:
        node = nodes[k]
        op = node[0]
        if op == "mul" or op == "div":
            scale, item = _read_product(algebra, node, items, alone, spread)
        elif op == "add" or op == "sub":
            scale, item = _read_sum(algebra, node, items, alone)
        elif op == "neg":
            scale, item = items[node[1]]
            scale = -scale
        elif op == "const":
            scale, item = node[1], ONE
        elif op == "input":
            scale, item = 1.0, algebra.add_atom("input", node[1])
        else:
            scale, item = 1.0, algebra.add_atom(op, *(items[child] for child in node[1:]))
        if scale != 1.0:
            scale = unify(scale)
            if keep and shared[k] and abs(scale) != 1.0 and item != ONE:
                scale, item = math.copysign(1.0, scale), algebra.add_scaled(abs(scale), item)
        items[k] = scale, item
    algebra.roots = [items[k] for k in uses.roots]
    algebra.prune()
    return algebra


def _read_sum(algebra: Algebra, node: tuple[Any, ...], items: dict[int, Scaled], alone: list[bool]) -> Scaled:
    op, first, second = node
    scale, item = items[first]
    form = algebra.linear.get(item) if alone[first] else None
    if form is None:
        terms = {item: scale}
    elif scale == 1.0:
        terms = form.copy()
    else:
        terms = {inner: scale * coefficient for inner, coefficient in form.items()}
    scale, item = items[second]
    if op == "sub":
        scale = -scale
    form = algebra.linear.get(item) if alone[second] else None
    if form is None:
        terms[item] = folded_sum(terms[item], scale) if item in terms else scale
    else:
        for inner, coefficient in form.items():
            more = scale * coefficient
            terms[inner] = folded_sum(terms[inner], more) if inner in terms else more
    return algebra.add_linear(terms)


def _read_product(
    algebra: Algebra, node: tuple[Any, ...], items: dict[int, Scaled], alone: list[bool], spread: bool
) -> Scaled:
    op, first, second = node
    scale, item = items[first]
    product = algebra.power.get(item)
    if product is not None and ((spread and len(product) <= _SHORT) or alone[first]):
        factors = product.copy()
    else:
        factors = {item: 1} if item != ONE else {}
    divisor_scale, item = items[second]
    if op == "mul":
        power = 1
        scale = scale * divisor_scale
    else:
        power = -1
        if divisor_scale == 0.0:
            return 1.0, algebra.add_atom("div", items[first], items[second])
        scale = scale / divisor_scale
    product = algebra.power.get(item)
    if product is not None and ((spread and len(product) <= _SHORT) or alone[second]):
        for inner, exponent in product.items():
            factors[inner] = factors.get(inner, 0) + power * exponent
    elif item != ONE:
        factors[item] = factors.get(item, 0) + power
    return scale, algebra.add_power(_reduce_square_roots(algebra, factors))


def _reduce_square_roots(algebra: Algebra, factors: dict[int, int]) -> dict[int, int]:
    """Replace even powers of a square root by powers of its argument: sqrt(z)^2 is z.

    The argument is not negative where the root is a number, so the value stays.
    """
    result = factors
    for item, exponent in factors.items():
        if -2 < exponent < 2:
            continue
        atom = algebra.atom.get(item)
        if atom is None or atom[0] != "sqrt":
            continue
        scale, argument = atom[1]
        if scale != 1.0 or argument == ONE:
            continue
        if result is factors:
            result = factors.copy()
        half = int(exponent / 2)
        result[item] = exponent - 2 * half
        result[argument] = result.get(argument, 0) + half
    return result


# ---- writing sums and products of many terms as a graph of binary operations


def write_algebra(algebra: Algebra) -> tuple[Graph, list[int]]:
    """Write the items that the roots need as a graph of binary operations."""
    return _Writer(algebra).write()


class _Writer:
    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.graph = Graph()
        self.node_of: dict[int, int] = {ONE: self.graph.const(1.0)}
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
            self.node_of[item] = self._write_item(item)
        return self.graph, [self._write_scaled(scaled) for scaled in self.algebra.roots]

    def _write_scaled(self, scaled: Scaled) -> int:
        scale, item = scaled
        node = self.node_of[item]
        return node if scale == 1.0 else self.graph.mul(self.graph.const(scale), node)

    def _write_item(self, item: int) -> int:
        algebra = self.algebra
        form = algebra.linear.get(item)
        if form is not None:
            return self._write_sum(form)
        product = algebra.power.get(item)
        if product is not None:
            return self._write_product(product)
        op, *entries = algebra.atom[item]
        if op == "input":
            return self.graph.input(entries[0])
        return self.graph.apply(op, *(self._write_scaled(entry) for entry in entries))

    def _write_sum(self, terms: dict[int, float]) -> int:
        """A sum; terms with the same size of coefficient share one product."""
        g, nodes, unify = self.graph, self.node_of, self.algebra.constants.unify
        classes: dict[float, list[tuple[bool, int]]] = {}
        constant = 0.0
        for item, c in terms.items():
            if item == ONE:
                constant = c
                continue
            size = abs(unify(c))
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
                value = g.neg(nodes[item]) if negative else nodes[item]
                part = value if part is None else g.add(part, value)
            assert part is not None
            if size != 1.0:
                part = g.mul(g.const(size), part)
            whole = part if whole is None else g.add(whole, part)
        last = g.const(constant)
        return last if whole is None else g.add(whole, last)

    def _write_product(self, factors: dict[int, int]) -> int:
        """A product; divisors with a shared reciprocal are factors, the others one division."""
        g = self.graph
        over: list[tuple[int, int]] = []
        under: list[tuple[int, int]] = []
        for item, k in factors.items():
            if k > 0:
                over.append((self.node_of[item], k))
            elif item in self.shared:
                over.append((g.div(self.node_of[ONE], self.node_of[item]), -k))
            else:
                under.append((self.node_of[item], -k))
        top = self._write_powers(over)
        return top if not under else g.div(top, self._write_powers(under))

    def _write_powers(self, factors: list[tuple[int, int]]) -> int:
        """Product of whole powers by common squaring."""
        g = self.graph
        result = self.node_of[ONE]
        for base, k in factors:
            if k & 1:
                result = g.mul(result, base)
        halves = [(base, k >> 1) for base, k in factors if k >> 1]
        if halves:
            root = self._write_powers(halves)
            result = g.mul(result, g.mul(root, root))
        return result

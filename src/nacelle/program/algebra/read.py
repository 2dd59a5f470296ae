"""Reading a graph of binary operations as sums and products of many terms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nacelle.program.algebra.algebra import ONE, Algebra, Scaled
from nacelle.program.graph import Graph, children, reachable
from nacelle.spatial.rounding import folded_total

# A product of no more factors than this may be merged into all its users.
_SHORT = 3


@dataclass(frozen=True)
class ReadGraph:
    """A graph that is to be read, perhaps in several ways.

    Attributes:
        graph: the graph.
        roots: what is needed.
        order: the nodes that the roots need, in order.
        shared: for every node whether it is used several times.
        alone: for every node whether it is used once, seen through negations and constant factors used once.
    """

    graph: Graph
    roots: list[int]
    order: list[int]
    shared: list[bool]
    alone: list[bool]


def source(graph: Graph, roots: list[int]) -> ReadGraph:
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
    return ReadGraph(graph, roots, order, [number > 1 for number in uses], alone)


def read_algebra(given: ReadGraph, keep: bool = True, spread: bool = False) -> Algebra:
    """Read what some roots of a graph need; sums and products used once are merged.

    Args:
        given: the graph and the roots.
        keep: whether a scaled value that is used several times stays one item. Otherwise its factor moves
            into all its users, where it may meet others, or cost a product each.
        spread: whether short products that are used several times are merged into their users too, so
            that factoring sees through them; pairing finds them again.
    """
    algebra = Algebra()
    nodes, shared, alone = given.graph.nodes, given.shared, given.alone
    place: dict[int, Scaled] = {}
    one = algebra.constants.one
    for k in given.order:
        node = nodes[k]
        op = node[0]
        if op == "mul" or op == "div":
            scale, item = _read_product(algebra, node, place, alone, spread)
        elif op == "add" or op == "sub":
            scale, item = _read_sum(algebra, node, place, alone)
        elif op == "neg":
            scale, item = place[node[1]]
            scale = -scale
        elif op == "const":
            scale, item = node[1], ONE
        elif op == "input":
            scale, item = 1.0, algebra.add_atom("input", node[1])
        else:
            scale, item = 1.0, algebra.add_atom(op, *(place[child] for child in node[1:]))
        if scale != 1.0:
            scale = one(scale)
            if keep and shared[k] and abs(scale) != 1.0 and item != ONE:
                scale, item = math.copysign(1.0, scale), algebra.add_scaled(abs(scale), item)
        place[k] = scale, item
    algebra.roots = [place[k] for k in given.roots]
    algebra.prune()
    return algebra


def _read_sum(algebra: Algebra, node: tuple[Any, ...], place: dict[int, Scaled], alone: list[bool]) -> Scaled:
    op, first, second = node
    scale, item = place[first]
    form = algebra.linear.get(item) if alone[first] else None
    if form is None:
        terms = {item: scale}
    elif scale == 1.0:
        terms = form.copy()
    else:
        terms = {inner: scale * coefficient for inner, coefficient in form.items()}
    scale, item = place[second]
    if op == "sub":
        scale = -scale
    form = algebra.linear.get(item) if alone[second] else None
    if form is None:
        terms[item] = folded_total(terms[item], scale) if item in terms else scale
    else:
        for inner, coefficient in form.items():
            more = scale * coefficient
            terms[inner] = folded_total(terms[inner], more) if inner in terms else more
    return algebra.add_linear(terms)


def _read_product(
    algebra: Algebra, node: tuple[Any, ...], place: dict[int, Scaled], alone: list[bool], spread: bool
) -> Scaled:
    op, first, second = node
    scale, item = place[first]
    product = algebra.power.get(item)
    if product is not None and ((spread and len(product) <= _SHORT) or alone[first]):
        factors = product.copy()
    else:
        factors = {item: 1} if item != ONE else {}
    own, item = place[second]
    if op == "mul":
        power = 1
        scale = scale * own
    else:
        power = -1
        if own == 0.0:
            return 1.0, algebra.add_atom("div", place[first], place[second])
        scale = scale / own
    product = algebra.power.get(item)
    if product is not None and ((spread and len(product) <= _SHORT) or alone[second]):
        for inner, exponent in product.items():
            factors[inner] = factors.get(inner, 0) + power * exponent
    elif item != ONE:
        factors[item] = factors.get(item, 0) + power
    return scale, algebra.add_power(_without_roots(algebra, factors))


def _without_roots(algebra: Algebra, factors: dict[int, int]) -> dict[int, int]:
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

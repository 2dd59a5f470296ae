"""A program with one instruction a class of equal values."""

from __future__ import annotations

from collections.abc import Sequence

from nacelle.program.graph import Graph, depth_first
from nacelle.program.identities.values import Making, Ref, Values
from nacelle.program.program import Program
from nacelle.program.trace import linear


def written(values: Values, chosen: Sequence[Making] | None = None) -> Program:
    """A program of some values from what makes each class: the first that does if None."""
    chosen = chosen or [makings[0] for makings in values.makings]
    graph = Graph()
    place: dict[int, int] = {}

    def node(ref: Ref) -> int:
        return graph.neg(place[ref >> 1]) if ref & 1 else place[ref >> 1]

    for k in class_order(values, chosen):
        constant, (negative, (op, *operands)) = values.constants[k], chosen[k]
        if constant is not None:
            place[k] = graph.const(constant)
            continue
        if op in ("const", "input"):
            made = graph.const(operands[0]) if op == "const" else graph.input(operands[0])
        else:
            made = graph.apply(op, *(node(ref) for ref in operands))
        place[k] = graph.neg(made) if negative else made
    program = values.program
    roots = [node(ref) for ref in values.results]
    return linear(program.name, graph, program.inputs, program.outputs, roots)


def class_order(values: Values, chosen: Sequence[Making]) -> list[int]:
    """The classes that the results need, each after those that it is made of."""
    return depth_first([ref >> 1 for ref in values.results], lambda k: child_classes(values, chosen[k], k))


def child_classes(values: Values, making: Making, k: int) -> list[int]:
    """The classes that a class is made of."""
    op, *operands = making[1]
    if values.constants[k] is not None or op in ("const", "input"):
        return []
    return [ref >> 1 for ref in operands]

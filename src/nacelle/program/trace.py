"""Tracing: calling a function with symbols to get the program that it computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nacelle.program.folding import FoldingGraph
from nacelle.program.graph import Graph, reachable
from nacelle.program.program import Program, Variable
from nacelle.program.solve import lower_solves
from nacelle.program.symbol import node_of, symbols


class Trace:
    """A traced function: its graph with inputs and outputs, solves still whole."""

    def __init__(
        self,
        name: str,
        graph: Graph,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        roots: list[int],
    ) -> None:
        self.name = name
        self.graph = graph
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.roots = roots

    def program(self) -> Program:
        """The straight-line program, solves spelled out, dead code left out."""
        graph = Graph()
        roots = lower_solves(self.graph, self.roots, graph)
        return linear(self.name, graph, self.inputs, self.outputs, roots)


def trace(
    function: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    name: str | None = None,
    sample: Sequence[float] | None = None,
) -> Trace:
    """Trace a function of arrays of scalars.

    Args:
        function: called with one array of symbols (or a single symbol for the shape ()) an input, by
            position; returns an array or scalar, a tuple of them, or a mapping of names to them.
        inputs: names and shapes of its arguments, in order.
        name: of the program; the function's own if None.
        sample: values of the first input, if its scalars are to be numbers given at run time
            (`nacelle.program.split`).
    """
    graph = Graph() if sample is None else FoldingGraph(sample)
    variables = [Variable(key, tuple(shape)) for key, shape in inputs.items()]
    arguments = []
    start = 0
    for variable in variables:
        arguments.append(symbols(graph, start, variable.shape))
        start += variable.size
    returned = function(*arguments)
    outputs, roots = [], []
    for key, value in named_outputs(returned):
        array = np.asarray(value, dtype=object)
        outputs.append(Variable(key, array.shape))
        roots += [node_of(graph, entry) for entry in array.ravel()]
    label = name or str(getattr(function, "__name__", "program"))
    return Trace(label, graph, variables, outputs, roots)


def named_outputs(returned: Any) -> list[tuple[str, Any]]:
    """Give names to what a function returned."""
    if isinstance(returned, Mapping):
        return list(returned.items())
    if isinstance(returned, tuple):
        if hasattr(returned, "_fields"):
            return list(zip(returned._fields, returned, strict=True))
        return [(f"out{k}", value) for k, value in enumerate(returned)]
    return [("out", returned)]


def linear(
    name: str, graph: Graph, inputs: Sequence[Variable], outputs: Sequence[Variable], roots: list[int]
) -> Program:
    """Write what some roots need as a program, in the order in which the nodes were made."""
    order = reachable(graph, roots)
    place = {k: position for position, k in enumerate(order)}
    code = []
    for k in order:
        node = graph.nodes[k]
        if len(node) == 3:
            op, a, b = node
            code.append((op, place[a], place[b]))
        elif node[0] == "const" or node[0] == "input":
            code.append(node)
        else:
            code.append((node[0], *(place[c] for c in node[1:])))
    return Program(name, tuple(inputs), tuple(outputs), tuple(code), tuple(place[k] for k in roots))


def graph_of(program: Program) -> tuple[Graph, list[int]]:
    """Read a program back into a graph, folding on the way."""
    graph = Graph()
    return graph, replayed(program, graph)


def replayed(program: Program, graph: Graph) -> list[int]:
    """The results of a program as nodes of a graph, which folds on the way."""
    place: list[int] = []
    for op, *operands in program.code:
        if op == "const":
            place.append(graph.const(operands[0]))
        elif op == "input":
            place.append(graph.input(operands[0]))
        else:
            place.append(graph.apply(op, *(place[c] for c in operands)))
    return [place[k] for k in program.results]

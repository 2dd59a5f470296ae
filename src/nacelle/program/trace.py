"""Tracing: calling a function with symbols to get the program that it computes.

Symbols are scalars that record what is done with them, so that ordinary array code can be traced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.program.graph import Graph, ParametricGraph, reachable
from nacelle.program.program import Program, Variable, variable_slices
from nacelle.program.solve import lower_solves
from nacelle.spatial.operators import Functions, map_entries
from nacelle.spatial.recorded import Recorded

_NUMBERS = (int, float, np.floating, np.integer)


class Symbol(Functions):
    """A scalar of a graph; arithmetic makes new nodes."""

    __slots__ = ("graph", "index")

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph = graph
        self.index = index

    @property
    def constant(self) -> float | None:
        """Its value where it is a constant."""
        return self.graph.values[self.index]

    def _operand_node(self, other: Any) -> int | None:
        """Node of another operand; None if it is not a scalar."""
        if type(other) is Symbol:
            if other.graph is not self.graph:
                raise TypeError("symbols of two traces cannot be mixed")
            return other.index
        if isinstance(other, _NUMBERS):
            return self.graph.const(float(other))
        return None

    def _binary(self, op: str, other: Any, swapped: bool = False) -> Any:
        index = self._operand_node(other)
        if index is None:
            if isinstance(other, np.ndarray):
                return map_entries(lambda entry: self._binary(op, entry, swapped), other)
            return NotImplemented
        first, second = (index, self.index) if swapped else (self.index, index)
        return Symbol(self.graph, getattr(self.graph, op)(first, second))

    def __pow__(self, power: Any) -> Any:
        """Whole powers by repeated squaring; others are not primitives."""
        if not isinstance(power, int) or isinstance(power, bool):
            raise TypeError("only whole powers can be traced; use sqrt for roots")
        graph = self.graph
        result, base, k = graph.const(1.0), self.index, abs(power)
        while k:
            if k & 1:
                result = graph.mul(result, base)
            base = graph.mul(base, base)
            k >>= 1
        return Symbol(graph, result if power >= 0 else graph.div(graph.const(1.0), result))

    def __neg__(self) -> Symbol:
        return Symbol(self.graph, self.graph.neg(self.index))

    def __pos__(self) -> Symbol:
        return self

    def __bool__(self) -> bool:
        raise TypeError("a traced value cannot decide a branch: use where(condition, a, b)")

    def __float__(self) -> float:
        raise TypeError("a traced value is not a number yet")

    def __lt__(self, other: Any) -> bool:
        raise TypeError("traced values cannot be compared: use where, minimum or maximum")

    __le__ = __gt__ = __ge__ = __lt__

    def __repr__(self) -> str:
        """Give the node."""
        return f"<Symbol {self.index}: {self.graph.nodes[self.index]}>"

    @property
    def sample(self) -> float | None:
        """The value of a constant, of numbers that are given at run time at their sample; None otherwise."""
        value = self.graph.values[self.index]
        return None if value is None else float(value)

    @property
    def folded(self) -> Any:
        """The number itself if the symbol is a constant; else the symbol."""
        value = self.graph.values[self.index]
        return self if value is None or isinstance(value, Recorded) else value

    def _unary(self, op: str) -> Symbol:
        return Symbol(self.graph, self.graph.unary(op, self.index))

    def atan2(self: Any, x: Any) -> Symbol:
        """Angle of the point (x, self); either may be a number."""
        return _function("atan2", self, x)

    def minimum(self: Any, other: Any) -> Symbol:
        """Smaller of two scalars."""
        return _function("min", self, other)

    def maximum(self: Any, other: Any) -> Symbol:
        """Larger of two scalars."""
        return _function("max", self, other)

    def where(self: Any, a: Any, b: Any) -> Symbol:
        """`a` if self > 0, else `b`."""
        graph = next(s.graph for s in (self, a, b) if isinstance(s, Symbol))
        indices = [_index(graph, s) for s in (self, a, b)]
        return Symbol(graph, graph.where(*indices))

    @staticmethod
    def solve(A: NDArray[Any], b: NDArray[Any], kind: str) -> NDArray[Any]:
        """Record the solution of A x = b as one node a right-hand side."""
        graph = next(s.graph for s in (*A.flat, *b.flat) if isinstance(s, Symbol))
        n = A.shape[0]
        entries = [[_index(graph, A[i, j]) for j in range(n)] for i in range(n)]
        if kind == "spd":
            entries = [[entries[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
        columns = b.reshape(n, -1)
        result = np.empty(columns.shape, dtype=object)
        for k in range(columns.shape[1]):
            right = [_index(graph, columns[i, k]) for i in range(n)]
            solution = graph.solve(kind, [entry for row in entries for entry in row], right)
            result[:, k] = [Symbol(graph, index) for index in solution]
        return result.reshape(b.shape)


def _index(graph: Graph, value: Any) -> int:
    if isinstance(value, Symbol):
        return value.index
    return graph.const(float(value))


def _function(op: str, a: Any, b: Any) -> Symbol:
    graph: Graph = a.graph if isinstance(a, Symbol) else b.graph
    return Symbol(graph, graph.binary(op, _index(graph, a), _index(graph, b)))


def input_symbols(graph: Graph, start: int, shape: tuple[int, ...]) -> Any:
    """An array of input symbols, counted from `start`; a single symbol for the shape ()."""
    if shape == ():
        return Symbol(graph, graph.input(start))
    count = int(np.prod(shape))
    array = np.empty(count, dtype=object)
    for k in range(count):
        array[k] = Symbol(graph, graph.input(start + k))
    return array.reshape(shape)


def node_of(graph: Graph, value: Any) -> int:
    """Node of a traced value or a number."""
    if isinstance(value, Symbol):
        if value.graph is not graph:
            raise TypeError("symbols of two traces cannot be mixed")
        return value.index
    if isinstance(value, np.ndarray) and value.shape == ():
        return node_of(graph, value[()])
    return graph.const(float(value))


# ---- tracing: calling a function with symbols to get the program that it computes


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
        return straight_line_program(self.name, graph, self.inputs, self.outputs, roots)


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
    graph = Graph() if sample is None else ParametricGraph(sample)
    variables = [Variable(key, tuple(shape)) for key, shape in inputs.items()]
    arguments = [
        input_symbols(graph, span.start, variable.shape) for variable, span in variable_slices(variables)
    ]
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


def straight_line_program(
    name: str, graph: Graph, inputs: Sequence[Variable], outputs: Sequence[Variable], roots: list[int]
) -> Program:
    """Write what some roots need as a program, in the order in which the nodes were made."""
    order = reachable(graph, roots)
    index_of = {k: position for position, k in enumerate(order)}
    code = []
    for k in order:
        node = graph.nodes[k]
        if len(node) == 3:
            op, a, b = node
            code.append((op, index_of[a], index_of[b]))
        elif node[0] == "const" or node[0] == "input":
            code.append(node)
        else:
            code.append((node[0], *(index_of[c] for c in node[1:])))
    return Program(name, tuple(inputs), tuple(outputs), tuple(code), tuple(index_of[k] for k in roots))


def program_graph(program: Program) -> tuple[Graph, list[int]]:
    """Read a program back into a graph, folding on the way."""
    graph = Graph()
    return graph, replay_program(program, graph)


def replay_program(program: Program, graph: Graph) -> list[int]:
    """The results of a program as nodes of a graph, which folds on the way."""
    nodes: list[int] = []
    for op, *operands in program.code:
        if op == "const":
            nodes.append(graph.const(operands[0]))
        elif op == "input":
            nodes.append(graph.input(operands[0]))
        else:
            nodes.append(graph.apply(op, *(nodes[c] for c in operands)))
    return [nodes[k] for k in program.results]

"""Symbols: scalars that record what is done with them, so that ordinary array code can be traced."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.program.graph import Graph
from nacelle.spatial.operators import Functions, each
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

    def _of(self, other: Any) -> int | None:
        """Node of another operand; None if it is not a scalar."""
        if type(other) is Symbol:
            if other.graph is not self.graph:
                raise TypeError("symbols of two traces cannot be mixed")
            return other.index
        if isinstance(other, _NUMBERS):
            return self.graph.const(float(other))
        return None

    def _binary(self, op: str, other: Any, swapped: bool = False) -> Any:
        index = self._of(other)
        if index is None:
            if isinstance(other, np.ndarray):
                return each(lambda entry: self._binary(op, entry, swapped), other)
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
    def settled(self) -> Any:
        """The number itself where the symbol is one for good; else the symbol."""
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


def symbols(graph: Graph, start: int, shape: tuple[int, ...]) -> Any:
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

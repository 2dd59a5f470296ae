"""A program over intervals: bounds of the results of another one over boxes of its inputs.

A program with the inputs x becomes one with x_lo and x_hi, and y becomes y_lo and y_hi, so that

    x_lo <= x <= x_hi    =>    y_lo <= y(x) <= y_hi

where y(x) is what the program says in exact arithmetic, its constants the doubles that they are. Every value
is a `nacelle.spatial.interval.Interval` of two symbols; what comes out is a plain program again, so
every target runs it. The graph that it is traced on rewrites nothing that rounds: `Graph` takes constants for
one that differ by rounding, and turns quotients into products.
"""

from __future__ import annotations

import math
from typing import Any

from nacelle.program.graph import Graph
from nacelle.program.program import Program, Variable, apply
from nacelle.program.trace import Symbol, straight_line_program
from nacelle.spatial.interval import Interval
from nacelle.spatial.scalar import Scalar


class RoundingGraph(Graph):
    """A graph whose operations round as they are written: folded alone where the result has the same bits."""

    __slots__ = ()

    def const(self, value: float) -> int:
        """A constant, with its own bits; -0.0 is taken as 0.0."""
        number = float(value)
        return self.node("const", number + 0.0 if number == number else math.nan)

    def add(self, a: int, b: int) -> int:
        """Sum."""
        u, v = self.values[a], self.values[b]
        return super().add(a, b) if u is None or v is None else self.const(u + v)

    def sub(self, a: int, b: int) -> int:
        """Difference."""
        u, v = self.values[a], self.values[b]
        return super().sub(a, b) if u is None or v is None else self.const(u - v)

    def _scale(self, a: int, b: int) -> int:
        u = self._value(a)
        if u == 1.0:
            return b
        if u < 0.0:
            return self.neg(self._scale(self.const(-u), b))
        return self._table["mul", a, b]

    def div(self, a: int, b: int) -> int:
        """Quotient."""
        u, v = self.values[a], self.values[b]
        if u is not None and v:
            return self.const(u / v)
        return self.node("div", a, b)


def interval_program(program: Program) -> Program:
    """The program of bounds: inputs NAME_lo and NAME_hi, outputs likewise.

    Args:
        program: any program.
    """
    graph = RoundingGraph()
    inputs, arguments, start = [], [], 0
    for variable in program.inputs:
        inputs += [Variable(f"{variable.name}_{end}", variable.shape) for end in ("lo", "hi")]
        for k in range(start, start + variable.size):
            arguments.append(
                Interval(Symbol(graph, graph.input(k)), Symbol(graph, graph.input(k + variable.size)))
            )
        start += 2 * variable.size
    values = _evaluate(program, arguments)
    outputs, roots, start = [], [], 0
    for variable in program.outputs:
        results = [values[k] for k in range(start, start + variable.size)]
        start += variable.size
        for end in ("lo", "hi"):
            outputs.append(Variable(f"{variable.name}_{end}", variable.shape))
            roots += [_node(graph, _bound(value, end)) for value in results]
    return straight_line_program(f"{program.name}_bounds", graph, inputs, outputs, roots)


def _evaluate(program: Program, arguments: list[Interval]) -> list[Any]:
    """The results of a program at intervals; constants are numbers until they meet one."""
    values: list[Any] = []
    for op, *operands in program.code:
        if op == "const":
            values.append(operands[0])
        elif op == "input":
            values.append(arguments[operands[0]])
        else:
            given = [values[k] for k in operands]
            if not any(isinstance(value, Interval) for value in given):
                # Of constants alone: their exact result lies between bounds that are constants, too.
                given[0] = Interval(given[0], given[0])
            values.append(apply(op, *given))
    return [values[k] for k in program.results]


def _bound(value: Any, end: str) -> Scalar:
    return getattr(value, end) if isinstance(value, Interval) else value


def _node(graph: Graph, value: Scalar) -> int:
    return value.index if isinstance(value, Symbol) else graph.const(float(value))

"""A program over intervals: bounds of the results of another one over boxes of its inputs.

A program with the inputs x becomes one with x_lo and x_hi, and y becomes y_lo and y_hi, so that

    x_lo <= x <= x_hi    =>    y_lo <= y(x) <= y_hi

where y(x) is what the program says in exact arithmetic, its constants the doubles that they are. Every value
is a `nacelle.spatial.interval.Interval` of two symbols; what comes out is a plain program again, so
every target runs it. The graph that it is traced on changes no rounding: `Graph` takes constants for one that
differ by rounding, and turns quotients into products.

Derivatives on such a graph are those of the program, to the last bit of its constants: mean-value forms
y(x) in y(m) + y'(X) (x - m) need the bounds of y' over a box X.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from nacelle.program.derivative import forward
from nacelle.program.graph import Graph, reachable
from nacelle.program.program import Program, Variable, apply, variable_slices
from nacelle.program.trace import Symbol, replay_program, straight_line_program
from nacelle.spatial.interval import Interval
from nacelle.spatial.scalar import Scalar


class ExactGraph(Graph):
    """A graph that stands for one real function: nothing is folded but where no rounding is lost."""

    __slots__ = ()

    def const(self, value: float) -> int:
        """A constant, with its own bits; -0.0 is taken as 0.0."""
        number = float(value)
        return self.node("const", number + 0.0 if number == number else math.nan)

    def add(self, a: int, b: int) -> int:
        """Sum."""
        return self._fold("add", a, b) if self._constants_alone(a, b) else super().add(a, b)

    def sub(self, a: int, b: int) -> int:
        """Difference."""
        return self._fold("sub", a, b) if self._constants_alone(a, b) else super().sub(a, b)

    def mul(self, a: int, b: int) -> int:
        """Product."""
        return self._fold("mul", a, b) if self._constants_alone(a, b) else super().mul(a, b)

    def div(self, a: int, b: int) -> int:
        """Quotient."""
        if self.values[b] == 1.0:
            return a
        return self._fold("div", a, b) if self._constants_alone(a, b) else self.node("div", a, b)

    def unary(self, op: str, a: int) -> int:
        """A function of one argument."""
        exact = op in ("abs", "sign", "floor") or self.values[a] in (0.0, None)
        return super().unary(op, a) if exact else self.node(op, a)

    def binary(self, op: str, a: int, b: int) -> int:
        """Smaller, larger, or angle of two arguments."""
        rounds = op == "atan2" and self._constants_alone(a, b)
        return self.node(op, a, b) if rounds else super().binary(op, a, b)

    def _constants_alone(self, a: int, b: int) -> bool:
        return self.values[a] is not None and self.values[b] is not None

    def _fold(self, op: str, a: int, b: int) -> int:
        """The operation of two constants: a constant if it is exact."""
        u, v = self._value(a), self._value(b)
        if math.isfinite(u) and math.isfinite(v) and (op != "div" or v):
            value = _EXACT[op](Fraction(u), Fraction(v))
            if float(value) == value:
                return self.const(float(value))
        return self.node(op, a, b)

    def _scale(self, a: int, b: int) -> int:
        u = self._value(a)
        if u == 0.0 or u == 1.0:
            return b if u else a
        if u < 0.0:
            return self.neg(self._scale(self.const(-u), b))
        return self._table["mul", a, b]


_EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}


def interval_program(program: Program) -> Program:
    """The program of bounds: inputs NAME_lo and NAME_hi, outputs likewise.

    Args:
        program: any program.
    """
    graph = ExactGraph()
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
            terms = [values[k] for k in operands]
            if not any(isinstance(value, Interval) for value in terms):
                # Of constants alone: their exact result lies between bounds that are constants, too.
                terms[0] = Interval(terms[0], terms[0])
            values.append(apply(op, *terms))
    return [values[k] for k in program.results]


def _bound(value: Any, end: str) -> Scalar:
    return getattr(value, end) if isinstance(value, Interval) else value


def _node(graph: Graph, value: Scalar) -> int:
    return value.index if isinstance(value, Symbol) else graph.const(float(value))


# ---- derivatives, for mean-value forms


JUMPS = "jumps"
"""The output of derivatives that is a point where no `where`, `sign` or `floor` jumps within the box."""


def directional_program(program: Program) -> Program:
    """The program of y'(x) d, outputs "d_OUTPUT"; inputs those of the program, then d as "d_INPUT".

    If the program has jumps, there is the output `JUMPS`, too.
    """
    graph = ExactGraph()
    roots = replay_program(program, graph)
    size = program.input_size
    seeds = {graph.input(k): graph.input(size + k) for k in range(size)}
    derivatives = forward(graph, roots, seeds)
    inputs = [*program.inputs, *(Variable(f"d_{v.name}", v.shape) for v in program.inputs)]
    outputs = [Variable(f"d_{v.name}", v.shape) for v in program.outputs]
    return _derivative(f"{program.name}_direction", graph, inputs, outputs, _Roots(roots, derivatives))


def derivative_program(program: Program, by: Sequence[str]) -> Program:
    """The program of dy/dx, outputs "d_OUTPUT" (size of the output, entries of the inputs `by`).

    If the program has jumps, there is the output `JUMPS`, too.
    """
    graph = ExactGraph()
    roots = replay_program(program, graph)
    one = graph.const(1.0)
    entries = [
        graph.input(k)
        for variable, span in variable_slices(program.inputs)
        if variable.name in by
        for k in range(span.start, span.stop)
    ]
    columns = [forward(graph, roots, {entry: one}) for entry in entries]
    outputs, rows = [], []
    for variable, span in variable_slices(program.outputs):
        outputs.append(Variable(f"d_{variable.name}", (variable.size, len(entries))))
        rows += [column[k] for k in range(span.start, span.stop) for column in columns]
    return _derivative(f"{program.name}_derivative", graph, program.inputs, outputs, _Roots(roots, rows))


class _Roots(NamedTuple):
    """Nodes of results and of their derivatives; None for those that are always zero."""

    values: list[int]
    derivatives: list[int | None]


def _derivative(
    name: str, graph: Graph, inputs: Sequence[Variable], outputs: list[Variable], roots: _Roots
) -> Program:
    nodes = [graph.const(0.0) if node is None else node for node in roots.derivatives]
    # The side that is taken, or the whole number: a point where there is no other in the box.
    sides = {
        k if op in ("sign", "floor") else graph.unary("sign", graph.nodes[k][1])
        for k, op in ((k, graph.nodes[k][0]) for k in reachable(graph, roots.values))
        if op in ("where", "sign", "floor")
    }
    if sides:
        outputs = [*outputs, Variable(JUMPS, (len(sides),))]
        nodes += sorted(sides)
    return straight_line_program(name, graph, inputs, outputs, nodes)

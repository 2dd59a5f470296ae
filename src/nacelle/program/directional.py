"""Derivatives of a program in a direction, as programs of their own.

For a program y = f(x), x and y all inputs and outputs,

    tangent      (x, dx)     ->  dy    = J(x) dx         outputs "d_OUTPUT", inputs "d_INPUT"
    cotangent    (x, y_bar)  ->  x_bar = J(x)^T y_bar    outputs "INPUT_bar", inputs "OUTPUT_bar"

J the exact Jacobian (`nacelle.program.derivative`), never formed: three to four times the operations of f,
where the entries of J take as many times as f has inputs or outputs. Both are linear in their direction,
operation by operation, and are programs: they can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nacelle.program.derivative import forward, reverse
from nacelle.program.graph import Graph
from nacelle.program.minimise import minimise
from nacelle.program.program import Program, Variable
from nacelle.program.trace import graph_of, linear


def directional_program(
    program: Program, *, by: Sequence[str] | None = None, values: bool = False
) -> Program:
    """The program of d_OUTPUT = J d_INPUT, in the order of inputs and outputs.

    Args:
        program: any program.
        by: names of the inputs that move, the others have no "d_INPUT"; all if None.
        values: whether the outputs themselves come first: what they share is computed once.
    """
    graph, roots = graph_of(program)
    moving = [v for v in program.inputs if by is None or v.name in by]
    seeds, start, place = {}, 0, program.input_size
    for variable in program.inputs:
        for k in range(variable.size if variable in moving else 0):
            seeds[graph.input(start + k)] = graph.input(place)
            place += 1
        start += variable.size
    outputs = _named(program.outputs, "d_{}")
    made = forward(graph, roots, seeds)
    if values:
        outputs, made = (*program.outputs, *outputs), [*roots, *made]
    inputs = (*program.inputs, *_named(moving, "d_{}"))
    return _minimised(f"{program.name}_tangent", graph, inputs, outputs, made)


def cotangent(program: Program) -> Program:
    """The program of INPUT_bar = J^T OUTPUT_bar, in the order of outputs and inputs.

    Args:
        program: any program.
    """
    graph, roots = graph_of(program)
    size = program.input_size
    seeds: dict[int, int] = {}
    for place, root in enumerate(roots):
        weight = graph.input(size + place)
        # An instruction may be several results, or an input itself.
        seeds[root] = graph.add(seeds[root], weight) if root in seeds else weight
    inputs = (*program.inputs, *_named(program.outputs, "{}_bar"))
    made = reverse(graph, seeds, [graph.input(k) for k in range(size)])
    return _minimised(f"{program.name}_cotangent", graph, inputs, _named(program.inputs, "{}_bar"), made)


def _named(variables: Sequence[Variable], form: str) -> tuple[Variable, ...]:
    return tuple(replace(variable, name=form.format(variable.name)) for variable in variables)


def _minimised(
    name: str,
    graph: Graph,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    nodes: Sequence[int | None],
) -> Program:
    zero = graph.const(0.0)
    roots = [zero if node is None else node for node in nodes]
    return minimise(linear(name, graph, inputs, outputs, roots))

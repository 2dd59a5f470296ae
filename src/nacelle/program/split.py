"""Splitting a program whose numbers are run-time inputs: a prologue per robot, a body per state.

    prepared = prologue(parameters)          once for every set of numbers
    outputs  = body(prepared, other inputs)  once for every state

The body is made as if the parameters were constants: they are given the values of a sample, and everything
that depends on them alone is folded, shared and merged by the same passes that work on constants; but the
floats are recorded (`nacelle.spatial.recorded`), so that for every constant that is left in the body the
prologue has the operations that compute it. So the body has the operations of the program with constants, and
its interface is one number for every such constant.

What is equal at the sample is taken to be equal: a sample is to be drawn at random from all sets of numbers
that the program is made for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from nacelle.program.derivative import forward, reverse
from nacelle.program.graph import Graph, ParametricGraph, reachable
from nacelle.program.minimise import minimise
from nacelle.program.program import Instruction, Program, Variable
from nacelle.program.solve import lower_solves
from nacelle.program.trace import Trace, replay_program, straight_line_program
from nacelle.spatial.recorded import Recorded

PREPARED = "prepared"


@dataclass(frozen=True)
class Split:
    """A program in two parts.

    Attributes:
        prologue: from the parameters to `prepared`.
        body: from `prepared` and the other inputs to the outputs.
    """

    prologue: Program
    body: Program


def split(trace: Trace, sample: Sequence[float] | None = None, *, minimised: bool = True) -> Split:
    """Split a traced function by its first input, the parameters.

    Args:
        trace: the traced function; its solves are lowered here, after folding.
        sample: values of the parameters, drawn at random; a zero stays zero. None if the function was
            traced at a sample already.
        minimised: whether both parts are minimised.
    """
    parameters = trace.inputs[0]
    folding = trace.graph if sample is None else ParametricGraph(sample)
    if not isinstance(folding, ParametricGraph) or len(folding.fixed) != parameters.size:
        raise ValueError(f"{trace.name} has {parameters.size} parameters: a sample of as many is needed")
    graph = Graph() if sample is None else folding
    roots = lower_solves(trace.graph, trace.roots, graph)
    whole = straight_line_program(trace.name, graph, trace.inputs, trace.outputs, roots)
    return _split_at_constants(whole, folding.tape, minimised)


def resplit(parts: Split, sample: Sequence[float]) -> Split:
    """Split a program in two parts anew: what its body computes of prepared numbers alone goes before it."""
    program = join_parts(parts.prologue, parts.body)
    graph = ParametricGraph(sample)
    roots = replay_program(program, graph)
    return _split_at_constants(
        straight_line_program(program.name, graph, program.inputs, program.outputs, roots), graph.tape, True
    )


def _split_at_constants(whole: Program, tape: Graph, minimised: bool) -> Split:
    """Both parts of a program whose constants are recorded on a tape."""
    if minimised:
        whole = minimise(whole)
    parameters, *others = whole.inputs
    body, constants = _separate_constants(whole, parameters, others)
    outputs = (Variable(PREPARED, (len(constants),)),)
    roots = [constant.node for constant in constants]
    prologue = straight_line_program(f"{whole.name}_prepare", tape, (parameters,), outputs, roots)
    return Split(minimise(prologue) if minimised else prologue, body)


def with_parameter_jacobians(trace: Trace, names: Sequence[str]) -> Trace:
    """Add the derivatives of some outputs by the parameters, "d_OUTPUT_d_parameters" of shape (*shape, P).

    Every constant c of the graph that follows from the parameters has its derivatives by them on the tape,
    where they are constants again; an output's derivatives by the constants are taken backwards through the
    graph: df/dp = sum of df/dc dc/dp.

    Args:
        trace: traced at a sample; its graph grows.
        names: of outputs.
    """
    graph = trace.graph
    assert isinstance(graph, ParametricGraph)
    parameters = trace.inputs[0]
    outputs, roots = list(trace.outputs), list(trace.roots)
    starts = dict(
        zip((v.name for v in outputs), accumulate((v.size for v in outputs), initial=0), strict=False)
    )
    constants = [
        (k, value.node)
        for k in reachable(graph, trace.roots)
        if isinstance(value := graph.values[k], Recorded)
    ]
    slopes = _constant_gradients(graph, [node for _, node in constants], parameters.size)
    one = graph.const(1.0)
    for name in names:
        variable = next((v for v in trace.outputs if v.name == name), None)
        if variable is None:
            raise KeyError(f"no output {name!r}; there are {', '.join(starts)}")
        rows = [
            reverse(graph, {trace.roots[starts[name] + i]: one}, [k for k, _ in constants])
            for i in range(variable.size)
        ]
        outputs.append(Variable(f"d_{name}_d_{parameters.name}", (*variable.shape, parameters.size)))
        for row in rows:
            sums = [graph.const(0.0)] * parameters.size
            for by_constant, slope in zip(row, slopes, strict=True):
                if by_constant is not None:
                    for p, value in slope.items():
                        sums[p] = graph.add(sums[p], graph.mul(graph.const(value), by_constant))
            roots += sums
    return Trace(trace.name, graph, trace.inputs, outputs, roots)


def _constant_gradients(graph: ParametricGraph, nodes: list[int], size: int) -> list[dict[int, float]]:
    """For nodes of the tape their derivatives by each parameter that they depend on, as recorded floats."""
    tape = graph.tape
    one = tape.const(1.0)
    columns = [forward(tape, nodes, {tape.input(p): one}) for p in range(size)]
    slopes = [node for column in columns for node in column if node is not None]
    program = straight_line_program("slopes", tape, (Variable("parameters", (size,)),), (), slopes)
    # The sample's own values, without what kinks add to them: only their being zero or one matters.
    with np.errstate(all="ignore"):
        values = dict(zip(slopes, program.evaluate([float(g) for g in graph.fixed]), strict=True))
    result: list[dict[int, float]] = [{} for _ in nodes]
    for p, column in enumerate(columns):
        for k, node in enumerate(column):
            if node is not None:
                result[k][p] = _as_recorded(tape, node, float(values[node]))
    return result


def _as_recorded(tape: Graph, node: int, value: float) -> float:
    constant = tape.values[node]
    return Recorded(value, tape, node) if constant is None else constant


def _separate_constants(
    whole: Program, parameters: Variable, others: Sequence[Variable]
) -> tuple[Program, list[Recorded]]:
    """The body, in which recorded constants are the scalars of its first input; and these constants."""
    constants: dict[float, Recorded] = {}
    for op, *operands in whole.code:
        if op == "const" and isinstance(operands[0], Recorded):
            constants.setdefault(operands[0], operands[0])
    index_of = {value: k for k, value in enumerate(constants)}
    shift = len(constants) - parameters.size

    def renumber(instruction: Instruction) -> Instruction:
        op, *operands = instruction
        if op == "input":
            return ("input", operands[0] + shift)
        if op == "const" and isinstance(operands[0], Recorded):
            return ("input", index_of[operands[0]])
        return instruction

    inputs = (Variable(PREPARED, (len(constants),)), *others)
    code = tuple(renumber(instruction) for instruction in whole.code)
    return Program(whole.name, inputs, whole.outputs, code, whole.results), list(constants.values())


def join_parts(prologue: Program, body: Program) -> Program:
    """Prologue and body as one program of the parameters and the other inputs."""
    size, parameters = len(prologue.results), prologue.input_size
    code = list(prologue.code)
    indices: list[int] = []
    for op, *operands in body.code:
        if op == "input" and operands[0] < size:
            indices.append(prologue.results[operands[0]])
            continue
        indices.append(len(code))
        if op == "input":
            code.append((op, operands[0] - size + parameters))
        else:
            code.append((op, *operands) if op == "const" else (op, *(indices[k] for k in operands)))
    inputs = (*prologue.inputs, *body.inputs[1:])
    return Program(body.name, inputs, body.outputs, tuple(code), tuple(indices[k] for k in body.results))

"""A program over affine forms: a linear enclosure of the results of another one over boxes of its inputs.

A program with the inputs x becomes one with x_lo and x_hi, and y becomes y_c, y_g and y_e, so that

    |y(x) - (y_c + y_g t)| <= y_e        for all x = m + h t, |t_i| <= 1,

with m the middle of a box and h half its widths (`box_middle`). Inputs may be forms over the same box
themselves: z has z_c, z_g and z_e then. What is left open, |r| <= r_e, has the input r_e alone. Every value
is a `nacelle.spatial.affine.Affine` of symbols; what comes out is a plain program, on the graph of
`nacelle.program.interval` that changes no rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nacelle.program.interval import ExactGraph
from nacelle.program.program import Program, Variable, apply
from nacelle.program.trace import Symbol, node_of, straight_line_program
from nacelle.spatial.affine import Affine
from nacelle.spatial.interval import round_up
from nacelle.spatial.scalar import Scalar, maximum


def affine_program(program: Program, forms: Sequence[str] = (), rests: Sequence[str] = ()) -> Program:
    """The program of linear enclosures.

    Args:
        program: any program.
        forms: names of inputs that are forms over the box of the others.
        rests: names of inputs that are known up to a bound of their size.
    """
    graph = ExactGraph()
    sides = sum(variable.size for variable in program.inputs if variable.name not in (*forms, *rests))
    inputs: list[Variable] = []
    arguments: list[Affine] = []
    position = side = 0

    def symbols(name: str, shape: tuple[int, ...]) -> list[Symbol]:
        nonlocal position
        inputs.append(Variable(name, shape))
        first, position = position, position + inputs[-1].size
        return [Symbol(graph, graph.input(k)) for k in range(first, position)]

    for variable in program.inputs:
        if variable.name in forms:
            c, g, e = (
                symbols(f"{variable.name}_{part}", shape)
                for part, shape in zip("cge", _shapes(variable, sides), strict=True)
            )
            arguments += [
                Affine(c[k], tuple(g[k * sides : (k + 1) * sides]), e[k]) for k in range(variable.size)
            ]
            continue
        if variable.name in rests:
            bounds = symbols(f"{variable.name}_e", variable.shape)
            arguments += [Affine(0.0, (0.0,) * sides, bound, 0.0) for bound in bounds]
            continue
        for low, high in zip(
            *(symbols(f"{variable.name}_{end}", variable.shape) for end in ("lo", "hi")), strict=True
        ):
            middle, half = box_middle(low, high)
            arguments.append(Affine(middle, tuple(half if k == side else 0.0 for k in range(sides)), 0.0))
            side += 1
    values = _evaluate(program, arguments, sides)
    outputs: list[Variable] = []
    roots: list[int] = []
    start = 0
    for variable in program.outputs:
        results = values[start : start + variable.size]
        start += variable.size
        shapes = _shapes(variable, sides)
        outputs += [
            Variable(f"{variable.name}_{part}", shape) for part, shape in zip("cge", shapes, strict=True)
        ]
        roots += [node_of(graph, value.c) for value in results]
        roots += [node_of(graph, entry) for value in results for entry in value.g]
        roots += [node_of(graph, value.e) for value in results]
    return straight_line_program(f"{program.name}_forms", graph, inputs, outputs, roots)


def box_middle(low: Scalar, high: Scalar) -> tuple[Scalar, Scalar]:
    """The middle m of a side of a box and half its width h, rounded up: m - h <= low, high <= m + h."""
    middle = 0.5 * low + 0.5 * high
    return middle, round_up(maximum(high - middle, middle - low))


def _shapes(variable: Variable, sides: int) -> tuple[tuple[int, ...], ...]:
    return variable.shape, (*variable.shape, sides), variable.shape


def _evaluate(program: Program, arguments: list[Affine], sides: int) -> list[Affine]:
    values: list[Affine] = []
    for op, *operands in program.code:
        if op == "const":
            values.append(Affine(operands[0], (0.0,) * sides, 0.0, 0.0))
        elif op == "input":
            values.append(arguments[operands[0]])
        elif op == "mul" and any(_is_number(values[k]) for k in operands):
            a, b = (values[k] for k in operands)
            values.append(b * a.c if _is_number(a) else a * b.c)
        else:
            values.append(_apply_operation(op, [values[k] for k in operands]))
    return [values[k] for k in program.results]


def _apply_operation(op: str, operands: list[Any]) -> Affine:
    result = apply(op, *operands)
    assert isinstance(result, Affine)
    return result


def _is_number(value: Affine) -> bool:
    """Whether a form is a number of the program, exact."""
    return isinstance(value.c, float | int) and isinstance(value.e, float | int) and value.e == 0.0

"""Derivatives on the graph, forward, reverse and Jacobians; and of programs in a direction.

A solve x = A^-1 b is differentiated as a whole, not through its elimination:

    forward   dx = A^-1 (db - dA x)
    reverse   b_bar = A^-T x_bar,   A_bar = -b_bar x^T

so that derivatives keep the kind of the solve and share its factorisation after lowering. Functions with
kinks (abs, min, max, where, sign) have the derivative of the branch that is taken, sign and floor have 0.

For a program y = f(x), x and y all inputs and outputs,

    tangent      (x, dx)     ->  dy    = J(x) dx         outputs "d_OUTPUT", inputs "d_INPUT"
    cotangent    (x, y_bar)  ->  x_bar = J(x)^T y_bar    outputs "INPUT_bar", inputs "OUTPUT_bar"

J the exact Jacobian, never formed: three to four times the operations of f,
where the entries of J take as many times as f has inputs or outputs. Both are linear in their direction,
operation by operation, and are programs: they can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nacelle.program.graph import Graph, reachable
from nacelle.program.program import Program, Variable, variable_slices
from nacelle.program.trace import Trace, program_graph, straight_line_program


def partials(g: Graph, k: int) -> list[tuple[int, int]]:
    """Children of an elementary node with the node's partial derivatives by them."""
    op, *c = g.nodes[k]
    one = g.const(1.0)
    if op == "add":
        return [(c[0], one), (c[1], one)]
    if op == "sub":
        return [(c[0], one), (c[1], g.const(-1.0))]
    if op == "mul":
        return [(c[0], c[1]), (c[1], c[0])]
    if op == "div":
        reciprocal = g.div(one, c[1])
        return [(c[0], reciprocal), (c[1], g.neg(g.mul(k, reciprocal)))]
    if op == "neg":
        return [(c[0], g.const(-1.0))]
    if op == "sqrt":
        return [(c[0], g.div(g.const(0.5), k))]
    if op == "sin":
        return [(c[0], g.unary("cos", c[0]))]
    if op == "cos":
        return [(c[0], g.neg(g.unary("sin", c[0])))]
    if op == "tanh":
        return [(c[0], g.sub(one, g.mul(k, k)))]
    if op == "exp":
        return [(c[0], k)]
    if op == "abs":
        return [(c[0], g.unary("sign", c[0]))]
    if op in ("sign", "floor"):
        return []
    if op == "atan2":
        y, x = c
        scale = g.div(one, g.add(g.mul(x, x), g.mul(y, y)))
        return [(y, g.mul(x, scale)), (x, g.neg(g.mul(y, scale)))]
    zero = g.const(0.0)
    if op in ("min", "max"):
        first = g.sub(c[1], c[0]) if op == "min" else g.sub(c[0], c[1])
        return [(c[0], g.where(first, one, zero)), (c[1], g.where(first, zero, one))]
    if op == "where":
        return [(c[1], g.where(c[0], one, zero)), (c[2], g.where(c[0], zero, one))]
    return []


def forward(g: Graph, roots: Sequence[int], seeds: dict[int, int]) -> list[int | None]:
    """Directional derivative of some roots; None where it is structurally zero.

    Args:
        g: the graph; it grows.
        roots: what is differentiated.
        seeds: nodes with their derivatives in the direction.
    """
    dot: dict[int, int] = dict(seeds)
    solution_derivatives: dict[int, list[int]] = {}
    for k in reachable(g, list(roots)):
        if k in dot:
            continue
        op = g.nodes[k][0]
        if op == "solve":
            derivative = _solve_forward(g, k, dot)
            if derivative is not None:
                solution_derivatives[k] = derivative
        elif op == "entry":
            _, solution, index = g.nodes[k]
            if solution in solution_derivatives:
                _set_nonzero(g, dot, k, solution_derivatives[solution][index])
        elif op not in ("const", "input"):
            total: int | None = None
            if any(child in dot for child in g.nodes[k][1:]):
                for child, slope in partials(g, k):
                    if child in dot:
                        term = g.mul(slope, dot[child])
                        total = term if total is None else g.add(total, term)
            if total is not None:
                _set_nonzero(g, dot, k, total)
    return [dot.get(k) for k in roots]


def _set_nonzero(g: Graph, dot: dict[int, int], k: int, value: int) -> None:
    if g.values[value] != 0.0:
        dot[k] = value


def _solve_operands(g: Graph, k: int) -> tuple[str, int, list[list[int]], list[int]]:
    _, kind, n, *entries = g.nodes[k]
    return kind, n, [entries[n * i : n * i + n] for i in range(n)], entries[n * n :]


def _solve_forward(g: Graph, k: int, dot: dict[int, int]) -> list[int] | None:
    """Dx = A^-1 (db - dA x); None if neither A nor b moves."""
    kind, n, A, b = _solve_operands(g, k)
    if not any(entry in dot for row in A for entry in row) and not any(entry in dot for entry in b):
        return None
    zero = g.const(0.0)
    x = [g.node("entry", k, i) for i in range(n)]
    right = []
    for i in range(n):
        value = dot.get(b[i], zero)
        for j in range(n):
            if A[i][j] in dot:
                value = g.sub(value, g.mul(dot[A[i][j]], x[j]))
        right.append(value)
    return g.solve(kind, [entry for row in A for entry in row], right)


def reverse(g: Graph, seeds: dict[int, int], variables: Sequence[int]) -> list[int | None]:
    """Gradient of a weighted sum of nodes by some others; None where it is structurally zero.

    Args:
        g: the graph; it grows.
        seeds: nodes with their weights.
        variables: nodes by which is differentiated.
    """
    needs = _dependent_nodes(g, list(seeds), set(variables))
    bar: dict[int, int] = {}
    entries: dict[int, dict[int, int]] = {}

    def give(k: int, value: int) -> None:
        if k in needs and g.values[value] != 0.0:
            bar[k] = g.add(bar[k], value) if k in bar else value

    for k, weight in seeds.items():
        give(k, weight)
    for k in sorted(needs, reverse=True):
        op = g.nodes[k][0]
        if op == "solve":
            if k in entries:
                _solve_reverse(g, k, entries[k], give)
        elif k in bar:
            if op == "entry":
                _, solution, index = g.nodes[k]
                entries.setdefault(solution, {})[index] = bar[k]
            elif op not in ("const", "input"):
                for child, slope in partials(g, k):
                    if child in needs:
                        give(child, g.mul(slope, bar[k]))
    return [bar.get(k) for k in variables]


def _dependent_nodes(g: Graph, roots: list[int], variables: set[int]) -> set[int]:
    """Nodes below some roots that depend on wanted ones."""
    result: set[int] = set()
    for k in reachable(g, roots):
        node = g.nodes[k]
        below: Any = node[3:] if node[0] == "solve" else node[1:2] if node[0] == "entry" else node[1:]
        if k in variables or (node[0] not in ("const", "input") and any(c in result for c in below)):
            result.add(k)
    return result


def _solve_reverse(g: Graph, k: int, x_bar: dict[int, int], give: Any) -> None:
    """b_bar = A^-T x_bar, A_bar = -b_bar x^T."""
    kind, n, A, b = _solve_operands(g, k)
    zero = g.const(0.0)
    transposed = [A[j][i] for i in range(n) for j in range(n)]
    b_bar = g.solve(kind, transposed, [x_bar.get(i, zero) for i in range(n)])
    for i in range(n):
        give(b[i], b_bar[i])
        for j in range(n):
            give(A[i][j], g.neg(g.mul(b_bar[i], g.node("entry", k, j))))


def jacobian(trace: Trace, output: str, by: str, mode: str = "auto") -> list[list[int | None]]:
    """Jacobian of an output by an input: nodes, row by row, None for structural zeros.

    Args:
        trace: the traced function; its graph grows.
        output: name of the output (m scalars).
        by: name of the input (n scalars).
        mode: "forward" (a sweep a column), "reverse" (a sweep a row), or "auto": the fewer sweeps.
    """
    g = trace.graph
    rows = trace.roots[_slice_of(trace.outputs, output)]
    span = _slice_of(trace.inputs, by)
    columns = [g.input(k) for k in range(span.start, span.stop)]
    if mode == "auto":
        mode = "forward" if len(columns) <= len(rows) else "reverse"
    one = g.const(1.0)
    if mode == "reverse":
        return [reverse(g, {row: one}, columns) for row in rows]
    if mode != "forward":
        raise ValueError(f"mode {mode!r}: forward, reverse or auto")
    by_column = [forward(g, rows, {column: one}) for column in columns]
    return [[column[i] for column in by_column] for i in range(len(rows))]


def with_jacobians(trace: Trace, pairs: Sequence[tuple[str, str]], mode: str = "auto") -> Trace:
    """Add Jacobians to a trace as outputs named "d_OUTPUT_d_INPUT", of shape (m, n), zeros written out."""
    outputs, roots = list(trace.outputs), list(trace.roots)
    zero = trace.graph.const(0.0)
    for output, by in pairs:
        rows = jacobian(trace, output, by, mode)
        outputs.append(Variable(f"d_{output}_d_{by}", (len(rows), len(rows[0]) if rows else 0)))
        roots += [zero if entry is None else entry for row in rows for entry in row]
    return Trace(trace.name, trace.graph, trace.inputs, outputs, roots)


def _slice_of(variables: Sequence[Variable], name: str) -> slice:
    for variable, span in variable_slices(variables):
        if variable.name == name:
            return span
    raise KeyError(f"no variable {name!r}; known: {', '.join(v.name for v in variables)}")


# ---- derivatives of a program in a direction, as programs of their own


def tangent_program(program: Program, *, by: Sequence[str] | None = None, values: bool = False) -> Program:
    """The program of d_OUTPUT = J d_INPUT, in the order of inputs and outputs.

    Args:
        program: any program.
        by: names of the inputs that move, the others have no "d_INPUT"; all if None.
        values: whether the outputs themselves come first: what they share is computed once.
    """
    graph, roots = program_graph(program)
    moving = [v for v in program.inputs if by is None or v.name in by]
    seeds, index = {}, program.input_size
    for variable, span in variable_slices(program.inputs):
        for k in range(span.start, span.stop if variable in moving else span.start):
            seeds[graph.input(k)] = graph.input(index)
            index += 1
    outputs = _rename_variables(program.outputs, "d_{}")
    tangents = forward(graph, roots, seeds)
    if values:
        outputs, tangents = (*program.outputs, *outputs), [*roots, *tangents]
    inputs = (*program.inputs, *_rename_variables(moving, "d_{}"))
    return _program_of_nodes(f"{program.name}_tangent", graph, inputs, outputs, tangents)


def cotangent_program(program: Program) -> Program:
    """The program of INPUT_bar = J^T OUTPUT_bar, in the order of outputs and inputs.

    Args:
        program: any program.
    """
    graph, roots = program_graph(program)
    size = program.input_size
    seeds: dict[int, int] = {}
    for index, root in enumerate(roots):
        weight = graph.input(size + index)
        # An instruction may be several results, or an input itself.
        seeds[root] = graph.add(seeds[root], weight) if root in seeds else weight
    inputs = (*program.inputs, *_rename_variables(program.outputs, "{}_bar"))
    gradients = reverse(graph, seeds, [graph.input(k) for k in range(size)])
    return _program_of_nodes(
        f"{program.name}_cotangent", graph, inputs, _rename_variables(program.inputs, "{}_bar"), gradients
    )


def _rename_variables(variables: Sequence[Variable], form: str) -> tuple[Variable, ...]:
    return tuple(replace(variable, name=form.format(variable.name)) for variable in variables)


def _program_of_nodes(
    name: str,
    graph: Graph,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    nodes: Sequence[int | None],
) -> Program:
    zero = graph.const(0.0)
    roots = [zero if node is None else node for node in nodes]
    return straight_line_program(name, graph, inputs, outputs, roots)

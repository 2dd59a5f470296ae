"""Programs as Python over arrays of a library or over floats: as lines, and as functions.

Each scalar of an input is the column `name[..., k]`, so an operation is one call of the library for all
samples, and inputs without a batch are shared by broadcasting. Libraries differ in few words (`Dialect`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nacelle.emit.names import Identifiers, comment_text, identifier
from nacelle.emit.schedule import assign_slots, last_uses, operands, schedule
from nacelle.program.program import Program, Variable, variable_slices

_OPERATORS = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "neg": "-{}"}
_FUNCTIONS = ("sqrt", "sin", "cos", "tanh", "exp", "sign", "floor")


def python_constant(value: float) -> str:
    """Write a constant so that Python reads the same number back."""
    value = float(value)
    if math.isnan(value):
        return "math.nan"
    if math.isinf(value):
        return "math.inf" if value > 0 else "(-math.inf)"
    return f"({value!r})" if math.copysign(1.0, value) < 0 else repr(value)


def describe_variable(variable: Variable) -> str:
    """Describe name and shape of a variable for a docstring."""
    shape = " x ".join(str(n) for n in variable.shape)
    size = "1 number" if variable.size == 1 else f"{variable.size} numbers"
    return f"{comment_text(variable.name)}, {size}" + (
        f", {shape} row by row" if len(variable.shape) > 1 else ""
    )


def program_statements(
    program: Program,
    library: str,
    forms: dict[str, str],
    inputs: Sequence[str],
    prefix: str,
) -> tuple[list[str], list[str]]:
    """Write the operations of a program, each as an assignment to a local name that is used again when dead.

    Args:
        program: the program.
        library: the module that has sqrt, sin, inf and the like.
        forms: how the operations are written that no operator and no such function of the library is.
        inputs: how every scalar of the inputs is written, counted through.
        prefix: with which local names begin.

    Returns:
        The lines, and how every result is written, counted through.
    """
    order = schedule(program)
    last = last_uses(program, order)
    # Results live to the end.
    last |= {k: len(order) for k in program.results if k in last}
    slots = assign_slots(list(enumerate(order)), last).slot
    forms = _OPERATORS | {op: f"{library}.{op}({{}})" for op in _FUNCTIONS} | forms

    def value(k: int) -> str:
        op, *operands = program.code[k]
        if op == "const":
            return python_constant(operands[0]).replace("math.", f"{library}.")
        return inputs[operands[0]] if op == "input" else f"{prefix}{slots[k]}"

    lines = []
    for k in order:
        texts = [value(a) for a in operands(program, k)]
        lines.append(f"{value(k)} = {forms[program.code[k][0]].format(*texts)}")
    return lines, [value(k) for k in program.results]


# ---- programs as Python functions over arrays of a library, with leading batch dimensions that broadcast


@dataclass(frozen=True)
class Dialect:
    """How a library of arrays is written.

    Attributes:
        head: lines before the function: imports, helpers.
        library: the name under which it is imported.
        forms: how operations are written that are no operators and no functions of their own name.
        taken: names that the head defines.
        scalars: whether inputs are sequences of numbers, not arrays; an only output is then given alone.
    """

    head: str
    library: str
    forms: Mapping[str, str]
    taken: tuple[str, ...] = ()
    scalars: bool = False


def function_source(program: Program, dialect: Dialect) -> str:
    """Write a program as a Python function of arrays (..., size), or of sequences of numbers.

    It returns for every output the list of its columns, each with the batch of what it depends on: numbers
    where it depends on nothing.
    """
    label = function_name(program)
    names = Identifiers((dialect.library, label, *dialect.taken))
    inputs = [names.unique(variable.name, "x") for variable in program.inputs]
    column, prefix = names.prefix_for("c"), names.prefix_for("v")
    entry = "{}[{}]" if dialect.scalars else "{}[..., {}]"
    entries = [
        entry.format(name, k)
        for name, variable in zip(inputs, program.inputs, strict=True)
        for k in range(variable.size)
    ]
    # Taking a column of an array is a call: it is taken once.
    scalars = entries if dialect.scalars else [f"{column}{k}" for k in range(program.input_size)]
    body, results = program_statements(program, dialect.library, dict(dialect.forms), scalars, prefix)
    lines = [f'"""{comment_text(program.name)}: straight-line code."""', "", dialect.head.strip(), "", ""]
    lines += [f"def {label}({', '.join(inputs)}):", f'    """{comment_text(program.name)}.', ""]
    if inputs:
        lines += ["    Args:"]
        for name, variable in zip(inputs, program.inputs, strict=True):
            lines.append(
                f"        {name}: "
                f"{describe_variable(variable)}{'' if dialect.scalars else ' in the last axis'}."
            )
        lines.append("")
    lines += ["    Returns:", *([] if dialect.scalars else ["        columns of each of"])]
    lines += [f"        {describe_variable(variable)}." for variable in program.outputs] or [
        "        nothing."
    ]
    lines.append('    """')
    if not dialect.scalars:
        used = {operands[0] for op, *operands in program.code if op == "input"}
        lines += [f"    {scalars[k]} = {entries[k]}" for k in sorted(used)]
    lines += [f"    {line}" for line in body]
    lists = [f"[{', '.join(results[span])}]" for _, span in variable_slices(program.outputs)]
    if dialect.scalars and len(lists) == 1:
        return "\n".join([*lines, f"    return {lists[0]}"]) + "\n"
    return "\n".join([*lines, "    return (", *(f"        {text}," for text in lists), "    )"]) + "\n"


def function_name(program: Program) -> str:
    """The name that the program's function has in the source."""
    return identifier(program.name, "program")


def make_function(program: Program, dialect: Dialect) -> Callable[..., Any]:
    """Run the source, and give its function."""
    scope: dict[str, Any] = {}
    exec(compile(function_source(program, dialect), f"<{function_name(program)}>", "exec"), scope)
    result: Callable[..., Any] = scope[function_name(program)]
    return result

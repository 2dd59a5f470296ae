"""Programs as Python functions over arrays of a library, with leading batch dimensions that broadcast.

Each scalar of an input is the column `name[..., k]`, so an operation is one call of the library for all
samples, and inputs without a batch are shared by broadcasting. Libraries differ in few words (`Dialect`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nacelle.emit.names import Identifiers, identifier, remark
from nacelle.emit.python.lines import statements
from nacelle.emit.python.target import describe
from nacelle.program.program import Program


@dataclass(frozen=True)
class Dialect:
    """How a library of arrays is written.

    Attributes:
        head: lines before the function: imports, helpers.
        library: the name under which it is imported.
        forms: how operations are written that are no operators and no functions of their own name.
        taken: names that the head defines.
    """

    head: str
    library: str
    forms: Mapping[str, str]
    taken: tuple[str, ...] = ()


def source(program: Program, dialect: Dialect) -> str:
    """Write a program as a Python function of arrays (..., size).

    It returns for every output the list of its columns, each with the batch of what it depends on: numbers
    where it depends on nothing.
    """
    own = function_name(program)
    names = Identifiers((dialect.library, own, *dialect.taken))
    inputs = [names.unique(variable.name, "x") for variable in program.inputs]
    column, prefix = names.counted("c"), names.counted("v")
    scalars = [f"{column}{k}" for k in range(program.input_size)]
    made, results = statements(program, dialect.library, dict(dialect.forms), scalars, prefix)
    lines = [f'"""{remark(program.name)}: straight-line code."""', "", dialect.head.strip(), "", ""]
    lines += [f"def {own}({', '.join(inputs)}):", f'    """{remark(program.name)}.', ""]
    if inputs:
        lines += ["    Args:"]
        for name, variable in zip(inputs, program.inputs, strict=True):
            lines.append(f"        {name}: {describe(variable)} in the last axis.")
        lines.append("")
    lines += ["    Returns:", "        columns of each of"]
    lines += [f"        {describe(variable)}." for variable in program.outputs] + ['    """']
    used = {operands[0] for op, *operands in program.code if op == "input"}
    start = 0
    for name, variable in zip(inputs, program.inputs, strict=True):
        for k in range(variable.size):
            if start + k in used:
                lines.append(f"    {scalars[start + k]} = {name}[..., {k}]")
        start += variable.size
    lines += [*(f"    {line}" for line in made), "    return ("]
    start = 0
    for variable in program.outputs:
        lines.append(f"        [{', '.join(results[start : start + variable.size])}],")
        start += variable.size
    return "\n".join([*lines, "    )"]) + "\n"


def function_name(program: Program) -> str:
    """The name that the program's function has in the source."""
    return identifier(program.name, "program")


def function(program: Program, dialect: Dialect) -> Callable[..., Any]:
    """Run the source, and give its function."""
    scope: dict[str, Any] = {}
    exec(compile(source(program, dialect), f"<{function_name(program)}>", "exec"), scope)
    made: Callable[..., Any] = scope[function_name(program)]
    return made

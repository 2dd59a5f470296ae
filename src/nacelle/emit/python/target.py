"""The target `python`: readable Python over floats.

The source needs `math` alone. Python raises where IEEE 754 gives an infinity or NaN, so the operations
that may raise go through small functions, of which the source holds those that it uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nacelle.emit.names import Identifiers, identifier, remark
from nacelle.emit.registry import Target, register
from nacelle.emit.schedule import arguments, schedule
from nacelle.program.program import Program, Variable

_FUNCTIONS = {
    "div": '''
def _div(a, b):
    """Quotient; an infinity or NaN where b is zero."""
    if b != 0.0:
        return a / b
    if a == 0.0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)
''',
    "sqrt": '''
def _sqrt(x):
    """Square root; NaN below zero."""
    return math.sqrt(x) if x >= 0.0 else math.nan
''',
    "sin": '''
def _sin(x):
    """Sine; NaN of an infinity."""
    return math.sin(x) if math.isfinite(x) else math.nan
''',
    "cos": '''
def _cos(x):
    """Cosine; NaN of an infinity."""
    return math.cos(x) if math.isfinite(x) else math.nan
''',
    "exp": '''
def _exp(x):
    """Exponential; infinite where it overflows."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf
''',
    "min": '''
def _min(a, b):
    """Smaller of two; NaN if either is."""
    return a if a < b or a != a else b
''',
    "max": '''
def _max(a, b):
    """Larger of two; NaN if either is."""
    return a if a > b or a != a else b
''',
    "sign": '''
def _sign(x):
    """-1, 0 or 1; NaN stays NaN."""
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0 if x == 0.0 else x
''',
    "floor": '''
def _floor(x):
    """Largest whole number not above; NaN, infinities and zeros stay what they are."""
    return float(math.floor(x)) if math.isfinite(x) and x else x
''',
}

_FORMS: dict[str, str] = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "neg": "-{}",
    "abs": "abs({})",
    "tanh": "math.tanh({})",
    "atan2": "math.atan2({}, {})",
    "where": "{1} if {0} > 0.0 else {2}",
} | {op: f"_{op}({{}}, {{}})" if op in ("div", "min", "max") else f"_{op}({{}})" for op in _FUNCTIONS}


def python_constant(value: float) -> str:
    """Write a constant so that Python reads the same number back."""
    value = float(value)
    if math.isnan(value):
        return "math.nan"
    if math.isinf(value):
        return "math.inf" if value > 0 else "(-math.inf)"
    return f"({value!r})" if math.copysign(1.0, value) < 0 else repr(value)


def elements(variables: tuple[Variable, ...], names: list[str]) -> list[str]:
    """Write every scalar of some variables, counted through."""
    return [
        f"{name}[{k}]" for variable, name in zip(variables, names, strict=True) for k in range(variable.size)
    ]


def describe(variable: Variable) -> str:
    """Say name and shape of a variable in words for a docstring."""
    shape = " x ".join(str(n) for n in variable.shape)
    size = "1 number" if variable.size == 1 else f"{variable.size} numbers"
    return f"{remark(variable.name)}, {size}" + (f", {shape} row by row" if len(variable.shape) > 1 else "")


def function_name(program: Program) -> str:
    """Give the name that the program's function has in the source."""
    return identifier(program.name, "program")


def source(program: Program) -> str:
    """Write the program as a Python function.

    The function takes a sequence of floats for every input and gives a list of floats for every output:
    one list if there is one output, else a tuple of lists.
    """
    own = function_name(program)
    names = Identifiers(("math", own))
    inputs = [names.unique(variable.name, "x") for variable in program.inputs]
    order = schedule(program)
    prefix = names.counted("v")
    local = {k: f"{prefix}{place}" for place, k in enumerate(order)}
    scalars = elements(program.inputs, inputs)

    def value(k: int) -> str:
        op, *operands = program.code[k]
        if op == "const":
            return python_constant(operands[0])
        return scalars[operands[0]] if op == "input" else local[k]

    used = {program.code[k][0] for k in order}
    lines = [f'"""{remark(program.name)}: straight-line code."""', "", "import math", ""]
    for op, text in _FUNCTIONS.items():
        if op in used:
            lines += ["", *text.strip().splitlines(), ""]
    lines += ["", f"def {own}({', '.join(inputs)}):", f'    """{remark(program.name)}.', ""]
    if inputs:
        lines += ["    Args:"]
        for name, variable in zip(inputs, program.inputs, strict=True):
            lines.append(f"        {name}: {describe(variable)}.")
        lines.append("")
    lines += ["    Returns:"]
    lines += [f"        {describe(variable)}." for variable in program.outputs] or ["        nothing."]
    lines.append('    """')
    for k in order:
        form = _FORMS[program.code[k][0]]
        lines.append(f"    {local[k]} = {form.format(*(value(a) for a in arguments(program, k)))}")
    results = [value(k) for k in program.results]
    lists, start = [], 0
    for variable in program.outputs:
        lists.append(f"[{', '.join(results[start : start + variable.size])}]")
        start += variable.size
    if len(lists) == 1:
        lines.append(f"    return {lists[0]}")
    else:
        lines += ["    return (", *(f"        {text}," for text in lists), "    )"]
    return "\n".join(lines) + "\n"


def function(program: Program) -> Callable[..., Any]:
    """Run the source and give the function."""
    scope: dict[str, Any] = {}
    exec(compile(source(program), f"<{function_name(program)}>", "exec"), scope)
    made: Callable[..., Any] = scope[function_name(program)]
    return made


register(Target("python", source))

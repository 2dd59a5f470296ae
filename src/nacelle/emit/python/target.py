"""The target `python`: readable Python over floats.

The source needs `math` alone. Python raises where IEEE 754 gives an infinity or NaN, so the operations
that may raise go through small functions, of which the source holds those that it uses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nacelle.emit.python import arrays
from nacelle.emit.registry import Target, register
from nacelle.emit.schedule import schedule
from nacelle.program.program import Program

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
    "abs": "abs({})",
    "atan2": "math.atan2({}, {})",
    "where": "{1} if {0} > 0.0 else {2}",
} | {op: f"_{op}({{}}, {{}})" if op in ("div", "min", "max") else f"_{op}({{}})" for op in _FUNCTIONS}


def _dialect(program: Program) -> arrays.Dialect:
    """Python's words, with the functions that a program uses."""
    used = {program.code[k][0] for k in schedule(program)}
    texts = [text.strip() for op, text in _FUNCTIONS.items() if op in used]
    return arrays.Dialect("\n\n\n".join(["import math", *texts]), "math", _FORMS, scalars=True)


def source(program: Program) -> str:
    """Write the program as a Python function.

    The function takes a sequence of floats for every input and gives a list of floats for every output:
    one list if there is one output, else a tuple of lists.
    """
    return arrays.function_source(program, _dialect(program))


def function(program: Program) -> Callable[..., Any]:
    """Run the source and give the function."""
    return arrays.make_function(program, _dialect(program))


register(Target("python", source))

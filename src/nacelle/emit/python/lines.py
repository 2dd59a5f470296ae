"""Programs as lines of Python over arrays of a library: NumPy, CasADi, JAX, PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

from nacelle.emit.python.target import python_constant
from nacelle.emit.schedule import arguments, assign_slots, last_uses, schedule
from nacelle.program.program import Program

_OPERATORS = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "neg": "-{}"}
_FUNCTIONS = ("sqrt", "sin", "cos", "tanh", "exp", "sign", "floor")


def statements(
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
        texts = [value(a) for a in arguments(program, k)]
        lines.append(f"{value(k)} = {forms[program.code[k][0]].format(*texts)}")
    return lines, [value(k) for k in program.results]

"""What the models of the library may cost: operations, counted with the library's numbers and friction.

A count is that of the model from its pose (x, y, v and a or the actuators' forces; the iteration that finds y
is apart), with its main output alone: margins and pivot are dead code then. The bars of the inverse and
forward models are 1.05 of the hand-derived forms that the compact form replaces, where these were smaller;
those of `gough-stewart` are its counts.
"""

from __future__ import annotations

import nacelle
from nacelle.dynamics.models import model
from nacelle.program.cost import Count, count
from nacelle.program.program import Program

MODELS = ("inverse_dynamics", "forward_dynamics", "jacobian", "mass_matrix")
OUTPUTS = {
    "inverse_dynamics": "force",
    "forward_dynamics": "acceleration",
    "jacobian": "J",
    "mass_matrix": "M",
}

# Inverse, forward, Jacobian, mass matrix.
_ROWS = {
    "palida": (1131, 1671, 236, 935),
    "gough-stewart": (1731, 2323, 335, 1385),
    "hexa": (1750, 2611, 518, 1634),
    "hexaglide": (1298, 1814, 181, 918),
    "delta": (486, 574, 121, 207),
    "delta-codourey": (223, 284, 116, 156),
    "3rrr": (364, 463, 137, 233),
    "fivebar": (179, 206, 81, 160),
    "orthoglide": (224, 321, 42, 137),
    "prrrp": (56, 61, 9, 16),
    "quattro": (530, 722, 190, 392),
    "delta4": (700, 864, 121, 297),
    "3rps": (660, 999, 136, 478),
    "c5": (980, 1313, 123, 413),
    "dymo": (710, 995, 126, 518),
    "space": (950, 1362, 136, 577),
    "h4": (620, 847, 86, 279),
}
OPERATION_LIMITS = {
    (robot, name): bar for robot, row in _ROWS.items() for name, bar in zip(MODELS, row, strict=True)
}
"""What must not be exceeded, by robot and model."""

# Margins and pivot may add this part of a count.
MARGIN_OVERHEAD = 0.08


def single_output_program(program: Program, output: str) -> Program:
    """The program with one output, without what only the others need; unchanged if it has no such output."""
    start = 0
    for variable in program.outputs:
        if variable.name == output:
            break
        start += variable.size
    else:
        assert len(program.outputs) == 1, program.outputs
        return program
    results = program.results[start : start + variable.size]
    needed = set(results)
    for k in range(len(program.code) - 1, -1, -1):
        op, *arguments = program.code[k]
        if k in needed and op not in ("const", "input"):
            needed |= set(arguments)
    new_index = {k: new for new, k in enumerate(sorted(needed))}
    code = []
    for k in new_index:
        op, *arguments = program.code[k]
        code.append((op, *(arguments if op in ("const", "input") else (new_index[a] for a in arguments))))
    return Program(
        program.name, program.inputs, (variable,), tuple(code), tuple(new_index[k] for k in results)
    )


def count_operations(robot: nacelle.Robot, name: str, *, friction: bool = True) -> Count:
    """Operations of a model, its main output alone."""
    return count(single_output_program(model(robot, name, friction=friction).program(), OUTPUTS[name]))

"""The target `numpy`: the program line by line over tiles of samples.

The emitted source is what runs. Every operation is one call of NumPy that writes into a row of a work
array; a row is used again once its value is dead, so the rows of a tile stay in the cache, however many
samples there are. A single sample is not worth an array: `bind` runs the source of the target `python`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from numpy.typing import NDArray

from nacelle.emit.names import Identifiers, comment_text
from nacelle.emit.python import target as python_source
from nacelle.emit.python.arrays import describe_variable, function_name, python_constant
from nacelle.emit.registry import Target, register
from nacelle.emit.schedule import Slots, assign_slots, operands, schedule
from nacelle.program.program import ARITY, Program

TILE = 1024
"""Samples of a tile: long enough to pay for the calls, short enough for the cache."""

_CALLS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "neg": "negative",
    "sqrt": "sqrt",
    "sin": "sin",
    "cos": "cos",
    "tanh": "tanh",
    "exp": "exp",
    "abs": "absolute",
    "sign": "sign",
    "floor": "floor",
    "atan2": "arctan2",
    "min": "minimum",
    "max": "maximum",
}

_DRIVER = '''
def {function}({arguments}):
    """{title}.

    Arrays of float64, a row a sample; an input of one row holds for all samples.

    Args:
{args}
    """
    samples = len({first_output})
    work, mask = np.empty(({rows}, {tile})), np.empty({tile}, dtype=bool)
    with np.errstate(all="ignore"):
        for start in range(0, samples, {tile}):
            end = min(start + {tile}, samples)
            {function}_tile(
                work[:, : end - start],
                mask[: end - start],
{slices}
            )
'''


def _constant(value: float) -> str:
    """Write a constant as NumPy reads it."""
    return python_constant(value).replace("math.", "np.")


class _TilePlan:
    """The steps over a tile: operations and loads of inputs, each with the row that it writes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.steps: list[int] = []
        loaded: set[int] = set()
        deaths: dict[int, int] = {}
        for k in schedule(program):
            for a in operands(program, k):
                if program.code[a][0] == "input" and a not in loaded:
                    loaded.add(a)
                    self.steps.append(a)
            for a in operands(program, k):
                deaths[a] = len(self.steps)
            deaths[k] = len(self.steps)
            self.steps.append(k)
        self.rows: Slots = assign_slots(list(enumerate(self.steps)), deaths)


def source(program: Program) -> str:
    """Write the program as two Python functions: one evaluates a tile, the other runs over the tiles.

    The function named as the program takes the inputs and then the outputs as arrays (samples, size).
    """
    label = function_name(program)
    names = Identifiers(
        ("np", "work", "mask", "samples", "start", "end", label, f"{label}_tile", *_CALLS.values())
    )
    inputs = [names.unique(variable.name, "x") for variable in program.inputs]
    outputs = [names.unique(variable.name, "y") for variable in program.outputs]
    row, constant = names.prefix_for("w"), names.prefix_for("c")
    plan = _TilePlan(program)
    scalars = _scalar_columns(program.inputs, inputs)
    results = _scalar_columns(program.outputs, outputs)
    outputs_of: dict[int, list[str]] = {}
    for text, k in zip(results, program.results, strict=True):
        outputs_of.setdefault(k, []).append(text)
    constants: dict[str, str] = {}

    def value(k: int) -> str:
        op, *operands = program.code[k]
        if op == "const":
            return constants.setdefault(_constant(operands[0]), f"{constant}{len(constants)}")
        return f"{row}{plan.rows.slot[k]}"

    body: list[str] = []
    for k in plan.steps:
        op, *operands = program.code[k]
        if op == "input":
            body.append(f"np.copyto({value(k)}, {scalars[operands[0]]})")
        elif op == "where":
            # Both branches are there already: nothing is computed twice, nothing is allocated.
            body.append(f"np.greater({value(operands[0])}, 0.0, out=mask)")
            body.append(f"np.copyto({value(k)}, {value(operands[2])})")
            body.append(f"np.copyto({value(k)}, {value(operands[1])}, where=mask)")
        else:
            body.append(f"np.{_CALLS[op]}({', '.join(map(value, operands))}, out={value(k)})")
        if op != "input":
            body += [f"{text} = {value(k)}" for text in outputs_of.get(k, ())]
    for k, texts in outputs_of.items():
        op, *operands = program.code[k]
        if not ARITY[op]:
            expression = value(k) if op == "const" else scalars[operands[0]]
            body += [f"{text} = {expression}" for text in texts]

    rows = [f"{row}{k}" for k in range(plan.rows.count)]
    lines = [f'"""{comment_text(program.name)}: straight-line code over tiles of {TILE} samples."""', ""]
    lines += ["import numpy as np", ""]
    # Arrays of no dimension: NumPy converts a float at every call.
    lines += [f"{name} = np.array({text})" for text, name in constants.items()]
    lines += ["", "", f"def {label}_tile({', '.join(['work', 'mask', *inputs, *outputs])}):"]
    lines += [f'    """Evaluate one tile; `work` holds {len(rows)} rows."""']
    lines += [f"    {', '.join(rows)}, = work"] if rows else []
    lines += [f"    {line}" for line in body]
    argument_lines = [
        f"        {name}: {kind} {describe_variable(variable)} a row."
        for kind, group, variables in (("in,", inputs, program.inputs), ("out,", outputs, program.outputs))
        for name, variable in zip(group, variables, strict=True)
    ]
    slices = [f"                {name} if len({name}) == 1 else {name}[start:end]," for name in inputs]
    slices += [f"                {name}[start:end]," for name in outputs]
    lines.append("")
    text = _DRIVER.format(
        function=label,
        arguments=", ".join([*inputs, *outputs]),
        title=comment_text(program.name),
        args="\n".join(argument_lines) or "        none.",
        first_output=outputs[0] if outputs else "()",
        rows=len(rows),
        tile=TILE,
        slices="\n".join(slices),
    )
    return "\n".join(lines) + "\n" + text


def _scalar_columns(variables: Sequence[Any], names: list[str]) -> list[str]:
    """Write the column of every scalar of some variables, counted through."""
    return [
        f"{name}[:, {k}]"
        for variable, name in zip(variables, names, strict=True)
        for k in range(variable.size)
    ]


class TileKernel:
    """A program that runs over tiles."""

    def __init__(self, program: Program) -> None:
        """Compile the source to bytecode."""
        scope: dict[str, Any] = {}
        name = function_name(program)
        exec(compile(source(program), f"<{name}>", "exec"), scope)
        self._program = program
        self._function: Callable[..., None] = scope[name]
        self._single: Callable[..., Any] | None = None

    def run(self, inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]], threads: int = 1) -> None:
        """Evaluate all samples into the outputs; NumPy lets other threads run during its calls."""
        samples = len(outputs[0]) if outputs else 0
        tiles = math.ceil(samples / TILE)
        threads = max(1, min(threads, tiles))
        if threads == 1:
            self._function(*inputs, *outputs)
            return
        share = math.ceil(tiles / threads) * TILE

        def part(start: int) -> None:
            chosen = slice(start, start + share)
            self._function(
                *(array if len(array) == 1 else array[chosen] for array in inputs),
                *(array[chosen] for array in outputs),
            )

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(part, range(0, samples, share)))

    def bind(self, inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]) -> Callable[[], None]:
        """Give a function without arguments that evaluates the first sample of these very buffers."""
        if self._single is None:
            self._single = python_source.function(self._program)
        single, alone = self._single, len(self._program.outputs) == 1
        rows_in = [array[0] for array in inputs]
        rows_out = [array[0] for array in outputs]

        def evaluate() -> None:
            results = single(*(row.tolist() for row in rows_in))
            for row, values in zip(rows_out, (results,) if alone else results, strict=True):
                row[:] = values

        return evaluate


register(Target("numpy", source, TileKernel))

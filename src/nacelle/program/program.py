"""Straight-line programs: what is traced, minimised, run and given away as source.

A program is a list of instructions, each of which makes one value from earlier ones:

    ("const", 2.5)            a number
    ("input", 3)              the fourth scalar of all inputs, counted through
    ("add", i, j)             and so on, with the indices of earlier instructions

Semantics, the same in every target, IEEE 754 double (or single) throughout:

    add sub mul div neg sqrt sin cos tanh exp    as usual; NaN and infinities pass through
    atan2 y x                                    angle of the point (x, y)
    abs                                          absolute value
    min max                                      NaN if either argument is NaN
    where c a b                                  a if c > 0, else b; b if c is NaN; both are evaluated
    sign                                         -1, 0 or 1; sign(0) = sign(-0) = 0; NaN stays NaN
    floor                                        largest whole number not above; NaN, infinities, -0 stay

Inputs and outputs are named arrays; an array of shape (a, b) is read row by row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nacelle.spatial import scalar

Instruction = tuple[Any, ...]

UNARY = ("neg", "sqrt", "sin", "cos", "tanh", "exp", "abs", "sign", "floor")
BINARY = ("add", "sub", "mul", "div", "atan2", "min", "max")
ARITY = dict.fromkeys(UNARY, 1) | dict.fromkeys(BINARY, 2) | {"where": 3, "const": 0, "input": 0}
COMMUTATIVE = frozenset(("add", "mul", "min", "max"))


@dataclass(frozen=True)
class Variable:
    """A named input or output: an array of scalars."""

    name: str
    shape: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Number of scalars."""
        return math.prod(self.shape)


def variable_slices(variables: Iterable[Variable]) -> Iterator[tuple[Variable, slice]]:
    """Variables, each with the place of its scalars, counted through."""
    start = 0
    for variable in variables:
        yield variable, slice(start, start + variable.size)
        start += variable.size


@dataclass(frozen=True)
class Program:
    """A straight-line program.

    Attributes:
        name: of the function that it computes.
        inputs: named arrays; their scalars are counted through in this order.
        outputs: named arrays.
        code: the instructions.
        results: for every scalar of the outputs, counted through, the instruction that makes it.
    """

    name: str
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    code: tuple[Instruction, ...]
    results: tuple[int, ...]

    @property
    def input_size(self) -> int:
        """Number of scalars of all inputs."""
        return sum(variable.size for variable in self.inputs)

    @property
    def output_size(self) -> int:
        """Number of scalars of all outputs."""
        return len(self.results)

    def evaluate(self, inputs: Sequence[Any]) -> list[Any]:
        """Evaluate on a flat list of scalars of any kind (floats, batches, mpmath); the reference.

        Args:
            inputs: the scalars of all inputs, counted through.
        """
        values: list[Any] = []
        for instruction in self.code:
            op, *arguments = instruction
            if op == "const":
                values.append(arguments[0])
            elif op == "input":
                values.append(inputs[arguments[0]])
            else:
                values.append(apply(op, *(values[k] for k in arguments)))
        return [values[k] for k in self.results]

    def check(self) -> None:
        """Raise ValueError if an instruction is unknown or uses a value not made yet."""
        for k, (op, *arguments) in enumerate(self.code):
            if op not in ARITY:
                raise ValueError(f"instruction {k} of {self.name}: unknown operation {op!r}")
            if op == "input" and not 0 <= arguments[0] < self.input_size:
                raise ValueError(f"instruction {k} of {self.name}: input {arguments[0]} does not exist")
            if ARITY[op] and (len(arguments) != ARITY[op] or not all(0 <= a < k for a in arguments)):
                raise ValueError(f"instruction {k} of {self.name}: {op} {arguments}")
        if len(self.results) != sum(variable.size for variable in self.outputs):
            raise ValueError(f"{self.name} has {len(self.results)} results for its outputs")


def apply(op: str, *arguments: Any) -> Any:
    """Apply one operation to scalars of any kind."""
    return _APPLY[op](*arguments)


_APPLY: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": scalar.divide,
    "neg": lambda a: -a,
    "sqrt": scalar.sqrt,
    "sin": scalar.sin,
    "cos": scalar.cos,
    "tanh": scalar.tanh,
    "exp": scalar.exp,
    "abs": scalar.absolute,
    "sign": scalar.sign,
    "floor": scalar.floor,
    "atan2": scalar.atan2,
    "min": scalar.minimum,
    "max": scalar.maximum,
    "where": scalar.where,
}


# ---- the inputs of a program in other groups: several of them as one, in another order


def regroup_inputs(program: Program, groups: Mapping[str, Sequence[str]]) -> Program:
    """The program with new inputs, each of which is a vector of old ones, one behind the other.

    Args:
        program: the program.
        groups: for each new input the names of the old ones that it is made of; each old one in one of them.

    Raises:
        ValueError: if an input is missing, or named twice.
    """
    sizes = {variable.name: variable.size for variable in program.inputs}
    named = [name for names in groups.values() for name in names]
    if sorted(named) != sorted(sizes):
        raise ValueError(f"{program.name} has the inputs {', '.join(sizes)}, not {', '.join(named)}")
    begins, offset = {}, 0
    for name in named:
        begins[name] = offset
        offset += sizes[name]
    new_indices = [begins[name] + k for name, size in sizes.items() for k in range(size)]
    code = tuple(("input", new_indices[step[1]]) if step[0] == "input" else step for step in program.code)
    inputs = tuple(Variable(new, (sum(sizes[name] for name in names),)) for new, names in groups.items())
    return Program(program.name, inputs, program.outputs, code, program.results)

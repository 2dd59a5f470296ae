"""The inputs of a program in other groups: several of them as one, in another order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nacelle.program.program import Program, Variable


def regrouped(program: Program, groups: Mapping[str, Sequence[str]]) -> Program:
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
    begins, place = {}, 0
    for name in named:
        begins[name] = place
        place += sizes[name]
    moved = [begins[name] + k for name, size in sizes.items() for k in range(size)]
    code = tuple(("input", moved[step[1]]) if step[0] == "input" else step for step in program.code)
    inputs = tuple(Variable(new, (sum(sizes[name] for name in names),)) for new, names in groups.items())
    return Program(program.name, inputs, program.outputs, code, program.results)

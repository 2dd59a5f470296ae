"""What drivers in C share: loops around a program, in files of their own beside those of the program.

Sizes are constants of the source; nothing is allocated.
"""

from __future__ import annotations

from nacelle.emit.c.interface import Interface, framed
from nacelle.emit.names import Identifiers
from nacelle.program.program import Program


def input_names(interface: Interface, own: str, fixed: str) -> list[str]:
    """Give the names of the inputs in a driver, apart from the words that the driver has for itself."""
    names = Identifiers((*fixed.split(), own, f"{own}_batch", interface.name, interface.real))
    inputs = []
    for array in interface.inputs:
        name = names.unique(array.name)
        names.take(f"{name}_stride")
        inputs.append(name)
    return inputs


def sizes_of(program: Program) -> str:
    """Say the sizes of a program's variables."""
    inputs = ", ".join(f"{variable.name!r} ({variable.size})" for variable in program.inputs)
    outputs = ", ".join(f"{variable.name!r} ({variable.size})" for variable in program.outputs)
    return f"this program has inputs {inputs or 'none'} and outputs {outputs or 'none'}"


def prototype(text: str) -> str:
    """Give the head of a function as a declaration."""
    return text[: text.index("\n{")] + ";\n"


def driver_files(own: str, name: str, header: str, text: str) -> dict[str, str]:
    """Give the files of a driver called `own` around the program `name`."""
    return {
        f"{own}.h": "\n".join(framed(f"{own}_h_included", [f'"{name}.h"'], [header])),
        f"{own}.c": f'/* {own}: see the header. */\n#include "{own}.h"\n\n#include <math.h>\n\n{text}',
    }

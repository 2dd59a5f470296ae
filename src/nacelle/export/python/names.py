"""Names of arguments and results in functions written in Python."""

from __future__ import annotations

from nacelle.emit.names import Names, remark
from nacelle.export.entries import Entry
from nacelle.program.program import Variable


class Arguments:
    """The names that the inputs and outputs of an entry have in Python."""

    def __init__(self, entry: Entry) -> None:
        """Sanitise all names and keep them apart."""
        self.entry = entry
        names = Names(("np", "casadi", "out", "columns", "tile", "inputs", "outputs", "flat", entry.label))
        self.inputs = [names.unique(variable.name, "x") for variable in entry.program.inputs]
        results = Names()
        self.outputs = [results.unique(variable.name, "y") for variable in entry.program.outputs]
        # No name of an argument begins as those of the values do.
        self.prefix = names.counted("v")

    def described(self, indent: str, batch: str = "") -> list[str]:
        """What the arguments and results are, as lines of a docstring; `batch` stands before their shape."""
        program = self.entry.program
        lines = [f"{indent}Args:"]
        lines += [
            self._line(indent, name, variable, batch)
            for name, variable in zip(self.inputs, program.inputs, strict=True)
        ]
        lines += ["", f"{indent}Returns:"]
        lines += [
            self._line(indent, name, variable, batch)
            for name, variable in zip(self.outputs, program.outputs, strict=True)
        ]
        return lines

    def _line(self, indent: str, name: str, variable: Variable, batch: str) -> str:
        said = remark(self.entry.words.get(variable.name, ""))
        # The name as it was, where it had to be changed.
        called = f"{remark(variable.name)}, " if remark(variable.name) != name else ""
        shape = ", ".join(part for part in (batch, *map(str, variable.shape)) if part)
        return f"{indent}    {name}: {called}({shape})" + (f"; {said}." if said else ".")

"""Arguments and results of functions written in Python: their names, and what a docstring says of them."""

from __future__ import annotations

from nacelle.emit.names import Identifiers, remark
from nacelle.export.about import count_text, watch_words
from nacelle.export.entry import Entry
from nacelle.program.program import Variable


class Arguments:
    """The names that the inputs and outputs of an entry have in Python."""

    def __init__(self, entry: Entry) -> None:
        """Sanitise all names and keep them apart."""
        self.entry = entry
        names = Identifiers(
            ("np", "casadi", "out", "columns", "tile", "inputs", "outputs", "flat", entry.label)
        )
        self.inputs = [names.unique(variable.name, "x") for variable in entry.program.inputs]
        results = Identifiers()
        self.outputs = [results.unique(variable.name, "y") for variable in entry.program.outputs]
        # No name of an argument begins as those of the values do.
        self.prefix = names.counted("v")

    def docstring(self, verb: str, batch: str = "") -> list[str]:
        """The docstring of a function that does this with the entry; `batch` goes before all shapes."""
        entry, watched = self.entry, watch_words(self.entry)
        lines = [f'"""{verb} the {entry.title}.', "", f"{count_text(entry.count)}.", ""]
        lines += [*watched, ""] if watched else []
        for title, names, variables in (
            ("Args:", self.inputs, entry.program.inputs),
            ("Returns:", self.outputs, entry.program.outputs),
        ):
            lines.append(title)
            lines += [self._line(*pair, batch) for pair in zip(names, variables, strict=True)]
            lines.append("")
        return [f"    {line}" if line else "" for line in [*lines[:-1], '"""']]

    def _line(self, name: str, variable: Variable, batch: str) -> str:
        said = remark(self.entry.words.get(variable.name, ""))
        # The name as it was, where it had to be changed.
        called = f"{remark(variable.name)}, " if remark(variable.name) != name else ""
        shape = ", ".join(part for part in (batch, *map(str, variable.shape)) if part)
        return f"    {name}: {called}({shape})" + (f"; {said}." if said else ".")

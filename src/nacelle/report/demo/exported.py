"""The step `exported`: the model as C, and its self-test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacelle.page.markup import element, paragraph, text


@dataclass(frozen=True)
class Exported:
    """A package of C.

    Attributes:
        folder: where it is.
        files: how many it has.
        operations: of its function.
        prototype: the declaration of its function in the header.
        compiler: what compiled the self-test; empty if there is none.
        verdict: the last line of the self-test; empty without a compiler.
        commands: what writes and tests it.
    """

    folder: str
    files: int
    operations: int
    prototype: str
    compiler: str
    verdict: str
    commands: tuple[str, ...]

    @property
    def claim(self) -> str:
        """What the step shows."""
        words = f"The model is {self.files} files of C99 without a dependency, {self.operations} operations"
        if not self.compiler:
            return f"{words}. Its self-test was left out: there is no C compiler here."
        return f"{words}; compiled with {self.compiler}, its self-test says: {self.verdict}."

    def lines(self) -> list[str]:
        """The result on a screen."""
        wrote = f"{self.files} files in {self.folder}: source, header, documentation, self-test"
        if not self.compiler:
            return [wrote, "the self-test is left out: there is no C compiler (cc, gcc, clang) here"]
        return [wrote, f"compiled with {self.compiler}, self-test: {self.verdict}"]

    def content(self) -> list[str]:
        """The result in a page."""
        return [
            paragraph("The function that a controller calls, from its header:"),
            element("pre", element("code", text(self.prototype)), kind="listing"),
        ]

    def data(self) -> dict[str, Any]:
        """The numbers as plain data."""
        return {
            "folder": self.folder,
            "files": self.files,
            "operations": self.operations,
            "compiler": self.compiler,
            "self_test": self.verdict,
        }

"""Names of a file as names of a description: letters, digits, underscores and hyphens, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable


class Names:
    """The names that were given."""

    def __init__(self, taken: Iterable[str] = ("base", "nacelle")) -> None:
        """None yet; the words of the format are taken."""
        self._given: set[str] = set(taken)

    def new(self, name: str, otherwise: str) -> str:
        """A name like the given one that is not taken; `otherwise` where there is none."""
        clean = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or otherwise
        if not clean[0].isalpha():
            clean = f"n{clean}"
        number, made = 2, clean
        while made in self._given:
            made, number = f"{clean}-{number}", number + 1
        self._given.add(made)
        return made

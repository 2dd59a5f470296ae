"""Connected components of a graph, joined one edge at a time."""

from __future__ import annotations

from collections.abc import Iterable


class Components:
    """Bodies by number, each in one component."""

    def __init__(self, bodies: Iterable[int]) -> None:
        """Every body on its own."""
        self._above = {body: body for body in bodies}

    def of(self, body: int) -> int:
        """The body that names the component."""
        while self._above[body] != body:
            body = self._above[body]
        return body

    def join(self, one: int, other: int) -> bool:
        """Join two components; whether they were two."""
        first, second = sorted((self.of(one), self.of(other)))
        self._above[second] = first
        return first != second

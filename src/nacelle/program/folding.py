"""A graph whose first inputs are recorded constants: numbers that are given at run time, at a sample."""

from __future__ import annotations

from collections.abc import Sequence

from nacelle.program.graph import Graph
from nacelle.spatial.recorded import Recorded


class FoldingGraph(Graph):
    """A graph in which the first inputs have the values of a sample, recorded on a tape."""

    __slots__ = ("given", "tape")

    def __init__(self, sample: Sequence[float]) -> None:
        """Start with an empty tape; zero is zero for good."""
        super().__init__()
        self.tape = Graph()
        self.given = [
            Recorded(value, self.tape, self.tape.input(k)) if value else 0.0 for k, value in enumerate(sample)
        ]

    def input(self, k: int) -> int:
        """The k-th input scalar, or the constant in its place."""
        return self.const(self.given[k]) if k < len(self.given) else super().input(k)

"""Numbers at a sample: first inputs are constants that are recorded, the others stay inputs."""

from __future__ import annotations

from nacelle.program.folding import FoldingGraph
from nacelle.program.symbol import symbols


def test_first_inputs_have_the_values_of_the_sample() -> None:
    graph = FoldingGraph((3.0, 4.0))
    a, b, x = symbols(graph, 0, (3,))
    assert (a.sample, b.sample, x.sample) == (3.0, 4.0, None)
    # What follows from numbers alone has a sample too, and stays one of them.
    assert (a * a + b * b).sample == 25.0
    assert (a * x).sample is None

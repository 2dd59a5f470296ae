"""Reference vectors: what is tolerated follows what a program does in a precision."""

from __future__ import annotations

import numpy as np

from nacelle.compile import make_program
from nacelle.export.entry import Entry
from nacelle.export.states import seeded_states
from nacelle.export.vectors import rounded, tolerated, vectors
from support.library import library_robot


def test_tolerances() -> None:
    eps = float(np.finfo(np.float64).eps)
    assert tolerated(0.0, np.float64) == float(f"{200.0 * eps:.1e}")
    assert tolerated(1e-9, np.float64) == 3e-8
    # A program that loses all digits, or gives no number, is held to a tenth.
    assert tolerated(1.0, np.float32) == tolerated(np.nan, np.float32) == 0.1


def test_inputs_of_a_function_of_its_own() -> None:
    """(1 + x) - 1 loses the digits that the numbers below 1 have in a precision."""
    program = make_program(lambda x: {"y": (1.0 + x[0] * x[0]) - 1.0}, None, {"x": (1,)}, minimised=False)
    given = {"x": np.full((3, 1), 1e-3)}
    entry = Entry("lossy", "", program, {}, None, at=lambda states: given)
    found = vectors(entry, seeded_states(library_robot("fivebar"), 3))
    exact = float(np.float32(1e-3)) ** 2
    assert np.allclose(found.outputs["y"], exact, rtol=1e-15)
    off = abs(rounded(program, given["x"][:1], np.float32)[0, 0] - exact) / exact
    assert off > 1e-3
    assert found.tolerance["float"]["y"] > 0.01
    assert found.tolerance["double"]["y"] < 1e-8

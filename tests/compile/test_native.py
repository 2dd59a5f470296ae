"""Native code of a program by its part's name: kept, and the same from the cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nacelle.compile.native import compiled
from nacelle.compile.specification import Checked, Specification
from nacelle.compile.targets import target_that_runs
from nacelle.emit.store import Store


def _square(x):
    return x * x


def test_parts_are_kept_apart(tmp_path: Path) -> None:
    specification = Specification(_square, None, {"x": (2,)})
    double = Specification(lambda x: x + x, None, {"x": (2,)}).program()
    store, jit = Store(tmp_path), target_that_runs("jit")
    for again in (False, True):
        first = compiled(specification, specification.checked_program, jit, store)
        second = compiled(specification, lambda: Checked(double, None), jit, store, "other")
        assert first.from_cache is again
        np.testing.assert_array_equal(first([2.0, 3.0]), [4.0, 9.0])
        np.testing.assert_array_equal(second([2.0, 3.0]), [4.0, 6.0])
    plain = compiled(specification, specification.checked_program, target_that_runs("numpy"), store)
    assert plain.target == "numpy"

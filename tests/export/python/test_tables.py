"""Tables of numbers as lines of Python."""

from __future__ import annotations

import numpy as np

from nacelle.export.python.tables import list_of_lists


def test_tables_are_read_back_exactly() -> None:
    values = np.random.default_rng(1).normal(size=(3, 6)) * 1e-7
    scope: dict[str, object] = {}
    exec("\n".join(list_of_lists("T", values)), scope)
    assert np.array_equal(np.array(scope["T"]), values)

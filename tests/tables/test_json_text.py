"""Results as JSON: what the standard reader gives back."""

from __future__ import annotations

import json

import numpy as np

from nacelle.tables.json_text import json_text


def test_arrays_come_back_as_lists() -> None:
    data = {"x": np.arange(6.0).reshape(2, 3), "name": "delta", "n": np.int64(3)}
    assert json.loads(json_text(data)) == {"x": [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], "name": "delta", "n": 3}


def test_what_is_no_number_is_null() -> None:
    """JSON has neither NaN nor infinity, also deep inside arrays and tuples."""
    data = {"a": np.array([1.0, np.nan]), "b": (np.inf, {"c": -np.inf}), "d": "nan"}
    assert json.loads(json_text(data)) == {"a": [1.0, None], "b": [None, {"c": None}], "d": "nan"}

"""JSON of results: no NaN, arrays as lists."""

from __future__ import annotations

import json

import numpy as np

from nacelle.tables.json_text import json_text


def test_what_is_no_number_is_null() -> None:
    data = {"a": np.array([1.0, np.nan]), "b": (float("inf"), 2), "c": np.float64(3.0)}
    assert json.loads(json_text(data)) == {"a": [1.0, None], "b": [None, 2], "c": 3.0}
    assert json.loads(json_text({"a": np.arange(2)})) == {"a": [0, 1]}

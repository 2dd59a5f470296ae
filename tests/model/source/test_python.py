"""Python data as the source of a description: what YAML would have given, or an error with its place."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import NacelleError
from nacelle.model.source.python import node_from_python


def test_data_of_all_kinds_come_back_plain() -> None:
    data = {
        "name": "a",
        "legs": ({"at": np.array([1.0, 2.0])}, []),
        "on": True,
        "mass": np.float64(2.0),
        "no": None,
    }
    assert node_from_python(data).plain() == {
        "name": "a",
        "legs": [{"at": [1.0, 2.0]}, []],
        "on": True,
        "mass": 2.0,
        "no": None,
    }


def test_what_is_no_data_is_refused() -> None:
    looped: list[object] = []
    looped.append(looped)
    for value in ({"f": print}, looped, {1: object()}):
        with pytest.raises(NacelleError):
            node_from_python(value)

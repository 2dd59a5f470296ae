"""Vectors with named parts."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.control.fields import Fields
from nacelle.errors import KinematicsError

FIELDS = Fields(gain=2, period=1, none=0, limit=3)


def test_split_and_join_are_inverse() -> None:
    vector = np.arange(6.0)
    parts = FIELDS.split(vector)
    assert FIELDS.size == 6
    assert parts["limit"].tolist() == [3.0, 4.0, 5.0]
    assert np.array_equal(FIELDS.join(parts), vector)
    assert FIELDS.split(np.zeros((4, 6)))["gain"].shape == (4, 2)


def test_one_number_for_all() -> None:
    joined = FIELDS.join({"gain": 2.0, "period": [1.0], "none": [], "limit": 9.0})
    assert joined.tolist() == [2.0, 2.0, 1.0, 9.0, 9.0, 9.0]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"gain": 1.0}, "'period' is missing"),
        ({"gains": 1.0}, "nothing is called 'gains'"),
        ({"gain": [1.0], "period": 1.0, "none": [], "limit": 1.0}, "'gain' has 2 numbers"),
    ],
)
def test_errors(parts, words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        FIELDS.join(parts)

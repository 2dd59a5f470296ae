"""Arguments of compiled functions: by position or name, with leading batch dimensions that broadcast."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.compile.arguments import arguments_of, batched
from nacelle.errors import CompileError

INPUTS = {"x": (2,), "y": (0,), "M": (2, 3)}


def test_by_position_and_by_name() -> None:
    x, M = np.zeros(2), np.ones((2, 3))
    found = arguments_of("f", INPUTS, (x,), {"M": M})
    assert [a.shape for a in found] == [(2,), (0,), (2, 3)]
    assert found[0] is x
    assert found[2] is M
    assert arguments_of("f", INPUTS, (), {"M": M}, partly=True) == [M]


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        ((0, 1, 2, 3), {}, "takes 3 inputs"),
        ((0,), {"x": 1}, "given twice"),
        ((), {"z": 1}, "no input 'z'"),
        ((0,), {}, "needs the inputs M"),
    ],
)
def test_mistakes(given: tuple[int, ...], named: dict[str, int], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        arguments_of("f", INPUTS, given, named)


def test_batches_broadcast() -> None:
    arrays, batches = batched("f", {"x": (2,), "M": (2, 3)}, (np.zeros((5, 2)), np.ones((4, 1, 2, 3))))
    assert batches == [(5,), (4, 1)]
    assert all(a.dtype == np.float64 for a in arrays)
    with pytest.raises(CompileError, match="do not broadcast"):
        batched("f", {"x": (2,), "M": (2, 3)}, (np.zeros((5, 2)), np.ones((4, 2, 3))))
    with pytest.raises(CompileError, match="has shape"):
        batched("f", {"x": (2,)}, (np.zeros(3),))

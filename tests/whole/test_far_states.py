"""No silent error at 1e6 states of robots placed, turned, scaled and weighed at random."""

from __future__ import annotations

import pytest

from support.far_states import search


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(26))
def test_no_silent_error(seed: int) -> None:
    found = search(seed, states=40_000, engine_states=200)
    assert found.silent == 0, found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 117))
def test_no_silent_error_at_some_states(seed: int) -> None:
    found = search(seed, states=200, engine_states=10)
    assert found.silent == 0, found

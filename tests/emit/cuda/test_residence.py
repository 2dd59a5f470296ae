"""Which values a thread puts aside."""

from __future__ import annotations

from nacelle.emit.cuda.residence import moves, residence

# Three inputs (0 to 2), read by 3 and again, in the end, by 5.
READS = {3: (0, 1), 4: (2, 3), 5: (0, 4)}


def test_the_value_needed_last_makes_room() -> None:
    assert residence([3, 4, 5], READS, 8) == [(0, 1), (2,), ()]
    assert residence([3, 4, 5], READS, 1) == [(0, 1), (2,), (0,)]


def test_a_value_that_is_loaded_again_is_stored_once() -> None:
    reads = {1: (0,), 2: (0,), 3: (2,), 4: (3, 1)}
    assert moves([1, 2, 3, 4], reads, {0}, 8) == 1
    # With one register the value of 1 goes to memory and comes back: a load, and a store that counts twice.
    assert moves([1, 2, 3, 4], reads, {0}, 1) > moves([1, 2, 3, 4], reads, {0, 1}, 1)

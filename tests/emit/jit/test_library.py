"""Native code in memory: spans of whole vectors, aligned memory, addresses."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.emit.jit.library import address, aligned_memory, share, spans_of, step_of


@pytest.mark.parametrize(
    ("count", "width", "parts"), [(1, 4, 3), (17, 4, 3), (1000, 8, 4), (3, 8, 2), (64, 2, 5)]
)
def test_spans_cover_all_samples(count: int, width: int, parts: int) -> None:
    spans = spans_of(count, width, parts)
    assert [k for a, b in spans for k in range(a, b)] == list(range(count))
    assert all(a % width == 0 for a, _ in spans)
    assert len(spans) <= parts
    sizes = [b - a for a, b in spans]
    assert max(sizes) - min(sizes) <= 2 * width


def test_threads_do_every_part_once() -> None:
    done = np.zeros(1000, dtype=int)

    def part(first: int, last: int) -> None:
        done[first:last] += 1

    for threads in (1, 3):
        share(part, 1000, 8, threads)
    assert np.all(done == 2)


def test_memory() -> None:
    block = aligned_memory(100)
    assert len(block) == 100
    assert address(block) % 64 == 0
    frozen = np.ones(3)
    frozen.setflags(write=False)
    assert address(frozen) == frozen.ctypes.data
    assert (step_of(np.zeros((1, 5))), step_of(np.zeros((2, 5)))) == (0, 5)

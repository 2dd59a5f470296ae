"""What tests with random descriptions share: cutting short what hangs, and places in data."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any

# Robots with some 200 bodies are checked in 6 s; one of 64 legs with four modes takes 32 s of dense algebra.
HANGS_S = 90.0


@contextlib.contextmanager
def cut_short() -> Iterator[None]:
    """Raise TimeoutError in what takes HANGS_S of processor time, so that a test fails and not hangs."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"still busy after {HANGS_S:g} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, HANGS_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of everything below a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def entry(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data

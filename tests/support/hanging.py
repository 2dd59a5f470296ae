"""Cutting short what hangs, so that a test fails in its place."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

# Robots with some 200 bodies are checked in 6 s, and in twice that beside another process.
HANGS_S = 30.0


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

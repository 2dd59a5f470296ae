"""Saying what takes long: lines on stderr, never among results."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Seconds until the first line, and from one to the next.
_FIRST, _NEXT = 2.0, 5.0


@contextmanager
def waiting(what: str) -> Iterator[Callable[[float], None]]:
    """Say what is being done, and how far it is, if it takes longer than two seconds.

    Yields:
        A function that is given the part that is done, 0 to 1.
    """
    due = time.monotonic() + _FIRST

    def report(part: float) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due and part < 1.0:
            due = now + _NEXT
            print(f"{what}: {100.0 * part:.0f} %", file=sys.stderr, flush=True)

    yield report

"""Refusing what cannot fit into memory, before it is allocated."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from nacelle.errors import TooLargeError

# Where the machine does not say how much memory it has.
_USUAL_MEMORY = 8 << 30
# Part of the memory that one result may take: copies are made of it on the way.
_USABLE_PART = 0.5


@cache
def available_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or the limit of its container."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        total = _USUAL_MEMORY
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        limit = ""
    return min(total, int(limit)) if limit.isdecimal() else total


def require_memory(what: str, count: float, bytes_each: int, advice: str) -> None:
    """Refuse a number of things that would not fit into memory.

    Args:
        what: label of the things, such as "points of the grid".
        count: how many of them.
        bytes_each: bytes that one of them takes.
        advice: what would be right.

    Raises:
        TooLargeError: if they take more than half of the memory.
    """
    size = float(count) * bytes_each
    if size > _USABLE_PART * available_memory():
        number = f"{count:.0f}" if count < 1e6 else f"{count:.3g}"
        raise TooLargeError(
            f"{number} {what} need about {_bytes(size)} of memory, and this machine has "
            f"{_bytes(available_memory())}: {advice}",
            count,
            size,
        )


def _bytes(size: float) -> str:
    """A size in the unit that suits it."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000.0:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} PB"

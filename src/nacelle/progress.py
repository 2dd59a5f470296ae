"""How long work says what it is doing: a hook between what takes long and whoever shows it.

    with task("workspace of delta") as report:
        for k, block in enumerate(blocks):
            ...
            report((k + 1) / len(blocks))

Without a listener nothing happens. The command line listens (`nacelle.cli.progress`); a program of the user's
may, too: `with report_progress_to(listener): ...`. Imports nothing of nacelle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

# A function that is given the part that is done, 0 to 1.
Progress = Callable[[float], None]


class Listener(Protocol):
    """Whoever shows what is being done. Tasks lie within each other: the last one begun ends first."""

    def begin(self, description: str) -> None:
        """Something begins, such as "compiling forward (1023 operations)"."""

    def part(self, fraction: float) -> None:
        """So much of the innermost task is done, 0 to 1."""

    def end(self) -> None:
        """The innermost task has ended."""


_LISTENER: ContextVar[Listener | None] = ContextVar("nacelle_progress", default=None)


@contextmanager
def task(description: str) -> Iterator[Progress]:
    """Say what is done while the block runs.

    Args:
        description: of the task, such as "workspace of delta".

    Yields:
        A function of the part that is done, 0 to 1; it need not be called.
    """
    listener = _LISTENER.get()
    if listener is None:
        yield ignore_progress
        return
    listener.begin(description)
    try:
        yield listener.part
    finally:
        listener.end()


@contextmanager
def report_progress_to(listener: Listener) -> Iterator[None]:
    """Report the tasks of the block, in this thread, to a listener."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def ignore_progress(fraction: float) -> None:
    """Report to nobody."""

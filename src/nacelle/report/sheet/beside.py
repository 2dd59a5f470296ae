"""A section that another process makes while the others are made here.

Counting operations takes a third of the time of a data sheet and shares nothing with the other sections: it
makes programs and runs none of them.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection

from nacelle.report.sheet.content import Content
from nacelle.report.sheet.counts import counts
from nacelle.report.sheet.subject import Subject, subject_of


class CountedBeside:
    """Operation counts from another process."""

    def __init__(self, answer: Connection | None) -> None:
        self._answer = answer

    def __call__(self, subject: Subject) -> Content:
        """The counts of a subject: those of the other process, or counted here where that gave none."""
        if self._answer is not None:
            try:
                given: Content | None = self._answer.recv()
            except (EOFError, OSError):
                given = None
            if given is not None:
                return given
        return counts(subject)


@contextmanager
def counted_beside(source: str, mode: str = "", *, wanted: bool = True) -> Iterator[CountedBeside]:
    """Count the operations of a robot in another process, which ends with the context.

    Only for programs of their own: the other process imports the main module of this one.

    Args:
        source: name of a robot of the library, or a YAML file.
        mode: one of its modes of operation; empty for its own.
        wanted: whether they are to be counted beside; else, or on a machine with one core, they are counted
            when they are asked for.
    """
    if not wanted or (os.cpu_count() or 1) < 2:
        yield CountedBeside(None)
        return
    context = get_context("spawn")
    answer, given = context.Pipe(duplex=False)
    process = context.Process(target=_count, args=(given, source, mode), daemon=True)
    process.start()
    # This process keeps no end that writes, so that the other's death ends the wait for its answer.
    given.close()
    try:
        yield CountedBeside(answer)
    finally:
        process.terminate()
        process.join()
        answer.close()


def _count(given: Connection, source: str, mode: str) -> None:
    """Send the counts of a robot, None where that fails: whoever waits then counts, and says why not."""
    # Ctrl-C reaches all processes of a terminal: the one that waits decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        given.send(counts(subject_of(source, mode)))
    except Exception:
        given.send(None)

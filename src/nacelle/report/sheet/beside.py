"""Sections that another process makes while the others are made here.

Counting operations and comparing with other engines take two thirds of the time of a data sheet. Counting
makes programs that no other section runs. Whoever is first, this process or the other, begins with what the
other has not begun.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Lock

from nacelle.report.sheet.engines import Verifier
from nacelle.report.sheet.sheet import SheetSection, make_section
from nacelle.report.sheet.subject import subject_of

# In this order: what shares least with other sections first.
_BESIDE = ("operations", "verification")


class Beside:
    """Sections from another process."""

    def __init__(self, answer: Connection, claims: Mapping[str, Lock]) -> None:
        self._answer = answer
        self._claims = claims
        self._made: dict[str, SheetSection] = {}

    def has(self, name: str) -> bool:
        """Whether the other process makes a section, or has made it; if not, it does not any more."""
        claim = self._claims.get(name)
        return claim is not None and not claim.acquire(block=False)

    def section(self, name: str) -> SheetSection | None:
        """A section that the other process has, once it is made; None if that ended without it."""
        while name not in self._made:
            try:
                section = self._answer.recv()
            except (EOFError, OSError):
                return None
            self._made[section.name] = section
        return self._made[name]


@contextmanager
def made_beside(
    names: Sequence[str],
    source: str,
    mode: str = "",
    payload: Sequence[str] = (),
    verifier: Verifier | None = None,
) -> Iterator[Beside | None]:
    """Make some sections of a data sheet in another process, which ends with the context.

    Only for programs of their own: the other process imports the main module of this one. None on a machine
    with one core, or if there is none among the sections that is worth it.

    Args:
        names: of the sections of the sheet in order; the first is made here, it would be waited for.
        source: name of a robot of the library, or a YAML file.
        mode: one of its modes of operation; empty for its own.
        payload: which payloads it carries.
        verifier: compares the robot with other engines; a function of a module.
    """
    others = [name for name in _BESIDE if name in names[1:]]
    if not others or (os.cpu_count() or 1) < 2:
        yield None
        return
    context = get_context("spawn")
    answer, given = context.Pipe(duplex=False)
    claims = {name: context.Lock() for name in others}
    process = context.Process(
        target=_make, args=(given, claims, source, mode, tuple(payload), verifier), daemon=True
    )
    process.start()
    # This process keeps no end that writes, so that the other's death ends the wait for its answer.
    given.close()
    try:
        yield Beside(answer, claims)
    finally:
        process.terminate()
        process.join()
        answer.close()


def _make(
    given: Connection,
    claims: Mapping[str, Lock],
    source: str,
    mode: str,
    payload: tuple[str, ...],
    verifier: Verifier | None,
) -> None:
    """Send the sections that nobody else has begun; where that fails, whoever waits makes them."""
    # Ctrl-C reaches all processes of a terminal: the one that waits decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    subject = subject_of(source, mode, payload)
    for name, claim in claims.items():
        if claim.acquire(block=False):
            given.send(make_section(subject, name, verifier))

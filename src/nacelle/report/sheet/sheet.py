"""The data sheet of a robot: sections one after the other, as a page and as plain data.

Another process can make some sections while the others are made here. Counting operations and comparing with
other engines take two thirds of the time of a data sheet. Counting makes programs that no other section
runs. Whoever is first, this process or the other, begins with what the other has not begun.
"""

from __future__ import annotations

import html
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Lock
from pathlib import Path
from typing import Any

from nacelle.errors import NacelleError, did_you_mean
from nacelle.model.robot import Robot
from nacelle.page.markup import page, paragraph, write_page
from nacelle.progress import task
from nacelle.report.sheet.content import Content
from nacelle.report.sheet.loads import actuator_section, mass_section
from nacelle.report.sheet.models import (
    Verifier,
    frequency_section,
    operation_section,
    parameter_section,
    verification_section,
)
from nacelle.report.sheet.region import singularity_section, workspace_section
from nacelle.report.sheet.structure import mobility_section, problem_section, robot_section, structure_section
from nacelle.report.sheet.subject import Subject, subject_of
from nacelle.tables.json_text import json_text

# Sections by name, in the order of the page: their titles, and what makes them.
_SECTIONS: dict[str, tuple[str, Callable[[Subject], Content] | None]] = {
    "robot": ("The robot", robot_section),
    "structure": ("Structure", structure_section),
    "mobility": ("Mobility", mobility_section),
    "workspace": ("Workspace", workspace_section),
    "singularities": ("Singularities", singularity_section),
    "actuators": ("Actuators", actuator_section),
    "masses": ("Masses and loads at rest", mass_section),
    "operations": ("Operations of the models", operation_section),
    "parameters": ("Base parameters", parameter_section),
    "frequencies": ("Natural frequencies", frequency_section),
    # Made from what the caller compares the robot with.
    "verification": ("Verification", None),
    "check": ("Check of the description", problem_section),
}
TITLES = {name: title for name, (title, _) in _SECTIONS.items()}
_MAKERS = {name: maker for name, (_, maker) in _SECTIONS.items()}


@dataclass(frozen=True, eq=False)
class SheetSection:
    """A section of a data sheet.

    Attributes:
        name: one of `TITLES`.
        content: its result; None if it could not be made.
        reason: a message that says why not.
    """

    name: str
    content: Content | None
    reason: str = ""

    @property
    def title(self) -> str:
        """What the page calls it."""
        return TITLES[self.name]

    def data(self) -> dict[str, Any]:
        """Its result as plain data, or the reason why it could not be made."""
        return {"reason": self.reason} if self.content is None else self.content.data

    def markup(self) -> str:
        """Its result for the page, or the reason why it could not be made."""
        if self.content is None:
            return paragraph(f"This section could not be made: {self.reason.rstrip('.')}.")
        return self.content.markup


@dataclass(frozen=True, eq=False)
class DataSheet:
    """The data sheet of a robot (`nacelle report`).

    Attributes:
        subject: what it is about.
        sections: those that were made, in order.
        unfinished: names of those that were not, because the work was interrupted.
    """

    subject: Subject
    sections: tuple[SheetSection, ...]
    unfinished: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Give the robot and the names of the sections."""
        return f"<DataSheet {self.subject.robot.name}: {', '.join(part.name for part in self.sections)}>"

    def __getitem__(self, name: str) -> SheetSection:
        """A section by name."""
        return {part.name: part for part in self.sections}[name]

    def data(self) -> dict[str, Any]:
        """All sections as plain data."""
        return {
            "robot": self.subject.robot.name,
            "hash": self.subject.robot.hash,
            "sections": {part.name: part.data() for part in self.sections},
            "unfinished": list(self.unfinished),
        }

    def json(self) -> str:
        """All sections as JSON; null in the place of what is no number."""
        return json_text(self.data())

    def html(self) -> str:
        """The page: one file that needs no other, and requests nothing."""
        robot = self.subject.robot
        head = paragraph(robot.title) if robot.title else ""
        head += paragraph(
            "Every number comes from the command that is printed with it; lengths are in metres, angles in "
            "radians and masses in kilograms unless a unit is written.",
            "quiet",
        )
        if not self.subject.has_source:
            head += paragraph(
                f"The robot was made in Python: robot.to_yaml(), saved as {self.subject.source}, gives the "
                "file that the commands name.",
                "quiet",
            )
        if self.unfinished:
            names = ", ".join(TITLES[name] for name in self.unfinished)
            head += paragraph(f"The work was interrupted; what is missing: {names}.")
        parts = [(part.name, part.title, part.markup()) for part in self.sections]
        scripts = ("scene3d",) if any(part.name == "robot" for part in self.sections) else ()
        mode = f", mode {self.subject.mode}" if self.subject.mode else ""
        return page(f"Data sheet of {robot.name}{mode}", head, parts, scripts=scripts)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file that does not exist yet, whole or not at all.

        Raises:
            NacelleError: if the file exists, or cannot be written.
        """
        return write_page(path, self.html())

    def _repr_html_(self) -> str:
        """The page in a frame, for notebooks."""
        whole = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{whole}" style="width: 100%; height: 48rem; border: 0"></iframe>'


def data_sheet(
    robot: Robot | str | os.PathLike[str],
    *,
    sections: Sequence[str] | None = None,
    mode: str = "",
    verifier: Verifier | None = None,
) -> DataSheet:
    """Make the data sheet of a robot: structure, workspace, loads, counts, parameters, frequencies.

    A section that cannot be made says why, and the others are made.

    Args:
        robot: a robot, the name of one of the library, or a YAML file.
        sections: names of the sections (`nacelle.report.sheet.sheet.TITLES`); all if None.
        mode: one of the robot's modes of operation; empty for its own.
        verifier: what compares the robot with other engines, `nacelle.verify.verify`; that section says how
            to have it compared if None.

    Raises:
        NacelleError: if there is no such robot, mode or section, or the description is wrong.
    """
    names = section_names(sections)
    subject = subject_of(robot if isinstance(robot, Robot) else os.fspath(robot), mode)
    return DataSheet(subject, tuple(make_sections(subject, names, verifier)))


def section_names(selection: Sequence[str] | None) -> tuple[str, ...]:
    """Names of sections in the order of the page; all if None.

    Raises:
        NacelleError: if there is no such section.
    """
    for name in selection or ():
        if name not in TITLES:
            raise NacelleError(f"no section is called {name!r}; {did_you_mean(name, TITLES)}")
    return tuple(name for name in TITLES if not selection or name in selection)


def make_sections(
    subject: Subject,
    names: Sequence[str],
    verifier: Verifier | None = None,
    *,
    worker: BackgroundWorker | None = None,
) -> Iterator[SheetSection]:
    """Make sections one after the other, so that those that are done remain if the work is interrupted.

    Those that are being made elsewhere come last.

    Args:
        subject: what they are about.
        names: of the sections.
        verifier: as in `data_sheet`.
        worker: the process that makes some of them (`background_worker`).
    """
    elsewhere = []
    with task(f"data sheet of {subject.robot.name}") as report:
        for k, name in enumerate(names):
            if worker is not None and worker.has(name):
                elsewhere.append(name)
                continue
            report(k / len(names))
            with task(f"section {k + 1} of {len(names)}, {TITLES[name].lower()}"):
                yield make_section(subject, name, verifier)
        for name in elsewhere:
            with task(f"section {names.index(name) + 1} of {len(names)}, {TITLES[name].lower()}"):
                section = worker.section(name) if worker is not None else None
                yield section or make_section(subject, name, verifier)


def make_section(subject: Subject, name: str, verifier: Verifier | None = None) -> SheetSection:
    """Make one section, or say why it cannot be made; arguments as in `make_sections`."""
    try:
        with warnings.catch_warnings():
            # What matters of them is in the results; a page has no place for lines of a program.
            warnings.simplefilter("ignore")
            maker = _MAKERS[name]
            return SheetSection(name, maker(subject) if maker else verification_section(subject, verifier))
    except NacelleError as error:
        return SheetSection(name, None, str(error))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # A fault of ours in one section must not cost the others.
        return SheetSection(name, None, f"an unexpected {type(error).__name__}, {error}")


# ---- sections that another process makes


# In this order: what shares least with other sections first.
_BACKGROUND_SECTIONS = ("operations", "verification")


class BackgroundWorker:
    """Sections from another process."""

    def __init__(self, answer: Connection, claims: Mapping[str, Lock]) -> None:
        self._answer = answer
        self._claims = claims
        self._sections: dict[str, SheetSection] = {}

    def has(self, name: str) -> bool:
        """Whether the other process makes a section, or has made it; if not, it does not any more."""
        claim = self._claims.get(name)
        return claim is not None and not claim.acquire(block=False)

    def section(self, name: str) -> SheetSection | None:
        """A section that the other process has, once it is made; None if that ended without it."""
        while name not in self._sections:
            try:
                section = self._answer.recv()
            except (EOFError, OSError):
                return None
            self._sections[section.name] = section
        return self._sections[name]


@contextmanager
def background_worker(
    names: Sequence[str],
    source: str,
    mode: str = "",
    payload: Sequence[str] = (),
    verifier: Verifier | None = None,
) -> Iterator[BackgroundWorker | None]:
    """Make some sections of a data sheet in another process, which ends with the context.

    Only for programs of their own: the other process imports the main module of this one. None on a machine
    with one core, or if no section takes long enough.

    Args:
        names: of the sections of the sheet in order; the first is made here, it would be waited for.
        source: name of a robot of the library, or a YAML file.
        mode: one of its modes of operation; empty for its own.
        payload: which payloads it carries.
        verifier: compares the robot with other engines; a function of a module.
    """
    further_names = [name for name in _BACKGROUND_SECTIONS if name in names[1:]]
    if not further_names or (os.cpu_count() or 1) < 2:
        yield None
        return
    context = get_context("spawn")
    answer, sender = context.Pipe(duplex=False)
    claims = {name: context.Lock() for name in further_names}
    process = context.Process(
        target=_make_in_background, args=(sender, claims, source, mode, tuple(payload), verifier), daemon=True
    )
    process.start()
    # This process keeps no end that writes, so that the other's death ends the wait for its answer.
    sender.close()
    try:
        yield BackgroundWorker(answer, claims)
    finally:
        process.terminate()
        process.join()
        answer.close()


def _make_in_background(
    sender: Connection,
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
            sender.send(make_section(subject, name, verifier))

"""Descriptions that change on disk: looked at by time and size, read anew, checked in full."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from nacelle.errors import DescriptionError, NacelleError
from nacelle.library import check, in_mode, looks_like_file
from nacelle.model.payload import with_payloads
from nacelle.model.robot import Robot


@dataclass(frozen=True, eq=False)
class Reading:
    """What a description is now: a robot, or everything that is wrong with it, a line each.

    Attributes:
        robot: the robot; None if the description is wrong.
        problems: what is wrong, each with file, line and column.
    """

    robot: Robot | None
    problems: tuple[str, ...]


class WatchedRobot:
    """A robot by its name or file; a file is looked at again and again.

    Attributes:
        source: the name or the file.
        mode: the mode of operation in which it is wanted; "" for the first.
        payload: which payloads it carries (`nacelle.dynamics.with_payloads`); those of the description if
            none.
        robot: the robot as it was read last; None before that.
    """

    def __init__(self, source: str | os.PathLike[str], mode: str = "", payload: tuple[str, ...] = ()) -> None:
        self.source, self.mode, self.payload = os.fspath(source), mode, payload
        self._file = Path(self.source) if looks_like_file(self.source) else None
        self._seen = self._file_stamp()
        self.robot: Robot | None = None

    def _file_stamp(self) -> tuple[int, int] | None:
        """Time and size of the file; None if it does not exist."""
        try:
            status = None if self._file is None else self._file.stat()
        except OSError:
            return None
        return None if status is None else (status.st_mtime_ns, status.st_size)

    def load(self) -> Robot:
        """The robot.

        Raises:
            NacelleError: with all problems of the description, if there are any.
        """
        self._seen = self._file_stamp()
        robot = in_mode(check(self.source).require().robot, self.mode)
        self.robot = with_payloads(robot, *self.payload)
        return self.robot

    def read_change(self) -> Reading | None:
        """What the description is, if it has changed since it was read last; None if it has not."""
        stamp = self._file_stamp()
        # An editor may take the file away for a moment while it saves.
        if self._file is None or stamp is None or stamp == self._seen:
            return None
        try:
            return Reading(self.load(), ())
        except DescriptionError as error:
            return Reading(None, tuple(str(problem) for problem in error.problems))
        except NacelleError as error:
            return Reading(None, (str(error),))

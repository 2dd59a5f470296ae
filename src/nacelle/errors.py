"""The errors of nacelle: a small tree, each carrying its evidence. Imports nothing of nacelle."""

from __future__ import annotations

import difflib
import functools
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong in a description, or worth a word.

    Attributes:
        file: name of the file, or "<python>" for a description made in Python.
        line: line in the file, counted from 1; 0 if there is no file.
        column: column in the line, counted from 1; 0 if there is no file.
        path: place in the description, for example "legs[0].joints.knee.axis".
        message: what is wrong.
        hint: what would be right; may be empty.
        severity: "error" or "warning".
    """

    file: str
    line: int
    column: int
    path: str
    message: str
    hint: str = ""
    severity: str = "error"

    def __str__(self) -> str:
        """Give "file:line:column: path: message (hint)"."""
        location = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        where = f" {self.path}:" if self.path else ""
        hint = f" ({self.hint})" if self.hint else ""
        kind = "" if self.severity == "error" else f" {self.severity}:"
        return f"{location}:{kind}{where} {self.message}{hint}"

    def as_dict(self) -> dict[str, str | int]:
        """Give the problem as plain data, for `--json`."""
        return asdict(self)


def shorten(text: str, max_length: int = 60) -> str:
    """A text for a message, cut where it is longer than that."""
    return text if len(text) <= max_length else text[: max_length - 3] + "..."


# As many names are listed where none is near.
_MAX_SUGGESTIONS = 20


def format_count(number: int, singular: str, plural: str = "") -> str:
    """A number of things as text, such as "3 legs"; `plural` is for plurals without -s."""
    return f"{number} {singular}" if number == 1 else f"{number} {plural or singular + 's'}"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Suggest the nearest of some names, or list them."""
    # Comparing takes time that grows with both: a long list or name is not worth it.
    return _suggestion(name, tuple(itertools.islice(candidates, 100))) if len(name) <= 80 else ""


@functools.lru_cache(maxsize=256)  # the same wrong key stands in many joints
def _suggestion(name: str, names: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    near = near or [candidate for candidate in names if candidate.lower() == name.lower()]
    if near:
        return f"did you mean {near[0]!r}?"
    if not names:
        return ""
    more = " and more" if len(names) > _MAX_SUGGESTIONS else ""
    return "known: " + ", ".join(names[:_MAX_SUGGESTIONS]) + more


# More problems than this are counted, not listed.
MAX_PROBLEMS_LISTED = 100


def describe_count(problems: Sequence[Problem]) -> str:
    """How many problems there are, and how many of them are listed."""
    count = len(problems)
    counted = format_count(count, "problem")
    return f"{counted}, the first {MAX_PROBLEMS_LISTED}" if count > MAX_PROBLEMS_LISTED else counted


class NacelleError(Exception):
    """Root of all errors that nacelle raises on purpose."""


class DescriptionError(NacelleError):
    """A description is not that of a robot; `problems` holds everything that is wrong with it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Keep all problems; the message lists the first of them, one a line."""
        self.problems = tuple(problems)
        lines = [f"  {problem}" for problem in self.problems[:MAX_PROBLEMS_LISTED]]
        super().__init__("\n".join([f"{describe_count(self.problems)}:", *lines]))


class UnknownRobotError(NacelleError):
    """No robot of that name is in the library, and no file of that name exists."""


class ParameterError(NacelleError):
    """A parameter vector does not fit the robot."""


class AssemblyError(NacelleError):
    """The loops of a robot cannot be closed at a pose.

    Attributes:
        gaps: for each closure that stays open, its name and its gap in metres or radians.
    """

    def __init__(self, message: str, gaps: dict[str, float]) -> None:
        """Keep the open closures with the message."""
        self.gaps = gaps
        super().__init__(message)


class TableError(NacelleError):
    """A table of numbers cannot be used.

    Attributes:
        problems: everything that is wrong, each with file, line and column.
    """

    def __init__(self, message: str, problems: Iterable[Problem] = ()) -> None:
        """Keep the problems with the message."""
        self.problems = tuple(problems)
        super().__init__("\n".join([message, *(f"  {problem}" for problem in self.problems)]))


class MeasurementError(TableError):
    """Measured data cannot be used for identification; `problems` says why, each with column and row."""


class IdentificationError(NacelleError):
    """Parameters cannot be estimated: too little data, poor excitation, impossible options."""


class TooLargeError(NacelleError):
    """What is requested would not fit into memory; nothing has been allocated.

    Attributes:
        count: how many points, steps or samples it has.
        bytes: about how much memory they need.
    """

    def __init__(self, message: str, count: float, size: float) -> None:
        """Keep the numbers with the message."""
        self.count = count
        self.bytes = size
        super().__init__(message)


class KinematicsError(NacelleError):
    """A pose, a twist or joint coordinates cannot be used: wrong shape, not finite, not determined."""


class UnreachableError(KinematicsError):
    """A pose is out of reach, or joint coordinates belong to no pose.

    Attributes:
        legs: names of the legs that do not reach; empty where that is not determined.
    """

    def __init__(self, message: str, legs: Iterable[str] = ()) -> None:
        """Keep the legs with the message."""
        self.legs = tuple(legs)
        super().__init__(message)


class SingularError(KinematicsError):
    """A configuration is singular: what is requested is not determined there, or not finite.

    Attributes:
        kind: "serial", "parallel" or "constraint"; "free" where accelerations that are left free
            (`inverse_dynamics(..., free=...)`) are not determined; "mass" where nothing has inertia along
            some motions.
    """

    def __init__(self, message: str, kind: str) -> None:
        """Keep the kind with the message."""
        self.kind = kind
        super().__init__(message)


class UnderactuatedError(KinematicsError):
    """Nothing drives some motions of a robot, and what is asked for needs a force along each of them.

    Attributes:
        coordinates: of the motion that nothing drives.
    """

    def __init__(self, message: str, coordinates: Iterable[str]) -> None:
        """Keep the coordinates with the message."""
        self.coordinates = tuple(coordinates)
        super().__init__(message)


class RestLimitError(KinematicsError):
    """A limit cannot be kept on a path even at rest, so that no timing keeps it.

    Attributes:
        limit: what is limited, such as "force".
        owner: whose limit it is: an actuator, a coordinate, a joint or a tool.
        s: parameter along the path.
    """

    def __init__(self, message: str, limit: str, owner: str, s: float) -> None:
        """Keep limit, owner and parameter with the message."""
        self.limit, self.owner, self.s = limit, owner, s
        super().__init__(message)


class BucklingError(KinematicsError):
    """A flexible robot buckles under its load: it has no stable equilibrium near its rigid pose.

    Attributes:
        factor: by which the load may be multiplied before the robot buckles; NaN where that is not
            determined.
    """

    def __init__(self, message: str, factor: float) -> None:
        """Keep the factor with the message."""
        self.factor = factor
        super().__init__(message)


class ObserverError(NacelleError):
    """An observer cannot use what it is given, or its estimate has diverged.

    Attributes:
        time: of the measurement or estimate, s; NaN if it has no time.
        diverged: whether measurements contradict the estimate, so that it cannot be trusted.
    """

    def __init__(self, message: str, time: float = float("nan"), *, diverged: bool = False) -> None:
        """Keep the time and the reason with the message."""
        self.time = time
        self.diverged = diverged
        super().__init__(message)


class CalibrationError(NacelleError):
    """A camera cannot be calibrated: too few poses, directions that nothing determines, no convergence.

    Attributes:
        directions: descriptions of the combinations of parameters that the measurements do not determine.
    """

    def __init__(self, message: str, directions: Iterable[str] = ()) -> None:
        """Keep the directions with the message."""
        self.directions = tuple(directions)
        super().__init__(message)


class UnobservableError(KinematicsError):
    """What a camera sees of a robot does not determine its pose.

    Attributes:
        reasons: for each part of a leg that cannot be used, by its name, why.
        undetermined: how many of the robot's motions the camera does not see.
    """

    def __init__(self, message: str, reasons: dict[str, str], undetermined: int) -> None:
        """Keep the reasons with the message."""
        self.reasons = reasons
        self.undetermined = undetermined
        super().__init__(message)


class CompilerWarning(RuntimeWarning):
    """A program could not be compiled as it should be; its numbers are right, and come more slowly."""


class DrawingWarning(UserWarning):
    """Something that a description draws cannot be drawn as it says; something simpler is."""


class CompileError(NacelleError):
    """A function cannot be compiled, or a compiled one is called wrongly."""


class DeviceError(CompileError):
    """A program cannot run on a device: none is there, its memory is short, or the arrays are not on it."""


class ExportError(NacelleError):
    """A model cannot be exported as asked, or the folder cannot be written."""


class StudyError(NacelleError):
    """A study cannot go on, or its results cannot be kept or read; what was kept before stays."""


class StudyWarning(UserWarning):
    """Blocks of a study are damaged and evaluated again, or workers differ from this process."""

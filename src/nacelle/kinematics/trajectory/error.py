"""The error of trajectories."""

from __future__ import annotations

from collections.abc import Iterable

from nacelle.errors import NacelleError, Problem


class TrajectoryError(NacelleError):
    """A trajectory cannot be made as asked.

    Attributes:
        problems: for waypoints from a file everything that is wrong, each with file, line and column.
    """

    def __init__(self, message: str, problems: Iterable[Problem] = ()) -> None:
        """Keep the problems beside the message."""
        self.problems = tuple(problems)
        super().__init__("\n".join([message, *(f"  {problem}" for problem in self.problems)]))

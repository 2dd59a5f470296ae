"""What an integrator gives back, whatever ended it."""

from __future__ import annotations

from typing import NamedTuple

from nacelle.simulation.track import Track
from nacelle.spatial.scalar import Array


class Outcome(NamedTuple):
    """A run, or as much of it as there is.

    Attributes:
        t: times (N,).
        states: states (N, size).
        inputs: the plant's inputs (N, inputs) there.
        track: the motion in between.
        status: "done", "event", "interrupted" or "failed".
        message: how it ended, in words.
        evaluations: how often the derivative was evaluated.
        next_step: the step that the integrator would have tried next; None for fixed steps.
    """

    t: Array
    states: Array
    inputs: Array
    track: Track
    status: str
    message: str
    evaluations: int
    next_step: float | None = None


def stopped(error: BaseException, t: float, *, nothing: bool) -> tuple[str, str]:
    """Status and message of a run that an exception ended at a time.

    An error in a user's function is raised where nothing has been computed; later it must not cost what there
    is.
    """
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", f"stopped at {t:.9g} s"
    if nothing:
        raise error
    return "failed", f"at {t:.9g} s: {type(error).__name__}: {error}"

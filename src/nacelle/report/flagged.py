"""Flagged samples as text: how many of them, and why."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.flags import Flag
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


def flag_name(flag: Flag) -> str:
    """Label of a flag, such as "out of limits"."""
    return str(flag.name).lower().replace("_", " ")


def flag_counts(flags: Array) -> dict[str, int]:
    """How many samples have each flag, by its label, where any has it; a sample may have several."""
    counts = {flag_name(flag): int(np.count_nonzero(flags & int(flag))) for flag in Flag}
    return {name: count for name, count in counts.items() if count}


def flag_line(flags: Array, what: str, robot: Robot | None = None, margins: Array | None = None) -> str:
    """One line about the flagged samples of a batch, "" if no sample is flagged.

    Args:
        flags: of all samples.
        what: what the samples are, such as "poses".
        robot: with `margins`, to name the legs that do not reach.
        margins: the reach margins of the legs at every sample (..., legs); negative where a leg does not
            reach.
    """
    flagged = int(np.count_nonzero(flags))
    if not flagged:
        return ""
    parts = []
    for name, count in flag_counts(flags).items():
        detail = ""
        if name == flag_name(Flag.UNREACHABLE) and robot is not None and margins is not None:
            detail = _unreached_legs(flags, robot, margins)
        parts.append(f"{count} {name}{detail}")
    return f"{flagged} of {flags.size} {what} are flagged: {', '.join(parts)}"


def _unreached_legs(flags: Array, robot: Robot, margins: Array) -> str:
    """In brackets, the legs that do not reach, and how often each."""
    out = (flags & int(Flag.UNREACHABLE)) != 0
    with np.errstate(invalid="ignore"):
        short = np.count_nonzero(out[..., None] & (margins < 0.0), axis=tuple(range(out.ndim)))
    counts = [f"{leg.name}: {count}" for leg, count in zip(robot.legs, short.tolist(), strict=False) if count]
    return f" ({', '.join(counts)})" if counts else ""

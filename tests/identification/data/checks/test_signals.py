"""Numbers that are missing, dead channels, jumps: found with column and row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nacelle.identification.data.checks.signals import (
    check_constant,
    check_jumps,
    check_missing,
    check_reference,
)
from support.library import library_robot
from support.measurements import measured

CLEAN = measured(library_robot("fivebar"))
LEFT, RIGHT = (actuator.name for actuator in CLEAN.robot.actuators)


def test_clean() -> None:
    assert [*check_missing(CLEAN), *check_constant(CLEAN), *check_jumps(CLEAN)] == []


def test_missing_samples() -> None:
    q, time = CLEAN.q.copy(), CLEAN.time.copy()
    q[100:105, 1] = np.nan
    time[7] = np.nan
    first, second = check_missing(replace(CLEAN, q=q, time=time))
    assert (first.kind, first.column, first.row, first.count) == ("missing", "t", 9, 1)
    assert (second.kind, second.column, second.row, second.count) == ("missing", "enc1", 102, 5)
    assert second.signals == (f"q.{RIGHT}",)


def test_dead_channels() -> None:
    force, q = CLEAN.force.copy(), CLEAN.q.copy()
    force[:, 0] = 0.3
    (dead,) = check_constant(replace(CLEAN, force=force))
    assert (dead.kind, dead.column, dead.severity) == ("constant", "i0", "error")
    q[:, 1] = 1.0
    (held,) = check_constant(replace(CLEAN, q=q))
    assert (held.column, held.severity) == ("enc1", "warning")
    (still,) = check_constant(replace(CLEAN, q=np.ones_like(q)))
    assert still.severity == "error"


@pytest.mark.parametrize("size", [0.05, -2 * np.pi])
def test_jumps(size: float) -> None:
    q = CLEAN.q.copy()
    q[700:, 0] += size
    (jump,) = check_jumps(replace(CLEAN, q=q))
    assert (jump.kind, jump.column, jump.row, jump.count) == ("jump", "enc0", 702, 1)
    assert ("whole turn" in jump.message) == (size < -6)


def test_spikes() -> None:
    q = CLEAN.q.copy()
    q[321, 1] += 0.1
    q[322, 1] = np.nan
    (jump,) = check_jumps(replace(CLEAN, q=q))
    assert (jump.column, jump.row) == ("enc1", 323)


def test_references() -> None:
    followed = replace(CLEAN, reference=CLEAN.q + 0.001)
    assert check_reference(CLEAN) == []
    assert check_reference(followed) == []
    swapped = check_reference(replace(CLEAN, reference=CLEAN.q * [-1.0, 1.0]))
    assert [(entry.kind, entry.severity) for entry in swapped] == [("reference", "warning")]
    assert swapped[0].signals[0] == f"reference.{LEFT}"

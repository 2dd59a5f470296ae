"""Flagged samples in words."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle import Flag
from nacelle.report.flagged import flag_line, reasons


def test_reasons_are_counted() -> None:
    both = int(Flag.NEAR_SINGULAR | Flag.OUT_OF_LIMITS)
    flags = np.array([[0, 1, 2], [both, 16, 0]])
    assert reasons(flags) == {"invalid": 1, "unreachable": 1, "near singular": 1, "out of limits": 2}
    assert flag_line(flags, "poses") == (
        "4 of 6 poses are flagged: 1 invalid, 1 unreachable, 1 near singular, 2 out of limits"
    )
    assert flag_line(np.zeros(4, dtype=int), "poses") == ""
    assert reasons(np.zeros(0, dtype=int)) == {}


def test_legs_that_do_not_reach_are_named() -> None:
    robot = nacelle.load("delta")
    x = np.array([[0, 0, -0.6], [0.9, 0, -0.6], [np.nan, 0, 0], [0, 0, -3]])
    found = nacelle.inverse_kinematics(robot, x)
    short = np.count_nonzero((found.margins < 0.0) & (found.flags == 2)[:, None], axis=0)
    reported = flag_line(found.flags, "poses", robot, found.margins)
    legs = ", ".join(f"{leg.name}: {count}" for leg, count in zip(robot.legs, short, strict=True) if count)
    assert reported == f"3 of 4 poses are flagged: 1 invalid, 2 unreachable ({legs})"
    assert "leg1: 2" in legs

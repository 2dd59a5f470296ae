"""Coordinates beyond limits and without poses are reported with their samples."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from nacelle.identification.data.checks.correction import as_read
from nacelle.identification.data.checks.reach import check_reach
from nacelle.identification.data.measured_path import Path
from nacelle.identification.data.measurement import Measurement, MeasurementSource
from nacelle.kinematics.flags import Flag
from support.library import library_robot

COUNT = 12
SAMPLES = np.arange(0, 5 * COUNT, 5)


def reported(flags: np.ndarray, beyond: np.ndarray) -> list[tuple[str, tuple[str, ...], int, int]]:
    """Kind, signals, first sample and count of each finding along a path with these flags."""
    robot = library_robot("fivebar")
    q = np.tile(np.linspace(0.0, 1.0, 5 * COUNT)[:, None], (1, 2))
    run = Measurement(robot, np.arange(5.0 * COUNT), q, q, source=MeasurementSource("run.csv", 2, {}))
    x = np.full((COUNT, 2), np.nan)
    path = Path(robot, q[SAMPLES], x, flags, beyond, np.zeros(COUNT))
    judge = SimpleNamespace(path=lambda correction: path, signals=SimpleNamespace(samples=SAMPLES))
    findings = check_reach(run, judge, as_read(2))
    return [(found.kind, found.signals, found.sample, found.count) for found in findings]


def test_each_kind() -> None:
    names = tuple(f"q.{actuator.name}" for actuator in library_robot("fivebar").actuators)
    flags, beyond = np.zeros(COUNT, dtype=int), np.zeros((COUNT, 2), dtype=bool)
    assert reported(flags, beyond) == []
    outside = beyond.copy()
    outside[[4, 5], 1] = True
    assert reported(flags, outside) == [("reach", (names[1],), 20, 2)]
    away = flags.copy()
    away[7:] = int(Flag.UNREACHABLE)
    assert reported(away, beyond) == [("reach", names, 35, 5)]
    # Limits say why there are no poses.
    assert reported(away, outside) == [("reach", (names[1],), 20, 2)]
    other = flags.copy()
    other[[2, 3, 9]] = int(Flag.OTHER_BRANCH)
    assert reported(other, beyond) == [("branch", names, 10, 3)]

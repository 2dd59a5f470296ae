"""Findings: rows and columns of the file, which of them forbid an estimate, and what may be overruled."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import MeasurementError
from nacelle.identification.data.checks.findings import Findings, finding
from nacelle.identification.data.measurement import Measurement, MeasurementSource
from support.library import library_robot


def run() -> Measurement:
    robot = library_robot("fivebar")
    names = [actuator.name for actuator in robot.actuators]
    columns = {f"q.{name}": f"enc{k}" for k, name in enumerate(names)}
    zeros = np.zeros((20, 2))
    return Measurement(robot, np.arange(20.0), zeros, zeros, source=MeasurementSource("run.csv", 3, columns))


def test_places_in_the_file() -> None:
    measurement = run()
    names = tuple(f"q.{actuator.name}" for actuator in measurement.robot.actuators)
    some = finding(measurement, "jump", names[0], "it jumps", hint="look", samples=np.array([7, 5, 9]))
    assert (some.column, some.sample, some.count) == ("enc0", 5, 3)
    # Rows are counted from 1; the first sample is in the third.
    assert some.row == 3 + 5
    whole = finding(measurement, "constant", names, "all the same", hint="look")
    assert (whole.column, whole.sample, whole.row, whole.count) == ("enc0, enc1", -1, 0, 20)


def test_what_forbids_an_estimate() -> None:
    measurement = run()
    name = f"q.{measurement.robot.actuators[0].name}"
    wrong = finding(measurement, "sign", name, "wrong sign", hint="turn it")
    odd = finding(measurement, "sampling", name, "unequal steps", hint="none", severity="warning")
    assert Findings("run.csv", (odd,)).ok
    findings = Findings("run.csv", (wrong, odd, wrong))
    assert not findings.ok
    assert findings.kinds == ("sign", "sampling")
    with pytest.raises(MeasurementError, match="allow: sign") as caught:
        findings.raise_for_errors()
    assert len(caught.value.problems) == 2
    findings.raise_for_errors(["sign"])
    findings.raise_for_errors(["all"])
    with pytest.raises(ValueError, match="no kind of finding: sing"):
        findings.raise_for_errors(["sing"])
    assert str(Findings("run.csv", ())) == "run.csv: no faults found"

"""The search for faults of columns, with a judge that knows which reading is right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nacelle.identification.data.checks.columns import check_columns, rough_encoders
from nacelle.identification.data.checks.correction import Correction, as_read, exchanged, rescaled
from nacelle.identification.data.checks.judge import HypothesisFit
from nacelle.identification.data.measurement import Measurement, MeasurementSource
from support.library import library_robot

M = 2
T = np.linspace(0.0, 1.0, 200)


class KnowingJudge:
    """The cost of a reading: how many of its columns are not what they should be."""

    def __init__(self, right: Correction) -> None:
        self.right = right

    def verdict(self, correction: Correction) -> HypothesisFit:
        """Judge."""
        pairs = zip(
            zip(correction.places, correction.factors, strict=True),
            zip(self.right.places, self.right.factors, strict=True),
            strict=True,
        )
        wrong = 4 * (not np.isclose(correction.pace, self.right.pace))
        wrong += sum(one[0] != other[0] or not np.isclose(one[1], other[1]) for one, other in pairs)
        return HypothesisFit(10.0 + 40.0 * wrong, 0.1 + wrong, 0.0)


def run() -> Measurement:
    robot = library_robot("fivebar")
    columns = {f"q.{actuator.name}": f"enc{k}" for k, actuator in enumerate(robot.actuators)}
    columns |= {f"force.{actuator.name}": f"i{k}" for k, actuator in enumerate(robot.actuators)}
    q = np.stack([np.sin(6 * T), np.cos(6 * T)], axis=1)
    force = np.sign(np.sin(40 * T))[:, None] * [1.0, 2.0]
    return Measurement(robot, T, q, force, source=MeasurementSource("run.csv", 2, columns))


@pytest.mark.parametrize(
    ("right", "kinds", "words"),
    [
        (as_read(M), [], []),
        (exchanged(M, 2, 3), ["swapped"], ["columns i0 and i1 are swapped"]),
        (rescaled(M, (1,), -1.0), ["sign"], ["column enc1 has the wrong sign"]),
        (
            rescaled(M, (0, 1), np.pi / 180.0),
            ["unit"],
            ["all coordinates are too large by 57.3: deg for rad"],
        ),
        (replace(as_read(M), pace=1e-3), ["unit"], ["column time is too large by 1000: ms for s"]),
        (replace(as_read(M), pace=1e3), ["unit"], ["column time is too small by 1000: s for ms"]),
        (rescaled(M, (0,), -1.0).then(exchanged(M, 2, 3)), ["swapped", "sign"], ["i0 and i1", "enc0"]),
    ],
)
def test_faults_are_named_one_after_the_other(right: Correction, kinds: list[str], words: list[str]) -> None:
    findings, correction, verdict = check_columns(run(), KnowingJudge(right), as_read(M))
    assert sorted(found.kind for found in findings) == sorted(kinds)
    for text in words:
        assert any(text in found.message for found in findings)
    assert correction.places == right.places
    np.testing.assert_allclose(correction.factors, right.factors)
    assert correction.pace == right.pace
    assert verdict.cost == 10.0


def test_an_encoder_that_is_rougher_than_a_force() -> None:
    measurement = run()
    assert list(rough_encoders(measurement)) == []
    swapped = replace(
        measurement,
        q=np.stack([measurement.force[:, 0], measurement.q[:, 1]], axis=1),
        force=np.stack([measurement.q[:, 0], measurement.force[:, 1]], axis=1),
    )
    assert list(rough_encoders(swapped)) == [(0, 2)]

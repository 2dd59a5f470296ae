"""The verdict follows the data: forces that are predicted or not, robots that can be built or not."""

from __future__ import annotations

import dataclasses

import numpy as np

from nacelle.identification.validation import Validation
from nacelle.report.identification.verdict import identification_verdict, validation_verdict
from support.identified import identified, validated


def off_by(validation: Validation, noises: float, seed: int = 0) -> Validation:
    """The same validation with predictions that are off by so many deviations of the noise, at random."""
    rng = np.random.default_rng(seed)
    error = noises * validation.floor * rng.normal(size=validation.predicted.shape)
    return dataclasses.replace(validation, predicted=validation.measured + error)


def test_forces() -> None:
    validation = validated("fivebar")
    assert "verdict good" in validation_verdict(off_by(validation, 1.0))
    assert "verdict fair" in validation_verdict(off_by(validation, 3.0))
    poor = validation_verdict(off_by(validation, 1000.0))
    assert "verdict poor" in poor
    assert "poorly in left.motor, right.motor" in poor


def test_noise_that_is_not_known_is_not_a_fault() -> None:
    said = validation_verdict(validated("redundant"))
    assert "verdict fair" in said
    assert "their noise is not known" in said


def test_memory_is_named_with_its_row() -> None:
    validation = off_by(validated("fivebar"), 0.5)
    slow = np.array([np.sin(0.2 * np.arange(len(validation.measured))), np.zeros(len(validation.measured))]).T
    said = validation_verdict(
        dataclasses.replace(validation, predicted=validation.predicted + slow * validation.floor)
    )
    assert "residuals of left.motor have memory" in said
    assert "small beside the noise" in said
    assert "memory" not in validation_verdict(off_by(validated("fivebar"), 1.0))


def test_headlines() -> None:
    identification = identified("fivebar")
    wrong = off_by(validated("fivebar"), 1000.0)
    assert "do not use them" in identification_verdict(identification, identification.consistent, wrong)
    assert "predict the forces" in identification_verdict(identification, identification.consistent, None)
    far = dataclasses.replace(identification.consistent, distance=50.0, active=("left.<distal>",))
    said = identification_verdict(identification, far, None)
    assert "more than chance allows" in said
    assert "left.&lt;distal&gt;" in said
    assert "verdict poor" in said

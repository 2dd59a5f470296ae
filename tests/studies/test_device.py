"""Studies on a device, which here is this machine: they agree with the processor's."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.physics import ALL_TERMS
from nacelle.errors import CompileError
from nacelle.studies import Study
from nacelle.studies.device import DeviceFolds
from support import fake_cupy

STUDY = {
    "robot": "fivebar",
    "variables": {
        "distal": {"from": 0.25, "to": 0.35},
        "half_base": {"from": 0.08, "to": 0.15},
        "arm": {"numbers": "arm.elements.proximal.body.mass", "from": 0.4, "to": 0.9},
    },
    "motions": {
        "cycle": {
            "line": {"start": {"x": -0.05, "y": 0.28}, "end": {"x": 0.05, "y": 0.3}, "duration": 0.4},
            "samples": 9,
        },
    },
    "quantities": {
        "peak": "peak force",
        "rms": "rms force",
        "load": {"kind": "peak force", "relative": True},
        "speed": "peak speed",
        "power": "mean power",
        "first": {"kind": "peak power", "drive": "left.motor"},
    },
}


def test_folds_of_a_device_are_those_of_the_processor() -> None:
    study = Study(STUDY)
    rng = np.random.default_rng(0)
    values = study.evaluator.space.values_at(rng.random((37, 3)))
    values[5, 0], values[6, 1] = 0.05, 0.9  # out of reach
    expected = study.evaluate(values)
    of = study.evaluator.sets["cycle"]
    with fake_cupy.in_place(fake_cupy.fake_module()) as cupy:
        folds = DeviceFolds(
            study.robot,
            study.evaluator.space.groups,
            tuple(study.evaluator.quantities.values()),
            physics=ALL_TERMS,
        )
        numbers = cupy.asarray(np.asfortranarray(study.evaluator.space.numbers_at(values)))
        found = folds.fold(numbers, of.states, of.weights)
        flags, results = folds.flags(found), folds.results(found)
        whole = Study(STUDY, target="cuda").evaluate(values)
    assert np.array_equal(flags != 0, ~expected.ok)
    assert np.array_equal(whole.status, expected.status)
    np.testing.assert_allclose(whole.values, expected.values, rtol=1e-12)
    assert set(expected.status) >= {0, 1}
    for k, name in enumerate(study.evaluator.quantities):
        scale = np.nanmax(np.abs(expected[name]))
        np.testing.assert_allclose(results[k], expected[name], rtol=0.0, atol=1e-12 * scale)


def test_robots_that_a_device_cannot_study() -> None:
    with fake_cupy.in_place(fake_cupy.fake_module()), pytest.raises(CompileError, match="iteration"):
        DeviceFolds(nacelle.load("3rps"), ("geometry",), (), physics=ALL_TERMS)

"""Vibration beyond the encoders' filter: that of a robot whose controller answers to noise, and no other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.identification.data.preparation import prepare
from nacelle.identification.data.vibration import beyond_filter
from support.closed_loop import FIVEBAR


def test_sines_pass_beyond_the_cutoff_alone() -> None:
    """The integral of cos(w t) is sin(w t) / w: nothing of it below the cutoff, all of it far above."""
    rate, t = 1000.0, np.arange(8000) / 1000.0
    for frequency, part in ((1.0, 0.0), (100.0, 1.0)):
        w = 2.0 * np.pi * frequency
        # A constant force, as weight is, leaves nothing.
        p = beyond_filter(3.0 + np.cos(w * t)[:, None], 10.0, rate)
        inner = slice(1000, -1000)
        # Trapezoids are short of an integral by (w / rate)^2 / 12.
        assert p[inner, 0] == pytest.approx(part * np.sin(w * t[inner]) / w, abs=0.04 / w)


def test_it_is_that_of_the_robot() -> None:
    """Encoders with noise of 20 counts: what the filter has taken from the true rates, to two fifths."""
    run = replace(FIVEBAR, noise=20.0).experiment().run(0)
    (samples,) = prepare(run.measurement)
    first = int(np.argmin(np.abs(run.time - samples.time[0])))
    places = slice(first, first + len(samples))
    rates = nacelle.joint_motion(run.robot, samples.motion.x, samples.motion.v).actuators[1]
    true = nacelle.joint_motion(run.true, run.x[places], run.v[places]).actuators[1]
    left = np.sqrt(np.mean((rates - true)[samples.used] ** 2, axis=0))
    assert np.all(samples.vibration > 0.03)
    assert np.all(left < 0.4 * samples.vibration)


def test_good_encoders_have_none() -> None:
    (samples,) = prepare(FIVEBAR.experiment().run(0).measurement)
    assert np.all(samples.vibration == 0.0)

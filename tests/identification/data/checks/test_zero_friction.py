"""Friction of passive joints at other zeros, beside the same sampled forty times as densely."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

import nacelle
from nacelle.identification.data.checks.correction import as_read
from nacelle.identification.data.checks.judge import Judge
from nacelle.identification.data.checks.smoothing import smoothed
from nacelle.identification.data.checks.zero_friction import JointFriction
from nacelle.identification.data.checks.zeros import INSTANTS
from nacelle.identification.data.measured_path import measured_path
from support.library import library_robot
from support.measurements import Truth, measured

# Parts of a sample's cell, and samples.
PARTS, SAMPLES = 40, 600


def test_jumps_have_their_times() -> None:
    run = measured(library_robot("fivebar"), 3, Truth(duration=SAMPLES / 500.0))
    robot, m = run.robot, 2
    signals = smoothed(run.time, np.concatenate([run.q, run.force], axis=1), m, INSTANTS)
    zeros = np.array([0.07, -0.04])
    path = measured_path(robot, signals.value[:, :m] + zeros)
    judge = Judge(robot, signals)
    columns = JointFriction(judge, signals, as_read(m)).at(zeros, path)

    places = (np.arange(SAMPLES * PARTS) + 0.5) / PARTS - 0.5
    curve = CubicSpline(np.arange(SAMPLES), signals.all_values[:, :m])
    inside = np.clip(places, 0.0, SAMPLES - 1.0)
    x = nacelle.forward_kinematics(robot, curve(inside) + zeros, follow=True).x
    rates = curve(inside, 1) * 500.0
    v = np.einsum("kni,ki->kn", nacelle.jacobian(robot, x).direct, rates)
    dense = nacelle.regressor(robot, x, v, parameters=judge.base).Y[..., list(judge.base.friction)]
    true = signals.passed(dense.reshape(SAMPLES, PARTS, -1).mean(axis=1)).reshape(columns.shape)
    inner = slice(10, -10)
    off = np.sqrt(np.mean((columns - true)[inner] ** 2, axis=(0, 1)))
    assert np.all(off < 0.01 * np.sqrt(np.mean(true[inner] ** 2, axis=(0, 1))))

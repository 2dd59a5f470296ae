"""Motions as functions of time: at rest at both ends, band-limited, and the same as the trajectories."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.excitation.motions import KINDS, functions
from nacelle.model.platform import Motion

SE3 = Motion(("x", "y", "z", "rx", "ry", "rz"))
PLANE = Motion(("x", "y"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("harmonics", [3, 5, 10])
def test_functions_are_at_rest_at_both_ends(kind, harmonics):
    made = functions(kind, 1.7, harmonics)
    _, rates, changes = made.at(np.array([0.0, 1.7]))
    assert np.max(np.abs(rates)) < 1e-9 * np.max(np.abs(made.at(made.times(50))[1]))
    assert np.max(np.abs(changes)) < 1e-9 * np.max(np.abs(made.at(made.times(50))[2]))


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_those_of_the_functions(kind):
    made = functions(kind, 2.0, 4)
    t, h = np.linspace(0.05, 1.95, 23), 1e-5
    for order in (1, 2):
        slopes = (made.at(t + h)[order - 1] - made.at(t - h)[order - 1]) / (2.0 * h)
        exact = made.at(t)[order]
        assert np.max(np.abs(slopes - exact)) < 1e-6 * np.max(np.abs(exact))


def test_fourier_has_no_frequency_above_the_highest_harmonic():
    made = functions("fourier", 1.0, 4)
    values = made.at(np.arange(64) / 64)[0]
    spectrum = np.abs(np.fft.rfft(values, axis=0))
    assert np.max(spectrum[5:]) < 1e-12 * np.max(spectrum)
    assert np.linalg.matrix_rank(values) == values.shape[1] == 7


@pytest.mark.parametrize("kind", KINDS)
def test_trajectories_move_as_the_coefficients_say(kind):
    made = functions(kind, 1.5, 4)
    rng = np.random.default_rng(1)
    Z = np.where(made.free(SE3), 0.1 * rng.normal(size=(made.count, 6)), 0.0)
    center = np.array([0.1, -0.2, 0.5, 0.0, 0.0, np.sin(0.2), np.cos(0.2)])
    path = made.trajectory(center, Z, SE3)
    t = np.linspace(0.01, 1.49, 40)
    c, dc, ddc = (part @ Z for part in made.at(t))
    sample = path(t)
    assert np.allclose(sample.x[:, :3], center[:3] + c[:, :3], atol=1e-14)
    assert np.allclose(sample.v[:, :3], dc[:, :3], atol=1e-12)
    assert np.allclose(sample.a[:, :3], ddc[:, :3], atol=1e-10)
    h = 1e-5
    ahead, behind = path(t + h), path(t - h)
    assert np.allclose((ahead.v - behind.v) / (2 * h), sample.a, atol=1e-6 * np.max(np.abs(sample.a)))
    # q' = [w; 0] o q / 2 in base axes.
    q, w = sample.x[:, 3:], sample.v[:, 3:]
    rate = 0.5 * np.concatenate(
        [q[:, 3:] * w + np.cross(w, q[:, :3]), -np.sum(w * q[:, :3], axis=-1, keepdims=True)], axis=-1
    )
    assert np.allclose((ahead.x[:, 3:] - behind.x[:, 3:]) / (2 * h), rate, atol=1e-7)


def test_splines_without_rotations_are_b_splines():
    made = functions("bspline", 1.2, 4)
    Z = np.random.default_rng(2).normal(size=(8, 2))
    path = made.trajectory(np.array([0.3, 0.4]), Z, PLANE)
    same = nacelle.BSpline(
        np.array([0.3, 0.4]) + Z, motion=PLANE, degree=5, duration=1.2, rest=True, interpolate=False
    )
    t = np.linspace(0.0, 1.2, 31)
    for part, other in zip(path(t), same(t), strict=True):
        assert np.allclose(part, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("kind", "harmonics", "words"),
    [
        ("fourier", 1, "2 harmonics or more"),
        ("bspline", 2, "3 harmonics or more"),
        ("furier", 5, "'fourier'"),
    ],
)
def test_what_is_no_motion(kind, harmonics, words):
    with pytest.raises(IdentificationError, match=words):
        functions(kind, 1.0, harmonics)

"""What an edge fills of a pixel, against a sum over the pixel; noise against its variance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from nacelle.errors import KinematicsError
from nacelle.vision.image.pixel_model import PixelModel, filled


@pytest.mark.parametrize("angle", [0.0, 3e-4, 0.3, np.pi / 4, 1.2, np.pi / 2, 2.2])
@pytest.mark.parametrize("blur", [0.3, 1.2])
def test_filled_is_the_integral_over_the_square(angle: float, blur: float) -> None:
    a, b = np.cos(angle), np.sin(angle)
    s = np.linspace(-3.0, 3.0, 25)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    du, dv = np.meshgrid(0.5 * nodes, 0.5 * nodes)
    there = ndtr((s[:, None, None] + a * du + b * dv) / blur)
    summed = np.einsum("kij,i,j->k", there, 0.5 * weights, 0.5 * weights)
    F, slope = filled(s, np.full_like(s, a), np.full_like(s, b), blur)
    assert np.max(np.abs(F - summed)) < 2e-7
    high, low = (filled(s + h, np.full_like(s, a), np.full_like(s, b), blur)[0] for h in (1e-4, -1e-4))
    assert np.max(np.abs(slope - (high - low) / 2e-4)) < 1e-6


def test_sharp_edges_fill_areas() -> None:
    one = np.ones(1)
    assert filled(0.25 * one, one, 0.0 * one, 0.0)[0] == pytest.approx(0.75)
    # A diagonal through the centre, and one that cuts off a corner of legs 1/2: area 1/8.
    diagonal = np.sqrt(0.5) * one
    assert filled(0.0 * one, diagonal, diagonal, 0.0)[0] == pytest.approx(0.5)
    assert filled(-np.sqrt(0.125) * one, diagonal, diagonal, 0.0)[0] == pytest.approx(0.125)


def test_noise_has_its_variance() -> None:
    rng = np.random.default_rng(2)
    for model in (PixelModel(read_noise=1.5, shot=0.3), PixelModel(read_noise=1.5, shot=0.3, quantised=True)):
        values = model.noisy(np.full(200_000, 100.3), rng)
        assert np.mean(values) == pytest.approx(100.3, abs=0.05)
        assert np.var(values) == pytest.approx(float(model.variance(np.array(100.3))), rel=0.02)
        assert np.all(values == np.rint(values)) == model.quantised
    with pytest.raises(KinematicsError, match="negative"):
        PixelModel(blur=-1.0)

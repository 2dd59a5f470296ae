"""Products of vectors with their derivatives, against Taylor's series."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.elements.jets import cross_jets, crossed_jet, plus_jet, scaled_jet, unit_jet
from support.compare import assert_same


def at(jet: np.ndarray, t: float) -> np.ndarray:
    return jet[0] + t * jet[1] + 0.5 * t * t * jet[2]


def test_products_are_differentiated() -> None:
    rng = np.random.default_rng(0)
    a, b, d = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    z, h = rng.normal(size=3), 1e-4
    cases = (
        (plus_jet(a, b, 2.5), lambda t: at(a, t) + 2.5 * at(b, t)),
        (crossed_jet(z, a), lambda t: np.cross(z, at(a, t))),
        (cross_jets(a, b), lambda t: np.cross(at(a, t), at(b, t))),
        (scaled_jet(d, a), lambda t: at(d, t) * at(a, t)),
        (unit_jet(a), lambda t: at(a, t) / np.linalg.norm(at(a, t))),
    )
    for jet, exact in cases:
        rate = (exact(h) - exact(-h)) / (2.0 * h)
        second = (exact(h) - 2.0 * exact(0.0) + exact(-h)) / h**2
        assert_same(jet, np.stack([exact(0.0), rate, second]), 1e-6)

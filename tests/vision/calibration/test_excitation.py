"""Directions that measurements do not determine."""

from __future__ import annotations

import numpy as np

from nacelle.vision.calibration.excitation import jacobian_excitation


def test_directions_are_named():
    rng = np.random.default_rng(0)
    J = 100.0 * rng.standard_normal((30, 3))
    J[:, 2] = J[:, 0]
    said = jacobian_excitation(J, np.ones(3), ("x", "y", "z"), 3)
    assert len(said.undetermined) == 1
    assert said.undetermined[0] in ("0.71 x - 0.71 z", "0.71 z - 0.71 x")
    weak = jacobian_excitation(np.diag([1e3, 10.0, 2e3]), np.ones(3), ("x", "y", "z"), 3)
    assert weak.weak == ("1.00 y: 0.1",)
    assert weak.undetermined == ()


def test_what_others_explain_says_nothing():
    """y is seen only together with another unknown, which has a prior of its own."""
    J = np.array([[100.0, 0.0, 0.0], [0.0, 100.0, 100.0], [0.0, 0.0, 5.0]])
    said = jacobian_excitation(J, np.ones(3), ("x", "y"), 2)
    np.testing.assert_allclose(said.sigma[0], np.sqrt(1.0 / 100.0**2 + 1.0 / 5.0**2), rtol=1e-9)
    np.testing.assert_allclose(np.abs(said.directions[0]), [0.0, 1.0], atol=1e-12)

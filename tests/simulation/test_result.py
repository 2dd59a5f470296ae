"""Results between the samples."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.simulation.simulate import simulate
from support.sprung_mass import SprungMass


@pytest.mark.parametrize("method", ["dop853", "radau", "rk4"])
def test_dense_output(method: str) -> None:
    plant = SprungMass()
    options = {"step": 0.01} if method == "rk4" else {"rtol": 1e-9, "atol": 1e-11}
    run = simulate(
        plant, [1.0], [0.5], lambda t: np.array([np.cos(1.3 * t)]), until=2.0, method=method, **options
    )
    t = np.linspace(0.0, 2.0, 103)
    now = run.at(t)
    exact = np.array([plant.exact(time, 1.0, 0.5, 1.3) for time in t])
    np.testing.assert_allclose(now.state, exact, atol={"dop853": 1e-7, "radau": 1e-7, "rk4": 2e-7}[method])
    np.testing.assert_allclose(now.inputs[:, 0], np.cos(1.3 * t), rtol=1e-12)
    assert run.at(0.5).x.shape == (1,)
    np.testing.assert_allclose(run.at(run.t).state, run.states, rtol=1e-12, atol=1e-13)

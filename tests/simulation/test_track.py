"""Between the steps of a run: a cubic that is exact for cubic motions, and one state where nothing moved."""

from __future__ import annotations

import numpy as np

from nacelle.simulation.inputs import make_drive
from nacelle.simulation.track import HermiteTrack, StillTrack, stopped


class Cubic:
    """ds/dt = u with u = 3 t^2: s = t^3."""

    size, inputs, name = 1, 1, "cubic"

    def derivative(self) -> object:
        return lambda s, u: u


def test_a_cubic_is_met_exactly() -> None:
    drive = make_drive(Cubic(), lambda t: np.array([3.0 * t * t]))
    breaks = np.array([0.0, 0.5, 1.2])
    values = breaks[:, None] ** 3
    track = HermiteTrack(
        drive, breaks, values, np.arange(2), drive.forces(np.arange(2), breaks[:-1], values[:-1])
    )
    t = np.linspace(0.0, 1.2, 7)
    np.testing.assert_allclose(track.states(t)[:, 0], t**3, atol=1e-14)
    np.testing.assert_allclose(track.inputs(t, track.states(t))[:, 0], 3.0 * t**2, atol=1e-14)


def test_nothing_moved() -> None:
    track = StillTrack(make_drive(Cubic(), [0.0]), 2.0, np.array([5.0]))
    assert track.breaks.tolist() == [2.0]
    assert track.states(np.array([2.0, 2.0])).tolist() == [[5.0], [5.0]]


def test_words_for_what_stopped_a_run() -> None:
    status, message = stopped(KeyboardInterrupt(), 0.5, nothing=False)
    assert status == "interrupted"
    assert "0.5" in message
    assert stopped(ValueError("no"), 0.5, nothing=False)[0] == "failed"

"""What an observer may be given."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import ObserverError
from nacelle.vision.observer.settings import ObserverSettings, Start


@pytest.mark.parametrize(
    ("name", "value"), [("acceleration", 0.0), ("encoders", -1.0), ("gate", 1.0), ("horizon", np.nan)]
)
def test_impossible_numbers_are_named(name, value):
    with pytest.raises(ObserverError, match=name):
        ObserverSettings(**{name: value})


def test_lengths_count_over_the_size_for_angles():
    robot = nacelle.load("gough-stewart")
    Q = ObserverSettings(acceleration=0.5).density(robot)
    np.testing.assert_allclose(np.diag(Q), [0.25] * 3 + [(0.5 / robot.size) ** 2] * 3)
    P = Start(None, sigma_x=np.arange(1.0, 7.0), sigma_v=2.0).covariance(robot)
    np.testing.assert_allclose(np.diag(P)[:7], [1, 4, 9, 16, 25, 36, 4])
    with pytest.raises(ObserverError, match="6 numbers"):
        ObserverSettings(acceleration=(1.0, 2.0)).density(robot)

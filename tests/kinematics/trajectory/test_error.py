"""The error of trajectories is one of nacelle's."""

from __future__ import annotations

import pytest

import nacelle
from nacelle.kinematics.trajectory.error import TrajectoryError


def test_one_error_for_all_trajectories() -> None:
    assert issubclass(TrajectoryError, nacelle.NacelleError)
    with pytest.raises(TrajectoryError):
        nacelle.Line([0.0, 0.0], [1.0], motion="xyz", duration=1.0)

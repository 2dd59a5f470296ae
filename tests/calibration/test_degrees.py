"""Degrees of freedom where tolerances decide much: residuals that are noise alone are taken for noise."""

import numpy as np
import pytest

import nacelle
from nacelle.calibration import (
    Campaign,
    Tracker,
    calibrate,
    choose_parameters,
    drawn_poses,
    encoders_of,
    known_parameters,
    simulate_campaign,
)


@pytest.mark.slow
def test_more_parameters_than_heights() -> None:
    robot = nacelle.load("delta")
    encoders = encoders_of(robot)
    patterns = ("*.shoulder.predecessor.*", "*.elbow-?.*.[xyz]", "*.wrist-?.*.[xyz]", "zero.*")
    parameters = choose_parameters(known_parameters(robot, encoders), patterns)
    x = drawn_poses(robot, 40, seed=1)
    probe = Tracker(np.zeros((40, 1)), 5e-6, coordinates=("z",), tolerance=(0.0,) * 6, name="probe")
    readings = nacelle.inverse_kinematics(robot, x).q
    blank = Campaign(robot, readings, encoders, (probe,), guess=x)
    assert len(parameters) > len(x)
    ratios = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=len(parameters)) * [item.tolerance for item in parameters]
        result = calibrate(simulate_campaign(blank, parameters, values, rng), parameters, validate=False)
        assert 3 < result.degrees < 37
        assert result.probability > 1e-4
        ratios.append(result.noise_ratio)
    assert 0.5 < np.mean(ratios) < 1.5

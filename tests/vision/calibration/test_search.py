"""A first guess from nowhere."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.spatial.pose import Pose
from nacelle.vision.calibration.calibrate import calibrated
from nacelle.vision.calibration.search import first_guesses
from nacelle.vision.cylinders import visible_cylinders
from support.observed import camera_of
from support.sightings import camera_error, sightings


def test_a_camera_is_found_without_a_guess():
    robot = nacelle.load("fivebar")
    camera = camera_of(robot)
    seen = sightings(robot, camera, np.random.default_rng(1), count=4)
    nowhere = camera.placed(Pose(np.eye(3), np.array([0.0, 0.0, -3.0])))
    guesses = first_guesses(robot, visible_cylinders(robot), seen, nowhere)
    assert min(np.linalg.norm(camera_error(camera, one)[3:]) for one in guesses) < 0.6
    result = calibrated(robot, seen, nowhere, search=True)
    assert np.linalg.norm(camera_error(camera, result.camera)) < 1e-3
    assert result.probability > 1e-4

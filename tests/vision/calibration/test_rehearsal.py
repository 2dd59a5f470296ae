"""A rehearsed calibration is right within its deviations."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import CalibrationError
from nacelle.vision.calibration.rehearsal import rehearse_calibration
from nacelle.vision.camera import Camera
from nacelle.vision.image.pixel_model import PixelModel


def test_the_camera_is_right_within_its_deviations() -> None:
    robot = nacelle.load("fivebar")
    camera = Camera.looking([0.0, 0.14, 0.0], [0.0, 0.14, 0.77], up=(0.0, 1.0, 0.0), size=(320, 320))
    result = rehearse_calibration(robot, camera, PixelModel(), poses=6, seed=3)
    C = result.calibration.covariance[:6, :6]
    assert float(result.error @ np.linalg.solve(C, result.error)) < 22.5  # chi-square of 6, 0.999
    assert result.calibration.probability > 1e-3
    assert result.edges == 6 * 8
    with pytest.raises(CalibrationError, match="4 poses"):
        rehearse_calibration(robot, camera, PixelModel(), poses=2)

"""One look at a robot: pose and directions within their deviations, and reasons where there are none."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.vision.camera import Camera
from nacelle.vision.image.pixel_model import PixelModel


@pytest.fixture(scope="module")
def robot() -> nacelle.Robot:
    return nacelle.load("fivebar")


@pytest.fixture(scope="module")
def camera() -> Camera:
    return Camera.looking([0.0, 0.14, 0.0], [0.05, 0.1, 0.7], up=(0.0, 1.0, 0.0), size=(320, 320))


def test_pose_and_directions_are_right_within_their_deviations(robot, camera) -> None:
    squares = []
    for seed in range(4):
        seen = nacelle.observe(robot, [0.02, 0.24], camera=camera, seed=seed)
        assert seen.message == ""
        squares.append(float(seen.error @ np.linalg.solve(seen.pose.covariance, seen.error)))
        for one in seen.seen:
            assert one.reason == ""
            assert one.direction_error < 5.0 * one.direction_sigma
    # Two degrees of freedom each: the mean of four is within 0.2 to 6 with a probability above 0.99.
    assert 0.2 < np.mean(squares) < 6.0
    assert 0.2 < seen.pose.misfit < 3.0
    assert 1e-7 < seen.pose.sigma[0] < 1e-4


def test_more_noise_is_less_certain(robot, camera) -> None:
    sigma = [
        nacelle.observe(robot, camera=camera, pixels=PixelModel(read_noise=noise)).pose.sigma
        for noise in (1.0, 4.0)
    ]
    np.testing.assert_allclose(sigma[1], 4.0 * sigma[0], rtol=0.1)


def test_one_leg_determines_the_tip_two_bars_out_of_view(robot) -> None:
    """A camera that sees one side alone: what is not seen is named, and what is suffices or does not."""
    near = Camera.looking(
        [-0.16, 0.12, 0.0], [-0.16, 0.12, 0.25], up=(0.0, 1.0, 0.0), size=(512, 512), field=0.6
    )
    seen = nacelle.observe(robot, camera=near)
    reasons = {one.view.name: one.reason for one in seen.seen}
    assert "out of view" in reasons["right.proximal"]
    summary = seen.summary()
    assert summary["cylinders"][2]["direction_sigma"] != summary["cylinders"][2]["direction_sigma"]  # NaN
    away = Camera.looking([3.0, 0.0, 0.0], [3.0, 0.0, 1.0], up=(0.0, 1.0, 0.0), size=(256, 256))
    blind = nacelle.observe(robot, camera=away)
    assert blind.pose is None
    assert "2 of 2 motions undetermined" in blind.message
    assert "out of view" in blind.message

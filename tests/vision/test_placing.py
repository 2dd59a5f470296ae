"""Cameras that see all legs."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle import load
from nacelle.errors import KinematicsError
from nacelle.vision.placing import camera_for, view_directions
from nacelle.vision.scene import Scenery
from nacelle.vision.views import judge_view


def test_all_legs_are_seen() -> None:
    robot = load("fivebar")
    camera = camera_for(robot, distortion=(-0.1, 0.02, 0.0, 0.0, 0.0))
    seen = judge_view(Scenery(robot), camera).require()
    assert {seen.cylinders[k].leg for k in seen.usable} == set(range(len(robot.legs)))
    # A planar robot is best looked at across its plane.
    assert abs(camera.pose.R[2, 2]) > 0.9
    ends = np.concatenate([c.placed(*Scenery(robot).bodies()) for c in Scenery(robot).cylinders])
    assert np.all(camera.holds(camera.project(ends), 10.0))


def test_no_cylinders_no_camera() -> None:
    with pytest.raises(KinematicsError, match="no cylinders"):
        camera_for(load("c5"))


def test_directions_are_spread() -> None:
    spread = view_directions(26)
    assert np.allclose(np.linalg.norm(spread, axis=1), 1.0)
    nearest = np.sort(spread @ spread.T, axis=1)[:, -2]
    assert np.all(nearest < 0.999)
    # No direction is farther than 40 degrees from one of them.
    rng = np.random.default_rng(0)
    tries = rng.standard_normal((500, 3))
    tries /= np.linalg.norm(tries, axis=1, keepdims=True)
    assert np.min(np.max(tries @ spread.T, axis=1)) > np.cos(np.radians(40.0))

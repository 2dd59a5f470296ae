"""Calibration of cameras: the right ones come back, as surely as their covariances say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.errors import CalibrationError
from nacelle.spatial.pose import Pose
from nacelle.vision.calibration.calibrate import CameraUnknowns, calibrated
from nacelle.vision.calibration.observations import LENS, lens_of
from nacelle.vision.camera import Camera
from nacelle.vision.observer.anchors import anchors_of
from nacelle.vision.observer.consistency import chi_square_interval, nees
from support.observed import camera_of
from support.sightings import camera_error, perturbed, point_sightings, sightings


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "quattro", "gough-stewart"])
def test_a_camera_comes_back_within_its_covariance(name):
    robot = nacelle.load(name)
    camera, errors, covariances, squares, degrees = camera_of(robot), [], [], 0.0, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        seen = sightings(robot, camera, rng, count=4 + seed % 3)
        result = calibrated(robot, seen, perturbed(camera, robot, rng))
        errors.append(camera_error(camera, result.camera))
        covariances.append(result.covariance)
        squares, degrees = squares + result.chi_square, degrees + result.degrees
        assert result.rejected == ()
        assert result.weak == ()
        assert 1e-4 < result.probability < 1.0
    low, high = chi_square_interval(6 * len(errors), 1e-3)
    assert low < np.mean(nees(np.array(errors), np.array(covariances))) / 6 < high
    low, high = chi_square_interval(degrees, 1e-3)
    assert low < squares / degrees < high
    assert max(result.sigma.values()) < 1e-3


@pytest.mark.slow
def test_the_lens_from_points_of_edges():
    robot = nacelle.load("gough-stewart")
    camera = replace(
        camera_of(robot),
        distortion=(-0.15, 0.05, 5e-4, -1e-3, 0.0),
        focal=(1380.0, 1400.0),
        centre=(520.0, 505.0),
    )
    unknowns = CameraUnknowns(lens=("focal", "centre", "k1", "k2", "p1", "p2"))
    errors, covariances = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        guess = perturbed(camera, robot, rng, 0.02)
        guess = replace(guess, focal=(1350.0, 1350.0), centre=(511.5, 511.5), distortion=(0.0,) * 5)
        result = calibrated(robot, point_sightings(robot, camera, rng), guess, unknowns)
        lens = (lens_of(camera) - lens_of(result.camera))[:8]
        errors.append(np.concatenate([camera_error(camera, result.camera), lens]))
        covariances.append(result.covariance)
    assert result.names[6:] == LENS[:8]
    low, high = chi_square_interval(14 * len(errors), 1e-3)
    assert low < np.mean(nees(np.array(errors), np.array(covariances))) / 14 < high
    assert result.sigma["focal x"] < 1.0
    with pytest.raises(CalibrationError, match="EdgePoints"):
        calibrated(robot, sightings(robot, camera, rng), guess, unknowns)


def test_displaced_anchors_and_uncertain_poses():
    robot = nacelle.load("fivebar")
    camera, anchors = camera_of(robot), anchors_of(robot)
    rng = np.random.default_rng(3)
    o = 2e-4 * rng.standard_normal(len(anchors))
    seen = sightings(robot, camera, rng, count=8, anchors=(anchors, o))
    moved = [replace(one, x=one.x + 4e-5 * rng.standard_normal(2)) for one in seen]
    plain = calibrated(robot, moved, camera)
    result = calibrated(robot, moved, perturbed(camera, robot, rng), CameraUnknowns(anchors=2e-4, poses=4e-5))
    assert plain.probability < 1e-6 or plain.rejected
    assert result.probability > 1e-3
    assert list(result.anchors) == [
        f"{side}.proximal-input {axis}" for side in ("left", "right") for axis in "xy"
    ]
    error = np.concatenate([camera_error(camera, result.camera), o - np.array([*result.anchors.values()])])
    assert nees(error, result.covariance) < 30.0


def test_wrong_edges_are_left_out():
    robot = nacelle.load("fivebar")
    camera, rng = camera_of(robot), np.random.default_rng(4)
    seen = sightings(robot, camera, rng)
    wrong = list(seen[2].edges)
    n = wrong[3].normal + np.array([3e-3, -2e-3, 1e-3])
    wrong[3] = replace(wrong[3], normal=n / np.linalg.norm(n))
    seen[2] = replace(seen[2], edges=tuple(wrong))
    result = calibrated(robot, seen, perturbed(camera, robot, rng))
    assert result.rejected == ((2, 3),)
    assert nees(camera_error(camera, result.camera), result.covariance) < 25.0


def test_one_leg_does_not_determine_a_camera():
    """Along the axis of a cylinder, and about it, a camera may be anywhere: the same pose shows no more."""
    robot = nacelle.load("fivebar")
    camera = camera_of(robot)
    one = sightings(robot, camera, np.random.default_rng(0), count=1)[0]
    alone = replace(one, edges=one.edges[:2])
    with pytest.raises(CalibrationError, match="do not determine") as caught:
        calibrated(robot, [alone] * 4, camera)
    assert len(caught.value.directions) == 2
    assert all(any(name in words for name in ("x", "y", "z")) for words in caught.value.directions)


def test_a_planar_robot_seen_from_above_leaves_focal_length_and_distance():
    robot = nacelle.load("fivebar")
    above = Camera.looking([0.0, 0.2, 0.0], [0.0, 0.2, 1.5], up=(0.0, 1.0, 0.0))
    rng = np.random.default_rng(0)
    seen = point_sightings(robot, above, rng)
    result = calibrated(robot, seen, above, CameraUnknowns(lens=("focal",)))
    assert any("z" in words and "focal" in words for words in result.weak)
    assert calibrated(robot, seen, above).weak == ()


def test_what_cannot_be_is_refused():
    robot = nacelle.load("fivebar")
    camera = camera_of(robot)
    seen = sightings(robot, camera, np.random.default_rng(0), count=4)
    with pytest.raises(CalibrationError, match="4 poses"):
        calibrated(robot, seen[:3], camera)
    bad = replace(seen[1].edges[2], normal=np.full(3, np.nan))
    with pytest.raises(CalibrationError, match=r"side 0 of left\.distal in sighting 1 is not finite"):
        calibrated(robot, [seen[0], replace(seen[1], edges=(bad,)), *seen[2:]], camera)
    with pytest.raises(CalibrationError, match="focus"):
        calibrated(robot, seen, camera, CameraUnknowns(lens=("focus",)))
    inside = camera.placed(Pose(camera.pose.R, camera.pose.p * 0.0 + 1e6))
    with pytest.raises(CalibrationError):
        calibrated(robot, [replace(one, x=one.x + 10.0) for one in seen], inside)

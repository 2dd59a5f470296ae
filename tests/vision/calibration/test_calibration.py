"""Calibration: bundle, excitation, observations, simulated calibration, search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.errors import CalibrationError
from nacelle.spatial.pose import Pose
from nacelle.vision.calibration.bundle import (
    LENS,
    Bundle,
    CameraUnknowns,
    EdgePoints,
    edge_rows,
    lens_of,
    with_lens,
)
from nacelle.vision.calibration.calibrate import calibrate_camera, first_guesses, simulate_calibration
from nacelle.vision.calibration.excitation import jacobian_excitation
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import tangent_normals, visible_cylinders
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.observer.anchors import anchors_of
from nacelle.vision.observer.update import chi_square_interval, nees
from support.observed import camera_for_legs
from support.sightings import camera_error, perturb_camera, point_sightings, sightings

# ---- The system of all edges: its Jacobian by differences over all kinds of unknowns


def test_jacobian():
    robot = nacelle.load("fivebar")
    rng = np.random.default_rng(0)
    camera = camera_for_legs(robot)
    seen = [replace(one, edges=one.edges[2:5]) for one in sightings(robot, camera, rng, count=4)]
    bundle = Bundle(robot, visible_cylinders(robot), seen, CameraUnknowns(anchors=1e-3, poses=1e-3))
    assert bundle.count == 6 + 4 + 2 * 4
    units = bundle.units(camera)
    point = bundle.step(bundle.start(camera), 1e-4 * units * rng.standard_normal(bundle.count))
    system = bundle.system(point)
    assert len(system.r) == 4 * 3 * 2 + 4 + 8
    for k in range(bundle.count):
        step = 1e-7 * units[k] * np.eye(bundle.count)[k]
        ends = [bundle.system(bundle.step(point, s * step)).r for s in (1.0, -1.0)]
        slope = (ends[0] - ends[1]) / (2.0 * step[k])
        np.testing.assert_allclose(system.J[:, k], slope, atol=2e-3 * np.max(np.abs(slope)))


# ---- Directions that measurements do not determine


def test_directions_are_named():
    rng = np.random.default_rng(0)
    J = 100.0 * rng.standard_normal((30, 3))
    J[:, 2] = J[:, 0]
    said = jacobian_excitation(J, np.ones(3), ("x", "y", "z"), 3)
    assert len(said.undetermined) == 1
    assert said.undetermined[0] in ("0.71 x - 0.71 z", "0.71 z - 0.71 x")
    weak = jacobian_excitation(np.diag([1e3, 10.0, 2e3]), np.ones(3), ("x", "y", "z"), 3)
    assert weak.weak == ("1.00 y: 0.1",)
    assert weak.undetermined == ()


def test_what_others_explain_says_nothing():
    """y is seen only together with another unknown, which has a prior of its own."""
    J = np.array([[100.0, 0.0, 0.0], [0.0, 100.0, 100.0], [0.0, 0.0, 5.0]])
    said = jacobian_excitation(J, np.ones(3), ("x", "y"), 2)
    np.testing.assert_allclose(said.sigma[0], np.sqrt(1.0 / 100.0**2 + 1.0 / 5.0**2), rtol=1e-9)
    np.testing.assert_allclose(np.abs(said.directions[0]), [0.0, 1.0], atol=1e-12)


# ---- Rows of observed edges: their values and derivatives by differences


@pytest.fixture
def edge():
    """A camera, the frame n, u, m of an edge before it, and pixels of the edge."""
    camera = Camera.look_at([0.0, 0.0, 0.0], [0.0, 0.0, 2.0], distortion=(-0.2, 0.05, 1e-3, -2e-3, 0.01))
    u = np.array([0.8, 0.5, 0.33]) / np.linalg.norm([0.8, 0.5, 0.33])
    P = np.array([0.1, -0.2, 1.7])
    n = tangent_normals(P, u, 0.02)[0]
    m = np.cross(n, u)
    points = P - 0.02 * n + np.linspace(-0.2, 0.3, 7)[:, None] * u
    return camera, np.stack([n, u, m]), camera.pixels(points)


def turned(frame, a, b):
    """The frame after a change (u . dn, m . dn) = (a, b) of its normal."""
    n, u, m = frame
    n = n + a * u + b * m
    n = n / np.linalg.norm(n)
    u = u - (u @ n) * n
    u = u / np.linalg.norm(u)
    return np.stack([n, u, np.cross(n, u)])


def test_points_on_the_edge_leave_nothing(edge):
    camera, frame, pixels = edge
    rows = edge_rows(camera, EdgePoints(0, 0, pixels, 0.1), frame)
    assert np.max(np.abs(rows.r)) < 1e-9
    # A pixel off by its standard deviation across the edge is a residual of one.
    way = pixels[-1] - pixels[0]
    across = 0.1 * np.array([-way[1], way[0]]) / np.linalg.norm(way)
    off = edge_rows(camera, EdgePoints(0, 0, pixels + across, 0.1), frame).r
    np.testing.assert_allclose(np.abs(off), 1.0, rtol=1e-2)


def test_derivatives(edge):
    camera, frame, pixels = edge
    covariance = 1e-6 * (np.eye(3) - np.outer(frame[0], frame[0]))
    points = EdgePoints(0, 0, pixels + np.array([0.3, -0.2]), 0.1)
    normal = EdgeMeasurement(0.0, 0.0, 0, 0, turned(frame, 1e-4, -2e-4)[0], covariance)
    h = 1e-7
    for one in (points, normal):
        rows = edge_rows(camera, one, frame)
        for k, change in enumerate(h * np.eye(2)):
            ends = [edge_rows(camera, one, turned(frame, *(s * change))).r for s in (1.0, -1.0)]
            slope = (ends[0] - ends[1]) / (2.0 * h)
            np.testing.assert_allclose(rows.by_normal[:, k], slope, atol=5e-3 * np.max(np.abs(slope)))
    rows = edge_rows(camera, EdgePoints(0, 0, pixels, 0.1), frame)
    lens = lens_of(camera)
    for k, name in enumerate(LENS):
        step = 1e-4 * np.eye(9)[k] * (100.0 if k < 4 else 1.0)
        ends = [
            edge_rows(with_lens(camera, lens + s * step), EdgePoints(0, 0, pixels, 0.1), frame).r
            for s in (1.0, -1.0)
        ]
        slope = (ends[0] - ends[1]) / (2.0 * step[k])
        np.testing.assert_allclose(rows.by_lens[:, k], slope, rtol=1e-4, atol=1e-6, err_msg=name)


def test_the_camera_is_right_within_its_deviations() -> None:
    """A simulated calibration is right within its deviations."""
    robot = nacelle.load("fivebar")
    camera = Camera.look_at([0.0, 0.14, 0.0], [0.0, 0.14, 0.77], up=(0.0, 1.0, 0.0), size=(320, 320))
    result = simulate_calibration(robot, camera, PixelModel(), poses=6, seed=3)
    C = result.calibration.covariance[:6, :6]
    assert float(result.error @ np.linalg.solve(C, result.error)) < 22.5  # chi-square of 6, 0.999
    assert result.calibration.probability > 1e-3
    assert result.edges == 6 * 8
    with pytest.raises(CalibrationError, match="4 poses"):
        simulate_calibration(robot, camera, PixelModel(), poses=2)


@pytest.mark.slow
def test_a_camera_is_found_without_a_guess():
    """A first guess from nowhere."""
    robot = nacelle.load("fivebar")
    camera = camera_for_legs(robot)
    seen = sightings(robot, camera, np.random.default_rng(1), count=4)
    nowhere = camera.at_pose(Pose(np.eye(3), np.array([0.0, 0.0, -3.0])))
    guesses = first_guesses(robot, visible_cylinders(robot), seen, nowhere)
    assert min(np.linalg.norm(camera_error(camera, one)[3:]) for one in guesses) < 0.6
    result = calibrate_camera(robot, seen, nowhere, search=True)
    assert np.linalg.norm(camera_error(camera, result.camera)) < 1e-3
    assert result.probability > 1e-4


# ---- Cameras come back, as surely as their covariances say


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "quattro", "gough-stewart"])
def test_a_camera_comes_back_within_its_covariance(name):
    robot = nacelle.load(name)
    camera, errors, covariances, squares, degrees = camera_for_legs(robot), [], [], 0.0, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        seen = sightings(robot, camera, rng, count=4 + seed % 3)
        result = calibrate_camera(robot, seen, perturb_camera(camera, robot, rng))
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
        camera_for_legs(robot),
        distortion=(-0.15, 0.05, 5e-4, -1e-3, 0.0),
        focal=(1380.0, 1400.0),
        centre=(520.0, 505.0),
    )
    unknowns = CameraUnknowns(lens=("focal", "centre", "k1", "k2", "p1", "p2"))
    errors, covariances = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        guess = perturb_camera(camera, robot, rng, 0.02)
        guess = replace(guess, focal=(1350.0, 1350.0), centre=(511.5, 511.5), distortion=(0.0,) * 5)
        result = calibrate_camera(robot, point_sightings(robot, camera, rng), guess, unknowns)
        lens = (lens_of(camera) - lens_of(result.camera))[:8]
        errors.append(np.concatenate([camera_error(camera, result.camera), lens]))
        covariances.append(result.covariance)
    assert result.names[6:] == LENS[:8]
    low, high = chi_square_interval(14 * len(errors), 1e-3)
    assert low < np.mean(nees(np.array(errors), np.array(covariances))) / 14 < high
    assert result.sigma["focal x"] < 1.0
    with pytest.raises(CalibrationError, match="EdgePoints"):
        calibrate_camera(robot, sightings(robot, camera, rng), guess, unknowns)


def test_displaced_anchors_and_uncertain_poses():
    robot = nacelle.load("fivebar")
    camera, anchors = camera_for_legs(robot), anchors_of(robot)
    rng = np.random.default_rng(3)
    o = 2e-4 * rng.standard_normal(len(anchors))
    seen = sightings(robot, camera, rng, count=8, anchors=(anchors, o))
    moved = [replace(one, x=one.x + 4e-5 * rng.standard_normal(2)) for one in seen]
    plain = calibrate_camera(robot, moved, camera)
    result = calibrate_camera(
        robot, moved, perturb_camera(camera, robot, rng), CameraUnknowns(anchors=2e-4, poses=4e-5)
    )
    assert plain.probability < 1e-6 or plain.rejected
    assert result.probability > 1e-3
    assert list(result.anchors) == [
        f"{side}.proximal-input {axis}" for side in ("left", "right") for axis in "xy"
    ]
    error = np.concatenate([camera_error(camera, result.camera), o - np.array([*result.anchors.values()])])
    assert nees(error, result.covariance) < 30.0


def test_wrong_edges_are_left_out():
    robot = nacelle.load("fivebar")
    camera, rng = camera_for_legs(robot), np.random.default_rng(4)
    seen = sightings(robot, camera, rng)
    wrong = list(seen[2].edges)
    n = wrong[3].normal + np.array([3e-3, -2e-3, 1e-3])
    wrong[3] = replace(wrong[3], normal=n / np.linalg.norm(n))
    seen[2] = replace(seen[2], edges=tuple(wrong))
    result = calibrate_camera(robot, seen, perturb_camera(camera, robot, rng))
    assert result.rejected == ((2, 3),)
    assert nees(camera_error(camera, result.camera), result.covariance) < 25.0


def test_one_leg_does_not_determine_a_camera():
    """Along the axis of a cylinder, and about it, a camera may be anywhere: the same pose shows no more."""
    robot = nacelle.load("fivebar")
    camera = camera_for_legs(robot)
    one = sightings(robot, camera, np.random.default_rng(0), count=1)[0]
    alone = replace(one, edges=one.edges[:2])
    with pytest.raises(CalibrationError, match="do not determine") as caught:
        calibrate_camera(robot, [alone] * 4, camera)
    assert len(caught.value.directions) == 2
    assert all(any(name in words for name in ("x", "y", "z")) for words in caught.value.directions)


def test_a_planar_robot_seen_from_above_leaves_focal_length_and_distance():
    robot = nacelle.load("fivebar")
    above = Camera.look_at([0.0, 0.2, 0.0], [0.0, 0.2, 1.5], up=(0.0, 1.0, 0.0))
    rng = np.random.default_rng(0)
    seen = point_sightings(robot, above, rng)
    result = calibrate_camera(robot, seen, above, CameraUnknowns(lens=("focal",)))
    assert any("z" in words and "focal" in words for words in result.weak)
    assert calibrate_camera(robot, seen, above).weak == ()


def test_what_cannot_be_is_refused():
    robot = nacelle.load("fivebar")
    camera = camera_for_legs(robot)
    seen = sightings(robot, camera, np.random.default_rng(0), count=4)
    with pytest.raises(CalibrationError, match="4 poses"):
        calibrate_camera(robot, seen[:3], camera)
    bad = replace(seen[1].edges[2], normal=np.full(3, np.nan))
    with pytest.raises(CalibrationError, match=r"side 0 of left\.distal in sighting 1 is not finite"):
        calibrate_camera(robot, [seen[0], replace(seen[1], edges=(bad,)), *seen[2:]], camera)
    with pytest.raises(CalibrationError, match="focus"):
        calibrate_camera(robot, seen, camera, CameraUnknowns(lens=("focus",)))
    inside = camera.at_pose(Pose(camera.pose.R, camera.pose.p * 0.0 + 1e6))
    with pytest.raises(CalibrationError):
        calibrate_camera(robot, [replace(one, x=one.x + 10.0) for one in seen], inside)

"""Vision.

cylinders, measure, measurement, observation, placing, pose from edges, ray casting, region, scene,
sensitivity, shutter, visibility.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle import load
from nacelle.errors import KinematicsError, UnobservableError
from nacelle.kinematics.jacobian import body_jacobian
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.shapes.solid import Ball, Block, Plate, Rod, Solid
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_vector
from nacelle.vision.camera import Camera, Exposure, PixelPatch, Shutter
from nacelle.vision.cylinders import leg_boxes, tangent_normals, visible_cylinders
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.image.render import render
from nacelle.vision.measure import measure, render_and_measure
from nacelle.vision.measurement import EdgeMeasurement, LineMeasurement, line_from_edges
from nacelle.vision.observation import PoseEstimate, pose_from_edges
from nacelle.vision.placing import camera_for, view_directions
from nacelle.vision.scene import (
    RobotScenery,
    camera_is_within,
    depth_span,
    entry_depth,
    half_spaces,
    vertices,
)
from nacelle.vision.views import edge_motion, image_jacobian, judge_view, observable_motions
from nacelle.vision.visibility import ContactLines, edge_visibility
from support.library import library_robot
from support.vision_scenes import contour_normals, rod, scene_of, small_camera

# ---- Contours against rays cast on the cylinder itself; the cylinders of all robots of the library


def test_normals_bound_the_rays_that_hit() -> None:
    rng = np.random.default_rng(3)
    camera = Camera.look_at((0.0, 0.0, 0.0), (1.0, 0.7, 0.5))
    point, direction, radius = np.array([0.1, -0.2, 0.1]), np.array([0.3, 0.2, 2.0]), 0.07
    n0, n1 = contour_normals(camera, point, direction, radius)
    u, P = camera.pose.R.T @ direction / np.linalg.norm(direction), camera.in_camera_axes(point)
    assert np.allclose([n0 @ u, n1 @ u, n0 @ P, n1 @ P, n0 @ n0, n1 @ n1], [0, 0, radius, -radius, 1, 1])
    rays = P + 0.2 * rng.standard_normal((2000, 3))
    # Distance of two lines, the ray through the centre and the axis.
    w = np.cross(rays, u)
    distance = np.abs(w @ P) / np.linalg.norm(w, axis=1)
    inside = (rays @ n0 > 0.0) & (rays @ n1 < 0.0)
    assert np.array_equal(inside, distance < radius)
    assert 100 < inside.sum() < 1900
    assert np.allclose(contour_normals(camera, point, -direction, radius), [-n1, -n0])
    assert np.all(np.isnan(contour_normals(camera, camera.pose.p, direction, radius)))


def test_described_and_default_cylinders() -> None:
    robot = load("fivebar")
    cylinders = visible_cylinders(robot)
    assert [c.name for c in cylinders] == ["left.proximal", "left.distal", "right.proximal", "right.distal"]
    assert [c.leg for c in cylinders] == [0, 0, 1, 1]
    bodies = inverse_kinematics(robot, reference_pose(robot)).bodies
    for cylinder in cylinders:
        A, B = cylinder.ends_in_base(*bodies)
        assert np.isclose(np.linalg.norm(B - A), cylinder.length)
        assert np.allclose((B - A) / cylinder.length, bodies.R[cylinder.body] @ cylinder.direction)
    # Without a description the joints give the same axes, as thick as drawings have them.
    bare = replace(robot, bodies=tuple(replace(body, display=()) for body in robot.bodies))
    for described, default in zip(cylinders, visible_cylinders(bare), strict=True):
        assert default.name == described.name
        assert np.isclose(abs(default.direction @ described.direction), 1.0)
        assert default.length == pytest.approx(described.length)
        assert default.radius > 0.0


@pytest.mark.parametrize(
    ("name", "rods", "boxes"),
    [("quattro", 12, 0), ("gough-stewart", 12, 0), ("hexaglide", 6, 6), ("prrrp", 0, 4), ("c5", 0, 0)],
)
def test_boxes_are_listed_apart(name: str, rods: int, boxes: int) -> None:
    robot = load(name)
    assert len(visible_cylinders(robot)) == rods
    assert len(leg_boxes(robot)) == boxes


# ---- From a predicted scene and an image to a line, with the right covariance, and the times of the exposure

TRUE = rod((-0.2, -0.1, 1.8), (0.25, 0.15, 2.2), 0.03)

MODEL = PixelModel(blur=0.7)


def off(across: float) -> tuple:
    return rod((-0.2, -0.1 + across, 1.8), (0.25, 0.15 + 1.2 * across, 2.2), 0.03)


@pytest.mark.parametrize(("across", "search"), [(0.003, 0.0), (0.04, 9.0)])
def test_lines_from_images(across: float, search: float) -> None:
    camera = small_camera()
    image = render(scene_of(camera, TRUE), MODEL, rng=np.random.default_rng(0))
    exposure = Exposure(1.5, 1.6, (0,))
    result = measure(image, scene_of(camera, off(across)), 0, MODEL, search=search, exposure=exposure)
    assert result is not None
    line = result.line(TRUE.radius)
    u = (TRUE.stop - TRUE.start) / np.linalg.norm(TRUE.stop - TRUE.start)
    error = line.direction - u
    variances, axes = np.linalg.eigh(line.direction_covariance)
    assert np.sum((error @ axes[:, 1:]) ** 2 / variances[1:]) < 14.0
    nearest = TRUE.start - (TRUE.start @ u) * u
    place = line.point - nearest
    deviation = np.sqrt(np.trace(line.covariance[3:, 3:]))
    assert np.linalg.norm(place) < 4.0 * deviation
    assert (result.edges[0].time, result.edges[1].arrival) == (1.5, 1.6)
    assert [edge.side for edge in result.edges] == [0, 1]


def test_looking_is_measuring_what_is_rendered() -> None:
    camera = small_camera()
    true, predicted = scene_of(camera, TRUE), scene_of(camera, off(0.002))
    quiet = PixelModel(blur=0.7, read_noise=1e-3)
    seen = render_and_measure(true, predicted, 0, quiet, np.random.default_rng(0))
    read = measure(render(true, quiet), predicted, 0, quiet)
    assert seen is not None
    assert read is not None
    assert np.max(np.abs(seen.fit.normals - read.fit.normals)) < 1e-6
    u = (TRUE.stop - TRUE.start) / np.linalg.norm(TRUE.stop - TRUE.start)
    assert np.linalg.norm(seen.line(TRUE.radius).direction - u) < 1e-3


def test_what_is_not_there_is_not_measured() -> None:
    camera = small_camera()
    predicted = scene_of(camera, TRUE)
    empty = render(scene_of(camera), MODEL, rng=np.random.default_rng(0))
    assert measure(empty, predicted, 0, MODEL, search=8.0) is None
    away = render(scene_of(camera, off(0.15)), MODEL, rng=np.random.default_rng(0))
    assert measure(away, predicted, 0, MODEL) is None
    wall = rod((-0.5, 0.0, 1.0), (0.5, 0.0, 1.0), 0.4)
    hidden = scene_of(camera, TRUE, wall)
    assert render_and_measure(hidden, hidden, 0, MODEL, np.random.default_rng(0)) is None
    cover = rod((-0.5, 0.12, 1.0), (0.5, 0.12, 1.0), 0.12)
    half = scene_of(camera, rod((-0.2, 0.0, 2.0), (0.2, 0.0, 2.0), 0.05), cover)
    one = render_and_measure(half, half, 0, MODEL, np.random.default_rng(0))
    assert one is not None
    with pytest.raises(KinematicsError, match="both edges"):
        one.line(0.05)


# ---- The line of two edges against the true one, its covariance against finite differences and samples

U = np.array([0.3, -0.8, 0.4]) / np.linalg.norm([0.3, -0.8, 0.4])

P = np.array([0.2, 0.1, 1.5])

RADIUS = 0.02


def edges(normals: np.ndarray, sigma: float = 1e-6) -> list[EdgeMeasurement]:
    return [
        EdgeMeasurement(0.0, 0.0, 4, side, n, sigma**2 * (np.eye(3) - np.outer(n, n)))
        for side, n in enumerate(normals)
    ]


def test_exact_edges_give_the_line() -> None:
    first, second = edges(tangent_normals(P, U, RADIUS))
    nearest = P - (P @ U) * U
    for line in (line_from_edges(first, second, RADIUS), line_from_edges(second, first, RADIUS)):
        assert np.allclose(line.direction, U, atol=1e-12)
        assert np.allclose(line.point, nearest, atol=1e-12)


def test_covariance_of_samples() -> None:
    rng = np.random.default_rng(5)
    normals = tangent_normals(P, U, RADIUS)
    line = line_from_edges(*edges(normals), RADIUS)

    def sample() -> LineMeasurement:
        noisy = normals + 1e-6 * rng.standard_normal((2, 3))
        return line_from_edges(*edges(noisy / np.linalg.norm(noisy, axis=1)[:, None]), RADIUS)

    values = np.array([np.concatenate([s.direction, s.point]) for s in (sample() for _ in range(1500))])
    measured = np.cov(values.T)
    scale = np.sqrt(np.diag(line.covariance))
    assert np.max(np.abs(measured - line.covariance) / np.outer(scale, scale)) < 0.12
    # u is of unit length, P perpendicular to u: two null directions.
    assert np.linalg.matrix_rank(line.covariance / np.outer(scale, scale), tol=1e-9) == 4


def test_what_gives_no_line() -> None:
    first = edges(tangent_normals(P, U, RADIUS))[0]
    with pytest.raises(KinematicsError, match="both edges"):
        line_from_edges(first, first, RADIUS)
    same = EdgeMeasurement(0.0, 0.0, 4, 1, first.normal, first.covariance)
    with pytest.raises(KinematicsError, match="parallel"):
        line_from_edges(first, same, RADIUS)


# ---- One look at a robot: pose and directions within their deviations, and reasons where there are none


@pytest.fixture(scope="module")
def robot() -> nacelle.Robot:
    return nacelle.load("fivebar")


@pytest.fixture(scope="module")
def camera() -> Camera:
    return Camera.look_at([0.0, 0.14, 0.0], [0.05, 0.1, 0.7], up=(0.0, 1.0, 0.0), size=(320, 320))


def test_pose_and_directions_are_right_within_their_deviations(robot, camera) -> None:
    squares = []
    for seed in range(4):
        seen = nacelle.vision.observe(robot, [0.02, 0.24], camera=camera, seed=seed)
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
        nacelle.vision.observe(robot, camera=camera, pixels=PixelModel(read_noise=noise)).pose.sigma
        for noise in (1.0, 4.0)
    ]
    np.testing.assert_allclose(sigma[1], 4.0 * sigma[0], rtol=0.1)


def test_one_leg_determines_the_tip_two_bars_out_of_view(robot) -> None:
    """A camera that sees one side alone: what is not seen is named, and what is suffices or does not."""
    near = Camera.look_at(
        [-0.16, 0.12, 0.0], [-0.16, 0.12, 0.25], up=(0.0, 1.0, 0.0), size=(512, 512), field=0.6
    )
    seen = nacelle.vision.observe(robot, camera=near)
    reasons = {one.view.name: one.reason for one in seen.seen}
    assert "out of view" in reasons["right.proximal"]
    summary = seen.summary()
    assert summary["cylinders"][2]["direction_sigma"] != summary["cylinders"][2]["direction_sigma"]  # NaN
    away = Camera.look_at([3.0, 0.0, 0.0], [3.0, 0.0, 1.0], up=(0.0, 1.0, 0.0), size=(256, 256))
    blind = nacelle.vision.observe(robot, camera=away)
    assert blind.pose is None
    assert "2 of 2 motions undetermined" in blind.message
    assert "out of view" in blind.message


# ---- Cameras that see all legs


def test_all_legs_are_seen() -> None:
    robot = load("fivebar")
    camera = camera_for(robot, distortion=(-0.1, 0.02, 0.0, 0.0, 0.0))
    seen = judge_view(RobotScenery(robot), camera).require()
    assert {seen.cylinders[k].leg for k in seen.usable} == set(range(len(robot.legs)))
    # A planar robot is best looked at across its plane.
    assert abs(camera.pose.R[2, 2]) > 0.9
    ends = np.concatenate(
        [c.ends_in_base(*RobotScenery(robot).bodies()) for c in RobotScenery(robot).cylinders]
    )
    assert np.all(camera.contains(camera.project(ends), 10.0))


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


# ---- Poses from exact edges are exact; their covariance is that of many noisy ones, too few are refused

SIGMA = 1e-5


CAMERA = Camera.look_at([0.0, 0.0, 0.5], [1.8, 1.1, 0.4])


def edges_at(x: np.ndarray, rng: np.random.Generator | None) -> list[EdgeMeasurement]:
    """Edges of all cylinders, with noise of SIGMA in both directions across each normal."""
    robot = library_robot("gough-stewart")
    bodies = nacelle.inverse_kinematics(robot, x).bodies
    found = []
    for k, cylinder in enumerate(visible_cylinders(robot)):
        A, B = cylinder.ends_in_base(*bodies)
        for side, n in enumerate(contour_normals(CAMERA, A, B - A, cylinder.radius)):
            if rng is not None:
                n = n + SIGMA * rng.normal(size=3)
                n = n / np.linalg.norm(n)
            C = SIGMA**2 * (np.eye(3) - np.outer(n, n))
            found.append(EdgeMeasurement(0.0, 0.0, k, side, n, C))
    return found


def pose_found(edges: list[EdgeMeasurement], start: np.ndarray) -> PoseEstimate:
    robot = library_robot("gough-stewart")
    return pose_from_edges(robot, CAMERA, edges, start, visible_cylinders(robot))


@pytest.mark.slow
def test_exact_edges_give_the_exact_pose() -> None:
    x = nacelle.reference_pose(library_robot("gough-stewart"))
    start = x.copy()
    start[:3] += [3e-3, -2e-3, 4e-3]
    seen = pose_found(edges_at(x, None), start)
    np.testing.assert_allclose(seen.x, x, atol=1e-10)
    assert seen.misfit < 1e-6


@pytest.mark.slow
def test_the_covariance_is_that_of_the_errors() -> None:
    x, rng = nacelle.reference_pose(library_robot("gough-stewart")), np.random.default_rng(5)
    squares = []
    for _ in range(30):
        seen = pose_found(edges_at(x, rng), x)
        d = np.concatenate([seen.x[:3] - x[:3], 2.0 * (seen.x[3:6] - x[3:6])])
        squares.append(float(d @ np.linalg.solve(seen.covariance, d)) / 6.0)
    assert 0.75 < np.mean(squares) < 1.3  # 180 degrees of freedom


def test_too_few_edges_are_refused() -> None:
    x = nacelle.reference_pose(library_robot("gough-stewart"))
    edges = edges_at(x, None)
    with pytest.raises(UnobservableError, match=r"2 edges leave . of 6 motions undetermined"):
        pose_found(edges[:2], x)
    with pytest.raises(UnobservableError, match="no edge was measured"):
        pose_found([], x)


# ---- Rays against points of the solids: a point is inside if and only if its depth is within the span

TURN = rotation_vector(np.array([0.4, -0.7, 0.3]))

AT = np.array([0.1, -0.2, 2.0])

SQUARE = np.array([[0.4, 0.3, 0.0], [-0.4, 0.3, 0.0], [-0.4, -0.3, 0.0], [0.4, -0.3, 0.0]])

SOLIDS: dict[str, Solid] = {
    "rod": rod((-0.3, -0.4, 1.6), (0.5, 0.0, 2.4), 0.3),
    "ball": Ball(AT, 0.4),
    "block": Block(Pose(TURN, AT), np.array([0.8, 0.6, 0.4])),
    "plate": Plate(SQUARE @ TURN.T + AT, 0.2),
}


def inside(solid: Solid, X: np.ndarray) -> np.ndarray:
    """The same by the definition of each solid."""
    if isinstance(solid, Rod):
        u = (solid.stop - solid.start) / np.linalg.norm(solid.stop - solid.start)
        along = (X - solid.start) @ u
        across = np.linalg.norm(X - solid.start - along[:, None] * u, axis=1)
        return (across < solid.radius) & (along > 0) & (along < np.linalg.norm(solid.stop - solid.start))
    if isinstance(solid, Ball):
        return np.linalg.norm(X - solid.centre, axis=1) < solid.radius
    local = (X - AT) @ TURN
    return np.all(np.abs(local) < [0.4, 0.3, 0.2], axis=1)


@pytest.mark.parametrize("name", SOLIDS)
def test_points_within(name: str) -> None:
    solid, rng = SOLIDS[name], np.random.default_rng(1)
    X = AT + rng.uniform(-0.8, 0.8, (4000, 3))
    rays = X / X[:, 2:]
    first, last = depth_span(solid, rays)
    within = (first < X[:, 2]) & (X[:, 2] < last)
    assert np.array_equal(within, inside(solid, X))
    assert 100 < within.sum() < 3500
    assert np.array_equal(np.isfinite(entry_depth(solid, rays)), first <= last)
    assert not camera_is_within(solid)
    # The camera's centre moves inside with the solid.
    assert camera_is_within(solid.transform(Pose(np.eye(3), -AT)))


def test_corners_meet_three_planes() -> None:
    for solid in (SOLIDS["block"], SOLIDS["plate"]):
        N, h = half_spaces(solid)
        gaps = vertices(solid) @ N.T - h
        assert np.all(gaps < 1e-12)
        assert np.all(np.sum(np.abs(gaps) < 1e-12, axis=1) == 3)
    with pytest.raises(TypeError):
        half_spaces(SOLIDS["rod"])
    with pytest.raises(TypeError):
        vertices(SOLIDS["ball"])


def test_behind_the_camera_is_missed() -> None:
    assert np.isinf(entry_depth(Ball(np.array([0.0, 0.0, -2.0]), 0.5), np.array([0.0, 0.0, 1.0])))
    assert entry_depth(Ball(np.array([0.0, 0.0, 0.2]), 0.5), np.array([0.0, 0.0, 1.0])) == 0.0


# ---- Solids before a camera: the cylinders of the legs in their order, and what a ray meets first


def test_cylinders_of_a_robot_are_its_rods() -> None:
    scenery = RobotScenery(load("fivebar"))
    camera = Camera.look_at((0.0, 0.15, 0.0), (0.1, 0.1, 1.0))
    scene = scenery.at(camera)
    assert len(scene.rods) == len(scenery.cylinders) == 4
    bodies = scenery.bodies()
    for cylinder, one in zip(scenery.cylinders, scene.rods, strict=True):
        A, B = cylinder.ends_in_base(*bodies)
        assert np.allclose([one.start, one.stop], camera.in_camera_axes([A, B]))
        assert one.radius == cylinder.radius
    moved = scenery.at(camera, np.array([0.02, 0.25]))
    assert not np.allclose(moved.rods[1].stop, scene.rods[1].stop)


def test_the_nearest_solid_is_met_first() -> None:
    near, far = rod((-1.0, 0.0, 1.0), (1.0, 0.0, 1.0), 0.1), rod((0.0, -1.0, 2.0), (0.0, 1.0, 2.0), 0.1)
    scene = scene_of(small_camera(), far, near)
    rays = np.array([[0.0, 0.0, 1.0], [0.0, 0.3, 1.0], [0.3, 0.0, 1.0], [0.3, 0.3, 1.0]])
    assert list(scene.first(rays)) == [1, 0, 1, -1]
    assert list(scene_of(small_camera()).first(rays)) == [-1] * 4


# ---- Motion of edges in the image against images of moved robots


@pytest.mark.parametrize("name", ["fivebar", "3rrr"])
def test_edges_move_as_images_do(name: str) -> None:
    robot = load(name)
    scenery, x = RobotScenery(robot), reference_pose(robot)
    middle = np.mean(scenery.bodies()[1], axis=0)
    camera = Camera.look_at(
        middle,
        middle + np.array([0.3, 0.2, 1.2]),
        up=(0.0, 1.0, 0.0),
        distortion=(-0.1, 0.02, 0.001, 0.0, 0.0),
    )
    bodies, J, h = scenery.bodies(x), body_jacobian(robot, x), 1e-6
    rows = [edge_motion(camera, cylinder, bodies, J) for cylinder in scenery.cylinders]
    base = scenery.at(camera, x)
    for j in range(robot.motion.n):
        scenes = [scenery.at(camera, x + sign * h * np.eye(len(x))[j]) for sign in (1.0, -1.0)]
        for k, row in enumerate(rows):
            normals = [ContactLines.of(scene.rods[k]).normals for scene in scenes]
            pixels = camera.pixels(ContactLines.of(base.rods[k]).points(np.array([0.2, 0.8])))
            for side in (0, 1):
                # A pixel on the edge; how far the edge has come from it.
                patch = PixelPatch.of(camera, pixels[side, :, 0], pixels[side, :, 1])
                ahead, back = (-patch.distance_from_plane(n[side]).s for n in normals)
                assert np.allclose(row[side, :, j], (ahead - back) / (2.0 * h), rtol=1e-4, atol=1e-2)


def test_motions_that_are_seen() -> None:
    robot = load("fivebar")
    scenery, x = RobotScenery(robot), reference_pose(robot)
    camera = Camera.look_at((0.0, 0.15, 0.0), (0.0, 0.15, 1.2), up=(0.0, 1.0, 0.0))
    bodies = scenery.bodies(x)
    edges = [(cylinder, side) for cylinder in scenery.cylinders for side in (0, 1)]
    all_edges = image_jacobian(robot, camera, x, bodies, edges)
    assert all_edges.shape == (16, 2)
    seen, least = observable_motions(all_edges)
    assert seen == 2
    assert least > 100.0
    # A proximal bar alone turns with one motion of two.
    one, none = observable_motions(image_jacobian(robot, camera, x, bodies, edges[:2]))
    assert (one, none) == (1, pytest.approx(0.0, abs=1e-6))
    assert observable_motions(image_jacobian(robot, camera, x, bodies, [])) == (0, 0.0)
    J = body_jacobian(robot, x)
    by_hand = np.concatenate([edge_motion(camera, c, bodies, J)[side] for c, side in edges])
    assert np.allclose(all_edges, by_hand * twist_scales(robot))


# ---- Times of exposures by hand


def test_sequential_takes_cylinders_in_turn() -> None:
    shutter = Shutter(rate=100.0, exposure=0.004, latency=0.003, clock_offset=0.05)
    taken = list(shutter.exposures(0.0, 0.05, (7, 3, 5)))
    # By the robot's clock exposure k lasts from 0.01 k - 0.05 to 0.004 later: the fifth is the first to end.
    assert [exposure.cylinders for exposure in taken] == [((7, 3, 5)[k % 3],) for k in range(5, 10)]
    assert taken[0].time == pytest.approx(0.052)
    assert taken[0].arrival == pytest.approx(0.002 + 0.002 + 0.003)
    assert shutter.robot_time(taken[0].time) == pytest.approx(0.002)


def test_no_exposure_is_lost_or_twice_between_intervals() -> None:
    shutter = Shutter(rate=500.0, exposure=0.0005, latency=0.0, kind="global", clock_offset=-0.0013)
    parts = [
        e.time for k in range(20) for e in shutter.exposures(0.01 * k + 1e-5, 0.01 * (k + 1) + 1e-5, (0, 1))
    ]
    whole = [e.time for e in shutter.exposures(1e-5, 0.2 + 1e-5, (0, 1))]
    assert parts == whole
    assert len(whole) == 100
    assert all(e.cylinders == (0, 1) for e in shutter.exposures(0.0, 0.1, (0, 1)))
    assert list(shutter.exposures(0.0, 1.0, ())) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": 0.0},
        {"exposure": 0.1},
        {"exposure": -1.0},
        {"latency": -1.0},
        {"kind": "rolling"},
        {"clock_offset": float("nan")},
    ],
)
def test_impossible_shutters(wrong: dict[str, float]) -> None:
    with pytest.raises(KinematicsError):
        Shutter(**wrong)


# ---- Free edges: what is hidden, beside others and out of the image, along the edges by hand

LONG = rod((-0.35, 0.0, 2.0), (0.35, 0.0, 2.0), 0.03)


def test_alone_all_is_free() -> None:
    camera = small_camera()
    seen = edge_visibility(scene_of(camera, LONG), 0, 4.0)
    assert np.all(seen.free)
    # 0.7 m at 2 m with 300 px; the lens shortens it a little.
    assert np.allclose(seen.free_length(), 105.0, rtol=0.03)
    assert np.allclose(np.median(seen.width), 9.0, rtol=0.02)
    assert np.all(seen.free_length(10.0) < seen.free_length() - 18.0)


def test_hidden_and_crowded_parts() -> None:
    camera = small_camera()
    bar = rod((-0.02, -0.5, 1.0), (-0.02, 0.5, 1.0), 0.02)
    seen = edge_visibility(scene_of(camera, LONG, bar), 0, 4.0)
    x = seen.lines.points(seen.t)[0, :, 0] / 2.0
    behind, clear = np.abs(x + 0.02) < 0.019, np.abs(x + 0.02) > 0.021
    assert np.all(seen.hidden[:, behind])
    assert not np.any(seen.hidden[:, clear])
    assert np.all(seen.crowded[:, behind])
    assert not np.any(seen.crowded[:, np.abs(x + 0.02) > 0.03])
    # The same bar behind hides nothing, but there is no background beside the edges.
    back = edge_visibility(scene_of(camera, LONG, rod((-0.1, -2.0, 5.0), (-0.1, 2.0, 5.0), 0.1)), 0, 4.0)
    assert not np.any(back.hidden)
    assert np.all(back.crowded[:, behind])
    assert not np.any(back.crowded[:, clear])
    assert np.all(back.free_length() < 95.0)


def test_out_of_the_image_and_places() -> None:
    camera = small_camera()
    half = edge_visibility(scene_of(camera, rod((0.0, 0.0, 2.0), (2.0, 0.0, 2.0), 0.03)), 0, 4.0)
    assert 0.2 < np.mean(half.inside) < 0.3
    lines = ContactLines.of(rod((-0.3, 0.1, 1.5), (0.3, -0.1, 2.5), 0.05))
    t = np.array([0.0, 0.25, 0.9])
    for side, points in enumerate(lines.points(t)):
        assert np.allclose(points @ lines.normals[side], 0.0)
        pixels = camera.pixels(points)
        assert np.allclose(lines.position_along(side, PixelPatch.of(camera, pixels[:, 0], pixels[:, 1])), t)

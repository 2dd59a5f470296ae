"""The camera, its views of a robot, and which segment belongs to which edge."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle import load
from nacelle.errors import KinematicsError, UnobservableError
from nacelle.shapes.solid import Ball, Block
from nacelle.spatial.pose import Pose
from nacelle.vision.camera import Camera
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.scene import RobotScenery
from nacelle.vision.views import CylinderView, ViewFlag, cylinder_views, judge_view
from support.vision_scenes import rod, scene_of, small_camera

LENS = (-0.21, 0.08, 0.0012, -0.0007, -0.01)


def camera(distortion: tuple[float, ...] = LENS) -> Camera:
    return Camera.look_at((0.1, 0.0, 0.3), (1.2, -0.9, 0.8), size=(640, 480), distortion=distortion)


def test_looks_at_its_point_with_up_up() -> None:
    view = camera((0.0,) * 5)
    assert np.allclose(view.project((0.1, 0.0, 0.3)), (319.5, 239.5))
    above, right = view.project([(0.1, 0.0, 0.4), (0.1, 0.1, 0.3)])
    assert above[1] < 239.5
    assert abs(above[0] - 319.5) < 1e-9
    assert right[0] > 319.5
    assert np.allclose(view.pose.R.T @ view.pose.R, np.eye(3))
    assert np.linalg.det(view.pose.R) > 0.0
    # Half of the field of view is half of the shorter side.
    edge = view.ray((319.5, 479.5))
    assert np.isclose(np.arctan2(edge[1], edge[2]), 0.35)


def test_brown_by_hand() -> None:
    view = Camera((100.0, 200.0), (50.0, 60.0), (101, 121), camera().pose, (0.1, 0.01, 0.02, 0.03, 0.001))
    # a = (0.5, -1): r^2 = 1.25, radial 1.125 + 0.015625 + 0.001953125
    radial = 1.0 + 0.1 * 1.25 + 0.01 * 1.25**2 + 0.001 * 1.25**3
    x = 0.5 * radial + 2 * 0.02 * -0.5 + 0.03 * (1.25 + 0.5)
    y = -radial + 0.02 * (1.25 + 2.0) + 2 * 0.03 * -0.5
    assert np.allclose(view.pixels((1.0, -2.0, 2.0)), (50.0 + 100.0 * x, 60.0 + 200.0 * y), atol=1e-12)
    assert np.all(np.isnan(view.pixels((1.0, -2.0, -2.0))))


def test_rays_invert_pixels_over_the_image() -> None:
    view = camera()
    u, v = np.meshgrid(np.linspace(-0.5, 639.5, 17), np.linspace(-0.5, 479.5, 13))
    pixels = np.stack([u, v], axis=-1)
    rays = view.ray(pixels)
    assert np.allclose(np.linalg.norm(rays, axis=-1), 1.0)
    assert np.max(np.abs(view.pixels(rays) - pixels)) < 1e-10
    points = view.pose.p + 1.7 * rays @ view.pose.R.T
    assert np.max(np.abs(view.project(points) - pixels)) < 1e-9


def test_jacobian_of_pixels() -> None:
    view, ray, h = camera(), np.array([0.2, -0.13, 1.4]), 1e-6
    steps = h * np.eye(3)
    difference = (view.pixels(ray + steps) - view.pixels(ray - steps)).T / (2.0 * h)
    assert np.allclose(view.pixel_jacobian(ray), difference, rtol=1e-7, atol=1e-5)


def test_no_ray_beyond_the_fold_of_the_lens() -> None:
    view = camera((-1.0, 0.0, 0.0, 0.0, 0.0))  # x (1 - x^2) has its maximum at 1/sqrt(3)
    most = view.focal[0] * 2.0 / 3.0 / np.sqrt(3.0)
    inside, outside = view.ray([(319.5 + 0.99 * most, 239.5), (319.5 + 1.01 * most, 239.5)])
    assert np.all(np.isfinite(inside))
    assert np.all(np.isnan(outside))


def test_holds_and_errors() -> None:
    view = camera()
    held = view.contains([(-0.5, 0.0), (639.6, 0.0), (3.0, 3.0), (np.nan, 1.0)])
    assert held.tolist() == [True, False, True, False]
    assert not view.contains((3.0, 3.0), margin=5.0)
    with pytest.raises(KinematicsError, match="its own centre"):
        Camera.look_at((1.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    down = Camera.look_at((0.0, 0.0, 0.0), (0.0, 0.0, 2.0))
    assert np.allclose(down.pose.R.T @ down.pose.R, np.eye(3))


def test_opencv_projects_the_same() -> None:
    cv2 = pytest.importorskip("cv2")
    view = camera()
    points = np.random.default_rng(0).uniform(-0.3, 0.5, (50, 3))
    K = np.array(
        [[view.focal[0], 0.0, view.centre[0]], [0.0, view.focal[1], view.centre[1]], [0.0, 0.0, 1.0]]
    )
    turn = cv2.Rodrigues(view.pose.R.T)[0]
    pixels = cv2.projectPoints(points, turn, -view.pose.R.T @ view.pose.p, K, np.array(LENS))[0]
    assert np.max(np.abs(pixels.reshape(-1, 2) - view.project(points))) < 1e-8


# ---- Degenerate views are reported for what they are, subsets are used, and too little is an error

MODEL = PixelModel(blur=0.7)
WALL = Block(Pose(np.eye(3), np.array([0.0, 0.0, 3.0])), np.array([1.5, 1.5, 0.1]))
GOOD = rod((-0.2, -0.1, 1.8), (0.25, 0.15, 2.2), 0.03)


def first(*solids) -> CylinderView:
    return cylinder_views(scene_of(small_camera(), *solids), MODEL)[0]


def test_a_good_view() -> None:
    one = first(GOOD)
    assert one.flags == 0
    assert one.usable
    assert one.reason == ""
    assert one.width == pytest.approx(9.0, rel=0.1)
    assert np.all(one.visible == 1.0)


@pytest.mark.parametrize(
    ("solids", "flag"),
    [
        ((rod((0.0, 0.0, 1.0), (0.0, 0.01, 2.0), 0.05),), ViewFlag.END_ON),
        ((rod((0.0, 0.0, -1.0), (0.02, 0.01, 2.0), 0.3),), ViewFlag.CAMERA_INSIDE),
        ((rod((-0.2, 0.0, 2.0), (0.2, 0.1, 2.0), 0.003),), ViewFlag.PARALLEL_EDGES),
        ((rod((3.0, 0.0, 2.0), (4.0, 0.1, 2.0), 0.03),), ViewFlag.OUT_OF_VIEW),
        ((rod((-0.2, 0.0, -2.0), (0.2, 0.1, -2.0), 0.03),), ViewFlag.OUT_OF_VIEW),
        ((GOOD, Ball(np.array([0.0, 0.0, 1.0]), 0.2)), ViewFlag.OCCLUDED),
        ((GOOD, WALL), ViewFlag.OVERLAPPING),
        ((GOOD, rod((-0.2, -0.101, 1.8), (0.25, 0.149, 2.2), 0.03)), ViewFlag.MIRRORED),
        ((GOOD, rod((0.25, 0.151, 2.2), (-0.2, -0.099, 1.8), 0.03)), ViewFlag.MIRRORED),
        ((rod((0.0, 0.0, 2.0), (0.04, 0.02, 2.0), 0.03),), ViewFlag.SHORT),
    ],
)
def test_degenerate_views(solids: tuple, flag: ViewFlag) -> None:
    one = first(*solids)
    assert one.flags & flag
    assert not one.usable
    assert one.reason
    if flag is ViewFlag.MIRRORED:
        assert one.mirrored == (1,)


def test_one_side_is_enough_to_be_used_alone() -> None:
    cover = rod((-0.5, 0.12, 1.0), (0.5, 0.12, 1.0), 0.12)
    one = first(rod((-0.2, 0.0, 2.0), (0.2, 0.0, 2.0), 0.05), cover)
    assert len(one.sides) == 1
    assert one.flags & ViewFlag.OCCLUDED


def front(field: float, at: tuple[float, ...] = (0.0, 0.15, 0.0)) -> Camera:
    return Camera.look_at(at, (at[0], at[1], 1.5), up=(0.0, 1.0, 0.0), field=field)


def test_subsets_determine_or_raise() -> None:
    scenery = RobotScenery(load("fivebar"))
    whole = judge_view(scenery, front(0.5))
    assert whole.usable == (0, 1, 2, 3)
    assert whole.require() is whole
    # Two legs out of four bars: the right half alone determines a point in the plane.
    half = judge_view(scenery, front(0.2, (0.23, 0.15, 0.0)))
    assert set(half.usable) == {2, 3}
    assert half.determined
    assert set(half.reasons) == {"left.proximal", "left.distal"}
    # A proximal bar alone does not.
    ends = scenery.cylinders[2].ends_in_base(*scenery.bodies())
    close = Camera.look_at(
        0.6 * ends[0] + 0.4 * ends[1], 0.6 * ends[0] + 0.4 * ends[1] + [0, 0, 1.5], field=0.06
    )
    part = judge_view(scenery, close)
    assert part.usable == (2,)
    with pytest.raises(UnobservableError, match="1 of 2 motions undetermined") as error:
        part.require()
    assert error.value.undetermined == 1
    assert error.value.reasons["left.distal"] == "out of view"
    away = judge_view(scenery, Camera.look_at((0.0, 0.0, 5.0), (0.0, 0.0, 1.0)))
    assert away.edges == ()
    with pytest.raises(UnobservableError):
        away.require()


def test_boxes_are_refused() -> None:
    seen = judge_view(RobotScenery(load("prrrp")), front(0.7))
    assert seen.cylinders == ()
    assert all(box.flags == ViewFlag.BOX and not box.usable for box in seen.boxes)
    assert len(seen.boxes) == 4
    with pytest.raises(UnobservableError, match="a box: its edges are not those of a cylinder"):
        seen.require()

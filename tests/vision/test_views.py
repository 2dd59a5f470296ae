"""Degenerate views are reported for what they are, subsets are used, and too little is an error."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle import load
from nacelle.errors import UnobservableError
from nacelle.shapes.solid import Ball, Block
from nacelle.spatial.pose import Pose
from nacelle.vision.camera import Camera
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.scene import Scenery
from nacelle.vision.views import CylinderView, ViewFlag, cylinder_views, judge_view
from support.vision_scenes import rod, scene_of, small_camera

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
    return Camera.looking(at, (at[0], at[1], 1.5), up=(0.0, 1.0, 0.0), field=field)


def test_subsets_determine_or_raise() -> None:
    scenery = Scenery(load("fivebar"))
    whole = judge_view(scenery, front(0.5))
    assert whole.usable == (0, 1, 2, 3)
    assert whole.require() is whole
    # Two legs out of four bars: the right half alone determines a point in the plane.
    half = judge_view(scenery, front(0.2, (0.23, 0.15, 0.0)))
    assert set(half.usable) == {2, 3}
    assert half.determined
    assert set(half.reasons) == {"left.proximal", "left.distal"}
    # A proximal bar alone does not.
    ends = scenery.cylinders[2].placed(*scenery.bodies())
    close = Camera.looking(
        0.6 * ends[0] + 0.4 * ends[1], 0.6 * ends[0] + 0.4 * ends[1] + [0, 0, 1.5], field=0.06
    )
    part = judge_view(scenery, close)
    assert part.usable == (2,)
    with pytest.raises(UnobservableError, match="1 of 2 motions undetermined") as error:
        part.require()
    assert error.value.undetermined == 1
    assert error.value.reasons["left.distal"] == "out of view"
    away = judge_view(scenery, Camera.looking((0.0, 0.0, 5.0), (0.0, 0.0, 1.0)))
    assert away.edges == ()
    with pytest.raises(UnobservableError):
        away.require()


def test_boxes_are_refused() -> None:
    seen = judge_view(Scenery(load("prrrp")), front(0.7))
    assert seen.cylinders == ()
    assert all(box.flags == ViewFlag.BOX and not box.usable for box in seen.boxes)
    assert len(seen.boxes) == 4
    with pytest.raises(UnobservableError, match="a box: its edges are not those of a cylinder"):
        seen.require()

"""Joints of a robot: their frames are placed with the leg, a C5 closure has its plane on the predecessor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.model.joint import JointKind
from nacelle.model.leg import PLATFORM
from nacelle.model.read import read_data
from nacelle.model.robot import Robot


def robot(end: dict[str, Any], placement: dict[str, Any] | None = None, **nacelle: Any) -> Robot:
    hip = {"type": "revolute", "parent": "base", "child": "arm", "at": [1.0, 0.0, 0.0], "axis": "y"}
    leg = {
        "name": "a",
        "placement": placement or {},
        "bodies": {"arm": {"mass": 1.0}},
        "joints": {"hip": {**hip, "active": True}},
        "closures": {"end": {"parent": "arm", "child": "plate", **end}},
    }
    data = {"name": "one", "motion": "xyz", "nacelle": {"name": "plate", **nacelle}, "legs": [leg]}
    return read_data(data)[0]


def test_frames_on_base_and_nacelle_are_placed_with_the_leg() -> None:
    made = robot({"type": "spherical", "at": [0.3, 0, 0], "child_at": [0.2, 0, 0]}, {"angle": "90 deg"})
    hip, end = made.joints
    assert (hip.name, end.name) == ("a.hip", "a.end")
    np.testing.assert_allclose(hip.frame_predecessor.p, [0.0, 1.0, 0.0], atol=1e-15)
    # The axis y of the leg is -x of the base; the frame in the arm itself is as written.
    np.testing.assert_array_equal(hip.frame_predecessor.R[:, 2], [-1.0, 0.0, 0.0])
    np.testing.assert_array_equal(hip.frame_successor.R[:, 2], [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(end.frame_predecessor.p, [0.3, 0.0, 0.0])
    np.testing.assert_allclose(end.frame_successor.p, [0.0, 0.2, 0.0], atol=1e-15)


def test_a_c5_closure_is_written_from_its_plane() -> None:
    made = robot({"type": "planar-spherical", "plane": "child", "axis": "x", "child_at": [0.2, 0, 0]})
    end = made.joints[1]
    assert end.kind is JointKind.PLANAR_SPHERICAL
    assert (end.predecessor, end.successor) == (PLATFORM, made.body("a.arm"))
    np.testing.assert_array_equal(end.frame_predecessor.p, [0.2, 0.0, 0.0])


def test_a_joint_on_a_point_locks_its_position() -> None:
    assert robot({"type": "revolute"}, type="point").joints[1].kind is JointKind.POINT


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ({"type": "prismatic"}, "cannot end on a point"),
        ({"type": "revolute", "child_at": [0.1, 0, 0]}, "is at the point"),
        ({"type": "revolute", "friction": {"viscous": 1.0}}, "no drive and no friction"),
    ],
)
def test_what_cannot_be_on_a_point(end: dict[str, Any], words: str) -> None:
    with pytest.raises(DescriptionError, match=words):
        robot(end, type="point")

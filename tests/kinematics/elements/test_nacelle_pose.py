"""Linear forward kinematics: bodies of the nacelle from points whose motion is known."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.elements.nacelle_pose import NacellePlaces, nacelle_bodies, orientations
from nacelle.kinematics.general.plan import plan_of
from nacelle.kinematics.kinematic_model import body_motions, body_poses
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.compare import assert_same
from support.library import library_robot


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("delta", {"constant"}),
        ("3rrr", {"axis"}),
        ("gough-stewart", {"any"}),
        ("quattro", {"constant", "axis"}),
    ],
)
def test_orientations(name: str, kinds: set[str]) -> None:
    found = orientations(mechanism_of(library_robot(name)))
    assert kinds <= {turning.kind for turning in found.values()}


@pytest.mark.parametrize("name", ["3rrr", "gough-stewart"])
def test_three_points_place_a_body(name: str) -> None:
    """Points of the platform with exact motion, by the tree, give its pose and twist back."""
    robot = library_robot(name)
    mechanism = mechanism_of(robot)
    x, y = plan_of(robot).samples[2]
    rng = np.random.default_rng(1)
    v, a = rng.normal(size=(2, robot.motion.n))
    body = nacelle_bodies(mechanism)[0]
    poses, moving = body_poses(robot, x, y), body_motions(robot, x, y, v, a)
    R, p = poses["R"][body], poses["p"][body]
    (linear, w), (second, w_dot) = (
        moving["twist"][body].reshape(2, 3),
        moving["acceleration"][body].reshape(2, 3),
    )
    places = NacellePlaces(mechanism)
    for local in robot.size * rng.normal(size=(3, 3)):
        r = R @ local
        rate = np.cross(w, r)
        places.add(
            body, local, np.stack([p + r, linear + rate, second + np.cross(w_dot, r) + np.cross(w, rate)])
        )
    assert body not in places.solve()
    frame = places.frames[body]
    for found, exact in (
        (frame.pose.R, R),
        (frame.pose.p, p),
        (frame.v, linear),
        (frame.w, w),
        (frame.a, second),
        (frame.w_dot, w_dot),
        (np.stack(frame.columns_dot, axis=1), np.cross(w, R.T).T),
    ):
        assert_same(found, exact, 1e-10)


def test_one_point_does_not_place_a_turning_body() -> None:
    mechanism = mechanism_of(library_robot("gough-stewart"))
    places = NacellePlaces(mechanism)
    places.add(nacelle_bodies(mechanism)[0], np.zeros(3), np.zeros((3, 3)))
    assert places.solve() == list(nacelle_bodies(mechanism))
    assert places.wanted_axes(nacelle_bodies(mechanism)[0]) == (0, 1)

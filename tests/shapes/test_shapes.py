"""Shapes: default, mesh file, placed, points, solid, strokes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nacelle import load
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.leg import Body
from nacelle.model.robot import Robot
from nacelle.model.source.yaml import read_yaml
from nacelle.shapes.configured import (
    BALL_RADIUS,
    ConfiguredRobot,
    arc_points,
    arc_solids,
    body_solids,
    rail_of_stroke,
    telescope_of_stroke,
)
from nacelle.shapes.mesh_file import find_meshes, mesh_reason
from nacelle.shapes.points import distinct_points, planar_rim
from nacelle.shapes.solid import Ball, Block, Plate, Rod, described_solids
from nacelle.spatial.pose import Pose
from support.described import mechanism

# ---- default
#
# Shapes of bodies without any: arcs on great circles, rods between joints, a ball for a lone point.


def test_arcs_lie_on_a_great_circle() -> None:
    centre, a, b = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])
    way = arc_points(a, b, centre)
    np.testing.assert_allclose(np.linalg.norm(way - centre, axis=1), 1.0, atol=1e-14)
    np.testing.assert_allclose(way[[0, -1]], [a, b], atol=1e-14)
    steps = np.linalg.norm(np.diff(way, axis=0), axis=1)
    assert steps.sum() == pytest.approx(np.pi / 2, rel=1e-2)
    np.testing.assert_allclose(steps, steps[0])
    opposite = arc_points(a, 2.0 * centre - a, centre)
    np.testing.assert_allclose(np.linalg.norm(opposite - centre, axis=1), 1.0, atol=1e-14)


def test_rods_reach_from_joint_to_joint() -> None:
    ends = [np.zeros(3), np.array([0.0, 0.0, 2.0])]
    (rod,) = body_solids(ends, [], np.zeros(3), 1.0, platform=False)
    assert isinstance(rod, Rod)
    assert (rod.start[2], rod.stop[2]) == (0.0, 2.0)
    (ball,) = body_solids([], [], np.array([1.0, 0.0, 0.0]), 1.0, platform=False)
    assert isinstance(ball, Ball)
    assert (ball.radius, tuple(ball.centre)) == (BALL_RADIUS, (1.0, 0.0, 0.0))
    assert len(arc_solids([], np.zeros(3), 0.01)) == 1


# ---- Where meshes are, and why one is not read


def test_meshes_are_below_the_description(tmp_path: Path) -> None:
    (tmp_path / "robot").mkdir()
    for name in ("robot/a.STL", "b.stl"):
        (tmp_path / name).touch()
    (tmp_path / "robot" / "link.stl").symlink_to(tmp_path / "b.stl")
    folder = str(tmp_path / "robot")
    assert mesh_reason(folder, "a.STL") == ("", "")
    assert "leaves" in mesh_reason(folder, "../b.stl")[0]
    assert "leaves" in mesh_reason(folder, "link.stl")[0]
    assert "no file" in mesh_reason("", "a.STL")[0]
    assert "cannot be read" in mesh_reason(folder, "a\0.stl")[0]


def test_meshes_are_found_in_a_description() -> None:
    source = read_yaml("legs:\n- bodies: {a: {display: [{mesh: {file: a.stl}}]}}\nmesh: {file: 3}\n", "f")
    ((path, file),) = find_meshes(source.root)
    assert path == ("legs", 0, "bodies", "a", "display", 0, "mesh", "file")
    assert file == "a.stl"


# ---- Solids of placed robots: at their joints, also where nothing is described


def configured(robot: Robot) -> ConfiguredRobot:
    bodies = inverse_kinematics(robot, reference_pose(robot), limits=False).bodies
    return ConfiguredRobot(robot, [Pose(R, p) for R, p in zip(*bodies, strict=True)])


def test_described_and_default_rods_have_the_same_axes() -> None:
    """The bars of the five-bar are described from joint to joint, as defaults are."""
    robot = load("fivebar")
    bare = replace(robot, bodies=tuple(replace(body, display=()) for body in robot.bodies))
    for b in (b for leg in robot.legs for b in leg.bodies):
        (described,), (default,) = configured(robot).solids(b), configured(bare).solids(b)
        assert isinstance(described, Rod)
        assert isinstance(default, Rod)
        ends = {tuple(np.round(end, 12) + 0.0) for end in (described.start, described.stop)}
        assert ends == {tuple(np.round(end, 12) + 0.0) for end in (default.start, default.stop)}
    assert any(isinstance(solid, Rod) for solid in configured(robot).solids(0))


def test_extent_is_that_of_the_joints() -> None:
    robot = load("fivebar")
    now = configured(robot)
    points = np.array([end.p for pair in now.ends for end in pair])
    assert np.isclose(now.extent, np.linalg.norm(np.ptp(points, axis=0)))
    assert not now.spherical
    assert len(now.anchors()) == 2
    assert now.rails() == []


def test_the_last_link_of_a_chain_counts() -> None:
    """A pole ends at its mass, far beyond the joints, and its rod is as thick as that is long."""
    robot = mechanism("cart_pole")
    now = configured(robot)
    joints = np.array([end.p for pair in now.ends for end in pair])
    last = [b for b in range(1, len(robot.bodies)) if now.ends_a_chain(b)]
    assert len(last) == 1
    points = np.array([*joints, now.mass_centre(last[0])])
    assert now.extent > 2.0 * np.linalg.norm(np.ptp(joints, axis=0))
    assert np.isclose(now.extent, np.linalg.norm(np.ptp(points, axis=0)))


# ---- Points that differ, and rims of flat sets of points

SQUARE = [np.array(p, dtype=float) for p in ((0, 0, 1), (2, 0, 1), (2, 2, 1), (0, 2, 1))]


def test_equal_points_are_one() -> None:
    points = [SQUARE[0], SQUARE[0] + 1e-6, SQUARE[1]]
    assert [p is q for p, q in zip(distinct_points(points, 1e-3), (SQUARE[0], SQUARE[1]), strict=True)] == [
        True,
        True,
    ]
    assert len(distinct_points(points, 1e-9)) == 3


def test_rim_goes_round_without_the_middle() -> None:
    edges = planar_rim([*SQUARE, np.array([1.0, 1.0, 1.0])], 1e-3)
    assert len(edges) == 4
    lengths = [np.linalg.norm(SQUARE[i] - SQUARE[k]) for i, k in edges]
    assert np.allclose(lengths, 2.0)
    assert planar_rim([*SQUARE, np.array([1.0, 1.0, 3.0])], 1e-3) == []
    assert planar_rim(SQUARE[:2], 1e-3) == [(0, 1)]
    assert planar_rim(SQUARE[:1], 1e-3) == []


# ---- Solids of descriptions, and solids moved to another frame

TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])

POSE = Pose(TURN, np.array([0.0, 0.0, 5.0]))


def test_described_shapes_become_solids() -> None:
    body = Body(
        "arm",
        display=(
            {"cylinder": {"from": [0, 0, 0], "to": [1, 0, 0], "radius": 0.1}, "color": "red"},
            {"mesh": {"file": "arm.stl"}},
            {"sphere": {"radius": 0.2, "at": [0, 1, 0]}},
            {"box": {"size": [1, 2, 3], "at": {"translation": [0.5, 0, 0]}}},
        ),
    )
    rod, ball, block = (solid.transform(POSE) for solid in described_solids(body))
    assert isinstance(rod, Rod)
    assert rod.colour == "red"
    assert np.allclose([rod.start, rod.stop], [[0, 0, 5], [0, 1, 5]])
    assert isinstance(ball, Ball)
    assert np.allclose(ball.centre, [-1, 0, 5])
    assert isinstance(block, Block)
    assert np.allclose(block.at.p, [0, 0.5, 5])
    assert np.allclose(block.at.R, TURN)


def test_plates_move_with_all_corners() -> None:
    plate = Plate(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), 0.01).transform(POSE)
    assert np.allclose(plate.corners, [[0, 1, 5], [-1, 0, 5], [0, 0, 5]])


# ---- Telescopic pairs over their strokes: they neither come apart nor pass each other's ends

LENGTH = st.floats(0.05, 5.0)


@given(LENGTH, LENGTH, LENGTH, st.sampled_from([-1.0, 1.0]))
def test_pairs_hold_together_within_their_limits(one: float, two: float, part: float, sign: float) -> None:
    a, b = sorted((one, two))
    assume(b <= 3.0 * a)
    moved = a + (b - a) * (part - 0.05) / 4.95
    lower, upper = sorted((sign * a, sign * b))
    pair = telescope_of_stroke((lower, upper), (sign * moved, sign * moved), 1.0)
    assert pair is not None
    back, mouth = sorted(sign * s for s in pair.tube)
    for s in (a, moved, b):
        inner, end = s + sign * pair.rod[0], s + sign * pair.rod[1]
        assert end == pytest.approx(s)  # the rod reaches its joint
        assert inner < mouth  # and is in the tube
        assert inner > back - 1e-12  # which it does not leave at the back
        assert mouth <= s + 1e-12  # and the tube ends before the joint
    assert back == 0.0 or b * 1.08 > 2.0 * a  # only long strokes need a tube behind the joint


@given(st.floats(0.3, 3.0))
def test_pairs_without_limits_fit_what_is_shown(stroke: float) -> None:
    pair = telescope_of_stroke((-math.inf, math.inf), (0.8 * stroke, stroke), 1.0)
    assert pair is not None
    assert pair.tube[0] == 0.0
    assert stroke + pair.rod[0] < pair.tube[1] <= 0.8 * stroke + 1e-12


def test_strokes_through_zero_have_rails() -> None:
    free = (-math.inf, math.inf)
    assert telescope_of_stroke(free, (-0.1, 0.3), 1.0) is None
    assert telescope_of_stroke(free, (0.001, 0.001), 1.0) is None
    assert telescope_of_stroke((0.0, 9.0), (0.05, 0.9), 1.0) is None
    low, high = rail_of_stroke((0.2, 0.7), (0.4, 0.4), 1.0, from_anchor=False)
    assert low < 0.2 < 0.7 < high < 0.75
    assert rail_of_stroke((0.2, 0.7), (0.4, 0.4), 1.0, from_anchor=True)[0] == 0.0
    # Limits far beyond the robot are none.
    assert rail_of_stroke((-100.0, 100.0), (0.4, 0.4), 1.0, from_anchor=False)[1] < 0.5

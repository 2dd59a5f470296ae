"""Paths: waypoints from tables, lines, circles, polylines, B-splines."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.interpolate import BSpline as ScipySpline
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation, Slerp

from nacelle.errors import TableError
from nacelle.model.platform import parse_motion
from nacelle.trajectory import (
    BSpline,
    Circle,
    Line,
    Polyline,
    Quintic,
    TrajectoryError,
    Waypoints,
    read_waypoints,
)
from nacelle.trajectory.waypoints import read_poses


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "way.csv"
    file.write_text(
        "t, y [mm], x, rz (deg)\n# a way\n1, 0, 0, 0\n\n1.5, 300, 0.1, 90\n", encoding="utf-8-sig"
    )
    for source in (file, str(file)):
        found = read_waypoints(source, "xy+rz")
        assert found.times is not None
        np.testing.assert_array_equal(found.times, [0, 0.5])
        np.testing.assert_array_equal(found.points, [[0, 0, 0], [0.1, 0.3, np.pi / 2]])
    spline = found.bspline()
    assert spline.duration == 0.5
    np.testing.assert_allclose(spline(0.5).x, found.points[1])


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_separators_and_quotes(mark: str) -> None:
    text = (
        mark.join(['"x [m]"', "y"])
        + "\n"
        + mark.join(["1e-3", '"2"'])
        + "\n"
        + mark.join(["pi/2", "0"])
        + "\n"
    )
    found = read_waypoints(text, "xy")
    assert found.times is None
    np.testing.assert_array_equal(found.points, [[1e-3, 2], [np.pi / 2, 0]])


def test_orientations_in_three_forms() -> None:
    rotation = Rotation.from_euler("xyz", [[10, 20, 30], [-70, 40, 100]], degrees=True)
    rows = {
        "qx,qy,qz,qw": rotation.as_quat() * -2.0,
        "rx [deg],ry [deg],rz [deg]": np.degrees(rotation.as_rotvec()),
        "roll [deg],pitch [deg],yaw [deg]": np.array([[10, 20, 30], [-70, 40, 100]]),
    }
    for header, values in rows.items():
        lines = [",".join(repr(float(v)) for v in [1, 2, 3, *row]) for row in values]
        found = read_waypoints(f"x,y,z,{header}\n" + "\n".join(lines), "se3")
        turned = Rotation.from_quat(found.points[:, 3:]) * rotation.inv()
        assert turned.magnitude().max() < 1e-14


def test_through_them() -> None:
    found = read_waypoints("x,y\n0,0\n1,0\n1,1\n", "xy")
    line = found.polyline(speed=1.0, acceleration=10.0)
    assert isinstance(line, Polyline)
    assert found.bspline(duration=3.0, degree=3, rest=False).duration == 3.0
    with pytest.raises(TrajectoryError, match="one of the three"):
        found.bspline()
    timed = Waypoints(found.motion, found.points, np.array([0.0, 1.0, 2.0]))
    assert timed.bspline().duration == 2.0
    assert timed.polyline(blend=0.1).duration == 2.0
    assert timed.bspline(duration=7.0).duration == 7.0


@pytest.mark.parametrize(
    ("text", "motion", "problems"),
    [
        ("\n", "xy", [(1, 1, "", "the file is empty")]),
        ("", "xy", [(1, 1, "", "the file is empty")]),
        ("x,y\n", "xy", [(1, 1, "", "0 pose(s) are too few")]),
        ("x,y\n1,2\n", "xy", [(2, 1, "", "1 pose(s) are too few")]),
        ("t,x\n0,1\n1,2\n", "xy", [(1, 1, "y", "the column is missing")]),
        ("x,y,w\n0,1,2\n1,2,3\n", "xy", [(1, 5, "", "unknown column 'w'")]),
        ("x,y,x\n0,1,2\n1,2,3\n", "xy", [(1, 5, "x", "the column is given twice")]),
        (
            "x,y\n0, nan\n1,\n",
            "xy",
            [(2, 4, "y", "'nan' is not a finite number"), (3, 3, "y", "nothing is not")],
        ),
        ("x,y\n0,1e999\n1,2\n", "xy", [(2, 3, "y", "'1e999' is not a finite number")]),
        ("x,y\n0,1 m\n1,2\n", "xy", [(2, 3, "y", "'1 m' is not a finite number")]),
        (
            "x,y\n0,1,2\n1\n1,2\n",
            "xy",
            [(2, 5, "", "3 entries in the line"), (3, 1, "", "1 entries in the line")],
        ),
        (
            "t,x\n0,1\n1,2\n1,3\n0.5,3\n",
            "x",
            [(4, 1, "t", "time 1 s is not after 1 s"), (5, 1, "t", "time 0.5 s")],
        ),
        (
            "x [deg],t [m]\n0,1\n1,2\n",
            "x",
            [(1, 1, "x", "'deg' is not a unit"), (1, 9, "t", "'m' is not a unit")],
        ),
        ("x [mmm]\n0\n1\n", "x", [(1, 1, "x", "unknown unit 'mmm'")]),
        ("x [mm\n0\n1\n", "x", [(1, 1, "", "unknown column"), (1, 1, "x", "the column is missing")]),
        (
            "qx,qy,qz,qw\n0,0,0,0\n0,0,0,1\n",
            "rx+ry+rz",
            [(2, 1, "qx", "the quaternion (qx, qy, qz, qw) has length 0")],
        ),
        ("qx,qy,qz\n0,0,0\n0,0,1\n", "rx+ry+rz", [(1, 1, "qw", "the column is missing")]),
        ("x\n0\n1\n", "x+rx+ry+rz", [(1, 1, "", "columns of the orientation are missing")]),
        (
            "qx,qy,qz,qw,yaw\n0,0,0,1,0\n0,0,0,1,0\n",
            "rx+ry+rz",
            [(1, 13, "", "orientations are given twice")],
        ),
        ("qx [rad],qy,qz,qw\n0,0,0,1\n0,0,0,1\n", "rx+ry+rz", [(1, 1, "qx", "'rad' is not a unit")]),
    ],
)
def test_mistakes(text: str, motion: str, problems: list[tuple[int, int, str, str]]) -> None:
    with pytest.raises(TableError) as caught:
        read_waypoints(text, motion)
    found = caught.value.problems
    assert [(p.line, p.column, p.path) for p in found] == [problem[:3] for problem in problems]
    for problem, (*_, message) in zip(found, problems, strict=True):
        assert problem.file == "<text>"
        assert message in problem.message
        assert problem.hint
        assert str(problem) in str(caught.value)


def test_the_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "way.csv"
    file.write_text("x\n0\nfar\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"way\.csv:3:1: x: 'far' is not a finite number"):
        read_waypoints(file, "x")
    with pytest.raises(TableError, match=r"none\.csv: there is no such file"):
        read_waypoints(tmp_path / "none.csv", "x")


def test_only_the_first_mistakes_are_told() -> None:
    with pytest.raises(TableError) as caught:
        read_waypoints("x\n" + "?\n" * 1000, "x")
    assert len(caught.value.problems) == 20


@pytest.mark.parametrize("size", ["1e155", "1e-200", "0", "nan"])
def test_a_quaternion_without_a_usable_length(size: str) -> None:
    """A pose of a table keeps its place with NaN; a path has none such."""
    head = "x,y,z,qx,qy,qz,qw\n0,0,1,0,0,0,2\n"
    points = read_poses(f"{head}0,0,1,{size},0,0,{size}\n0,0,1,1e100,0,0,0\n", "se3").points
    assert np.isfinite(points).all(axis=1).tolist() == [True, False, True]
    np.testing.assert_allclose(points[[0, 2], 3:], [[0, 0, 0, 1], [1, 0, 0, 0]])
    with pytest.raises(TableError, match=r":3:"):
        read_waypoints(f"{head}0,0,1,{size},0,0,{size}\n", "se3")


# ---- Lines: ends, slerp, limits


def test_from_start_to_end() -> None:
    line = Line([0, 1, 2], [1, -1, 2], motion="xyz", duration=2.0)
    assert line.motion == parse_motion("xyz")
    np.testing.assert_allclose(line([0, 1, 2]).x, [[0, 1, 2], [0.5, 0, 2], [1, -1, 2]], atol=1e-15)
    np.testing.assert_allclose(line(1.0).v, 1.875 / 2 * np.array([1, -2, 0]), atol=1e-15)
    np.testing.assert_allclose(line(1.0).a, 0.0, atol=1e-15)
    assert repr(line) == "Line(xyz, 2 s)"


@given(st.integers(0, 10000))
def test_orientations_are_those_of_slerp(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 7))
    line = Line(a, b, motion="se3", timing=Quintic(3.0))
    t = np.linspace(0, 3, 20)
    s = Quintic(3.0)(t).s
    expected = Slerp([0, 1], Rotation.from_quat([a[3:], b[3:]]))(s)
    found = Rotation.from_quat(line(t).x[:, 3:])
    assert np.max((found * expected.inv()).magnitude()) < 1e-14


def test_half_a_turn_keeps_its_sign() -> None:
    for end in ([1, 0, 0, 0], [-1, 0, 0, -1e-17], [0.6, 0.8, 0, 0]):
        line = Line([0, 0, 0, 0, 0, 0, 1], [0, 0, 0, *end], motion="se3", duration=1.0)
        x = line(np.linspace(0, 1, 100)).x
        assert np.abs(np.diff(x, axis=0)).max() < 0.1


@pytest.mark.parametrize("timing", ["quintic", "cubic", "trapezoid", "bang-bang"])
@given(st.integers(0, 10000))
def test_limits_of_each_coordinate(timing: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 7))
    speed, acceleration = rng.uniform(0.1, 2, (2, 6))
    line = Line(a, b, motion="se3", speed=speed, acceleration=acceleration, timing=timing)
    _, sample = line.sample(4001)
    reached = max((np.abs(sample.v) / speed).max(), (np.abs(sample.a) / acceleration).max())
    assert 1 - 1e-5 < reached <= 1 + 1e-12


# ---- Circles: planes, turns, errors

UNIT = [0.0, 0.0, 0.0, 1.0]


def test_in_a_plane() -> None:
    circle = Circle([1, 2, 3], 0.5, motion="xyz", plane="zx", duration=1.0, timing="uniform")
    expected = [[1, 2, 3.5], [1.5, 2, 3], [1, 2, 2.5], [1, 2, 3.5]]
    np.testing.assert_allclose(circle([0, 0.25, 0.5, 1]).x, expected, atol=1e-15)
    v = circle(np.linspace(0.01, 0.99, 20)).v
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), math.pi, rtol=1e-14)
    a = circle(np.linspace(0.01, 0.99, 20)).a
    np.testing.assert_allclose(np.linalg.norm(a, axis=1), 2 * math.pi**2, rtol=1e-14)


@given(*(st.floats(-1, 1) for _ in range(3)))
def test_about_a_normal(a: float, b: float, c: float) -> None:
    normal = np.array([a, b, c])
    assume(np.linalg.norm(normal) > 1e-3)
    circle = Circle([1, 2, 3, *UNIT], 0.5, motion="se3", plane=normal, duration=1.0)
    x, v, _ = circle(np.linspace(0, 1, 30))
    out = x[:, :3] - [1, 2, 3]
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 0.5, rtol=1e-13)
    np.testing.assert_allclose(out @ normal, 0.0, atol=1e-14)
    assert np.all(np.cross(out[1:-1], v[1:-1, :3]) @ normal > 0)  # right-handed about the normal
    np.testing.assert_array_equal(x[:, 3:], np.tile(UNIT, (30, 1)))


def test_speed_along_the_circle() -> None:
    circle = Circle(
        [0, 0, 0.3], 0.2, motion="xy+rz", speed=1.5, acceleration=4.0, timing="trapezoid", turns=3
    )
    _, (x, v, _) = circle.sample(2001)
    assert np.linalg.norm(v, axis=1).max() == pytest.approx(1.5, rel=1e-12)
    np.testing.assert_array_equal(x[:, 2], 0.3)


def test_a_circle_needs_two_translations() -> None:
    with pytest.raises(TrajectoryError, match="no two translations"):
        Circle([0, 0, 0], 1.0, motion="z+rx+ry", duration=1.0)


# ---- Polylines: segments, blends, limits

SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])


def test_segments_and_blends() -> None:
    line = Polyline(SQUARE, motion="xyz", times=[0, 1, 2, 3], blend=0.2)
    assert line.duration == 3.0
    np.testing.assert_allclose(line([0, 3]).x, SQUARE[[0, -1]], atol=1e-15)
    middle = line(1.5)  # on the second segment
    np.testing.assert_allclose(middle.x, [1, 0.5, 0], atol=1e-15)
    np.testing.assert_allclose(middle.v, [0, 1, 0], atol=1e-15)
    corner = line(1.0)
    u, v = np.array([1 / 0.9, 0, 0]), np.array([0, 1.0, 0])  # the first blend shortens the first segment
    np.testing.assert_allclose(corner.x, SQUARE[1] + (v - u) * 0.1 / 4, atol=1e-15)
    np.testing.assert_allclose(corner.v, (u + v) / 2, atol=1e-14)
    inside = line(np.linspace(0.9 + 1e-9, 1.1 - 1e-9, 11)).a
    np.testing.assert_allclose(inside, np.tile((v - u) / 0.2, (11, 1)), atol=1e-12)


def test_orientations_on_segments_are_those_of_slerp() -> None:
    rng = np.random.default_rng(0)
    quats = rng.normal(size=(4, 4))
    points = np.hstack([np.zeros((4, 3)), quats])
    line = Polyline(points, motion="se3", times=[0, 1, 2, 3], blend=0.2)
    t = np.concatenate([np.linspace(1.1, 1.9, 20)])
    expected = Slerp([0, 1, 2, 3], Rotation.from_quat(quats))(t)
    assert np.max((Rotation.from_quat(line(t).x[:, 3:]) * expected.inv()).magnitude()) < 1e-14


def test_turning_about_one_axis_has_constant_acceleration_in_blends() -> None:
    angles = np.array([0.0, 1.0, 0.4, 2.0])
    quats = Rotation.from_rotvec(angles[:, None] * [0.6, 0, 0.8]).as_quat()
    turning = Polyline(np.hstack([np.zeros((4, 3)), quats]), motion="se3", times=[0, 1, 2, 3], blend=0.3)
    plain = Polyline(angles[:, None], motion="rz", times=[0, 1, 2, 3], blend=0.3)
    t = np.linspace(0, 3, 400)
    np.testing.assert_allclose(turning(t).v[:, 3:], plain(t).v * [0.6, 0, 0.8], atol=1e-13)
    np.testing.assert_allclose(turning(t).a[:, 3:], plain(t).a * [0.6, 0, 0.8], atol=1e-12)


@given(st.integers(0, 10000), st.floats(0.1, 10), st.floats(0.1, 10))
def test_speed_and_acceleration_are_kept(seed: int, speed: float, acceleration: float) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, size=(rng.integers(2, 7), 3))
    line = Polyline(points, motion="xyz", speed=speed, acceleration=acceleration)
    _, (x, v, a) = line.sample(3001)
    assert np.abs(v).max() <= speed * (1 + 1e-9)
    assert np.abs(a).max() <= acceleration * (1 + 1e-9)
    fastest = max(np.abs(v).max() / speed, np.abs(a).max() / acceleration)
    assert fastest > 0.999
    np.testing.assert_allclose(x[[0, -1]], points[[0, -1]], atol=1e-12)


@given(st.integers(0, 10000))
def test_acceleration_at_given_times(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, size=(5, 2))
    times = np.cumsum(rng.uniform(1, 2, 5))
    line = Polyline(points, motion="xy", times=times, acceleration=[30.0, 40.0])
    assert line.duration == pytest.approx(times[-1] - times[0])
    t, (_, v, a) = line.sample(5001)
    assert np.all(np.abs(a).max(axis=0) <= np.array([30, 40]) * (1 + 1e-9))
    assert (np.abs(a) / [30, 40]).max() > 0.999
    np.testing.assert_allclose(np.trapezoid(v, t, axis=0), points[-1] - points[0], atol=1e-3)


def test_points_on_a_line_need_no_blend() -> None:
    line = Polyline([[0.0], [1.0], [2.0]], motion="x", speed=1.0, acceleration=2.0)
    assert line.duration == pytest.approx(2.5, rel=1e-6)


# ---- B-splines: interpolation, SciPy, orientations


def random_points(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.hstack([rng.normal(size=(count, 3)), rng.normal(size=(count, 4))])


@pytest.mark.parametrize("degree", [3, 5, 7])
@pytest.mark.parametrize("rest", [True, False])
@given(seed=st.integers(0, 10000))
def test_it_goes_through_all_points(degree: int, rest: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = random_points(rng, int(rng.integers(2, 12)))
    times = np.cumsum(rng.uniform(0.5, 1.5, len(points)))
    spline = BSpline(points, motion="se3", times=times, degree=degree, rest=rest)
    x = spline(np.clip(times - times[0], 0, spline.duration)).x
    np.testing.assert_allclose(x[:, :3], points[:, :3], atol=1e-11)
    turned = Rotation.from_quat(x[:, 3:]) * Rotation.from_quat(points[:, 3:]).inv()
    assert turned.magnitude().max() < 1e-12


def test_plain_coordinates_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    points, times = rng.normal(size=(9, 3)), np.cumsum(rng.uniform(0.5, 1.5, 9))
    times -= times[0]
    t = np.linspace(0, times[-1], 200)
    for degree in (2, 3, 4, 5, 6, 7):
        found = BSpline(points, motion="xyz", times=times, degree=degree, rest=False)(t)
        expected = make_interp_spline(times, points, k=degree)
        np.testing.assert_allclose(found.x, expected(t), atol=1e-11)
        np.testing.assert_allclose(found.v, expected(t, 1), atol=1e-10)
        if degree > 2:  # the second derivative of degree 2 jumps at knots
            np.testing.assert_allclose(found.a, expected(t, 2), atol=1e-8)


def test_control_points_are_those_of_scipy() -> None:
    points = np.random.default_rng(2).normal(size=(9, 3))
    found = BSpline(points, motion="xyz", duration=2.0, degree=4, rest=False, interpolate=False)
    knots = np.concatenate([np.zeros(4), np.linspace(0, 2, 6), np.full(4, 2.0)])
    expected = ScipySpline(knots, points, 4)
    t = np.linspace(0, 2, 100)
    np.testing.assert_allclose(found(t).x, expected(t), atol=1e-14)
    np.testing.assert_allclose(found(t).v, expected(t, 1), atol=1e-12)
    np.testing.assert_allclose(found(t).a, expected(t, 2), atol=1e-11)


@pytest.mark.parametrize("interpolate", [True, False])
def test_about_one_axis_it_is_the_spline_of_the_angle(interpolate: bool) -> None:
    rng = np.random.default_rng(3)
    angles = np.cumsum(rng.uniform(-2.5, 3.0, 20))  # several turns
    axis = np.array([0.6, 0.0, 0.8])
    quats = Rotation.from_rotvec(angles[:, None] * axis).as_quat()
    points = np.hstack([np.zeros((20, 3)), quats])
    turning = BSpline(points, motion="se3", duration=10.0, interpolate=interpolate)
    plain = BSpline(angles[:, None], motion="rz", duration=10.0, interpolate=interpolate)
    t = np.linspace(0, 10, 333)
    np.testing.assert_allclose(turning(t).v[:, 3:], plain(t).v * axis, atol=1e-11)
    np.testing.assert_allclose(turning(t).a[:, 3:], plain(t).a * axis, atol=1e-10)
    expected = Rotation.from_rotvec(plain(t).x * axis)
    assert (Rotation.from_quat(turning(t).x[:, 3:]) * expected.inv()).magnitude().max() < 1e-13


def test_orientations_do_not_depend_on_the_base_frame() -> None:
    rng = np.random.default_rng(4)
    points = random_points(rng, 7)
    frame = Rotation.from_rotvec([0.4, -2.0, 1.1])
    turned = points.copy()
    turned[:, 3:] = (frame * Rotation.from_quat(points[:, 3:])).as_quat()
    t = np.linspace(0, 3, 50)
    here = BSpline(points, motion="se3", duration=3.0)(t)
    there = BSpline(turned, motion="se3", duration=3.0)(t)
    np.testing.assert_allclose(there.v[:, 3:], frame.apply(here.v[:, 3:]), atol=1e-11)


def test_many_points_keep_to_a_band() -> None:
    rng = np.random.default_rng(5)
    points = random_points(rng, 600)
    times = np.cumsum(rng.uniform(0.5, 1.5, 600))
    spline = BSpline(points, motion="se3", times=times, degree=5)
    x = spline(times - times[0]).x
    turned = Rotation.from_quat(x[:, 3:]) * Rotation.from_quat(points[:, 3:]).inv()
    assert turned.magnitude().max() < 1e-12
    before, after = spline(spline.knots - 1e-10), spline(spline.knots + 1e-10)
    np.testing.assert_allclose(before.v, after.v, atol=1e-7)
    np.testing.assert_allclose(before.x, after.x, atol=1e-8)


def test_uneven_times_widen_the_band() -> None:
    rng = np.random.default_rng(6)
    points = random_points(rng, 300)
    times = np.cumsum(10.0 ** rng.uniform(-2, 0, 300))
    spline = BSpline(points, motion="se3", times=times, degree=7)
    knots = spline.knots
    before, after = spline(knots * (1 - 1e-13)), spline(knots * (1 + 1e-13))
    np.testing.assert_allclose(before.x, after.x, atol=1e-8)
    assert (
        Rotation.from_quat(spline(knots).x[:, 3:]) * Rotation.from_quat(points[:, 3:]).inv()
    ).magnitude().max() < 1e-9


def test_few_points_lower_the_degree() -> None:
    spline = BSpline([[0.0], [1.0]], motion="x", duration=2.0, rest=False)
    np.testing.assert_allclose(spline([0.0, 0.5, 2.0]).x[:, 0], [0, 0.25, 1])
    np.testing.assert_allclose(spline([0.0, 0.5, 2.0]).v[:, 0], 0.5)
    rest = BSpline([[0.0], [1.0]], motion="x", duration=2.0)
    t = np.linspace(0, 1, 20)
    np.testing.assert_allclose(rest(2 * t).x[:, 0], 10 * t**3 - 15 * t**4 + 6 * t**5, atol=1e-13)


def test_a_zero_quaternion_is_named() -> None:
    points = random_points(np.random.default_rng(7), 4)
    points[2, 3:] = 0.0
    with pytest.raises(TrajectoryError, match="point 2: the quaternion"):
        BSpline(points, motion="se3", duration=1.0)


# ---- What is no path, with the place of what is wrong

FROM, TO, UPRIGHT = [0, 0, 0], [1, 0, 0], [0, 0, 0, 0, 0, 0, 1]
TIMES = {"times": [0, 1, 2, 3]}
# A path of each kind, by its arguments and options that are right.
RIGHT: dict[Any, tuple[list[Any], dict[str, Any]]] = {
    Line: ([FROM, TO], {"motion": "xyz"}),
    Circle: ([[0, 0]], {"motion": "xy", "radius": 1.0, "duration": 1.0}),
    Polyline: ([SQUARE], {"motion": "xyz"}),
    BSpline: ([[[0.0], [1.0]]], {"motion": "x", "duration": 1.0}),
}


@pytest.mark.parametrize(
    ("kind", "places", "options", "text"),
    [
        (
            Line,
            [[0, 0], TO],
            {"duration": 1},
            r"the start has shape \(2,\), not \(3,\): 3 numbers \(x, y, z\)",
        ),
        (Line, [FROM, [1, np.nan, 0]], {"duration": 1}, "the end: y is nan"),
        (Line, [FROM, ["a", 0, 0]], {"duration": 1}, "the end is not a row"),
        (Line, [], {"duration": -1}, "the duration is -1"),
        (Line, [], {"speed": [1, 2]}, "the speed is neither a number nor 3"),
        (Line, [], {"speed": 0}, "not positive"),
        (Line, [FROM, FROM], {"speed": 1}, "start and end are the same"),
        (Line, [UPRIGHT, np.zeros(7)], {"motion": "se3", "duration": 1}, "the end: the quaternion"),
        (Line, [UPRIGHT, UPRIGHT], {"motion": "se4", "duration": 1}, "not a motion type"),
        (Line, [[0] * 4] * 2, {"motion": ["rx", "x", "ry", "rz"], "duration": 1}, "side by side"),
        (Circle, [], {"plane": "xx"}, "'xx' is not a plane"),
        (Circle, [], {"plane": "xz"}, r"two of x, y\)"),
        (Circle, [], {"plane": [0, 0, 1]}, "has not all of x, y, z"),
        (Circle, [], {"plane": [0, 0, 0]}, "with a direction"),
        (Circle, [], {"turns": 0}, "is no way"),
        (Circle, [], {"radius": -1}, "the radius is -1"),
        (Polyline, [], {**TIMES, "blend": 1.5}, "the blends at points 0 and 1 take 1.5 s"),
        (Polyline, [], {**TIMES, "blend": 0.0}, "the blend is 0"),
        (Polyline, [], {**TIMES, "acceleration": 1.0}, "cannot be reached in their times"),
        (Polyline, [], {"times": [0, 1, 1, 3]}, "the time of point 2, 1 s, is not after that of point 1"),
        (Polyline, [], {"times": [0, 1, np.nan, 3]}, "the time of point 2 is nan"),
        (Polyline, [], {"times": [0, 1, 3]}, "there are 4 points"),
        (Polyline, [], {**TIMES, "duration": 1}, "one of the three"),
        (Polyline, [], {}, "one of the three"),
        (Polyline, [], {"duration": 1, "blend": 0.1, "acceleration": 1}, "not both"),
        (Polyline, [[FROM]], {"speed": 1.0}, "1 point"),
        (Polyline, [FROM], {"speed": 1.0}, r"shape \(3,\), not \(N, 3\)"),
        (Polyline, [[[0, 0], [1, 0]]], {"speed": 1.0}, r"shape \(2, 2\), not \(N, 3\): 3 numbers"),
        (Polyline, [[FROM, [0, np.inf, 0]]], {"speed": 1.0}, "point 1: y is inf"),
        (Polyline, [[FROM, [1, 0]]], {"speed": 1.0}, "are not rows of 3 numbers"),
        (Polyline, [[FROM, FROM, TO]], {"speed": 1.0}, "points 0 and 1 are the same"),
        (BSpline, [], {"degree": 4}, "cannot go from rest to rest"),
        (BSpline, [], {"degree": 8, "rest": False}, "the degree is 8"),
        (
            BSpline,
            [],
            {"interpolate": False, "times": [0, 1], "duration": None},
            "control points have no times",
        ),
    ],
)
def test_errors(kind: Any, places: list[Any], options: dict[str, Any], text: str) -> None:
    usual, settings = RIGHT[kind]
    with pytest.raises(TrajectoryError, match=text):
        kind(*(places or usual), **{**settings, **options})

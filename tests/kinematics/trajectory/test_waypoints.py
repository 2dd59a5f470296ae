"""Waypoints from tables: forms, units, and every mistake named with its place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.errors import TableError
from nacelle.kinematics.trajectory import Polyline, TrajectoryError, Waypoints, read_waypoints
from nacelle.kinematics.trajectory.waypoints import read_poses


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

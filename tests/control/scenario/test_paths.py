"""Paths of scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.control.scenario.paths import scenario_path
from nacelle.control.scenario.spec import PathSpec
from nacelle.errors import KinematicsError
from nacelle.kinematics.trajectory.base import Trajectory
from nacelle.model.robot import Robot


def _path(robot: Robot, **given: Any) -> Trajectory:
    return scenario_path(robot, PathSpec.model_validate(given), Path()).trajectory


def test_an_inclined_circle() -> None:
    """[AGH2005], section V: R = 0.2 m, inclined by 30 degrees about x, 1 m/s."""
    robot = nacelle.load("palida")
    centre = {"z": "0.7 m"}
    incline = {"axis": "x", "angle": "30 deg"}
    circle = _path(robot, circle={"centre": centre, "radius": "200 mm", "incline": incline, "speed": "1 m/s"})
    t = np.linspace(0.0, circle.duration, 401)
    x, v, a = circle(t)
    away = x[:, :3] - nacelle.pose(robot, z=0.7)[:3]
    assert np.linalg.norm(away, axis=1) == pytest.approx(np.full(401, 0.2))
    normal = np.array([0.0, -0.5, np.sqrt(0.75)])
    assert away @ normal == pytest.approx(np.zeros(401), abs=1e-12)
    middle = (t > 0.3) & (t < circle.duration - 0.3)
    assert np.linalg.norm(v[middle], axis=1) == pytest.approx(np.ones(np.count_nonzero(middle)))
    # Exact derivatives.
    h = 1e-5
    between = circle(t[middle] + h).v - circle(t[middle] - h).v
    assert a[middle] == pytest.approx(between / (2.0 * h), abs=1e-6)


def test_pick_and_place_lifts_against_gravity_and_carries(fivebar: Robot) -> None:
    given = {"distance": "0.1 m", "height": "20 mm", "duration": "0.4 s", "load": "0.1 kg"}
    plan = scenario_path(fivebar, PathSpec.model_validate({"pick-and-place": given}), Path())
    way = plan.trajectory
    assert way.duration == pytest.approx(1.0)
    start, top, there = (way(t).x for t in (0.0, 0.2, 0.45))
    assert top[1] - start[1] == pytest.approx(0.02, abs=2e-3)
    assert abs(there[0] - start[0]) == pytest.approx(0.1)
    assert not np.any(way(0.45).v)
    (load,) = plan.loads
    assert (load.start, load.end, load.mass) == pytest.approx((0.45, 0.95, 0.1))


def test_lines_and_points(fivebar: Robot, tmp_path: Path) -> None:
    line = _path(fivebar, line={"end": {"x": "50 mm"}, "duration": "1 s", "back": True})
    assert line.duration == pytest.approx(2.0)
    assert line(1.0).x == pytest.approx(nacelle.pose(fivebar, x=0.05))
    assert line(2.0).x == pytest.approx(line(0.0).x)
    points = [{"x": "50 mm"}, "reference", {"x": "-50 mm", "y": "0.3 m"}]
    for corners in (False, True):
        through = _path(fivebar, through={"points": points, "duration": "1 s", "corners": corners})
        assert through(1.0).x == pytest.approx(nacelle.pose(fivebar, x=-0.05, y=0.3))
    (tmp_path / "way.csv").write_text("x [mm],y [mm]\n0,280\n50,280\n50,300\n", encoding="utf-8")
    spec = PathSpec.model_validate({"through": {"file": "way.csv", "duration": 1.0}})
    assert scenario_path(fivebar, spec, tmp_path).trajectory(1.0).x == pytest.approx([0.05, 0.3])
    with pytest.raises(KinematicsError, match="has no column t"):
        scenario_path(fivebar, PathSpec.model_validate({"through": {"file": "way.csv"}}), tmp_path)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"plane": "xz"}, "'xz' is no plane of fivebar; it moves along x, y"),
        ({"incline": {"angle": 0.3}}, "moves in no three directions"),
        ({"centre": {"y": 5.0}}, "no circle about this pose fits fivebar"),
    ],
)
def test_mistakes(fivebar: Robot, given: dict[str, Any], words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        _path(fivebar, circle=given)


@pytest.mark.slow
def test_angles_where_there_are_no_two_translations() -> None:
    robot = nacelle.load("3rps")
    x = _path(robot, circle={})(np.linspace(0.0, 1.0, 50)).x
    assert np.ptp(x[:, 0]) == 0.0
    x = x - nacelle.reference_pose(robot)
    assert np.hypot(x[:, 1], x[:, 2]) == pytest.approx(np.full(50, np.hypot(x[0, 1], x[0, 2])))
    with pytest.raises(KinematicsError, match="leave radius and speed out"):
        _path(robot, circle={"speed": 1.0})

"""Motions that options describe: where they begin and end, and options that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.cli.trajectory import MotionOptions, MotionRun, check_rate, make_trajectory
from nacelle.errors import NacelleError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.uncompiled import any_robot


def options(kind: str, **changes: object) -> MotionOptions:
    return MotionOptions(kind, None, None, "", 1.0, "")._replace(**changes)


def test_lines_circles_and_rest() -> None:
    robot = any_robot("delta")
    line = make_trajectory(robot, options("line", at=["x=10mm"], to=["z=-650mm"]))
    np.testing.assert_allclose(line(0.0).x[0], 0.01, atol=1e-15)
    np.testing.assert_allclose(line(1.0).x, [0.01, line(0.0).x[1], -0.65], atol=1e-12)
    circle = make_trajectory(robot, options("circle", radius="50mm", duration=2.0))
    np.testing.assert_allclose(circle(0.0).x, circle(2.0).x, atol=1e-12)
    assert np.linalg.norm(circle(1.0).x - circle(0.0).x) == pytest.approx(0.1)
    rest = make_trajectory(robot, options("rest"))
    np.testing.assert_allclose(rest(0.5).x, mechanism_of(robot).reference[0])


@pytest.mark.parametrize(
    "given",
    [
        options("line"),
        options("circle", to=["x=0"]),
        options("nowhere"),
        options("circle", duration=0.0),
        options("rest", radius="10mm"),
    ],
)
def test_mistakes(given: MotionOptions) -> None:
    with pytest.raises(NacelleError):
        make_trajectory(any_robot("delta"), given)


def test_runs_are_prepared_once() -> None:
    robot, path, settings = MotionRun(trajectory="rest", duration=0.5, no_friction=True).prepared("fivebar")
    assert (robot.name, path.duration) == ("fivebar", 0.5)
    assert (settings["rate"], settings["friction"]) == (1000.0, False)
    with pytest.raises(NacelleError, match="rate"):
        check_rate(0.0)

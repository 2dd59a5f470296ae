from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.view.viewer import view

pytest.importorskip("viser")


def test_time_is_sought_and_shown() -> None:
    with view("fivebar") as viewer:
        robot, bar = viewer.robots[0], viewer._playbar
        assert not bar._play.visible
        x = nacelle.reference_pose(robot)
        path = nacelle.Line(x, x + np.array([0.05, 0.0]), motion=robot.motion, duration=2.0)
        viewer.play(path, start=False)
        assert bar._play.visible
        assert bar._time.max == 2.0
        viewer._loop.call(lambda: bar._seek(1.0))
        np.testing.assert_allclose(viewer._members[0].session.x, path(1.0).x, atol=1e-6)
        viewer._loop.call(bar._toggle)
        assert bar._play.label == "Pause"

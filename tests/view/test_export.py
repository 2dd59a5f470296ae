from __future__ import annotations

import json
import re

import numpy as np

import nacelle
from nacelle.view.export import PageRobot, viewer_page
from nacelle.view.loads import ACTUATORS
from nacelle.view.timeline import playable_motion


def test_a_page_holds_motion_forces_and_the_way_of_the_tool() -> None:
    robot = nacelle.load("fivebar")
    x = nacelle.reference_pose(robot)
    motion = playable_motion(robot, nacelle.Circle(x, 0.03, motion=robot.motion, duration=1.5))
    text = viewer_page(
        [PageRobot(robot, x, motion, (ACTUATORS,)), PageRobot(robot, x, offset=(1.0, 0.0, 0.0))]
    )
    data = json.loads(re.findall(r"<script[^>]*scene-data[^>]*>(.*?)</script>", text, re.S)[0])
    moving, still = data["items"]
    assert moving["times"][-1] == 1.5
    assert [arrows["name"] for arrows in moving["arrows"]] == ["actuator forces: moments"]
    assert len(moving["traces"]) == 1
    assert still["times"] == [0.0]
    np.testing.assert_allclose(still["offset"], [1.0, 0.0, 0.0])
    assert not re.search(r'(?:src|href)="https?:', text)

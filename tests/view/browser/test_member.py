"""A robot of the viewer with a server but no browser: events as viser sends them, handles as it keeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.view.viewer import Viewer, view

pytest.importorskip("viser")


@pytest.fixture(scope="module")
def viewer() -> Iterator[Viewer]:
    with view("fivebar") as started:
        yield started


def wait(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_grips_move_the_frames_of_all_bodies(viewer: Viewer) -> None:
    (member,) = viewer._members
    x = np.array([0.04, 0.25])
    member._grip_moved(0, "start", np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    member._grip_moved(0, "update", np.array([*x, 0.0]), np.array([1.0, 0.0, 0.0, 0.0]))
    member._grip_moved(0, "end", np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    viewer._loop.call(lambda: None)
    bodies = nacelle.inverse_kinematics(viewer.robots[0], x).bodies
    for b, frame in enumerate(member.stage._frames):
        np.testing.assert_allclose(frame.position, bodies.p[b], atol=1e-12)
    wait(lambda: abs(member.panel._sliders[0][1].value - 40.0) < 0.6)


def test_loads_slices_and_modes(viewer: Viewer) -> None:
    (member,) = viewer._members
    viewer._loop.call(lambda: member.set_loads("actuator forces", True))
    wait(lambda: "moment (N m)" in member.panel.loads["actuator forces"].content)
    arrows = member.stage._others["actuator-forces-moments"].points
    lengths = np.linalg.norm(arrows[:, 1] - arrows[:, 0], axis=1)
    assert lengths.max() == pytest.approx(0.25 * member.stage.geometry.extent, rel=1e-5)
    viewer._loop.call(lambda: member.set_loads("actuator forces", False))
    assert not member.stage._others["actuator-forces-moments"].visible
    viewer._loop.call(lambda: member.compute_slice(0))
    wait(lambda: "inverse condition number" in member.panel.slice.content)
    viewer._loop.call(member.remove_slice)
    assert not any(key.startswith("slice") for key in member.stage._others)
    viewer._loop.call(member.compute_modes)
    wait(lambda: "no flexible link" in member.panel.modes.content)


def test_out_of_reach_the_ghost_is_where_it_was_asked_for(viewer: Viewer) -> None:
    (member,) = viewer._members
    viewer.show([0.9, 0.3])
    ghost = member.stage._ghosts[1]
    assert ghost.visible
    np.testing.assert_allclose(ghost.position[:2], [0.9, 0.3])
    viewer._loop.call(member.to_reference)
    assert not ghost.visible

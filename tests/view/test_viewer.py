"""The viewer in a browser, and its handle in Python."""

from __future__ import annotations

import importlib.util
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle import robots
from nacelle.view.side_by_side import FOV
from nacelle.view.viewer import Viewer, view
from support.browser import chromium_page, until

pytest.importorskip("viser", reason="the viewer needs viser: nacelle-robotics[view]")


def wait(condition: Callable[[], Any], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.03)


def until_or_not(page: Any, condition: Callable[[], Any], seconds: float = 1.5) -> bool:
    """Whether something comes about while the page goes on."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        page.wait_for_timeout(30)
    return bool(condition())


def pixel(viewer: Viewer, point: np.ndarray) -> tuple[float, float]:
    """Where a point of the scene is in the window of the only client."""
    (client,) = viewer._server.get_clients().values()
    camera = client.camera
    forward = camera.look_at - camera.position
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, camera.up_direction)
    right = right / np.linalg.norm(right)
    up = np.cross(right, forward)
    way = point - camera.position
    scale = camera.image_height / (2.0 * np.tan(0.5 * camera.fov) * (way @ forward))
    return 0.5 * camera.image_width + scale * (way @ right), 0.5 * camera.image_height - scale * (way @ up)


def listeners(port: int) -> set[str]:
    """Addresses at which anything listens at a port, as the kernel writes them."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
            words = line.split()
            address, number = words[1].split(":")
            if words[3] == "0A" and int(number, 16) == port:
                found.add(address)
    return found


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    with view("fivebar") as started:
        yield started


@pytest.mark.slow
def test_the_page(tmp_path: Path) -> None:
    """All that is in the page of one robot, in one browser: to open it takes longer than to use it."""
    file = tmp_path / "own.yaml"
    file.write_text(robots.text("fivebar-flexible"), encoding="utf-8")
    with view(file) as viewer, chromium_page(900, 640) as page:
        port = int(viewer.url.rpartition(":")[2])
        if Path("/proc/net/tcp").exists():
            assert listeners(port) == {"0100007F"}
        page.goto(viewer.url)
        until(page, "!!document.querySelector('[data-standing=\"reachable\"]')")
        the_mouse_moves_the_legs(page, viewer)
        out_of_reach_is_red(page, viewer)
        a_motion_is_played(page, viewer)
        a_slice_is_laid_through_the_pose(page, viewer)
        a_mode_is_shown_in_motion(page, viewer)
        what_changes_on_disk_is_shown(page, viewer, file)


def the_mouse_moves_the_legs(page: Any, viewer: Viewer) -> None:
    (member,) = viewer._members
    session = member.session
    wait(viewer._server.get_clients)
    (client,) = viewer._server.get_clients().values()
    # The camera is in its place when the controls are beside the picture.
    wait(lambda: client.camera.image_width < 600 and abs(client.camera.fov - FOV) < 1e-6)
    # The square between the arrows of the grip: free in the plane of the robot.
    grip = session.platform.p + np.array([0.24, 0.24, 0.0]) * 0.3 * member.stage.geometry.extent
    way, begun, legs = np.array([0.04, -0.03, 0.0]), session.x.copy(), session.bodies.R.copy()
    # On a busy machine pictures come late: the grip has to be drawn before it can be taken.
    for attempt in range(8):
        start = np.array(pixel(viewer, grip))
        page.mouse.move(*start)
        page.wait_for_timeout(100 + 200 * attempt)
        page.mouse.down()
        page.mouse.move(*(start + 1.0))
        if until_or_not(page, lambda: member._held is not None):
            break
        page.mouse.up()
    assert member._held is not None
    goal = np.array(pixel(viewer, grip + way))
    for part in np.linspace(0.1, 1.0, 6):
        page.mouse.move(*(start + part * (goal - start)))
        page.wait_for_timeout(30)
    assert until_or_not(page, lambda: np.linalg.norm(session.x - begun - way[:2]) < 0.01, 30.0)
    page.mouse.up()
    wait(lambda: member._held is None)
    assert np.max(np.abs(session.bodies.R - legs)) > 0.01
    sent = np.array(member.stage._frames[1].position)
    np.testing.assert_allclose(sent[:2], session.x, atol=1e-12)
    page.get_by_role("button", name="Reference pose").click()
    wait(lambda: np.allclose(session.x, begun))


def out_of_reach_is_red(page: Any, viewer: Viewer) -> None:
    """The robot stays, the platform is red, and the page says why."""
    (member,) = viewer._members
    field = page.get_by_role("textbox").first
    field.fill("330")
    field.press("Enter")
    until(page, "!!document.querySelector('[data-standing=\"unreachable\"]')")
    assert "too short or too long" in page.locator("[data-standing]").inner_text()
    assert tuple(member.stage._meshes[1][0][0].color) == (196, 38, 46)
    assert member.session.x[0] < 0.3
    page.get_by_role("button", name="Reference pose").click()
    until(page, "!!document.querySelector('[data-standing=\"reachable\"]')")


def a_motion_is_played(page: Any, viewer: Viewer) -> None:
    (member,) = viewer._members
    session = member.session
    page.get_by_role("button", name="Drive a circle here").click()
    page.get_by_role("button", name="Pause").wait_for()
    first = viewer._playbar.clock.time
    wait(lambda: viewer._playbar.clock.time > first + 0.2)
    np.testing.assert_allclose(
        np.linalg.norm(session.x - nacelle.reference_pose(session.robot)), 0.028, rtol=1e-2
    )
    page.get_by_role("button", name="Pause").click()
    wait(lambda: not viewer._playbar.clock.playing)


def a_slice_is_laid_through_the_pose(page: Any, viewer: Viewer) -> None:
    (member,) = viewer._members
    page.get_by_text("Workspace", exact=True).click()
    page.get_by_role("button", name="Slice through this pose").click()
    page.get_by_text("inverse condition number (1 isotropic, 0 singular):").wait_for()
    patches = [key for key in member.stage._others if key.startswith("slice")]
    assert len(patches) > 2
    assert page.get_by_text("m²").is_visible()
    page.get_by_role("button", name="Remove slice").click()
    wait(lambda: not any(key.startswith("slice") for key in member.stage._others))
    page.get_by_text("Workspace", exact=True).click()


def a_mode_is_shown_in_motion(page: Any, viewer: Viewer) -> None:
    """The links bend, at the frequency in the list, and straighten when the robot is moved."""
    (member,) = viewer._members
    page.get_by_text("Modes", exact=True).click()
    page.get_by_role("button", name="Compute modes here").click()
    page.get_by_text("displacements are exaggerated").wait_for()
    page.evaluate_handle("[...document.querySelectorAll('input')].find(i => i.value === 'none')").click()
    frequency = nacelle.elastic.natural_frequencies(member.session.robot, member.session.x).frequencies[0]
    page.get_by_role("option", name=f"1: {frequency:.4g} Hz").click()
    wait(lambda: any(key.startswith("bent-") for key in member.stage._others))
    bent = next(handle for key, handle in member.stage._others.items() if key.startswith("bent-"))
    first = bent.points.copy()
    wait(lambda: np.max(np.abs(bent.points - first)) > 0.002)
    page.get_by_role("button", name="Reference pose").click()
    wait(lambda: not any(key.startswith("bent-") for key in member.stage._others))


def what_changes_on_disk_is_shown(page: Any, viewer: Viewer, file: Path) -> None:
    """Errors with their places while there are any, then the robot as it is now."""
    good, hash_before = file.read_text(encoding="utf-8"), viewer.robots[0].hash
    file.write_text(good + "\nwrong: 1\n", encoding="utf-8")
    until(page, "!!document.querySelector('[data-problems=\"1\"]')")
    assert re.search(r"own\.yaml:\d+:\d+", page.locator("[data-problems]").inner_text())
    file.write_text(good.replace("half_base: 100 mm", "half_base: 90 mm"), encoding="utf-8")
    until(page, "!document.querySelector('[data-problems]')")
    wait(lambda: viewer.robots[0].hash != hash_before)
    until(page, "!!document.querySelector('[data-standing=\"reachable\"]')")


def test_the_handle(viewer: Viewer, tmp_path: Path) -> None:
    robot = viewer.robots[0]
    x = nacelle.reference_pose(robot)
    assert "reachable" in viewer.show(x + np.array([0.01, 0.0]))
    assert "out of reach" in viewer.show(x + np.array([9.0, 0.0]))
    viewer.play(nacelle.Circle(x, 0.03, motion=robot.motion, duration=1.0))
    wait(lambda: viewer._playbar.clock.time > 0.05, 10.0)
    page = tmp_path / "page.html"
    viewer.save(page)
    assert "scene-data" in page.read_text(encoding="utf-8")
    with pytest.raises(nacelle.NacelleError, match="exists already"):
        viewer.save(page)
    with pytest.raises(nacelle.NacelleError, match="there is no robot 1"):
        viewer.play((x, x), 1)
    assert viewer.url in viewer._repr_html_()
    viewer.close()
    with pytest.raises(nacelle.NacelleError, match="closed"):
        viewer.show(x)


def test_robots_side_by_side_do_not_meet() -> None:
    with view("fivebar", nacelle.load("fivebar")) as viewer:
        first, second = viewer._members
        assert second.offset[0] - first.offset[0] > first.stage.geometry.extent * 0.5
        viewer.show([0.05, 0.25], 1)
        assert second.session.x[0] == 0.05
        assert first.session.x[0] == 0.0


def test_without_viser_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(nacelle.NacelleError, match=re.escape("pip install 'nacelle-robotics[view]'")):
        view("fivebar")

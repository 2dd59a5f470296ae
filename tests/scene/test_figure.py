"""Figures in space: what they hold, that nothing escapes from it, and that a browser turns and moves them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nacelle import load
from nacelle.errors import NacelleError
from nacelle.kinematics.pose_input import reference_pose
from nacelle.scene.arrows import Arrows
from nacelle.scene.figure import SceneItem, body_points, scene_figure, scene_page
from nacelle.scene.geometry import robot_geometry
from nacelle.scene.motion import poses_along, still
from support.browser import chromium_page, fits, until
from support.described import mechanism

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\u2028"


def moving_item(name: str = "gough-stewart", **options: object) -> SceneItem:
    """A robot of the library that moves up and down, with a trace and arrows."""
    robot = load(name)
    times = np.linspace(0.0, 2.0, 41)
    x = np.tile(reference_pose(robot), (len(times), 1))
    x[:, 2] += 0.05 * np.sin(np.pi * times)
    motion = poses_along(robot, times, x)
    points = motion.position[:, 1:2]
    arrows = Arrows("weight", points, np.broadcast_to([0.0, 0.0, -9.81], points.shape), "N", "teal")
    trace = body_points(motion, 1)
    return SceneItem(robot_geometry(robot, motion), motion, (arrows,), traces=(trace,), **options)


def data_of(markup: str) -> dict[str, object]:
    (packed,) = re.findall(r'<script type="application/json" class="scene-data">(.*?)</script>', markup, re.S)
    data: dict[str, object] = json.loads(packed)
    return data


def test_hostile_names_stay_names() -> None:
    robot = load("fivebar")
    bodies = tuple(replace(body, name=HOSTILE) for body in robot.bodies)
    joints = tuple(replace(joint, name=HOSTILE) for joint in robot.joints)
    hostile = replace(robot, name=HOSTILE, bodies=bodies, joints=joints)
    geometry, motion = robot_geometry(hostile), still(hostile)
    arrows = Arrows(HOSTILE, np.zeros((1, 1, 3)), np.ones((1, 1, 3)))
    item = SceneItem(geometry, motion, (arrows,), label=HOSTILE)
    markup = scene_figure([item, item], caption=HOSTILE)
    assert "<img" not in markup
    assert markup.count("<script") == 1
    items = data_of(markup)["items"]
    assert isinstance(items, list)
    assert items[0]["name"] == HOSTILE
    assert {part["name"] for part in items[0]["parts"]} == {HOSTILE}


def test_pages_are_whole() -> None:
    page = scene_page([moving_item()], "A page")
    assert set(re.findall(r"https?://[^\s\"'`)<]+", page)) <= {"http://www.w3.org/1999/xhtml"}
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#|data:)""", page.split("<script>")[0])
    assert "Copyright 2010-2026 Three.js Authors" in page


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(NacelleError, match="at least one robot"):
        scene_figure([])
    item = moving_item()
    wrong = Arrows("x", np.zeros((3, 1, 3)), np.ones((3, 1, 3)))
    with pytest.raises(NacelleError, match="have 3 times, the motion has 41"):
        scene_figure([replace(item, arrows=(wrong,))])


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser(width: int, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    items = [moving_item()]
    if width == 390:
        items.append(moving_item("delta", offset=(1.5, 0.0, 0.0), label="the other"))
    file.write_text(scene_page(items, "Robots"), encoding="utf-8")
    with chromium_page(width, 480) as page:
        page.goto(file.as_uri())
        page.wait_for_selector("figure[data-ready=true]")
        assert fits(page)
        until(page, "Number(document.querySelector('figure').dataset.frame) > 2")
        page.get_by_role("button", name="pause").click()
        slider = page.get_by_role("slider", name="time")
        slider.fill("0.5")
        view = page.locator(".scene-view canvas")
        first = view.screenshot()
        slider.fill("1.5")
        moved = view.screenshot()
        assert moved != first
        box = view.bounding_box()
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.4 * box["height"], steps=3)
        page.mouse.up()
        assert view.screenshot() != moved


@pytest.mark.slow
def test_springs_stretch_with_the_motion(tmp_path: Path) -> None:
    """In the page a coil reaches from end to end at every time: its length is that of the kinematics."""
    robot = mechanism("sprung_arm")
    times = np.linspace(0.0, 2.0, 21)
    x = reference_pose(robot) + 0.3 * np.sin(np.pi * times)[:, None]
    motion = poses_along(robot, times, x)
    spring = robot.springs[0]
    first, second = (body_points(motion, b, p) for b, p in zip(spring.bodies, spring.points, strict=True))
    lengths = np.linalg.norm(second - first, axis=1)
    assert np.ptp(lengths) > 0.01
    file = tmp_path / "sprung.html"
    item = SceneItem(robot_geometry(robot, motion), motion)
    file.write_text(scene_page([item], "sprung", autoplay=False), encoding="utf-8")
    with chromium_page(640, 480) as page:
        page.goto(file.as_uri())
        until(page, "document.querySelector('figure.scene3d')?.dataset.ready === 'true'")
        for k in (0, 5, 15):
            drawn = page.evaluate(
                "t => { const f = document.querySelector('figure.scene3d').scene; f.show(t);"
                " const link = f.robots[0].links[0]; const b = link.mesh.geometry; b.computeBoundingBox();"
                " return [b.boundingBox.min.z, b.boundingBox.max.z, ...link.mesh.position.toArray()]; }",
                float(times[k]),
            )
            np.testing.assert_allclose(drawn, [0.0, lengths[k], *first[k]], atol=1e-6)

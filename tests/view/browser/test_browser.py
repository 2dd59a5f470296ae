"""Browser: camera, controls, loop, meshes, server, texts."""

from __future__ import annotations

import asyncio
import itertools
import socket
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.scene.colours import ArrowColours
from nacelle.shapes.solid import Ball, Block, Mesh, Rod, Solid
from nacelle.spatial.pose import identity
from nacelle.view.browser.panel import (
    Controls,
    dependent_html,
    loads_html,
    problems_html,
    sentence_html,
    verdict_html,
)
from nacelle.view.browser.server import HOST, EventLoop, free_port
from nacelle.view.browser.stage import join_meshes, solid_mesh
from nacelle.view.loads import LoadRow, Loads
from nacelle.view.session import PoseStatus, Verdict
from nacelle.view.side_by_side import FOV, camera_view


@pytest.mark.parametrize("across", [None, 0, 1, 2])
@pytest.mark.parametrize(("aspect", "upper"), [(0.46, 0.4), (0.46, 1.0), (1.6, 1.0)])
@pytest.mark.parametrize("wide", [0.7, 4.0])
def test_all_corners_are_seen(across: int | None, aspect: float, upper: float, wide: float) -> None:
    low, high = np.array([-0.5, 0.2, 1.0]), np.array([wide, 1.0, 1.5])
    view = camera_view(low, high, across, wide > 1.0)
    position, target = view.camera_pose(aspect, upper)
    forward = (target - position) / np.linalg.norm(target - position)
    right = np.cross(forward, view.up)
    right = right / np.linalg.norm(right)
    parts = []
    for corner in itertools.product(*zip(low, high, strict=True)):
        way = np.array(corner) - position
        depth = (way @ forward) * np.tan(0.5 * FOV)
        height = way @ np.cross(right, forward) / depth
        # Within the width, and within the upper part: on a phone the lower one belongs to the controls.
        parts += [abs(way @ right) / (aspect * depth), abs(height - (1.0 - upper)) / upper]
    assert 0.5 < max(parts) < 1.0


class _Handle:
    """A control that remembers who is told."""

    def on_update(self, report: Any) -> None:
        self.report = report

    on_click = on_update


def test_values_of_users_are_put_down_by_control() -> None:
    """Controls give what users give, and nothing else, to the thread that handles events."""
    posted: dict[Any, Callable[[], None]] = {}
    given: list[Any] = []
    slider, button = _Handle(), _Handle()
    controls = Controls(SimpleNamespace(add_button=lambda label: button), posted.__setitem__)
    controls._on_update(slider, given.append)
    assert controls._button("Go", lambda: given.append("went")) is button

    def sent(handle: _Handle, value: Any, client: Any) -> None:
        asyncio.run(handle.report(SimpleNamespace(client=client, target=SimpleNamespace(value=value))))

    # What the program itself has set comes without a client.
    sent(slider, 0.0, None)
    assert not posted
    sent(slider, 1.0, "client")
    sent(slider, 2.0, "client")
    sent(button, None, "client")
    assert len(posted) == 2
    for function in posted.values():
        function()
    assert given == [2.0, "went"]


def test_late_events_replace_earlier_ones_and_errors_are_said() -> None:
    said: list[str] = []
    loop = EventLoop(lambda elapsed: False, said.append)
    begun, held, done = threading.Event(), threading.Event(), []

    def hold() -> None:
        begun.set()
        held.wait(10.0)

    def refuse() -> None:
        raise nacelle.NacelleError("not this way")

    loop.post("hold", hold)
    # All that is posted now waits behind it.
    assert begun.wait(10.0)
    for k in range(100):
        loop.post("drag", lambda k=k: done.append(k))
    loop.post("wrong", refuse)
    held.set()
    assert loop.call(lambda: 7) == 7
    assert done == [99]
    assert said == ["not this way"]
    with pytest.raises(nacelle.NacelleError, match="not this way"):
        loop.call(refuse)
    ready = threading.Event()
    loop.background(lambda: 3, lambda value: done.append(value) or ready.set())
    assert ready.wait(10.0)
    assert done[-1] == 3
    loop.close()
    with pytest.raises(nacelle.NacelleError, match="closed"):
        loop.call(lambda: 1)


def volume(mesh: Mesh) -> float:
    """By the divergence theorem: positive if all faces look outward."""
    a, b, c = np.moveaxis(mesh.points[mesh.triangles], 1, 0)
    return float(np.sum(np.einsum("ij,ij->i", a, np.cross(b, c)))) / 6.0


@pytest.mark.parametrize(
    ("solid", "expected"),
    [
        (Rod(np.array([1.0, 0.0, 2.0]), np.array([1.0, 3.0, 2.0]), 0.5), np.pi * 0.25 * 3.0),
        (Ball(np.array([1.0, 2.0, 3.0]), 2.0), 4.0 / 3.0 * np.pi * 8.0),
        (Block(identity(), np.array([1.0, 2.0, 3.0])), 6.0),
    ],
)
def test_meshes_are_closed_and_have_their_volume(solid: Solid, expected: float) -> None:
    mesh = solid_mesh(solid)
    assert volume(mesh) == pytest.approx(expected, rel=0.04)
    assert volume(join_meshes([mesh, mesh])) == pytest.approx(2.0 * volume(mesh))


def test_ports() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(nacelle.NacelleError, match=f"port {port} of 127.0.0.1 is in use"):
            free_port(port)
    assert free_port(None) >= 8080
    with pytest.raises(nacelle.NacelleError, match="between 1 and 65535"):
        free_port(0)


NAME = "<img src=x onerror=alert(1)>"


def test_names_are_escaped() -> None:
    none = np.zeros((0, 3))
    given = Loads(NAME, none, none, none, (LoadRow(NAME, 1.0, None),), NAME)
    pages = [
        verdict_html(Verdict(PoseStatus.OUT, NAME)),
        problems_html([NAME, NAME]),
        sentence_html(NAME),
        dependent_html({NAME: (1.0, "mm")}),
        loads_html(given, ArrowColours("#000000", "#ffffff")),
    ]
    assert all("<img" not in page and "&lt;img" in page for page in pages)
    assert 'data-problems="2"' in pages[1]
    assert "force (N)" in pages[4]
    assert "moment" not in pages[4]
    assert problems_html([]) == sentence_html("") == dependent_html({}) == ""

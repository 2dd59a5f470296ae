"""The viewer: robots in the browser, side by side, moved by mouse, sliders, files and Python."""

from __future__ import annotations

import os
import time
import webbrowser
from collections.abc import Sequence
from typing import Any

import numpy as np

from nacelle.errors import NacelleError
from nacelle.model.robot import Robot
from nacelle.page.markup import write_page
from nacelle.spatial.scalar import Array
from nacelle.trajectory import Circle
from nacelle.view.browser.member import Member
from nacelle.view.browser.panel import Playbar
from nacelle.view.browser.server import HOST, EventLoop, require_viser, start_server, stop_server
from nacelle.view.export import viewer_page
from nacelle.view.side_by_side import (
    FOV,
    CameraView,
    camera_view,
    free_window,
    joint_box,
    round_step,
    row_offsets,
)
from nacelle.view.timeline import Playback, make_playback
from nacelle.view.watch import WatchedRobot

# How often descriptions on disk are looked at, s.
_FILE_PERIOD = 0.5
# A circle that is driven without further ado: its radius as a part of the robot's size, its duration, s.
_RADIUS, _DURATION = 0.1, 4.0

Source = str | os.PathLike[str] | Robot | WatchedRobot


class Viewer:
    """A page with robots, at an address of this machine.

    Attributes:
        url: its address.
    """

    def __init__(self, sources: Sequence[Source], *, port: int | None = None, mode: str = "") -> None:
        """Start a viewer; `nacelle.view` does, too.

        Args:
            sources: names of the library, YAML files, which are read anew when they change, or robots.
            port: to listen at; the first free one from 8080 on if None.
            mode: the mode of operation of all robots; "" for their first.

        Raises:
            NacelleError: if viser is missing, a robot cannot be loaded or the port cannot be had.
        """
        require_viser()
        if not sources:
            raise NacelleError("name at least one robot")
        loaded = [_load_source(source, mode) for source in sources]
        self._server = start_server(port, ", ".join(robot.title or robot.name for robot, _ in loaded)[:60])
        self.url = f"http://{HOST}:{self._server.get_port()}"
        self._closed = False
        self._looked = 0.0
        self._containers: list[Any] = []
        self._loop = EventLoop(self._tick, self._notify)
        self._members: list[Member] = []
        try:
            self._loop.call(lambda: self._build(loaded), timeout=600.0)
        except BaseException:
            self.close()
            raise

    # ---------------------------------------------------------------------- the page

    def _build(self, loaded: Sequence[tuple[Robot, WatchedRobot | None]]) -> None:
        server = self._server
        self._members = [
            Member(server, self._loop, robot, watched, f"/robot{k}")
            for k, (robot, watched) in enumerate(loaded)
        ]
        several = len(loaded) > 1
        tabs = server.gui.add_tab_group() if several else None
        self._homes = [
            tabs.add_tab(member.session.robot.name) if tabs is not None else None for member in self._members
        ]
        boxes = [_member_box(member) for member in self._members]
        for k, (offset, (low, high)) in enumerate(zip(row_offsets(boxes), boxes, strict=True)):
            self._fill_container(k, offset)
            if several:
                at = offset + np.array([0.5 * (low[0] + high[0]), low[1], low[2]])
                server.scene.add_label(f"/label{k}", self._members[k].session.robot.name, position=tuple(at))
        self._playbar = Playbar(server.gui, self._loop.post, self._play_here)
        circle = self._circle if any(member.can_drive_circle for member in self._members) else None
        self._playbar.build(circle, self._show_traces)
        button = server.gui.add_button("Save as a page")

        async def save(event: Any) -> None:
            client = event.client
            self._loop.post("save", lambda: self._send_page(client))

        button.on_click(save)
        self._set_camera()

    def _fill_container(self, k: int, offset: Array) -> None:
        """Put a robot on the stage, and its controls into its place."""
        gui, home = self._server.gui, self._homes[k]
        while len(self._containers) <= k:
            self._containers.append(None)
        if self._containers[k] is not None:
            self._containers[k].remove()
        if home is None:
            self._containers[k] = gui.add_folder(None, order=-1.0)
        else:
            with home:
                self._containers[k] = gui.add_folder(None)
        with self._containers[k]:
            self._members[k].build(offset)

    def _corners(self) -> tuple[Array, Array]:
        """Corners of the box around all robots as they are now."""
        boxes = [(_member_box(member), member.offset) for member in self._members]
        low = np.min([box[0] + offset for box, offset in boxes], axis=0)
        high = np.max([box[1] + offset for box, offset in boxes], axis=0)
        return low, high

    def _view(self, low: Array, high: Array) -> CameraView:
        """The camera for a box around all robots."""
        flat = {member.stage.geometry.across for member in self._members}
        return camera_view(low, high, flat.pop() if len(flat) == 1 else None, len(self._members) > 1)

    def _set_camera(self) -> None:
        """Point the camera at all robots and lay a floor below them."""
        server = self._server
        low, high = self._corners()
        view = self._view(low, high)
        server.scene.set_up_direction(tuple(view.up))
        camera = server.initial_camera
        (camera.position, camera.look_at), camera.up = view.camera_pose(), view.up
        camera.fov = FOV
        camera.near, camera.far = 0.01 * view.radius, 100.0 * view.radius
        step = round_step(2.0 * view.radius)
        down = view.up @ (view.centre - 0.5 * (high - low)) - 0.02 * view.radius
        floor = view.centre - view.up * (view.up @ view.centre - down)
        plane = "xy" if view.up[2] else "xz"
        size = 2.0 * step * np.ceil(1.6 * view.radius / step)
        server.scene.add_grid(
            "/floor",
            width=size,
            height=size,
            plane=plane,
            cell_size=step,
            section_size=5.0 * step,
            cell_color=(215, 218, 222),
            section_color=(185, 190, 196),
            position=tuple(floor),
            shadow_opacity=0.0,
        )

        async def adapt(client: Any) -> None:
            # A narrow window sees less to the sides, and on a phone the controls cover its lower part.
            camera = client.camera
            now = self._view(*self._corners())
            camera.position, camera.look_at = now.camera_pose(
                *free_window(camera.image_width, camera.image_height)
            )

        server.on_client_connect(adapt)

    # ---------------------------------------------------------------------- time

    def _tick(self, elapsed: float) -> bool:
        if not self._members or not hasattr(self, "_playbar"):
            return False
        clock = self._playbar.clock
        if clock.advance(elapsed):
            self._play_here()
            self._playbar.show()
        moves = [member.tick(elapsed) for member in self._members]
        now = time.monotonic()
        if now - self._looked > _FILE_PERIOD:
            self._looked = now
            for k, member in enumerate(self._members):
                self._reread(k, member)
        return clock.playing or any(moves)

    def _play_here(self) -> None:
        for member in self._members:
            member.play(self._playbar.clock.time)

    def _reread(self, k: int, member: Member) -> None:
        """Read a description anew if it has changed."""
        reading = None if member.watched is None else member.watched.read_change()
        if reading is None:
            return
        if reading.robot is not None:
            offset = member.offset
            member.remove()
            member.take(reading.robot)
            self._fill_container(k, offset)
            self._load_motions()
        member.panel.show_problems(reading.problems)

    def _circle(self) -> None:
        """Drive a circle about the pose of every robot that can."""
        for member in self._members:
            if member.can_drive_circle:
                robot = member.session.robot
                path = Circle(member.session.x, _RADIUS * robot.size, motion=robot.motion, duration=_DURATION)
                member.motion = make_playback(robot, path, "circle")
        self._load_motions()
        self._playbar.play()

    def _load_motions(self) -> None:
        """Take the motions of all robots to the time line."""
        motions = [member.motion for member in self._members if member.motion is not None]
        duration = max((motion.duration for motion in motions), default=0.0)
        self._playbar.load(duration, "; ".join(_motion_description(motion) for motion in motions))
        self._show_traces(self._playbar.traced)

    def _show_traces(self, shown: bool) -> None:
        for member in self._members:
            member.show_trace(shown)

    # ---------------------------------------------------------------------- for users

    @property
    def robots(self) -> tuple[Robot, ...]:
        """The robots that are shown, as they are now."""
        return tuple(member.session.robot for member in self._members)

    def show(self, x: Any, robot: int = 0) -> str:
        """Ask for a pose x (nx,) of a robot; returns a message about the result.

        Raises:
            NacelleError: if there is no such robot, or the viewer is closed.
        """

        def move() -> str:
            member = self._member(robot)
            self._playbar.clock.playing = False
            member.move(x)
            return member.session.verdict.reason

        return str(self._loop.call(move))

    def play(self, result: Any, robot: int = 0, *, name: str = "", start: bool = True) -> None:
        """Play a trajectory, a run, or (times, poses) with a robot.

        Args:
            result: a `Trajectory`, `Simulation`, `ControlRun`, or (times (N,), poses (N, nx)).
            robot: which robot, from 0.
            name: what it is called in the page.
            start: whether it begins at once.

        Raises:
            NacelleError: if it cannot be played, or there is no such robot.
        """
        member = self._member(robot)
        motion = result if isinstance(result, Playback) else make_playback(member.session.robot, result, name)

        def load() -> None:
            member.motion = motion
            self._load_motions()
            self._play_here()
            if start:
                self._playbar.play()

        self._loop.call(load)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what is shown as one self-contained page; an existing file is left as it is.

        Raises:
            NacelleError: if the file exists or cannot be written.
        """
        write_page(path, self._loop.call(self._page))

    def _page(self) -> str:
        return viewer_page([member.page_robot() for member in self._members])

    def _send_page(self, client: Any) -> None:
        name = "-".join(member.session.robot.name for member in self._members)[:60]
        (client or self._server).send_file_download(f"{name}.html", self._page().encode())

    def open(self) -> None:
        """Open the page in the user's browser."""
        webbrowser.open(self.url)

    def wait(self) -> None:
        """Wait until the viewer is closed, or Ctrl-C."""
        while not self._closed:
            time.sleep(0.2)

    def close(self) -> None:
        """End the server and its threads."""
        if not self._closed:
            self._closed = True
            self._loop.close()
            stop_server(self._server)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """Give the robots and the address."""
        names = ", ".join(robot.name for robot in self.robots)
        return f"<Viewer of {names}: {'closed' if self._closed else self.url}>"

    def _repr_html_(self) -> str:
        """The page within a notebook on the same machine."""
        if self._closed:
            return "<p>the viewer is closed</p>"
        return f'<iframe src="{self.url}" width="100%" height="560" style="border:0"></iframe>'

    def _member(self, robot: int) -> Member:
        if self._closed:
            raise NacelleError("the viewer is closed")
        if not 0 <= robot < len(self._members):
            raise NacelleError(
                f"there is no robot {robot}: the viewer has robots 0 to {len(self._members) - 1}"
            )
        return self._members[robot]

    def _notify(self, message: str) -> None:
        """Show what has gone wrong in the page."""
        for client in self._server.get_clients().values():
            client.add_notification("This did not work", message, color="red", with_close_button=True)


def view(*sources: Source, port: int | None = None, browser: bool = False, mode: str = "") -> Viewer:
    """Show robots in the browser, at an address of this machine alone.

    Args:
        *sources: names of robots of the library, YAML files, or robots.
        port: to listen at; the first free one from 8080 on if None.
        browser: whether to open the page in the user's browser.
        mode: the mode of operation of all robots; "" for their first.

    Returns:
        A handle: `.url`, `.show(x)`, `.play(result)`, `.save(file)`, `.close()`.

    Raises:
        NacelleError: if viser is missing (extra `view`), a robot cannot be loaded, or the port is in use.
    """
    viewer = Viewer(sources, port=port, mode=mode)
    if browser:
        viewer.open()
    return viewer


def _load_source(source: Source, mode: str) -> tuple[Robot, WatchedRobot | None]:
    if isinstance(source, Robot):
        return source, None
    watched = source if isinstance(source, WatchedRobot) else WatchedRobot(source, mode)
    return watched.robot or watched.load(), watched


def _member_box(member: Member) -> tuple[Array, Array]:
    """Corners of the box around a robot as it is shown, in its own base."""
    return joint_box(member.session.robot, member.session.bodies)


def _motion_description(motion: Playback) -> str:
    description = f"{motion.robot.name}: {motion.name}, {motion.duration:.3g} s, {len(motion.times)} samples"
    return description + (f", {motion.lost} of them out of reach" if motion.lost else "")

"""One robot of the viewer: its session, its place on the stage, its controls, and what is between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.progress import report_progress_to
from nacelle.scene.colours import ARROW_COLOURS
from nacelle.spatial.scalar import Array
from nacelle.view.browser.panel import RobotPanel, loads_html, sentence_html
from nacelle.view.browser.server import EventLoop
from nacelle.view.browser.stage import Stage
from nacelle.view.coordinates import motion_coordinates, pose_coordinates, pose_from_coordinates
from nacelle.view.export import PageRobot
from nacelle.view.loads import KINDS, Loads, LoadScales, largest_load, state_loads
from nacelle.view.session import Grip, Session, drag_pose, grips
from nacelle.view.slices import Slice, slice_choices, workspace_slice
from nacelle.view.timeline import Playback
from nacelle.view.vibration import RATE, ModeAnimation, Vibration, lowest_modes
from nacelle.view.watch import WatchedRobot

# The longest arrow at first, as a part of the robot's extent; how often texts are written, s.
_ARROW_LENGTH, _TEXT_PERIOD = 0.25, 0.12


class Member:
    """A robot of the viewer.

    Attributes:
        session: its pose.
        watched: its file; None for a robot that was made in Python.
        motion: what it plays; None if nothing.
        stage: what is drawn of it.
        panel: its controls.
    """

    def __init__(
        self, server: Any, loop: EventLoop, robot: Robot, watched: WatchedRobot | None, root: str
    ) -> None:
        self._server, self._loop, self._root = server, loop, root
        self.watched, self.session = watched, Session(robot)
        self.offset = np.zeros(3)
        self.motion: Playback | None = None
        self._reset()

    def _reset(self) -> None:
        """Everything that belongs to the robot as it is now."""
        self._held: tuple[int, Grip, Array] | None = None
        self._rates: tuple[Array, ...] = ()
        self._kinds: dict[str, str] = {}
        self._scale, self._units = 1.0, dict.fromkeys(KINDS, LoadScales())
        self._shaking: ModeAnimation | None = None
        self._vibration = Vibration(None, "")
        self._phase, self._waited, self._stale = 0.0, math.inf, True

    def build(self, offset: Array) -> None:
        """Put the robot on the stage and its controls into the container in which this is called."""
        self.offset = offset
        self.stage = Stage(self._server.scene, self._root, self.session, offset)
        self.stage.add_grips(grips(self.session), self._grip_moved)
        self.panel = RobotPanel(self._server.gui, self, self._loop.post)
        robot = self.session.robot
        self.panel.build(
            motion_coordinates(robot),
            pose_coordinates(robot, self.session.x).tolist(),
            [" and ".join(pair) for pair in slice_choices(robot)],
        )
        self.refresh()

    def remove(self) -> None:
        """Take the robot from the stage; its controls go with their container."""
        self.stage.remove()

    def take(self, robot: Robot) -> None:
        """Be another robot, as its description on disk is now; the pose stays where that is possible."""
        before = self.session
        self.session = Session(robot, limits=before.limits)
        if robot.motion.coordinates == before.robot.motion.coordinates:
            self.session.move(before.x)
            if not np.array_equal(self.session.x, self.session.request):
                self.session.move(self.session.x)
        self.motion = None
        self._reset()

    # ---------------------------------------------------------------------- poses

    def move(self, x: Any, rates: tuple[Array, ...] = ()) -> None:
        """Ask for a pose, in a motion or at rest."""
        if self._shaking is not None:
            self.show_mode(None)
        self._rates = rates
        self.session.move(x)
        self.refresh()

    def refresh(self) -> None:
        """Write what has changed to the page."""
        session = self.session
        with self._server.atomic():
            self.stage.move_bodies(session.bodies)
            self.stage.paint(session.verdict.status)
            self.stage.show_ghost(session.ghost_pose(), session.bodies)
            self.stage.place_grips(grips(session), None if self._held is None else self._held[0])
            for kind in self._kinds:
                self._draw_loads(kind)
        self._stale = True

    def tick(self, elapsed: float) -> bool:
        """Let time pass: texts and vibrations; says whether something moves."""
        self._waited += elapsed
        if self._stale and self._waited > _TEXT_PERIOD:
            self._stale, self._waited = False, 0.0
            self._write_texts()
        if self._shaking is not None:
            self._phase += 2.0 * math.pi * RATE * elapsed
            self._draw_vibration()
        return self._shaking is not None or self._stale

    def _write_texts(self) -> None:
        session = self.session
        values = pose_coordinates(session.robot, session.request).tolist()
        self.panel.show_pose(values, session.verdict, session.dependent())
        for kind in KINDS:
            self.panel.show_loads(kind, self._kinds.get(kind, ""))

    def _grip_moved(self, k: int, phase: str, position: Array, wxyz: Array) -> None:
        """An event of a grip, in a thread of the server."""
        quat_xyzw = np.roll(wxyz, -1)
        if phase == "start":
            self._loop.post((id(self), "grip start"), lambda: self._take_grip(k))
        elif phase == "update":
            self._loop.post((id(self), "grip"), lambda: self._drag_grip(k, position, quat_xyzw))
        else:
            self._loop.post((id(self), "grip end"), self._release_grip)

    def _take_grip(self, k: int) -> None:
        self._held = (k, grips(self.session)[k], self.session.request)

    def _drag_grip(self, k: int, position: Array, quat_xyzw: Array) -> None:
        if self._held is None or self._held[0] != k:
            self._take_grip(k)
        assert self._held is not None
        _, grip, start = self._held
        self.move(drag_pose(self.session.robot, grip, start, position, quat_xyzw))

    def _release_grip(self) -> None:
        self._held = None
        self.refresh()

    def set_coordinate(self, k: int, value: float) -> None:
        """Set a coordinate, m or rad."""
        values = pose_coordinates(self.session.robot, self.session.request)
        values[k] = value
        self.move(pose_from_coordinates(self.session.robot, values))

    def to_reference(self) -> None:
        """Go to the reference pose."""
        self.move(reference_pose(self.session.robot))

    def set_limits(self, respected: bool) -> None:
        """Say whether limits count."""
        self.session.limits = respected
        self.move(self.session.request)

    # ---------------------------------------------------------------------- loads

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of loads that are shown."""
        return tuple(self._kinds)

    def set_loads(self, kind: str, shown: bool) -> None:
        """Show loads of a kind, or not; what they need is compiled in the background first."""
        if not shown:
            self._kinds.pop(kind, None)
            self.stage.show_loads(kind, None, LoadScales())
            self._stale = True
            return
        session, rates = self.session, self._rates
        self.panel.show_loads(kind, sentence_html(f"{kind}: computing …"))

        def compute() -> Loads:
            return state_loads(session.robot, kind, session.bodies, session.x, *rates)

        self._loop.background(compute, lambda first: self._show_first_loads(session, kind, first))

    def _show_first_loads(self, session: Session, kind: str, first: Loads) -> None:
        if session is self.session:
            self._units[kind] = self._load_scales(first)
            self._kinds[kind] = ""
            self.refresh()

    def _load_scales(self, loads: Loads) -> LoadScales:
        """Scales such that the largest arrow has its length."""
        extent = _ARROW_LENGTH * self.stage.geometry.extent
        force, moment = largest_load(loads)
        # Rounding compared with a real force is no moment to be drawn at full length.
        return LoadScales(
            extent / force if force > 1e-9 else 0.0,
            extent / moment if moment > 1e-6 * max(force, 1e-3) else 0.0,
        )

    def _draw_loads(self, kind: str) -> None:
        session = self.session
        loads = state_loads(session.robot, kind, session.bodies, session.x, *self._rates)
        if self._units[kind] == LoadScales():
            self._units[kind] = self._load_scales(loads)
        scales = LoadScales(*(self._scale * unit for unit in self._units[kind]))
        self.stage.show_loads(kind, loads, scales)
        self._kinds[kind] = loads_html(loads, ARROW_COLOURS[kind])

    def set_load_scale(self, factor: float) -> None:
        """Multiply the lengths of arrows."""
        self._scale = factor
        self.refresh()

    # ---------------------------------------------------------------------- slice and modes

    def compute_slice(self, pair: int) -> None:
        """Compute a slice of the workspace through the pose, in the background."""
        session, names = self.session, slice_choices(self.session.robot)[pair]
        at, origin, extent = session.x, session.platform.p, self.stage.geometry.extent
        listener = _Listener(
            lambda part: self._loop.post((id(self), "progress"), lambda: self.panel.show_progress(part))
        )
        self.panel.show_progress(0.0)

        def compute() -> Slice:
            with report_progress_to(listener):
                return workspace_slice(session.robot, names, at, origin, extent)

        self._loop.background(compute, lambda result: self._show_slice(session, result))

    def _show_slice(self, session: Session, result: Slice) -> None:
        self.panel.show_progress(None)
        if session is self.session:
            self.stage.show_slice(result)
            self.panel.show_slice(result)

    def remove_slice(self) -> None:
        """Take the slice away."""
        self.stage.show_slice(None)
        self.panel.show_slice(None)

    def compute_modes(self) -> None:
        """Compute the natural modes at the pose, in the background."""
        session, x = self.session, self.session.x
        self.show_mode(None)
        self.panel.show_modes_message("computing …")
        self._loop.background(
            lambda: lowest_modes(session.robot, x), lambda vibration: self._show_modes(session, vibration)
        )

    def _show_modes(self, session: Session, vibration: Vibration) -> None:
        if session is self.session:
            self._vibration = vibration
            self.panel.show_modes(vibration)

    def show_mode(self, mode: int | None) -> None:
        """Show a mode in motion, or none."""
        self._shaking = None
        self.stage.remove_named("bent-")
        self.stage.hide(())
        self.stage.move_bodies(self.session.bodies)
        if mode is None or self._vibration.modes is None:
            self.panel.clear_mode()
            self.stage.show_grips(True)
            return
        modes = self._vibration.modes
        if not np.array_equal(modes.x, self.session.x):
            self.session.move(modes.x)
            self.refresh()
        self._phase, self._shaking = 0.0, ModeAnimation(modes, mode, self.stage.geometry.extent)
        self.stage.hide(self._shaking.bent_links)
        self.stage.show_grips(False)

    def _draw_vibration(self) -> None:
        assert self._shaking is not None
        with self._server.atomic():
            self.stage.move_bodies(self._shaking.bodies(self.session.bodies, self._phase))
            for name, pieces in self._shaking.lines(self._phase).items():
                self.stage.show_bent_link(name, pieces)

    # ---------------------------------------------------------------------- motions and pages

    def show_trace(self, shown: bool) -> None:
        """Draw the way of the tool in the motion, or not."""
        self.stage.show_trace(self.motion.trace() if shown and self.motion is not None else None)

    def play(self, t: float) -> None:
        """Go to a time of the motion, s since its begin."""
        if self.motion is not None:
            rates = self.motion.rates(t) if self._kinds else ()
            self.move(self.motion.pose(t), rates)

    def page_robot(self) -> PageRobot:
        """What a page shows of it."""
        x, y, z = (float(value) for value in self.offset)
        return PageRobot(self.session.robot, self.session.x, self.motion, self.kinds, (x, y, z))

    @property
    def can_drive_circle(self) -> bool:
        """Whether a circle can be driven: two translations."""
        names = layout_of(self.session.robot.motion).x_names
        return sum(axis in names for axis in "xyz") >= 2


class _Listener:
    """Hears how much of the longest task is done."""

    def __init__(self, report: Callable[[float], None]) -> None:
        self._report, self._depth = report, 0

    def begin(self, what: str) -> None:
        """A task begins."""
        self._depth += 1

    def part(self, done: float) -> None:
        """So much of the innermost task is done."""
        if self._depth == 1:
            self._report(done)

    def end(self) -> None:
        """The innermost task has ended."""
        self._depth -= 1

"""The controls of the page: the panel of one robot, and the time line of all robots together.

The panel has pose, forces, slice of the workspace, modes, and the remarks next to them as small pieces of
HTML, in which every name from a description is escaped; the time line has play, pause, time, speed, loop and
trace. Events of controls are put down for the thread that handles them.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, Protocol

from nacelle.scene.colours import GOOD_COLOUR, NEAR_COLOUR, OUT_COLOUR, ArrowColours
from nacelle.view.coordinates import PoseCoordinate
from nacelle.view.loads import KINDS, Loads
from nacelle.view.session import PoseStatus, Verdict
from nacelle.view.slices import Slice
from nacelle.view.timeline import Clock
from nacelle.view.vibration import Vibration

# ---- controls and their events


Post = Callable[[Any, Callable[[], None]], None]
"""Puts an event down by key; a later one of the same key takes its place."""


class Controls:
    """Some controls.

    Args:
        gui: the controls of the server.
        post: puts events down.
    """

    def __init__(self, gui: Any, post: Post) -> None:
        self._gui, self._post = gui, post

    def _on_update(self, handle: Any, function: Callable[[Any], None]) -> None:
        """Have a function called with the value that a user gives."""

        async def report(event: Any) -> None:
            if event.client is not None:
                value = event.target.value
                self._post((id(self), id(handle)), lambda: function(value))

        handle.on_update(report)

    def _button(self, label: str, function: Callable[[], None]) -> Any:
        """Add a button that calls a function."""
        button = self._gui.add_button(label)

        async def report(event: Any) -> None:
            self._post((id(self), id(button)), function)

        button.on_click(report)
        return button


# ---- small pieces of HTML


# Text on these colours: dark on orange, white on the others.
_COLOURS = {
    PoseStatus.GOOD: (GOOD_COLOUR, "#fff"),
    PoseStatus.NEAR: (NEAR_COLOUR, "#1a1a1a"),
    PoseStatus.OUT: (OUT_COLOUR, "#fff"),
}
_BOX = "margin:.3em .6em;padding:.45em .7em;border-radius:.4em;font-size:.8em;line-height:1.35;"
_PLAIN = "margin:.3em .8em;font-size:.78em;line-height:1.4;"


def verdict_html(verdict: Verdict) -> str:
    """What is said about a pose, on its colour."""
    (back, ink), standing = _COLOURS[verdict.status], verdict.status.value
    message = verdict.reason.removeprefix(standing).lstrip(":; ")
    details = f"<br>{escape(message)}" if message else ""
    return (
        f'<div data-standing="{standing}" style="{_BOX}background:{back};color:{ink}">'
        f"<b>{standing}</b>{details}</div>"
    )


def problems_html(problems: Sequence[str]) -> str:
    """Everything that is wrong with a description on disk, a line each; nothing if it is right."""
    if not problems:
        return ""
    lines = "".join(f"<li>{escape(problem)}</li>" for problem in problems)
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return (
        f'<div data-problems="{len(problems)}" style="{_BOX}background:{OUT_COLOUR};color:#fff;'
        f'max-height:14em;overflow:auto"><b>{count} on disk; the last good robot is shown</b>'
        f'<ul style="margin:.3em 0 0;padding-left:1.2em;overflow-wrap:anywhere">{lines}</ul></div>'
    )


def sentence_html(text: str) -> str:
    """A sentence; nothing if it is empty."""
    return f'<div style="{_PLAIN}">{escape(text)}</div>' if text else ""


def dependent_html(values: Mapping[str, tuple[float, str]]) -> str:
    """Coordinates that follow from the others; nothing without such."""
    if not values:
        return ""
    values_text = ", ".join(f"{escape(name)} {value:.3g} {unit}" for name, (value, unit) in values.items())
    return f'<div style="{_PLAIN}">follows: {values_text}</div>'


def _colour_square(colour: str) -> str:
    return (
        f'<span style="display:inline-block;width:.8em;height:.8em;border-radius:.15em;background:{colour};'
        'margin-right:.35em;vertical-align:-.05em"></span>'
    )


def loads_html(loads: Loads, colours: ArrowColours) -> str:
    """The numbers of loads, forces and moments with units, and the colours of their arrows."""
    if not loads.rows:
        return sentence_html(f"{loads.kind}: {loads.note or 'none'}")
    units = {}
    if any(row.force is not None for row in loads.rows):
        units["force"] = f"{_colour_square(colours.force)}force (N)"
    if any(row.moment is not None for row in loads.rows):
        units["moment"] = f"{_colour_square(colours.moment)}moment (N m)"
    head = "".join(f'<th style="text-align:right;font-weight:600">{unit}</th>' for unit in units.values())
    lines = []
    for row in loads.rows:
        cells = "".join(f'<td style="text-align:right">{_number(getattr(row, key))}</td>' for key in units)
        lines.append(f'<tr><td style="overflow-wrap:anywhere">{escape(row.name)}</td>{cells}</tr>')
    return (
        f'<div style="{_PLAIN}max-height:16em;overflow:auto">'
        '<table style="width:100%;border-collapse:collapse">'
        f'<tr><th style="text-align:left;font-weight:600">{escape(loads.kind)}</th>{head}</tr>'
        f"{''.join(lines)}</table></div>{sentence_html(loads.note)}"
    )


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return "0" if abs(value) < 1e-9 else f"{value:.4g}"


def slice_html(result: Slice) -> str:
    """The legend of a slice of the workspace."""
    lines = "".join(
        f"<div>{_colour_square(patch.colour)}{escape(patch.label)}</div>" for patch in result.patches
    )
    message = result.message.replace("m^2", "m²")
    head = "<div>inverse condition number (1 isotropic, 0 singular):</div>" if result.patches else ""
    return f'<div style="{_PLAIN}">{head}{lines}<div>{escape(message)}</div></div>'


# ---- the panel of one robot


# A slider that the user has just moved is left alone for so long, s: its own later values are on their way.
_TOUCH_TIME = 0.4
_NO_MODE = "none"


class RobotControls(Protocol):
    """What the controls of a robot set."""

    def set_coordinate(self, k: int, value: float) -> None:
        """Set a coordinate, m or rad."""

    def to_reference(self) -> None:
        """Go to the reference pose."""

    def set_limits(self, respected: bool) -> None:
        """Say whether limits count."""

    def set_loads(self, kind: str, shown: bool) -> None:
        """Show loads of a kind, or not."""

    def set_load_scale(self, factor: float) -> None:
        """Multiply the lengths of arrows."""

    def compute_slice(self, pair: int) -> None:
        """Compute a slice of the workspace."""

    def remove_slice(self) -> None:
        """Take the slice away."""

    def compute_modes(self) -> None:
        """Compute the natural modes here."""

    def show_mode(self, mode: int | None) -> None:
        """Show a mode, or none."""


class RobotPanel(Controls):
    """The controls of a robot in the page."""

    def __init__(self, gui: Any, controlled: RobotControls, post: Post) -> None:
        """Make a panel without controls.

        Args:
            gui: the controls of the server.
            controlled: what they set.
            post: puts events down, by key.
        """
        super().__init__(gui, post)
        self._controlled = controlled
        self._sliders: list[tuple[PoseCoordinate, Any]] = []
        self._touched: dict[int, float] = {}
        self._contents: dict[int, str] = {}

    def build(
        self, coordinates: Sequence[PoseCoordinate], values: Sequence[float], pairs: Sequence[str]
    ) -> None:
        """Add all controls to the container in which this is called.

        Args:
            coordinates: of the pose.
            values: of these, m and rad.
            pairs: coordinates over which slices can be taken.
        """
        gui = self._gui
        self.problems, self.verdict = gui.add_html(""), gui.add_html("")
        with gui.add_folder("Pose"):
            for k, (coordinate, value) in enumerate(zip(coordinates, values, strict=True)):
                self._add_slider(k, coordinate, float(value))
            self.dependent = gui.add_html("")
            self._button("Reference pose", self._controlled.to_reference)
            self._checkbox("Keep limits", True, self._controlled.set_limits)
        with gui.add_folder("Forces", expand_by_default=False):
            for kind in KINDS:
                show = functools.partial(self._controlled.set_loads, kind)
                self._checkbox(kind.capitalize(), False, show)
            scale = gui.add_slider("Arrow scale", 0.1, 5.0, 0.1, 1.0)
            self._on_update(scale, self._controlled.set_load_scale)
            self.loads = {kind: gui.add_html("") for kind in KINDS}
        self._add_slice(pairs)
        with gui.add_folder("Modes", expand_by_default=False):
            self._button("Compute modes here", self._controlled.compute_modes)
            self.mode = gui.add_dropdown("Mode", (_NO_MODE,), visible=False)
            self._on_update(self.mode, self._select_mode)
            self.modes = gui.add_html("")

    def _add_slice(self, pairs: Sequence[str]) -> None:
        gui = self._gui
        with gui.add_folder("Workspace", expand_by_default=False):
            if not pairs:
                gui.add_html(sentence_html("a slice needs two coordinates; this robot has one"))
                return
            over = gui.add_dropdown("Over", tuple(pairs))
            self._button(
                "Slice through this pose", lambda: self._controlled.compute_slice(pairs.index(over.value))
            )
            self._button("Remove slice", self._controlled.remove_slice)
            self.progress = gui.add_progress_bar(0.0, visible=False)
            self.slice = gui.add_html("")

    def _add_slider(self, k: int, coordinate: PoseCoordinate, value: float) -> None:
        low, high = coordinate.factor * coordinate.low, coordinate.factor * coordinate.high
        step = 10.0 ** math.floor(math.log10((high - low) / 500.0))
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
        digits = max(0, -round(math.log10(step)))
        initial = min(max(round(coordinate.factor * value, digits), low), high)
        slider = self._gui.add_slider(
            f"{coordinate.name} ({coordinate.unit})", round(low, digits), round(high, digits), step, initial
        )
        self._sliders.append((coordinate, slider))

        def set_value(entered: float) -> None:
            self._touched[k] = time.monotonic()
            self._controlled.set_coordinate(k, entered / coordinate.factor)

        self._on_update(slider, set_value)

    # ---------------------------------------------------------------------- events

    def _checkbox(self, label: str, value: bool, function: Callable[[bool], None]) -> None:
        self._on_update(self._gui.add_checkbox(label, value), function)

    def _select_mode(self, label: str) -> None:
        self._controlled.show_mode(None if label == _NO_MODE else self.mode.options.index(label) - 1)

    # ---------------------------------------------------------------------- what is shown

    def _write(self, handle: Any, content: str) -> None:
        """Set the content of a piece of HTML, if it has changed."""
        if self._contents.get(id(handle), "") != content:
            self._contents[id(handle)] = content
            handle.content = content

    def show_pose(
        self, values: Sequence[float], verdict: Verdict, dependent: dict[str, tuple[float, str]]
    ) -> None:
        """Show coordinates (m, rad), what is said about the pose, and what follows from it."""
        now = time.monotonic()
        for k, ((coordinate, slider), value) in enumerate(zip(self._sliders, values, strict=True)):
            if now - self._touched.get(k, -1.0) > _TOUCH_TIME:
                digits = max(0, -math.floor(math.log10(slider.step) + 1e-9))
                rounded = round(coordinate.factor * float(value), digits)
                slider.value = float(min(max(rounded, slider.min), slider.max))
        self._write(self.verdict, verdict_html(verdict))
        self._write(self.dependent, dependent_html(dependent))

    def show_problems(self, problems: Sequence[str]) -> None:
        """Show what is wrong with the description on disk."""
        self._write(self.problems, problems_html(problems))

    def show_loads(self, kind: str, content: str) -> None:
        """Show the numbers of loads of a kind."""
        self._write(self.loads[kind], content)

    def show_progress(self, part: float | None) -> None:
        """Show how much of a slice is computed, 0 to 1; nothing if None."""
        self.progress.visible = part is not None
        self.progress.value = 100.0 * (part or 0.0)

    def show_slice(self, result: Slice | None) -> None:
        """Show the legend of a slice."""
        self._write(self.slice, "" if result is None else slice_html(result))

    def show_modes(self, vibration: Vibration) -> None:
        """Offer modes, or say why they could not be computed."""
        self.mode.options = (_NO_MODE, *vibration.labels)
        self.mode.value = _NO_MODE
        self.mode.visible = vibration.modes is not None
        self._write(self.modes, sentence_html(vibration.message))

    def show_modes_message(self, message: str) -> None:
        """Say something about modes."""
        self._write(self.modes, sentence_html(message))

    def clear_mode(self) -> None:
        """Choose no mode."""
        self.mode.value = _NO_MODE


# ---- the time line


_SPEEDS = ("0.1x", "0.25x", "0.5x", "1x", "2x", "4x")


class Playbar(Controls):
    """The controls of time.

    Attributes:
        clock: the time.
        changed: called when the time has been set by the user.
    """

    def __init__(self, gui: Any, post: Post, changed: Callable[[], None]) -> None:
        super().__init__(gui, post)
        self._changed = changed
        self.clock = Clock(0.0)
        self._trace: Callable[[bool], None] = lambda shown: None

    def build(self, circle: Callable[[], None] | None, trace: Callable[[bool], None]) -> None:
        """Add the controls to the container in which this is called.

        Args:
            circle: plays a circle; None where no robot can drive one.
            trace: shows the way of the tool, or not.
        """
        gui = self._gui
        with gui.add_folder("Motion"):
            self._text = gui.add_html("")
            self._play = self._button("Play", self._toggle)
            self._time = gui.add_slider("Time (s)", 0.0, 1.0, 0.001, 0.0)
            self._speed = gui.add_dropdown("Speed", _SPEEDS, initial_value="1x")
            self._loop = gui.add_checkbox("Loop", True)
            self._traced = gui.add_checkbox("Trace of the tool", True)
            self._circle = self._button("Drive a circle here", circle) if circle is not None else None
        self._on_update(self._time, self._seek)
        self._on_update(self._speed, lambda label: setattr(self.clock, "speed", float(label[:-1])))
        self._on_update(self._loop, lambda loop: setattr(self.clock, "loop", loop))
        self._on_update(self._traced, trace)
        self.load(0.0, "")

    @property
    def traced(self) -> bool:
        """Whether the way of the tool is to be shown."""
        return bool(self._traced.value)

    def load(self, duration: float, description: str) -> None:
        """Take a motion of a duration, s; 0 without a motion."""
        clock = Clock(duration)
        clock.speed, clock.loop = float(self._speed.value[:-1]), bool(self._loop.value)
        self.clock = clock
        has_motion = duration > 0.0
        self._time.max = duration if has_motion else 1.0
        self._time.step = max(duration, 1e-6) / 1000.0
        self._time.value = 0.0
        for handle in (self._play, self._time, self._speed, self._loop, self._traced):
            handle.visible = has_motion
        self._text.content = sentence_html(
            description
            or "nothing to play yet: give --trajectory or --run"
            + (", or:" if self._circle is not None else "")
        )
        self._label()

    def show(self) -> None:
        """Write the time to the page."""
        self._time.value = round(self.clock.time, 4)
        self._label()

    def play(self) -> None:
        """Begin to play."""
        self.clock.play()
        self._label()

    def _label(self) -> None:
        label = "Pause" if self.clock.playing else "Play"
        if self._play.label != label:
            self._play.label = label

    def _toggle(self) -> None:
        if self.clock.playing:
            self.clock.playing = False
        else:
            self.clock.play()
        self._label()

    def _seek(self, time: float) -> None:
        self.clock.playing = False
        self.clock.seek(time)
        self._label()
        self._changed()

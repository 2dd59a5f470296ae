"""The controls of one robot: pose, forces, slice of the workspace, modes; and what is said beside them."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from nacelle.view.browser.controls import Controls, Post
from nacelle.view.browser.texts import (
    dependent_html,
    problems_html,
    sentence_html,
    slice_html,
    verdict_html,
)
from nacelle.view.coordinates import PoseCoordinate
from nacelle.view.loads import KINDS
from nacelle.view.session import Verdict
from nacelle.view.slices import Slice
from nacelle.view.vibration import Vibration

# A slider that the user has just moved is left alone for so long, s: its own later values are on their way.
_TOUCHED = 0.4
_NO_MODE = "none"


class Controlled(Protocol):
    """What the controls of a robot set."""

    def set_coordinate(self, k: int, value: float) -> None:
        """Set a coordinate, m or rad."""

    def to_reference(self) -> None:
        """Go to the reference pose."""

    def set_limits(self, kept: bool) -> None:
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

    def __init__(self, gui: Any, controlled: Controlled, post: Post) -> None:
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
            self._on_update(self.mode, self._chosen_mode)
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
        shown = min(max(round(coordinate.factor * value, digits), low), high)
        slider = self._gui.add_slider(
            f"{coordinate.name} ({coordinate.unit})", round(low, digits), round(high, digits), step, shown
        )
        self._sliders.append((coordinate, slider))

        def moved(given: float) -> None:
            self._touched[k] = time.monotonic()
            self._controlled.set_coordinate(k, given / coordinate.factor)

        self._on_update(slider, moved)

    # ---------------------------------------------------------------------- events

    def _checkbox(self, label: str, value: bool, function: Callable[[bool], None]) -> None:
        self._on_update(self._gui.add_checkbox(label, value), function)

    def _chosen_mode(self, label: str) -> None:
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
            if now - self._touched.get(k, -1.0) > _TOUCHED:
                digits = max(0, -math.floor(math.log10(slider.step) + 1e-9))
                shown = round(coordinate.factor * float(value), digits)
                slider.value = float(min(max(shown, slider.min), slider.max))
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

    def show_slice(self, shown: Slice | None) -> None:
        """Show the legend of a slice."""
        self._write(self.slice, "" if shown is None else slice_html(shown))

    def show_modes(self, given: Vibration) -> None:
        """Offer modes, or say why there are none."""
        self.mode.options = (_NO_MODE, *given.labels)
        self.mode.value = _NO_MODE
        self.mode.visible = given.modes is not None
        self._write(self.modes, sentence_html(given.words))

    def say_modes(self, words: str) -> None:
        """Say something about modes."""
        self._write(self.modes, sentence_html(words))

    def no_mode(self) -> None:
        """Choose no mode."""
        self.mode.value = _NO_MODE

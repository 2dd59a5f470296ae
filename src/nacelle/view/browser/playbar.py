"""The time line of the page: play, pause, time, speed, loop and trace, for all robots together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nacelle.view.browser.controls import Controls, Post
from nacelle.view.browser.texts import sentence_html
from nacelle.view.timeline import Clock

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
            self._words = gui.add_html("")
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

    def load(self, duration: float, words: str) -> None:
        """Take a motion of a duration, s; 0 if there is none."""
        clock = Clock(duration)
        clock.speed, clock.loop = float(self._speed.value[:-1]), bool(self._loop.value)
        self.clock = clock
        given = duration > 0.0
        self._time.max = duration if given else 1.0
        self._time.step = max(duration, 1e-6) / 1000.0
        self._time.value = 0.0
        for handle in (self._play, self._time, self._speed, self._loop, self._traced):
            handle.visible = given
        self._words.content = sentence_html(
            words
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

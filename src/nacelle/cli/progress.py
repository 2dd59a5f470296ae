"""What a command shows while one waits: on stderr, never among results.

On a terminal a line with what is being done appears after a second, with a bar where it is known how much is
done, and goes away with the first output.
Elsewhere (a log, a pipe) plain lines come after 2, 5, 10, 20, 40, 60, 120, ... seconds.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from nacelle.progress import reported_to, task

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner

# Seconds of silence before a terminal shows what is being done, and how often it looks.
_AFTER, _TICK = 1.0, 0.1
# Length of the bar.
_CELLS = 24
# Seconds at which lines are written elsewhere; the last interval repeats.
_LINES = (2.0, 5.0, 10.0, 20.0, 40.0, 60.0)


def _is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal on which a line can be taken back."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


@dataclass
class _Task:
    what: str
    done: float | None = None


class Display:
    """Listens to tasks (`nacelle.progress`) and shows the innermost one.

    Args:
        stream: where lines go; None for stderr.
        terminal: whether that is a terminal; as the stream says if None.
    """

    def __init__(self, stream: TextIO | None = None, terminal: bool | None = None) -> None:
        # Taken once: while the line is shown, sys.stderr is a proxy of it that is no terminal.
        self.stream = stream or sys.stderr
        self.terminal = _is_terminal(self.stream) if terminal is None else terminal
        self._tasks: list[_Task] = []
        self._since = self._quiet_since = time.monotonic()
        self._written = 0
        self._console: Console | None = None
        self._live: Live | None = None
        self._wheel: Spinner | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    # ---- what tasks report

    def begin(self, what: str) -> None:
        """A task begins."""
        with self._lock:
            self._tasks.append(_Task(what))

    def part(self, done: float) -> None:
        """So much of the innermost task is done, 0 to 1."""
        with self._lock:
            if self._tasks:
                self._tasks[-1].done = min(max(float(done), 0.0), 1.0)

    def end(self) -> None:
        """The innermost task has ended."""
        with self._lock:
            if self._tasks:
                self._tasks.pop()

    # ---- showing

    def start(self) -> None:
        """Begin to watch the time."""
        self._thread = threading.Thread(target=self._watch, name="nacelle-progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Show nothing any more."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=1.0)
        self.hide()

    def hide(self) -> None:
        """Make place for output; what is done shows again after another second without any."""
        with self._lock:
            self._quiet_since = time.monotonic()
            if self._live is not None:
                self._live.stop()
                self._live = None

    def words(self, room: int | None = None) -> str:
        """What is being done, for how long, and how much of it is done.

        Args:
            room: letters that there is room for: what is done is cut short, time and share are not.
        """
        seconds = f"{time.monotonic() - self._since:.0f} s"
        if not self._tasks:
            return seconds
        outer = f"{self._tasks[0].what}: " if len(self._tasks) > 1 else ""
        parts = [task.done for task in self._tasks if task.done is not None]
        share = f", {100.0 * parts[-1]:.0f} %" if parts else ""
        what, end = f"{outer}{self._tasks[-1].what}", f"{share}, {seconds}"
        if room is not None and len(what) + len(end) > room:
            what = what[: max(0, room - len(end) - 3)] + "..."
        return f"{what}{end}"

    def _watch(self) -> None:
        while not self._stopped.wait(_TICK):
            self.tick(time.monotonic())

    def tick(self, now: float) -> None:
        """Show what is being done, if it is time to."""
        with self._lock:
            if not self._tasks:
                return
            if self.terminal:
                if now - self._quiet_since >= _AFTER:
                    self._line()
            elif now - self._since >= self._next_line():
                self._written += 1
                print(f"nacelle {self.words()}", file=self.stream, flush=True)

    def _next_line(self) -> float:
        beyond = max(0, self._written - len(_LINES) + 1)
        return _LINES[min(self._written, len(_LINES) - 1)] + beyond * _LINES[-1]

    def _line(self) -> None:
        """The line on a terminal."""
        from rich.markup import escape

        if self._console is None:
            from rich.console import Console

            self._console = Console(file=self.stream, force_terminal=True)
        bar = self._bar()
        # One line, whatever the width: before the words are the spinner and the bar, each with a blank.
        room = self._console.width - 2 - (_CELLS + 1 if bar else 0)
        words = bar + escape(self.words(room))
        if self._live is None:
            from rich.live import Live

            # Standard output may be a pipe: it is left alone.
            self._live = Live(
                self._spinner(words),
                console=self._console,
                transient=True,
                redirect_stdout=False,
            )
            self._live.start(refresh=True)
        else:
            self._spinner(words)

    def _bar(self) -> str:
        """How much is done as a bar, if the innermost task that counts says so."""
        done = next((task.done for task in reversed(self._tasks) if task.done is not None), None)
        if done is None:
            return ""
        full, empty = ("\u2501", "\u2501") if "utf" in (self.stream.encoding or "").lower() else ("#", ".")
        cells = round(_CELLS * done)
        return f"[cyan]{full * cells}[/][dim]{empty * (_CELLS - cells)}[/] "

    def _spinner(self, words: str) -> Spinner:
        """The one spinner, with these words beside it."""
        from rich.spinner import Spinner

        if self._wheel is None:
            self._wheel = Spinner("dots")
        self._wheel.update(text=words)
        return self._wheel


# The display of the running command; none where commands are called from Python.
_SHOWN: list[Display] = []


@contextmanager
def showing(command: str, *, silent: bool = False) -> Iterator[None]:
    """Show what a command is doing while one waits.

    Args:
        command: its name.
        silent: whether lines in logs are left out (where the output is for programs); terminals still show.
    """
    display = Display()
    if silent and not display.terminal:
        yield
        return
    _SHOWN.append(display)
    display.start()
    try:
        with reported_to(display), task(command):
            yield
    finally:
        _SHOWN.remove(display)
        display.stop()


def make_place() -> None:
    """Clear what is shown, before anything else is written."""
    for display in _SHOWN:
        display.hide()


def nothing_more() -> None:
    """Show nothing any more: from here on the command waits for its user."""
    for display in _SHOWN:
        display.stop()

"""The progress of a running command: shown on stderr, apart from the results on stdout.

On a terminal a line names the running task after a second of silence, with a bar and the time left if the
task reports its progress. Output clears the line; it comes back after another second of silence.
Elsewhere (a log, a pipe) plain lines come after 2, 5, 10, 20, 40, 60, 120, 180, ... seconds.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from nacelle.progress import report_progress_to, task

if TYPE_CHECKING:
    from rich.progress import Progress

# Seconds of silence before a terminal shows the task, and seconds between two looks at the clock.
_DELAY, _TICK = 1.0, 0.1
# Seconds at which lines are written elsewhere; after the last of them a line follows every 60 s.
_LINE_TIMES = (2.0, 5.0, 10.0, 20.0, 40.0, 60.0)


def _is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal on which a line can be erased again."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


class Display:
    """Listens to tasks (`nacelle.progress`) and shows the innermost one.

    Args:
        stream: where lines go; stderr if None.
        terminal: whether the stream is a terminal; found out from the stream if None.
    """

    def __init__(self, stream: TextIO | None = None, terminal: bool | None = None) -> None:
        # Fetched once: while Rich shows its line, sys.stderr is a proxy of Rich, which is no terminal.
        self.stream = stream or sys.stderr
        self.terminal = _is_terminal(self.stream) if terminal is None else terminal
        # Description and fraction done (None if not reported), from the outermost task to the innermost.
        self._tasks: list[tuple[str, float | None]] = []
        # Begin of the command, and begin of the present silence, s.
        self._since = self._quiet_since = time.monotonic()
        # Number of plain lines written.
        self._line_count = 0
        self._bar: Progress | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    # ---- reports of the tasks

    def begin(self, what: str) -> None:
        """A task begins."""
        with self._lock:
            self._tasks.append((what, None))

    def part(self, done: float) -> None:
        """Set the fraction of the innermost task that is done, 0 to 1."""
        with self._lock:
            if self._tasks:
                self._tasks[-1] = (self._tasks[-1][0], min(max(float(done), 0.0), 1.0))

    def end(self) -> None:
        """The innermost task has ended."""
        with self._lock:
            if self._tasks:
                self._tasks.pop()

    # ---- showing

    def start(self) -> None:
        """Start the thread that watches the time."""
        self._thread = threading.Thread(target=self._watch, name="nacelle-progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and clear the line finally."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=1.0)
        self.hide()

    def hide(self) -> None:
        """Clear the line before output; it comes back after another second without output."""
        with self._lock:
            self._quiet_since = time.monotonic()
            if self._bar is not None:
                self._bar.stop()

    @property
    def what(self) -> str:
        """The outermost and the innermost task as text, once if they are one: "check: reading delta"."""
        return ": ".join(dict.fromkeys(what for what, _ in (self._tasks[0], self._tasks[-1])))

    @property
    def fraction(self) -> float | None:
        """The fraction done of the innermost task that reports one, 0 to 1; None if none does."""
        return next((done for _, done in reversed(self._tasks) if done is not None), None)

    def _watch(self) -> None:
        while not self._stopped.wait(_TICK):
            self.tick(time.monotonic())

    def tick(self, now: float) -> None:
        """Show the task, if it is time to; `now` is the monotonic clock, s."""
        with self._lock:
            if not self._tasks:
                return
            if self.terminal:
                if now - self._quiet_since >= _DELAY:
                    self._show()
            elif now - self._since >= self._next_line():
                self._line_count += 1
                share = "" if self.fraction is None else f", {100.0 * self.fraction:.0f} %"
                seconds = time.monotonic() - self._since
                print(f"nacelle {self.what}{share}, {seconds:.0f} s", file=self.stream, flush=True)

    def _next_line(self) -> float:
        """Seconds after the begin at which the next plain line is due."""
        beyond = max(0, self._line_count - len(_LINE_TIMES) + 1)
        return _LINE_TIMES[min(self._line_count, len(_LINE_TIMES) - 1)] + beyond * _LINE_TIMES[-1]

    def _show(self) -> None:
        """Show or refresh the line on a terminal."""
        if self._bar is None:
            self._bar = _bar(self.stream)
            self._bar.add_task("", total=None)
        (row,) = self._bar.tasks
        row.start_time, row.description = self._since, self.what
        row.completed, row.total = self.fraction or 0.0, None if self.fraction is None else 1.0
        self._bar.start()


def _bar(stream: TextIO) -> Progress:
    """A line with a bar, the task's description and the time, cut to the width of the terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column

    description = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    return Progress(
        SpinnerColumn(),
        BarColumn(18),
        TaskProgressColumn(),
        TextColumn("{task.description}", markup=False, table_column=description),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
        console=Console(file=stream, force_terminal=True),
        expand=True,
        transient=True,
        # Results go to stdout, often a pipe: Rich must not put itself between.
        redirect_stdout=False,
    )


# The display of the running command; empty where functions are called from Python.
_displays: list[Display] = []


@contextmanager
def show_progress(command: str, *, silent: bool = False) -> Iterator[None]:
    """Show the progress of a command while the block runs.

    Args:
        command: its name.
        silent: whether plain lines are left out, for output that programs read; a terminal still shows it.
    """
    display = Display()
    if silent and not display.terminal:
        yield
        return
    _displays.append(display)
    display.start()
    try:
        with report_progress_to(display), task(command):
            yield
    finally:
        _displays.remove(display)
        display.stop()


def hide_progress() -> None:
    """Clear the progress line; to be called before anything else is written."""
    for display in _displays:
        display.hide()


def stop_progress() -> None:
    """Show no more progress: from here on the command waits for its user."""
    for display in _displays:
        display.stop()

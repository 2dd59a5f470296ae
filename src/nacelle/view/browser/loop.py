"""The one thread in which robots move and the page is written.

Events come from the threads of the server. Each is put down under a key, and a later one under the same key
takes the place of an earlier one that has not been handled: so dragging never lags behind the mouse.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from nacelle.errors import NacelleError

# How often the page is written while something moves, and how often files are looked at otherwise, s.
FRAME, IDLE = 1.0 / 40.0, 0.2


class EventLoop:
    """A thread that handles events one after the other.

    Attributes:
        handled: how many events have been handled.
    """

    def __init__(self, tick: Callable[[float], bool], say: Callable[[str], None]) -> None:
        """Start the thread.

        Args:
            tick: called after the events of every round with the seconds since it was called last; says
                whether something moves by itself.
            say: is given what has gone wrong in an event, in words.
        """
        self.handled = 0
        self._tick, self._say = tick, say
        self._pending: dict[Any, Callable[[], None]] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="nacelle view", daemon=True)
        self._thread.start()

    def post(self, key: Any, function: Callable[[], None]) -> None:
        """Have something done; it takes the place of what waits under the same key."""
        with self._changed:
            self._pending.pop(key, None)
            self._pending[key] = function
            self._changed.notify()

    def call(self, function: Callable[[], Any], timeout: float = 60.0) -> Any:
        """Have something done and wait for what it gives; errors come back."""
        if threading.current_thread() is self._thread:
            return function()
        result: Future[Any] = Future()

        def run() -> None:
            try:
                result.set_result(function())
            except BaseException as error:
                result.set_exception(error)

        if self._closed:
            raise NacelleError("the viewer is closed")
        self.post(object(), run)
        return result.result(timeout)

    def background(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Compute something beside the loop, and hand it over in the loop; errors are said."""

        def run() -> None:
            try:
                value = work()
            except Exception as error:
                words = _words(error)
                self.post(object(), lambda: self._say(words))
            else:
                self.post(object(), lambda: then(value))

        threading.Thread(target=run, name="nacelle view work", daemon=True).start()

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=10.0)

    def _run(self) -> None:
        last, moves = time.monotonic(), False
        while True:
            with self._changed:
                if not self._pending and not self._closed:
                    self._changed.wait(FRAME if moves else IDLE)
                if self._closed:
                    return
                events, self._pending = self._pending, {}
            for event in events.values():
                self._guarded(event)
                self.handled += 1
            now = time.monotonic()
            elapsed, last = now - last, now
            moves = bool(self._guarded(functools.partial(self._tick, elapsed)))

    def _guarded(self, function: Callable[[], Any]) -> Any:
        """Run a function; what goes wrong is said, and the loop goes on."""
        try:
            return function()
        except Exception as error:
            self._say(_words(error))
            return None


def _words(error: Exception) -> str:
    """What has gone wrong, in words; a mistake of the program itself goes to stderr as well."""
    if isinstance(error, NacelleError):
        return str(error)
    traceback.print_exception(error, file=sys.stderr)
    return f"{type(error).__name__}: {error}"

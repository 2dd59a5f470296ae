"""The server of the page, on this machine alone (127.0.0.1), and the one thread that writes the page.

In that thread robots move, too. Events come from the threads of the server. Each is put down under a key,
and a later one under the same key takes the place of an earlier one that has not been handled: so dragging
never lags behind the mouse.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from nacelle.distribution import install_command
from nacelle.errors import NacelleError

# The only address at which the server listens; nothing widens it.
HOST = "127.0.0.1"
_FIRST_PORT, _MAX_PORTS = 8080, 50


def require_viser() -> None:
    """Demand that viser is installed.

    Raises:
        NacelleError: if it is not.
    """
    if importlib.util.find_spec("viser") is None:
        raise NacelleError(f"the viewer needs viser: {install_command('view')}")


def free_port(port: int | None) -> int:
    """The port to take: the given one, or the first free one from 8080 on.

    Raises:
        NacelleError: if the given one is in use, or none is free.
    """
    if port is not None:
        if not 1 <= port <= 65535:
            raise NacelleError(f"a port is between 1 and 65535, got {port}")
        if not _is_free(port):
            raise NacelleError(f"port {port} of {HOST} is in use, or not allowed: name another one")
        return port
    for candidate in range(_FIRST_PORT, _FIRST_PORT + _MAX_PORTS):
        if _is_free(candidate):
            return candidate
    raise NacelleError(
        f"the ports {_FIRST_PORT} to {_FIRST_PORT + _MAX_PORTS - 1} are all in use: name one with --port"
    )


def _is_free(port: int) -> bool:
    """Whether a port can be listened at."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def start_server(port: int | None, label: str) -> Any:
    """Start a server at 127.0.0.1 (`viser.ViserServer`), quietly.

    Raises:
        NacelleError: if viser is missing, or the port cannot be had.
    """
    require_viser()
    free = free_port(port)
    import viser

    with contextlib.redirect_stdout(io.StringIO()):
        server: Any = viser.ViserServer(host=HOST, port=free, label=label, verbose=False)
    # viser can offer a page to the world through a tunnel: not this one, whatever a client requests.
    server.request_share_url = _refuse_sharing
    if server.get_port() != free and port is not None:
        stop_server(server)
        raise NacelleError(f"port {port} of {HOST} is in use: name another one")
    server.gui.configure_theme(
        control_width="medium", show_logo=False, show_share_button=False, brand_color=(0, 114, 178)
    )
    # Next to the picture, not over it.
    server.gui.main_panel.dock_right()
    _add_lights(server.scene)
    return server


def _add_lights(scene: Any) -> None:
    """Plain lights: reflections and shadows are slow on computers without a graphics card."""
    scene.configure_environment_map(hdri=None)
    scene.configure_default_lights(enabled=False, cast_shadow=False)
    scene.add_light_hemisphere(
        "/light/sky", sky_color=(255, 255, 255), ground_color=(150, 155, 165), intensity=2.2
    )
    scene.add_light_directional("/light/sun", intensity=1.6, position=(1.0, -2.0, 4.0), cast_shadow=False)


def stop_server(server: Any) -> None:
    """End a server, quietly."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def _refuse_sharing(*_: Any, **__: Any) -> None:
    """Share nothing."""


# ---- the one thread in which robots move and the page is written


# How often the page is written while something moves, and how often files are looked at otherwise, s.
FRAME_PERIOD, IDLE_PERIOD = 1.0 / 40.0, 0.2


class EventLoop:
    """A thread that handles events one after the other."""

    def __init__(self, tick: Callable[[float], bool], say: Callable[[str], None]) -> None:
        """Start the thread.

        Args:
            tick: called after the events of every round with the seconds since it was called last; says
                whether something moves by itself.
            say: is called with a message about what has gone wrong in an event.
        """
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
        """Compute something in the background, and hand it over in the loop; errors are shown."""

        def run() -> None:
            try:
                value = work()
            except Exception as error:
                message = _error_message(error)
                self.post(object(), lambda: self._say(message))
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
                    self._changed.wait(FRAME_PERIOD if moves else IDLE_PERIOD)
                if self._closed:
                    return
                events, self._pending = self._pending, {}
            for event in events.values():
                self._run_guarded(event)
            now = time.monotonic()
            elapsed, last = now - last, now
            moves = bool(self._run_guarded(functools.partial(self._tick, elapsed)))

    def _run_guarded(self, function: Callable[[], Any]) -> Any:
        """Run a function; what goes wrong is said, and the loop goes on."""
        try:
            return function()
        except Exception as error:
            self._say(_error_message(error))
            return None


def _error_message(error: Exception) -> str:
    """Message about what has gone wrong; an error of the program itself goes to stderr as well."""
    if isinstance(error, NacelleError):
        return str(error)
    traceback.print_exception(error, file=sys.stderr)
    return f"{type(error).__name__}: {error}"

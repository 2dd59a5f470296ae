"""The server of the page: on this machine alone, at 127.0.0.1."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import socket
from typing import Any

from nacelle.errors import NacelleError

# The only address at which the server listens; nothing widens it.
HOST = "127.0.0.1"
_FIRST, _TRIED = 8080, 50


def require_viser() -> None:
    """Demand that viser is installed.

    Raises:
        NacelleError: if it is not.
    """
    if importlib.util.find_spec("viser") is None:
        raise NacelleError('the viewer needs viser: pip install "nacelle[view]"')


def free_port(port: int | None) -> int:
    """The port to take: the given one, or the first free one from 8080 on.

    Raises:
        NacelleError: if the given one is in use, or none is free.
    """
    if port is not None:
        if not 1 <= port <= 65535:
            raise NacelleError(f"a port is between 1 and 65535, got {port}")
        if not _free(port):
            raise NacelleError(f"port {port} of {HOST} is in use, or not allowed: name another one")
        return port
    for candidate in range(_FIRST, _FIRST + _TRIED):
        if _free(candidate):
            return candidate
    raise NacelleError(f"the ports {_FIRST} to {_FIRST + _TRIED - 1} are all in use: name one with --port")


def _free(port: int) -> bool:
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
    wanted = free_port(port)
    import viser

    with contextlib.redirect_stdout(io.StringIO()):
        server: Any = viser.ViserServer(host=HOST, port=wanted, label=label, verbose=False)
    # viser can offer a page to the world through a tunnel: not this one, whatever a client requests.
    server.request_share_url = _refuse
    if server.get_port() != wanted and port is not None:
        stop_server(server)
        raise NacelleError(f"port {port} of {HOST} is in use: name another one")
    server.gui.configure_theme(
        control_width="medium", show_logo=False, show_share_button=False, brand_color=(0, 114, 178)
    )
    # Beside the picture, not over it.
    server.gui.main_panel.dock_right()
    _light(server.scene)
    return server


def _light(scene: Any) -> None:
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


def _refuse(*_: Any, **__: Any) -> None:
    """Share nothing."""

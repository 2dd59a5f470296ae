from __future__ import annotations

import socket

import pytest

import nacelle
from nacelle.view.browser.server import HOST, free_port


def test_ports() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(nacelle.NacelleError, match=f"port {port} of 127.0.0.1 is in use"):
            free_port(port)
    assert free_port(None) >= 8080
    with pytest.raises(nacelle.NacelleError, match="between 1 and 65535"):
        free_port(0)

from __future__ import annotations

import threading

import pytest

import nacelle
from nacelle.view.browser.loop import EventLoop


def test_late_events_replace_earlier_ones_and_errors_are_said() -> None:
    said: list[str] = []
    loop = EventLoop(lambda elapsed: False, said.append)
    held, done = threading.Event(), []

    def refuse() -> None:
        raise nacelle.NacelleError("not this way")

    loop.post("hold", lambda: held.wait(10.0) and None)
    for k in range(100):
        loop.post("drag", lambda k=k: done.append(k))
    loop.post("wrong", refuse)
    held.set()
    assert loop.call(lambda: 7) == 7
    assert done == [99]
    assert said == ["not this way"]
    with pytest.raises(nacelle.NacelleError, match="not this way"):
        loop.call(refuse)
    ready = threading.Event()
    loop.background(lambda: 3, lambda value: done.append(value) or ready.set())
    assert ready.wait(10.0)
    assert done[-1] == 3
    loop.close()
    with pytest.raises(nacelle.NacelleError, match="closed"):
        loop.call(lambda: 1)

"""Controls give what users give, and nothing else, to the thread that handles events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from nacelle.view.browser.controls import Controls


class _Handle:
    """A control that remembers who is told."""

    def on_update(self, report: Any) -> None:
        self.report = report

    on_click = on_update


def test_values_of_users_are_put_down_by_control() -> None:
    posted: dict[Any, Callable[[], None]] = {}
    given: list[Any] = []
    slider, button = _Handle(), _Handle()
    controls = Controls(SimpleNamespace(add_button=lambda label: button), posted.__setitem__)
    controls._on_update(slider, given.append)
    assert controls._button("Go", lambda: given.append("went")) is button

    def sent(handle: _Handle, value: Any, client: Any) -> None:
        asyncio.run(handle.report(SimpleNamespace(client=client, target=SimpleNamespace(value=value))))

    # What the program itself has set comes without a client.
    sent(slider, 0.0, None)
    assert not posted
    sent(slider, 1.0, "client")
    sent(slider, 2.0, "client")
    sent(button, None, "client")
    assert len(posted) == 2
    for function in posted.values():
        function()
    assert given == [2.0, "went"]

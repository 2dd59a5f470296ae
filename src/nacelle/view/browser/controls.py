"""Controls of the page whose events are put down for the thread that handles them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Post = Callable[[Any, Callable[[], None]], None]
"""Puts an event down by key; a later one of the same key takes its place."""


class Controls:
    """Some controls.

    Args:
        gui: the controls of the server.
        post: puts events down.
    """

    def __init__(self, gui: Any, post: Post) -> None:
        self._gui, self._post = gui, post

    def _on_update(self, handle: Any, function: Callable[[Any], None]) -> None:
        """Have a function called with the value that a user gives."""

        async def report(event: Any) -> None:
            if event.client is not None:
                value = event.target.value
                self._post((id(self), id(handle)), lambda: function(value))

        handle.on_update(report)

    def _button(self, label: str, function: Callable[[], None]) -> Any:
        """Add a button that calls a function."""
        button = self._gui.add_button(label)

        async def report(event: Any) -> None:
            self._post((id(self), id(button)), function)

        button.on_click(report)
        return button

"""Pictures of robots and results: classes that can be drawn, and the functions that draw them.

A class has a `plot` without importing what draws it; the package registers that under the name of the class.
Imports nothing of nacelle.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_DRAWN: dict[str, Callable[..., Any]] = {}


def register(**functions: Callable[..., Any]) -> None:
    """Register for each class, by its name, the function that draws one of its objects."""
    _DRAWN.update(functions)


class Plot:
    """The attribute `plot` of a class: the function registered for it, as a method."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner.__name__

    def __get__(self, instance: object, owner: type) -> Callable[..., Any]:
        function = _DRAWN[self._owner]
        return function if instance is None else functools.partial(function, instance)

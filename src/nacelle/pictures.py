"""Robots and results as pictures, and as tables of notebooks.

A class that is `Drawn` has a `plot`, one that is `Shown` a `_repr_html_`, without importing what makes them;
the package registers the functions behind them, pictures under the names of classes. Imports nothing.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, ClassVar

_DRAWN: dict[str, Callable[..., Any]] = {}
_PAGES: dict[str, Callable[[Any], str]] = {}
# Under which the one function is registered that makes a table of any object.
_ANY = "any"


def register_pictures(**functions: Callable[..., Any]) -> None:
    """Register for each class, by its name, the function that draws one of its objects."""
    _DRAWN.update(functions)


def register_page(function: Callable[[Any], str]) -> None:
    """Register the function that gives the table of an object, as HTML."""
    _PAGES[_ANY] = function


class Plot:
    """The attribute `plot` of a class: the function registered for it, or for one that it is made from."""

    def __get__(self, instance: object, owner: type) -> Callable[..., Any]:
        for parent in owner.__mro__:
            if parent.__name__ in _DRAWN:
                function = _DRAWN[parent.__name__]
                return function if instance is None else types.MethodType(function, instance)
        raise AttributeError(f"no picture is registered for {owner.__name__}")


def html(result: Any) -> str:
    """A result as a table for notebooks; `_repr_html_` of classes that cannot be `Shown`."""
    return _PAGES[_ANY](result)


class Shown:
    """What notebooks show as a table, and a terminal as one line."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The table for notebooks."""
        return html(self)

    def __repr__(self) -> str:
        """Give the class, the robot, how many samples there are and how many of them are flagged."""
        robot, flags = getattr(self, "robot", None), getattr(self, "flags", None)
        name = getattr(self, "name", None)
        text = type(self).__name__ + (f" {name}" if isinstance(name, str) else "")
        if robot is not None:
            text += f" of {getattr(robot, 'name', robot)}"
        if flags is not None:
            size = int(getattr(flags, "size", 1))
            count = int((flags != 0).sum()) if size else 0
            text += f": {size} sample{'' if size == 1 else 's'}" + (f", {count} flagged" if count else "")
        return f"<{text}>"


class Drawn(Shown):
    """What has a picture, too."""

    __slots__ = ()

    # Drawing is registered where the public names are.
    plot: ClassVar[Plot] = Plot()

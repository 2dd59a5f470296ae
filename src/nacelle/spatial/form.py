"""In which form physics functions are written: the compact ones, or the equivalent tree.

The same physics has several forms with the same results: the compact form, in which struts and rods are known
by the line between two points; the compact form over all joints; and the tree, the shortest to read and the
reference of the others. The first is taken unless a program written in it has disagreed with the tree
(`nacelle.compile.check`): then that form is refused for the robot, with the reason, and the next is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum


class Form(Enum):
    """A form of the physics; the value is what messages call it."""

    COMPACT = "the compact form"
    JOINTS = "the compact form over all joints"
    TREE = "the tree"


_wanted: ContextVar[Form | None] = ContextVar("form", default=None)
_refused: dict[tuple[str, Form], str] = {}


@contextmanager
def written_in(form: Form) -> Iterator[None]:
    """Within this, physics functions are written in a form."""
    token = _wanted.set(form)
    try:
        yield
    finally:
        _wanted.reset(token)


def form_for(robot_hash: str) -> Form:
    """The form that functions of a robot are written in: the one that is wanted, or the first not refused."""
    wanted = _wanted.get()
    if wanted is not None:
        return wanted
    return next(form for form in Form if form is Form.TREE or (robot_hash, form) not in _refused)


def refuse(robot_hash: str, form: Form, reason: str) -> None:
    """Take a form of a robot out of use, for a reason."""
    _refused.setdefault((robot_hash, form), reason)


def refusal(robot_hash: str) -> str:
    """Why the first form is not in use for a robot; empty where it is."""
    return _refused.get((robot_hash, Form.COMPACT), "")


def forget_refusals() -> None:
    """All forms are in use again."""
    _refused.clear()

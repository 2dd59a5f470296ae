"""Physics functions: how they declare what they take, and in which form they are written.

A physics function is called with a robot and arrays of scalars and returns arrays of scalars, by name or
as a tuple. `@physics` declares the names and shapes of its arrays, so that it can be traced:

    @physics(x=(3,), q=lambda robot: (robot.nq,))
    def something(robot, x, q): ...

`@gathers` lets it take several of them as one named tuple. `@sampled` declares how its inputs are drawn
where identities of its values are sought (`nacelle.program.identities`) and its programs are checked,
`@check_inputs_with` where they are checked alone (`nacelle.compile.check`).

The same physics has several forms with the same results: the compact form, in which struts and rods are known
by the line between two points; the compact form over all joints; and the tree, the shortest to read and the
reference of the others. The first is taken unless a program written in it has disagreed with the tree
(`nacelle.compile.check`): then that form is refused for the robot, with the reason, and the next is taken.

Physics is written by the tree. `compact(function)` is the one entry to the compact form: the function as
`nacelle.compact` writes it with fewer operations, where it supports the robot, and the function itself
elsewhere. `nacelle.compact.registration` says which functions have one, by `@register_compact_form`; nothing
else
knows of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from functools import wraps
from importlib import import_module
from typing import Any, NamedTuple, TypeVar, cast


class Form(Enum):
    """A form of the physics; the value is what messages call it."""

    COMPACT = "the compact form"
    JOINTS = "the compact form over all joints"
    TREE = "the tree"


_requested_form: ContextVar[Form | None] = ContextVar("form", default=None)
_refusals: dict[tuple[str, Form], str] = {}


@contextmanager
def use_form(form: Form) -> Iterator[None]:
    """Within this, physics functions are written in a form."""
    token = _requested_form.set(form)
    try:
        yield
    finally:
        _requested_form.reset(token)


def form_for(robot_hash: str) -> Form:
    """The form that functions of a robot are written in: the one that is wanted, or the first not refused."""
    requested = _requested_form.get()
    if requested is not None:
        return requested
    return next(form for form in Form if form is Form.TREE or (robot_hash, form) not in _refusals)


def refuse_form(robot_hash: str, form: Form, reason: str) -> None:
    """Take a form of a robot out of use, for a reason."""
    _refusals.setdefault((robot_hash, form), reason)


def refusal_reason(robot_hash: str) -> str:
    """Why the first form is not in use for a robot; empty where it is."""
    return _refusals.get((robot_hash, Form.COMPACT), "")


def forget_refusals() -> None:
    """All forms are in use again."""
    _refusals.clear()


# ---- the compact form of a function

COMPACT, PAPERS = "nacelle.compact.registration", "nacelle.papers.registration"
"""Modules above the physics that register what they add to it when they are imported."""
_F = TypeVar("_F", bound=Callable[..., Any])


def load_registrations(module: str) -> None:
    """Import a module that registers compact forms or formulations; it runs once."""
    import_module(module)


class _Replacement(NamedTuple):
    """A compact function, and why it cannot be taken at the arguments of the function that it replaces."""

    function: Callable[..., Any]
    reason_not: Callable[..., str]


_log = logging.getLogger(__name__)
_compact: dict[Callable[..., Any], _Replacement] = {}


def register_compact_form(function: Callable[..., Any], reason_not: Callable[..., str]) -> Callable[[_F], _F]:
    """Declare the compact form of a function.

    Args:
        function: written by the tree, of the same arguments and results.
        reason_not: called with the same positional arguments; why the compact form cannot be taken, empty
            where it can.
    """

    def declare(compact: _F) -> _F:
        _compact[function] = _Replacement(compact, reason_not)
        return compact

    return declare


def compact_form(function: _F) -> _F:
    """A function in its compact form where that supports the arguments, and as it is elsewhere."""

    @wraps(function)
    def choose(*arguments: Any, **options: Any) -> Any:
        reason = reason_for_tree(function, *arguments)
        if reason:
            _log.debug("%s by the tree: %s", function.__name__, reason)
        return (function if reason else _compact[function].function)(*arguments, **options)

    return cast(_F, choose)


def reason_for_tree(function: Callable[..., Any], *arguments: Any) -> str:
    """Why a function is taken as it is at some arguments, not in its compact form; empty where it is not."""
    load_registrations(COMPACT)
    return _compact[function].reason_not(*arguments)


# ---- physics functions: how they declare what they take


Shape = tuple[int, ...] | Callable[[Any], tuple[int, ...]]


def physics(**inputs: Shape) -> Callable[[_F], _F]:
    """Declare the inputs of a physics function, in the order of its arguments after the robot."""

    def declare(function: _F) -> _F:
        vars(function)["physics_inputs"] = inputs
        return function

    return declare


def gather_arguments(
    kind: Callable[..., tuple[Any, ...]], count: int
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a physics function take its last arrays as one thing: called with arrays, it gets kind(*last).

    Args:
        kind: a named tuple of arrays.
        count: how many fields it has.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def flat(robot: Any, *arrays: Any, **options: Any) -> Any:
            return function(robot, *arrays[:-count], kind(*arrays[-count:]), **options)

        return flat

    return declare


def with_conventions(function: _F) -> _F:
    """Declare that results depend on conventions, such as what an idle spin is counted from.

    They follow from the reference pose of the robot; in programs with numbers as inputs, from that of a
    sample of them, so that these are checked at the conventions of the sample.
    """
    vars(function)["with_conventions"] = True
    return function


def has_conventions(function: Callable[..., Any]) -> bool:
    """Whether results of a function depend on conventions (`with_conventions`)."""
    return bool(getattr(function, "with_conventions", False))


def draw_inputs_with(sampler: Callable[..., Any]) -> Callable[[_F], _F]:
    """Declare how the inputs of a physics function are drawn.

    Args:
        sampler: called as sampler(robot, shapes), with the names and shapes of all inputs, or as
            sampler(robot, shapes, groups), where the first are free numbers of the robot; gives
            `nacelle.program.identities.values.PreciseInputs`, or None without them.
    """

    def declare(function: _F) -> _F:
        vars(function)["physics_samples"] = sampler
        return function

    return declare


def check_inputs_with(sampler: Callable[..., Any]) -> Callable[[_F], _F]:
    """Declare how the inputs of a physics function are drawn at which its program is checked alone.

    Args:
        sampler: as for `sampled`; identities are not sought at its samples.
    """

    def declare(function: _F) -> _F:
        vars(function)["physics_states"] = sampler
        return function

    return declare


def depends_on_form(where: Callable[[Any], bool]) -> Callable[[_F], _F]:
    """Declare that a function gives figures of the form that it is written in, or a step of an iteration.

    Its programs are checked in their own form, not against the tree.

    Args:
        where: called with a robot; whether that is so for it.
    """

    def declare(function: _F) -> _F:
        vars(function)["physics_differs"] = where
        return function

    return declare


def copy_declarations(source: Callable[..., Any]) -> Callable[[_F], _F]:
    """Declare about a function what another declares about samples and forms."""

    def declare(function: _F) -> _F:
        for key in ("physics_samples", "physics_states", "physics_differs"):
            if key in vars(source):
                vars(function)[key] = vars(source)[key]
        return function

    return declare


def is_independent_of_form(function: Callable[..., Any], robot: Any) -> bool:
    """Whether a function gives the same in every form (`depends_on_form`)."""
    where: Callable[[Any], bool] | None = getattr(function, "physics_differs", None)
    return where is None or not where(robot)


def check_sampler_of(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """How the inputs of a function are drawn at which its program is checked; None if it does not say."""
    sampler: Callable[..., Any] | None = getattr(function, "physics_states", None)
    return sampler or sampler_of(function)


def sampler_of(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """How the inputs of a function are drawn; None if it does not declare that."""
    sampler: Callable[..., Any] | None = getattr(function, "physics_samples", None)
    return sampler


def input_shapes(function: Callable[..., Any], robot: Any) -> dict[str, tuple[int, ...]] | None:
    """Names and shapes of the inputs that a function declares, for a robot; None if it declares none."""
    declared: Mapping[str, Shape] | None = getattr(function, "physics_inputs", None)
    if declared is None:
        return None
    return {name: tuple(shape(robot) if callable(shape) else shape) for name, shape in declared.items()}

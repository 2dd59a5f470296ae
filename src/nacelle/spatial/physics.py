"""Physics functions: how they declare what they take.

A physics function is called with a robot and arrays of scalars and returns arrays of scalars, by name or
as a tuple. `@physics` declares the names and shapes of its arrays, so that it can be traced:

    @physics(x=(3,), q=lambda robot: (robot.nq,))
    def something(robot, x, q): ...

`@gathers` lets it take several of them as one named tuple. `@sampled` declares how its inputs are drawn
where identities of its values are sought (`nacelle.program.identities`) and its programs are checked,
`@checked_at` where they are checked alone (`nacelle.compile.check`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

Shape = tuple[int, ...] | Callable[[Any], tuple[int, ...]]
_F = TypeVar("_F", bound=Callable[..., Any])


def physics(**inputs: Shape) -> Callable[[_F], _F]:
    """Declare the inputs of a physics function, in the order of its arguments after the robot."""

    def declare(function: _F) -> _F:
        vars(function)["physics_inputs"] = inputs
        return function

    return declare


def gathers(
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


def sampled(sampler: Callable[..., Any]) -> Callable[[_F], _F]:
    """Declare how the inputs of a physics function are drawn.

    Args:
        sampler: called as sampler(robot, shapes), with the names and shapes of all inputs, or as
            sampler(robot, shapes, groups), where the first are free numbers of the robot; gives
            `nacelle.program.identities.samples.PreciseInputs`, or None where there are none.
    """

    def declare(function: _F) -> _F:
        vars(function)["physics_samples"] = sampler
        return function

    return declare


def checked_at(sampler: Callable[..., Any]) -> Callable[[_F], _F]:
    """Declare how the inputs of a physics function are drawn at which its program is checked alone.

    Args:
        sampler: as for `sampled`; identities are not sought at its samples.
    """

    def declare(function: _F) -> _F:
        vars(function)["physics_states"] = sampler
        return function

    return declare


def differs_by_form(where: Callable[[Any], bool]) -> Callable[[_F], _F]:
    """Declare that a function gives figures of the form that it is written in, or a step of an iteration.

    Its programs are checked in their own form, not against the tree.

    Args:
        where: called with a robot; whether that is so for it.
    """

    def declare(function: _F) -> _F:
        vars(function)["physics_differs"] = where
        return function

    return declare


def declared_like(source: Callable[..., Any]) -> Callable[[_F], _F]:
    """Declare about a function what another declares about samples and forms."""

    def declare(function: _F) -> _F:
        for key in ("physics_samples", "physics_states", "physics_differs"):
            if key in vars(source):
                vars(function)[key] = vars(source)[key]
        return function

    return declare


def is_alike_in_all_forms(function: Callable[..., Any], robot: Any) -> bool:
    """Whether a function gives the same in every form (`differs_by_form`)."""
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

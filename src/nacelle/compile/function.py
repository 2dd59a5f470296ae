"""Compiling a physics function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from nacelle.compile.cache import Form, kept
from nacelle.compile.compiled import Compiled
from nacelle.compile.parametric import Parametric
from nacelle.compile.specification import Specification, groups_of, shapes_of
from nacelle.compile.targets import target_that_runs, tiles
from nacelle.emit.registry import Target
from nacelle.emit.store import Store
from nacelle.errors import CompileError
from nacelle.model.robot import Robot
from nacelle.program.program import Program


def compile_function(
    function: Callable[..., Any],
    robot: Robot | None = None,
    *,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    parameters: str | Sequence[str] = "constant",
    derivatives: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    target: str = "jit",
    minimised: bool = True,
    use_cache: bool = True,
    store: Store | None = None,
) -> Compiled:
    """Compile a physics function.

    Args:
        function: called as function(robot, *arrays), or function(*arrays) if there is no robot; its
            inputs are declared by `@physics` or given.
        robot: the robot; its numbers are folded into the program.
        inputs: names and shapes of the arrays, if the function does not declare them.
        parameters: "constant": the robot's numbers are constants; "input": its free numbers
            (`robot.numbers`) are the first input, "parameters"; or a list of groups ("inertia", ...) of them.
        derivatives: names of outputs whose derivatives by the parameters, all other inputs held, are outputs
            too: "d_OUTPUT_d_parameters", of shape (*shape, parameters).
        options: keyword arguments for the function: plain numbers and texts that shape the program.
        target: "jit", or "numpy", which needs no compiler and is taken with a warning where llvmlite is
            missing.
        minimised: whether to minimise the program.
        use_cache: whether to look into and write to the user's cache.
        store: another cache.

    Returns:
        A `Compiled`; with numbers as inputs a `Parametric`.

    Raises:
        CompileError: if the function cannot be traced.
    """
    groups = groups_of(parameters)
    specification = Specification(
        function,
        robot,
        shapes_of(function, robot, inputs, groups),
        groups=groups,
        derivatives=tuple(derivatives),
        minimised=minimised,
        options=dict(options or {}),
    )
    chosen = target_that_runs(target)
    place = (store or Store()) if use_cache else None
    if not groups:
        if derivatives:
            raise CompileError("derivatives are by parameters: give parameters='input' or groups of them")
        return _compiled(specification, specification.program, chosen, place)
    split = cache(specification.split)
    return Parametric(
        _compiled(specification, lambda: split().prologue, chosen, place, "prologue"),
        _compiled(specification, lambda: split().body, chosen, place, "body"),
    )


def _compiled(
    specification: Specification,
    make: Callable[[], Program],
    chosen: Target,
    store: Store | None,
    part: str = "program",
) -> Compiled:
    """Compile a program of a specification, arguments as in `kept`."""

    def plain(program: Program) -> Compiled:
        return Compiled(program, tiles(program), "numpy")

    if chosen.name != "jit":
        return plain(make())
    from nacelle.emit.jit import target as jit

    def load(image: bytes, signature: Program, packed: bytes | None) -> Compiled:
        return Compiled(signature, jit.load_object(image, signature), "jit", packed)

    return kept(Form("function", jit.compile_object, load, plain), specification, make, store, part)

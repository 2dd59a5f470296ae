"""The implicit Runge-Kutta method around compiled physics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nacelle.compile.cache import Form, kept, start_compiler
from nacelle.compile.specification import Specification, shapes_of
from nacelle.compile.targets import target_that_runs, tiles
from nacelle.emit.irk5 import ImplicitIntegrator, NumpyIrk5
from nacelle.emit.store import Store
from nacelle.model.robot import Robot
from nacelle.program.program import Program


def compile_irk5(
    function: Callable[..., Any],
    robot: Robot,
    *,
    options: Mapping[str, Any] | None = None,
    control: Callable[..., Any] | None = None,
    use_cache: bool = True,
    store: Store | None = None,
) -> ImplicitIntegrator:
    """Compile fixed implicit steps (`nacelle.emit.irk5`) around a function of (robot, x, u, p) that gives dx.

    Without llvmlite the same steps run in NumPy.

    Args:
        function: the derivative.
        robot: the robot.
        options: keyword arguments for the derivative.
        control: a function of (robot, x, w, p) that gives u at the begin of every step, held over it; with
            one the driver is not kept in the cache.
        use_cache: whether to look into and write to the user's cache.
        store: another cache.
    """
    derivative = Specification(function, robot, shapes_of(function, robot), options=dict(options or {}))
    native = target_that_runs("jit").name == "jit"
    if native and control is not None:
        start_compiler()
    law = None if control is None else Specification(control, robot, shapes_of(control, robot)).program()

    def plain(program: Program) -> ImplicitIntegrator:
        return NumpyIrk5(program, tiles, law)

    if not native:
        return plain(derivative.program())
    from nacelle.emit.jit import irk5

    form = Form[ImplicitIntegrator](
        "irk5",
        lambda program, chosen: irk5.compile_irk5(program, chosen, law),
        lambda image, signature, _: irk5.Irk5(image, signature, law),
        plain,
        () if law is None else (law,),
    )
    return kept(form, derivative, derivative.program, (store or Store()) if use_cache else None)

"""The implicit Runge-Kutta method around compiled physics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nacelle.compile.drivers import compiled_steps, specified
from nacelle.compile.targets import tiles
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
        control: a function of (robot, x, w, p) that gives u at the begin of every step, held over it.
        use_cache: whether to look into and write to the user's cache.
        store: another cache.
    """

    def plain(program: Program, *law: Program) -> ImplicitIntegrator:
        return NumpyIrk5(program, tiles, *law)

    def native() -> tuple[Callable[..., bytes], Callable[..., ImplicitIntegrator]]:
        from nacelle.emit.jit import irk5

        return irk5.compile_irk5, irk5.Irk5

    parts = specified(function, robot, options, control)
    return compiled_steps("irk5", parts, plain, native, (store or Store()) if use_cache else None)

"""The implicit Runge-Kutta method around compiled physics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nacelle.compile.cache import Form, kept
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
        control: a function of (robot, x, w, p) that gives u at the begin of every step, held over it.
        use_cache: whether to look into and write to the user's cache.
        store: another cache.
    """
    derivative = Specification(function, robot, shapes_of(function, robot), options=dict(options or {}))
    laws = () if control is None else (Specification(control, robot, shapes_of(control, robot)),)

    def plain(program: Program, law: Program | None = None) -> ImplicitIntegrator:
        return NumpyIrk5(program, tiles, law)

    if target_that_runs("jit").name != "jit":
        return plain(derivative.program(), *(law.program() for law in laws))
    from nacelle.emit.jit import irk5

    def emit(program: Program, chosen: Any, law: Program | None = None) -> bytes:
        return irk5.compile_irk5(program, chosen, law)

    def load(
        image: bytes, signature: Program, _: bytes | None, law: Program | None = None
    ) -> ImplicitIntegrator:
        return irk5.Irk5(image, signature, law)

    form = Form[ImplicitIntegrator]("irk5", emit, load, plain, laws)
    return kept(form, derivative, derivative.program, (store or Store()) if use_cache else None)

"""Fixed steps of many robots at once: each its own numbers, inputs and state; on the processor or a device.

The derivative is a function of (robot, s, u, *others). The robot's free numbers are prepared once for every
robot (`Parametric`); what is left of the derivative is one program, and the prepared numbers of each robot
are among the parameters of the native loop around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.compile.cache import CachedForm, kept
from nacelle.compile.compiled import Compiled
from nacelle.compile.drivers import step_results
from nacelle.compile.function import compile_function
from nacelle.compile.parametric import Parametric
from nacelle.compile.specification import Checked, Specification, groups_of, shapes_of_inputs
from nacelle.compile.targets import target_that_runs, tiles
from nacelle.emit.rk4 import Integrator, NumpyRk4
from nacelle.emit.store import Store
from nacelle.model.robot import Robot
from nacelle.program.program import Program
from nacelle.program.regroup import regrouped
from nacelle.program.split import PREPARED


@dataclass(frozen=True)
class BatchMotion:
    """Motions of many robots; NumPy arrays, or arrays of the device.

    Attributes:
        states: after every so many steps (N, stored, n); NaN from where one was not finite.
        final: the last finite states (N, n).
        completed: steps to the last finite state (N,).
        status: 0 all steps were completed, 2 a state was not finite (N,).
    """

    states: Any
    final: Any
    completed: Any
    status: Any


class BatchRk4:
    """The Runge-Kutta method around a derivative, for many robots.

    Args:
        function: the derivative, of (robot, s, u, *others).
        robot: the robot.
        parameters: "constant", "input" or groups of the robot's numbers that each robot has its own of.
        settings: options of the derivative.
        target: "jit" or "cuda".
        precision: "double", or "float" on a device.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        robot: Robot,
        *,
        parameters: Any = "constant",
        settings: Mapping[str, Any] | None = None,
        target: str = "jit",
        precision: str = "double",
    ) -> None:
        options = dict(settings or {})
        self.target, self.robot = target, robot
        self._fast: Compiled = compile_function(
            function, robot, parameters=parameters, options=options, target=target, precision=precision
        )
        groups = groups_of(parameters)
        shapes = shapes_of_inputs(function, robot, None, groups)
        self._specification = Specification(function, robot, shapes, groups=groups, options=options)
        names = [name for name in shapes if name != "parameters"]
        self._numbers = [PREPARED] if groups else []
        self._names = names[0], names[1], names[2:]

    @property
    def own_numbers(self) -> bool:
        """Whether each robot has its own numbers."""
        return isinstance(self._fast, Parametric)

    def _body(self) -> Program:
        return self._fast.body.program if isinstance(self._fast, Parametric) else self._fast.program

    def integrate(
        self, s: Any, u: Any, others: tuple[Any, ...], parameters: Any, *, h: float, steps: int, every: int
    ) -> BatchMotion:
        """Integrate all robots.

        Args:
            s: states (N, n).
            u: inputs (N, m), held throughout.
            others: the other inputs of the derivative, each (k,), the same for all robots.
            parameters: the robots' numbers (N, parameters); None if they are constants.
            h: length of a step in seconds.
            steps: number of steps.
            every: a state is stored after so many steps.
        """
        run = self._on_device if self.target == "cuda" else self._on_processor
        prepared = self._fast.prologue(parameters) if isinstance(self._fast, Parametric) else None
        return run(s, u, others, prepared, h, (steps, every))

    def _on_processor(
        self, s: Any, u: Any, others: tuple[Any, ...], prepared: Any, h: float, counts: tuple[int, int]
    ) -> BatchMotion:
        count = len(s)
        parts = [np.broadcast_to(part, (count, part.shape[-1])) for part in (u, *others)]
        if prepared is not None:
            parts.append(np.broadcast_to(prepared, (count, prepared.shape[-1])))

        steps, every = counts
        p = np.concatenate(parts, axis=1)
        motion = self._driver.integrate(
            s, np.zeros((1, 0)), p, h=h, steps=steps, every=every, threads=_threads()
        )
        return BatchMotion(motion.x, motion.final, motion.completed, motion.status)

    @cached_property
    def _driver(self) -> Integrator:
        """The native loop, or the same in NumPy without a compiler; inputs are among the parameters."""
        state, acting, rest = self._names

        def make() -> Program:
            groups = {"x": [state], "u": [], "p": [acting, *rest, *self._numbers]}
            return regrouped(self._body(), groups)

        def plain(program: Program) -> Integrator:
            return NumpyRk4(program, tiles)

        if target_that_runs("jit").name != "jit":
            return plain(make())
        from nacelle.emit.jit import rk4

        form = CachedForm[Integrator](
            "rk4", rk4.compile_rk4, lambda image, own, _: rk4.Rk4(image, own), plain, step_results
        )
        return kept(form, self._specification, lambda: Checked(make(), None), Store(), "batch")

    @cached_property
    def _device_driver(self) -> Any:
        """The loop on the device."""
        from nacelle.compile.on_device import OnDevice
        from nacelle.emit.cuda.device_drivers import DeviceRk4

        state, acting, rest = self._names
        body = self._fast.body if isinstance(self._fast, Parametric) else self._fast
        assert isinstance(body, OnDevice)
        program = regrouped(self._body(), {"x": [state], "u": [acting], "p": [*rest, *self._numbers]})
        return DeviceRk4(program, None, body.options)

    def _on_device(
        self, s: Any, u: Any, others: tuple[Any, ...], prepared: Any, h: float, counts: tuple[int, int]
    ) -> BatchMotion:
        from nacelle.emit.cuda.device import cupy, on_device

        module, count, kind = cupy(), len(s), s.dtype
        shared = module.asarray(np.concatenate([np.asarray(part) for part in others]), dtype=kind)
        p = shared
        if prepared is not None:

            def filled() -> Any:
                rows = module.empty((shared.size + prepared.shape[-1], count), dtype=kind)
                rows[: shared.size] = shared[:, None]
                rows[shared.size :] = prepared.T if prepared.ndim == 2 else prepared[:, None]
                return rows

            p = on_device(f"the numbers of {count} robots", filled)
        steps, every = counts
        x0, inputs = (module.ascontiguousarray(array.T) for array in (s, u))
        motion = self._device_driver.integrate(x0, inputs, p, h=h, steps=steps, every=every)
        states = module.moveaxis(motion.x, 2, 0)
        return BatchMotion(states, motion.final.T, motion.completed, motion.status)


def _threads() -> int:
    import os

    return os.cpu_count() or 1

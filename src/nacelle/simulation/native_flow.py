"""The flow of a robot as native code: what integrators run of any plant.

A flow is a physics function of (robot, s, u, constants) that gives the derivative ds/dt of a state s under
inputs u. Its options are keyword arguments, which shape the program; constants are numbers that are given
when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from nacelle.compile import Compiled, compile_function, compile_irk5, compile_rk4
from nacelle.kinematics.native import compile_native
from nacelle.model.robot import Robot
from nacelle.program.derivative import forward
from nacelle.program.trace import Symbol, node_of
from nacelle.simulation.protocol import Derivative
from nacelle.spatial.physics import input_shapes
from nacelle.spatial.scalar import Array, Scalar

Options = tuple[tuple[str, Any], ...]


class NativeFlow:
    """A flow of a robot, with all that integrators take of it.

    Args:
        robot: the robot.
        flow: the physics function; None for a plant that has no program, and gives its derivatives by itself.
        options: keyword arguments of the flow.
        constants: the last argument of the flow.
        exact_jacobian: whether implicit methods take the exact Jacobian of the traced flow; else differences.
    """

    def __init__(
        self,
        robot: Robot,
        flow: Callable[..., Any] | None,
        options: Options,
        constants: Array,
        *,
        exact_jacobian: bool = False,
    ) -> None:
        self.robot, self.flow, self.options, self.constants = robot, flow, options, constants
        self.exact_jacobian = exact_jacobian

    @property
    def size(self) -> int:
        """Number of states."""
        return self._sizes[0]

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self._sizes[1]

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        assert self.flow is not None
        (states,), (inputs,), _ = (input_shapes(self.flow, self.robot) or {}).values()
        return states, inputs

    @property
    def _compiled(self) -> Compiled:
        assert self.flow is not None
        return compile_native(self.flow, self.robot, **dict(self.options))

    def derivative(self) -> Derivative:
        """The flow ds/dt = f(s, u) as native code, of a state (size,) and inputs (inputs,)."""
        return bind_function(self._compiled, self.constants)

    def derivatives(self, s: Array, u: Array) -> Array:
        """The derivatives ds/dt (N, size) of states (N, size) under inputs (N, inputs), in one call."""
        return np.asarray(self._compiled(s, u, self.constants))

    def jacobian(self) -> Derivative | None:
        """The exact Jacobian of the flow by the state, if it is wanted."""
        if not self.exact_jacobian or self.flow is None:
            return None
        return bind_function(compiled_jacobian(self.flow, self.robot, self.options), self.constants)

    def driver(self, *, held: bool = False) -> NativeDriver | None:
        """The native loop of fixed steps, a feedback held over each step or not; None without a program."""
        return (
            None
            if self.flow is None
            else NativeDriver(loop_driver(*self._loop_program(held)), self.constants)
        )

    def implicit_driver(self, *, held: bool = False) -> NativeImplicitDriver | None:
        """The native loop of implicit steps, as `driver`."""
        if self.flow is None:
            return None
        return NativeImplicitDriver(loop_driver(*self._loop_program(held), implicit=True), self.constants)

    def _loop_program(self, held: bool) -> tuple[Any, ...]:
        """What the loop is made of: flow, robot, options, and a control that is held over each step."""
        del held
        return self.flow, self.robot, self.options, None


class NativeImplicitDriver:
    """A native loop of implicit steps at constants of the flow."""

    def __init__(self, driver: Any, constants: Array) -> None:
        self._driver, self._constants = driver, constants

    def integrate(self, s: Array, u: Array, *, h: float, steps: int, substeps: int = 1) -> Any:
        """States (steps, size) after every step of h, s, from s (size,) on at inputs u: `Irk5Result`."""
        counts = {"steps": steps * substeps, "every": substeps, "held": substeps}
        return self._driver.integrate(s, u, self._constants, h=h / substeps, **counts)


class NativeDriver(NativeImplicitDriver):
    """The same of explicit steps."""

    def integrate(self, s: Array, u: Array, *, h: float, steps: int, substeps: int = 1) -> Array:
        """States (steps, size) after every step."""
        return np.asarray(super().integrate(s, u, h=h, steps=steps, substeps=substeps).x[0])


def bind_function(compiled: Compiled, constants: Array) -> Derivative:
    """A compiled function of (s, u, constants) on fixed buffers: a microsecond more than the evaluation."""
    first, second, third = compiled.inputs
    call = compiled.bind(**{third: constants.copy()})
    s, u, (name,) = call[first], call[second], compiled.outputs
    out = call[name]

    def evaluate(state: Array, inputs: Array) -> Array:
        s[:], u[:] = state, inputs
        call.call()
        result: Array = out.copy()
        return result

    return evaluate


@lru_cache(maxsize=64)
def loop_driver(
    function: Callable[..., Any],
    robot: Robot,
    options: Options,
    control: Callable[..., Any] | None = None,
    *,
    implicit: bool = False,
) -> Any:
    """The loop of fixed steps around a flow, under a control that is held over each step, if any."""
    make = compile_irk5 if implicit else compile_rk4
    return make(function, robot, options=dict(options), control=control)


@lru_cache(maxsize=64)
def compiled_jacobian(function: Callable[..., Any], robot: Robot, options: Options) -> Compiled:
    """The Jacobian of a flow by its state as native code."""

    def jacobian(robot: Robot, s: Array, u: Array, constants: Array, **settings: Any) -> Array:
        return state_jacobian(function(robot, s, u, constants, **settings), s)

    vars(jacobian)["made_from"] = (function,)
    # Minimising so long a program takes longer than it saves.
    return compile_function(
        jacobian, robot, inputs=input_shapes(function, robot), options=dict(options), minimise=False
    )


def state_jacobian(value: Array, s: Array) -> Array:
    """Derivatives d value_i / d s_j (k, m) of a traced array (k,) by traced inputs s (m,), on the graph."""
    graph = s[0].graph
    nodes, unit = [node_of(graph, entry) for entry in value], graph.const(1.0)
    columns = [forward(graph, nodes, {symbol.index: unit}) for symbol in s]

    def entry(node: int | None) -> Scalar:
        return 0.0 if node is None else Symbol(graph, node)

    rows = [[entry(column[k]) for column in columns] for k in range(len(nodes))]
    return np.array(rows, dtype=object)

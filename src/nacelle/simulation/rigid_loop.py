"""Native code of a rigid robot's flow, alone or under a compiled feedback; its exact Jacobian."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.compile import Compiled, compile_function, compile_rk4
from nacelle.kinematics.native import native
from nacelle.model.robot import Robot
from nacelle.program.derivative import forward
from nacelle.program.symbol import Symbol, node_of
from nacelle.simulation.feedback import Feedback, closed_flow, control, reference_size
from nacelle.simulation.flow import flow
from nacelle.simulation.protocol import Derivative
from nacelle.spatial.physics import input_shapes
from nacelle.spatial.scalar import Array, Scalar

Options = tuple[tuple[str, Any], ...]


class NativeDriver:
    """A native loop of fixed steps at a fixed orientation from which rotations are counted."""

    def __init__(self, driver: Any, quat_0: Array) -> None:
        self._driver, self._quat_0 = driver, quat_0

    def integrate(self, s: Array, u: Array, *, h: float, steps: int) -> Array:
        """States (steps, size) after every step."""
        return np.asarray(self._driver.integrate(s, u, self._quat_0, h=h, steps=steps).x[0])


def bound(compiled: Compiled, quat_0: Array) -> Derivative:
    """A compiled function of (s, u, quat_0) on fixed buffers: about a microsecond beside the evaluation."""
    first, second, third = compiled.inputs
    call = compiled.bind(**{third: quat_0.copy()})
    s, u, (name,) = call[first], call[second], compiled.outputs
    out = call[name]

    def evaluate(state: Array, inputs: Array) -> Array:
        s[:], u[:] = state, inputs
        call.call()
        result: Array = out.copy()
        return result

    return evaluate


# ---- the flow alone


def flow_jacobian(robot: Robot, s: Array, tau: Array, quat_0: Array, **options: Any) -> Array:
    """The Jacobian of the flow by the state (size, size); traced only."""
    return by_state(flow(robot, s, tau, quat_0, **options), s)


def by_state(value: Array, s: Array) -> Array:
    """Derivatives of a traced array by an array of traced inputs, on the graph."""
    graph = s[0].graph
    nodes, one = [node_of(graph, entry) for entry in value], graph.const(1.0)
    columns = [forward(graph, nodes, {symbol.index: one}) for symbol in s]

    def entry(node: int | None) -> Scalar:
        return 0.0 if node is None else Symbol(graph, node)

    rows = [[entry(column[k]) for column in columns] for k in range(len(nodes))]
    return np.array(rows, dtype=object)


@lru_cache(maxsize=64)
def compiled_jacobian(robot: Robot, options: Options) -> Compiled:
    """The Jacobian of the flow as native code."""
    # Minimising so long a program takes longer than it saves.
    return compile_function(
        flow_jacobian,
        robot,
        inputs=input_shapes(flow, robot),
        options=dict(options),
        minimised=False,
    )


@lru_cache(maxsize=64)
def flow_driver(robot: Robot, options: Options) -> Any:
    """The loop of fixed steps around the flow."""
    return compile_rk4(flow, robot, options=dict(options))


# ---- under a feedback


class RigidLoop:
    """A rigid robot under a compiled feedback; its inputs are [t; r]."""

    def __init__(
        self, robot: Robot, options: Options, quat_0: Array, law: Feedback, exact_jacobian: bool
    ) -> None:
        self.robot, self.options, self.quat_0, self.law = robot, options, quat_0, law
        self.exact_jacobian = exact_jacobian
        self.inputs = 1 + reference_size(robot, law)

    @property
    def size(self) -> int:
        """Number of states."""
        (size,) = (input_shapes(flow, self.robot) or {})["s"]
        return size

    @property
    def _key(self) -> tuple[Robot, Callable[..., Any], Options, Options]:
        return self.robot, self.law.function, self.law.options, self.options

    def derivative(self) -> Derivative:
        """The flow under the feedback."""
        return bound(_closed(*self._key), self.quat_0)

    def jacobian(self) -> Derivative | None:
        """Its exact Jacobian by the state, if it is wanted."""
        if not self.exact_jacobian:
            return None
        return bound(_closed_jacobian(*self._key), self.quat_0)

    def forces(self, s: Array, u: Array) -> Array:
        """The actuators' forces at states (..., size) and [t; r] (..., inputs)."""
        return np.asarray(_control(*self._key[:3])(s, u, self.quat_0))

    def driver(self) -> NativeDriver:
        """The native loop with the feedback at every stage."""
        return NativeDriver(_closed_driver(*self._key), self.quat_0)

    def held_driver(self) -> NativeDriver:
        """The native loop with the feedback held over each step."""
        return NativeDriver(_held_driver(*self._key), self.quat_0)


@lru_cache(maxsize=32)
def _control(robot: Robot, law: Callable[..., Any], options: Options) -> Compiled:
    return compile_function(control(Feedback(law, None, options), robot), robot)


@lru_cache(maxsize=32)
def _closed(robot: Robot, law: Callable[..., Any], options: Options, settings: Options) -> Compiled:
    return compile_function(closed_flow(Feedback(law, None, options), robot, dict(settings)), robot)


@lru_cache(maxsize=32)
def _closed_jacobian(robot: Robot, law: Callable[..., Any], options: Options, settings: Options) -> Compiled:
    function = closed_flow(Feedback(law, None, options), robot, dict(settings))

    def jacobian(robot: Robot, s: Array, u: Array, quat_0: Array) -> Array:
        return by_state(function(robot, s, u, quat_0), s)

    vars(jacobian)["made_from"] = vars(function)["made_from"]
    return compile_function(jacobian, robot, inputs=input_shapes(function, robot), minimised=False)


@lru_cache(maxsize=32)
def _closed_driver(robot: Robot, law: Callable[..., Any], options: Options, settings: Options) -> Any:
    return compile_rk4(closed_flow(Feedback(law, None, options), robot, dict(settings)), robot)


@lru_cache(maxsize=32)
def _held_driver(robot: Robot, law: Callable[..., Any], options: Options, settings: Options) -> Any:
    function = control(Feedback(law, None, options), robot)
    return compile_rk4(flow, robot, options=dict(settings), control=function)


def compiled_flow(robot: Robot, options: Options) -> Compiled:
    """The flow as native code."""
    return native(flow, robot, options)

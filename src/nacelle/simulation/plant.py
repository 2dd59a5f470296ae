"""A plant: the flow and signals of a robot as native code, and what runs and results take of its state.

A flow is a physics function of (robot, s, u, constants) that gives the derivative ds/dt of a state s under
inputs u. Its options are keyword arguments, which shape the program; constants are numbers that are given
when it runs. Rigid and flexible robots, robots with drives and robots that differ from their model are one
class, `Plant`; functions make them: `rigid_plant`, `elastic_plant`, `driven_plant`, `deviating_plant`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from nacelle.compile import Compiled, compile_function, compile_irk5, compile_rk4
from nacelle.errors import KinematicsError
from nacelle.kinematics.native import compile_native
from nacelle.model.robot import Robot
from nacelle.program.derivative import forward
from nacelle.program.trace import Symbol, node_of
from nacelle.simulation.feedback import LoopModel, Options, control
from nacelle.simulation.integration import SuitedSteps
from nacelle.simulation.protocol import Derivative, Events, Feedback, Labels
from nacelle.spatial.physics import check_sampler_of, input_shapes
from nacelle.spatial.scalar import Array, Scalar


@dataclass(frozen=True, eq=False, repr=False)
class NativeFlow:
    """A flow of a robot with its signals, and all that integrators take of it.

    Attributes:
        robot: the robot.
        model: flow and signals.
        options: keyword arguments of the flow.
        constants: the last argument of flow and signals.
        exact_jacobian: whether implicit methods take the exact Jacobian of the traced flow; else differences.
        by_parts: derivative (size,) of a state, for a flow that would be too long as one program; else None.
    """

    robot: Robot
    model: LoopModel
    options: Options
    constants: Array
    exact_jacobian: bool = field(default=False, kw_only=True)
    by_parts: Derivative | None = field(default=None, kw_only=True)

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
        (states,), (inputs,), _ = (input_shapes(self.model.flow, self.robot) or {}).values()
        return states, inputs

    @property
    def _compiled(self) -> Compiled:
        return compile_native(self.model.flow, self.robot, **dict(self.options))

    def derivative(self) -> Derivative:
        """The flow ds/dt = f(s, u) of a state (size,) and inputs (inputs,), as native code if it is one."""
        return self.by_parts or bind_function(self._compiled, self.constants)

    def derivatives(self, s: Array, u: Array) -> Array:
        """The derivatives ds/dt (N, size) of states (N, size) under inputs (N, inputs), in one call."""
        if self.by_parts is None:
            return np.asarray(self._compiled(s, u, self.constants))
        return np.stack([self.by_parts(*row) for row in zip(s, u, strict=True)])

    def jacobian(self) -> Derivative | None:
        """The exact Jacobian of the flow by the state, if it is wanted."""
        if not self.exact_jacobian:
            return None
        return bind_function(compiled_jacobian(self.model.flow, self.robot, self.options), self.constants)

    def driver(self, *, held: bool = False) -> NativeDriver | None:
        """The native loop of fixed steps, a feedback held over each step or not; None without a program."""
        if self.by_parts is not None:
            return None
        return NativeDriver(loop_driver(*self._loop_program(held)), self.constants)

    def implicit_driver(self, *, held: bool = False) -> NativeImplicitDriver | None:
        """The native loop of implicit steps, as `driver`."""
        if self.by_parts is not None:
            return None
        return NativeImplicitDriver(loop_driver(*self._loop_program(held), implicit=True), self.constants)

    def _loop_program(self, held: bool) -> tuple[Any, ...]:
        """What the loop is made of: flow, robot, options, and a control that is held over each step."""
        del held
        return self.model.flow, self.robot, self.options, None

    def signals(self, s: Array, names: Sequence[str]) -> dict[str, Array]:
        """The wanted signals at states (..., size), by name."""
        results = _compiled_signals(self.robot, self.model, tuple(names))(s, self.constants)
        return results if isinstance(results, dict) else {names[0]: results}


@dataclass(frozen=True, eq=False, repr=False)
class Plant(NativeFlow):
    """A robot that moves.

    Entries that are functions of states s take any number of them, (..., size), and states that go on behind
    their own: drives put theirs there.

    Attributes:
        labels: names and units of the entries of x, v and the inputs, names of elastic coordinates.
        state: the state (size,) at a pose x (nx,) and a twist v (n,); the same for the same x and v.
        split: reduced poses (..., nx) and twists (..., n), base axes.
        energies: kinetic and potential energy (J) and dissipated power (W), by name.
        power: power (...,) of inputs (..., inputs), and of external wrenches, W.
        events: gives what ends a run unless the user says otherwise.
        forces: the actuators' forces (..., actuators) under inputs (..., inputs), N m or N: of drives what
            current sensors see; the inputs, unless these are accelerations.
        outputs: signals (`signals`) that are not those of a program, each a function of states.
        suited_steps: fixed steps that suit a plant that vibrates from a state (size,) on.
        joints: all joints and bodies (`InverseKinematics`), of a robot whose state places them.
        motion: rates of all its joints (`JointMotion`), rad/s or m/s.
        closure_error: the largest closure error over all states: lengths over the robot's size, rad.
        external: constant wrenches [f; n] on bodies and tools, base axes.
        reason_uncompiled: why it cannot be compiled with a feedback or drives; empty if it can.
        drives: its `Drives`, if it has some; None if not.
        inner: the plant without them.
    """

    labels: Labels
    state: Callable[[Any, Any], Array]
    split: Callable[[Array], tuple[Array, Array]]
    energies: Callable[[Array], dict[str, Array]]
    power: Callable[[Array, Array], Array]
    events: Callable[[], Events]
    forces: Callable[[Array, Array], Array] = lambda s, u: u
    outputs: Mapping[str, Callable[[Array], Array]] = field(default_factory=dict)
    suited_steps: Callable[[Array], SuitedSteps] | None = None
    joints: Callable[[Array], Any] | None = None
    motion: Callable[[Array], Any] | None = None
    closure_error: Callable[[Array], float] | None = None
    external: Mapping[str, Any] = field(default_factory=dict)
    reason_uncompiled: str = ""
    drives: Any = None
    inner: Plant | None = None

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.robot.name

    def loop_parts(self) -> NativeFlow:
        """What is compiled with a controller, or with drives around it: robot, model, options, constants.

        Raises:
            KinematicsError: if it cannot be.
        """
        if self.reason_uncompiled:
            raise KinematicsError(self.reason_uncompiled)
        return self

    def with_feedback(self, feedback: Feedback) -> CompiledLoop:
        """The plant under a feedback that is compiled with it."""
        plant, law = self.loop_parts(), feedback
        force, flow = _closed_loop_functions(self.robot, self.model, self.options, law.function, law.options)
        model, exact = LoopModel(flow, self.model.signals), self.exact_jacobian
        return CompiledLoop(
            self.robot, model, (), self.constants, plant=plant, control=force, exact_jacobian=exact
        )

    def signals(self, s: Array, names: Sequence[str]) -> dict[str, Array]:
        """The wanted signals at states (..., size), by name: `q` and `qd` of the encoders, and others."""
        if all(name in self.outputs for name in names):
            return {name: self.outputs[name](s) for name in names}
        self.loop_parts()
        return super().signals(s, names)

    def signal(self, s: Array, name: str) -> Array:
        """One signal at states (..., size)."""
        return self.signals(s, (name,))[name]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CompiledLoop(NativeFlow):
    """A plant under a compiled feedback; its inputs are [t; r].

    Attributes:
        plant: what is compiled with the feedback.
        control: the actuators' forces as a physics function of (robot, s, [t; r], constants).
    """

    plant: NativeFlow
    control: Callable[..., Array]

    def forces(self, s: Array, u: Array) -> Array:
        """The actuators' forces at states (..., size) and [t; r] (..., inputs)."""
        return np.asarray(compile_native(self.control, self.robot)(s, u, self.constants))

    def _loop_program(self, held: bool) -> tuple[Any, ...]:
        if not held:
            return super()._loop_program(held)
        return self.plant.model.flow, self.robot, self.plant.options, self.control


@lru_cache(maxsize=32)
def _closed_loop_functions(
    robot: Robot, model: LoopModel, settings: Options, law: Callable[..., Any], options: Options
) -> tuple[Callable[..., Array], Callable[..., Array]]:
    """Control and flow of a loop, of (robot, s, [t; r], constants); the same for the same parts."""
    force, flow_options = control(Feedback(law, None, options), robot, model), dict(settings)

    def closed_flow(robot: Robot, s: Array, u: Array, constants: Array) -> Any:
        return model.flow(robot, s, force(robot, s, u, constants), constants, **flow_options)

    vars(closed_flow)["physics_inputs"] = vars(force)["physics_inputs"]
    vars(closed_flow)["made_from"] = (law, options, model.flow, sorted(flow_options.items()))
    return force, closed_flow


@lru_cache(maxsize=32)
def _compiled_signals(robot: Robot, model: LoopModel, names: tuple[str, ...]) -> Compiled:
    state, _, constants = (input_shapes(model.flow, robot) or {}).items()

    def signals(robot: Robot, s: Array, constants: Array) -> dict[str, Any]:
        results = model.signals(robot, s, constants, names)
        return {name: results[name] for name in names}

    vars(signals)["made_from"] = (*model, names)
    return compile_function(
        signals, robot, inputs=dict([state, constants]), states=check_sampler_of(model.flow)
    )


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

"""A rigid robot with its drives and the memory of their controller, as a plant.

The state is S = [s; z; g]: that of the rigid robot (`nacelle.simulation.flow`), what the controller remembers
and the forces of the motors, both (actuators,). Its inputs are U = [u; z'], commanded forces and the rate of
the memory. Between two samples of the controller

    s' = flow(s, force + cogging(q))      z' = z' of the controller      g' = (u - g) / lag

with force = u where the current loops have no lag, and g where they have one. What a controller remembers
from one sample to the next is so a state like any other: a rate that is held over a step of length T moves z
by T z', and a fixed step integrates a constant rate exactly.

Cogging of drive i is A_i sin(k_i q_i + phase_i), a force at the joint that no current shows.
"""

# Why not `nacelle.simulation.driven_plant.DrivenPlant` under a `Sampled` law, the same physics: there the
# memory is set at each sample, here it is integrated with the state. The sums have another order, so that a
# seeded rehearsal would give other last digits.

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.compile import Compiled, compile_function, compile_rk4
from nacelle.kinematics.iteration.newton_steps import closing_step
from nacelle.kinematics.kinematic_model import actuator_positions, inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import native
from nacelle.model.robot import Robot
from nacelle.simulation.flow import (
    NativeDriver,
    Options,
    bound,
    flow,
    pose_from_coordinates,
    state_samples,
    state_size,
)
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.protocol import Derivative, EventGroup, Feedback, Labels
from nacelle.spatial.physics import checked_at, input_shapes, physics
from nacelle.spatial.scalar import Array, pack, sin

Cogging = tuple[tuple[float, float, float], ...]


def _state(robot: Robot) -> tuple[int]:
    return (state_size(robot)[0] + 2 * len(robot.actuators),)


def _inputs(robot: Robot) -> tuple[int]:
    return (2 * len(robot.actuators),)


def actuator_coordinates(robot: Robot, s: Array, quat_0: Array) -> Array:
    """Coordinates of the actuators (actuators,), rad or m, at a state of the rigid robot; any scalar."""
    mechanism, n = mechanism_of(robot), robot.motion.n
    x, y = pose_from_coordinates(mechanism, s[:n], quat_0), s[2 * n : state_size(robot)[0]]
    if mechanism.ny:
        y = y + closing_step(robot, y, x)["dy"]
    return np.asarray(actuator_positions(robot, x, y)["q"])


def cogging_forces(terms: Cogging, q: Array) -> Array:
    """Forces (actuators,) of cogging at coordinates (actuators,), N or N m; any scalar."""
    return pack([a * sin(cycles * q[i] + phase) for i, (a, cycles, phase) in enumerate(terms)])


@checked_at(state_samples)
@physics(s=_state, u=_inputs, quat_0=(4,))
def driven_flow(
    robot: Robot,
    s: Array,
    u: Array,
    quat_0: Array,
    *,
    lag: float = 0.0,
    cogging: Cogging = (),
    **options: Any,
) -> Array:
    """Derivative of the state [s; z; g] under [u; z'], as the head of this file has it.

    Args:
        robot: the robot.
        s: state (size,).
        u: commands, N or N m, and rates of the memory (2 actuators,).
        quat_0: orientation from which rotations are counted.
        lag: time constant of the current loops, s; 0 for none.
        cogging: amplitude (N, N m), cycles (rad per rad or m) and phase (rad) of each drive.
        **options: of `nacelle.simulation.flow.flow`.
    """
    rigid, count = state_size(robot)[0], len(robot.actuators)
    motor = s[rigid + count :]
    force = motor if lag else u[:count]
    if cogging:
        force = force + cogging_forces(cogging, actuator_coordinates(robot, s, quat_0))
    change = [(u[i] - motor[i]) / lag for i in range(count)] if lag else [0.0] * count
    return pack([*flow(robot, s[:rigid], force, quat_0, **options), *u[count:], *change])


class DrivenRobot:
    """A rigid robot with its drives, as a plant (`nacelle.simulation.protocol`).

    Args:
        robot: the robot.
        smooth: rate over which Coulomb friction changes its sign, rad/s or m/s.
        lag: time constant of the current loops, s; 0 for none.
        cogging: amplitude, cycles and phase for each actuator; empty for none.
        first_force: forces of the motors at the start (actuators,), where the current loops have a lag.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        smooth: float | None = None,
        lag: float = 0.0,
        cogging: Cogging = (),
        first_force: Array | None = None,
    ) -> None:
        self.robot, self.rigid = robot, RigidPlant(robot, smooth=smooth)
        self.lag, self.cogging = lag, cogging
        self.count = len(robot.actuators)
        self.first_force = np.zeros(self.count) if first_force is None else first_force
        self.options: Options = (*self.rigid.options, ("lag", lag), ("cogging", cogging))

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.robot.name

    @property
    def size(self) -> int:
        """Number of states."""
        return self.rigid.size + 2 * self.count

    @property
    def inputs(self) -> int:
        """Number of inputs: commands and rates of the memory."""
        return 2 * self.count

    @property
    def labels(self) -> Labels:
        """Names and units of pose, twist and inputs."""
        x, v, forces = self.rigid.labels
        rates = tuple((f"{actuator.name}.memory", "") for actuator in self.robot.actuators)
        return Labels(x, v, (*forces, *rates))

    def state(self, x: Any, v: Any) -> Array:
        """The state at a reduced pose and twist, with nothing remembered."""
        return np.concatenate([self.rigid.state(x, v), np.zeros(self.count), self.first_force])

    def split(self, s: Array) -> tuple[Array, Array]:
        """Reduced poses and twists of states (..., size)."""
        return self.rigid.split(self.rigid_states(s))

    def rigid_states(self, s: Array) -> Array:
        """States (..., rigid) of the rigid robot."""
        return np.asarray(s[..., : self.rigid.size])

    def motor_forces(self, s: Array, u: Array) -> Array:
        """Forces of the motors (..., actuators) at states (..., size) and inputs (..., inputs)."""
        return np.asarray(s[..., self.rigid.size + self.count :] if self.lag else u[..., : self.count])

    # ---- what integrators run

    def derivative(self) -> Derivative:
        """The flow as native code."""
        return bound(native(driven_flow, self.robot, self.options), self.rigid.quat_0)

    def derivatives(self, s: Array, u: Array) -> Array:
        """The derivatives (N, size) of states (N, size) under inputs (N, inputs), in one call."""
        return np.asarray(native(driven_flow, self.robot, self.options)(s, u, self.rigid.quat_0))

    def closed(self, feedback: Feedback) -> DrivenLoop:
        """The robot under a controller that is compiled with it."""
        return DrivenLoop(self, feedback)

    def events(self) -> list[EventGroup]:
        """What ends a run of the rigid robot."""
        (group,) = self.rigid.events()
        words = group.words
        assert words is not None

        def values(t: Array, s: Array) -> Array:
            return group.values(t, self.rigid_states(s))

        return [EventGroup(group.names, values, lambda place, s: words(place, self.rigid_states(s)))]

    # ---- what results show

    def energies(self, s: Array) -> dict[str, Array]:
        """Kinetic and potential energy (J) and friction's power (W) of states (..., size)."""
        return self.rigid.energies(self.rigid_states(s))

    def power(self, s: Array, u: Array) -> Array:
        """Power of motors and cogging (...,) at states (..., size), W."""
        x, v = self.split(s)
        outputs = native(inverse_jacobian, self.robot)(x, self.rigid.unknowns(self.rigid_states(s)))
        force = self.motor_forces(s, u)
        force = force + self.cogging_at(outputs["q"])
        return np.asarray(np.einsum("...i,...ij,...j->...", force, outputs["J"], v))

    def cogging_at(self, q: Array) -> Array:
        """Forces of cogging (..., actuators) at coordinates (..., actuators), N or N m."""
        if not self.cogging:
            return np.zeros(q.shape)
        amplitude, cycles, phase = np.array(self.cogging).T
        return np.asarray(amplitude * np.sin(cycles * q + phase))


# ---- in closed loop


class DrivenLoop:
    """A robot with its drives under a controller; its inputs are the time and the controller's rows, [t; r].

    The controller is a physics function of (robot, s, w, quat_0): the state (size,), w = [t; r], that gives
    [u; z'] (inputs,); the feedback's options are its keyword arguments.
    """

    def __init__(self, plant: DrivenRobot, feedback: Feedback) -> None:
        self.plant, self.feedback = plant, feedback
        (self.inputs,) = (input_shapes(feedback.function, plant.robot) or {})["w"]

    @property
    def size(self) -> int:
        """Number of states."""
        return self.plant.size

    @property
    def _law(self) -> tuple[Robot, Callable[..., Any], Options]:
        return self.plant.robot, self.feedback.function, self.feedback.options

    def derivative(self) -> Derivative:
        """The flow under the controller."""
        plain = self.plant.derivative()
        return lambda s, w: plain(s, self.forces(s, w))

    def forces(self, s: Array, u: Array) -> Array:
        """[u; z'] (..., inputs of the plant) at states (..., size) and [t; r] (..., inputs)."""
        return np.asarray(_law(*self._law)(s, u, self.plant.rigid.quat_0))

    def held_driver(self) -> NativeDriver:
        """The native loop with what the controller gives held over each step."""
        return NativeDriver(_held_driver(*self._law, self.plant.options), self.plant.rigid.quat_0)


def _with_options(function: Callable[..., Any], options: Options, robot: Robot) -> Callable[..., Any]:
    """The controller with its options, as the function of three inputs that a driver takes."""
    shapes = input_shapes(function, robot) or {}

    @checked_at(state_samples)
    @physics(**shapes)
    def controller(robot: Robot, s: Array, w: Array, quat_0: Array) -> Any:
        return function(robot, s, w, quat_0, **dict(options))

    vars(controller)["made_from"] = (function, options)
    return controller


@lru_cache(maxsize=32)
def _law(robot: Robot, function: Callable[..., Any], options: Options) -> Compiled:
    return compile_function(_with_options(function, options, robot), robot)


@lru_cache(maxsize=32)
def _held_driver(robot: Robot, function: Callable[..., Any], options: Options, plant: Options) -> Any:
    return compile_rk4(
        driven_flow, robot, options=dict(plant), control=_with_options(function, options, robot)
    )

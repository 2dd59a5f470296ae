"""Simulating many robots at once: the same structure, each its own numbers, forces and state.

    motions = nacelle.simulation.simulate_many(robot, x0, until=1.0, parameters=numbers, target="cuda")

The classical Runge-Kutta method with a fixed step, all robots in one call: natively on the processor, or on a
device, where a thread is a robot. Nothing ends a run early but a state that is not finite; limits and
singularities are not watched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.compile import BatchRk4, Compiled, CudaOptions, compile_function
from nacelle.compile.specification import parameter_groups
from nacelle.errors import KinematicsError
from nacelle.kinematics.kinematic_model import angles_with_turns
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.shapes import pose_shape
from nacelle.model.robot import Robot
from nacelle.results import HasTable
from nacelle.simulation.flow import (
    RIGID_MODEL,
    coordinates_from_pose,
    flow,
    pose_from_coordinates,
    reference_orientation,
    state_size,
)
from nacelle.simulation.integration import Integration
from nacelle.simulation.plant import Plant
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, norm, pack


@physics(x=pose_shape, quat_0=(4,))
def coordinates_of_pose(robot: Robot, x: Array, quat_0: Array) -> Array:
    """The coordinates c (n,) of a pose x (nx,), of which a quaternion may have any length."""
    mechanism = mechanism_of(robot)
    return coordinates_from_pose(mechanism, _normalise_pose(mechanism, x), quat_0)


@physics(x=pose_shape)
def counted_turns(robot: Robot, x: Array) -> Array:
    """Angles that count turns (k,), rad, at a pose x (nx,) from which on they do."""
    mechanism = mechanism_of(robot)
    return angles_with_turns(robot, _normalise_pose(mechanism, x), mechanism.reference[1])["angles"]


def _normalise_pose(mechanism: Mechanism, x: Array) -> Array:
    quaternion = mechanism.layout.quaternion
    if quaternion is None:
        return x
    return pack([*x[: quaternion.start], *(x[quaternion] / norm(x[quaternion])), *x[quaternion.stop :]])


@physics(s=state_size, quat_0=(4,))
def poses_of_states(robot: Robot, s: Array, quat_0: Array) -> Array:
    """The pose x (nx,) of a state s."""
    return pose_from_coordinates(mechanism_of(robot), s[: robot.motion.n], quat_0)


@dataclass(frozen=True, eq=False)
class Motions(HasTable):
    """Motions of many robots; NumPy arrays, or arrays of the device.

    Attributes:
        robot: the robot.
        t: times of the samples (samples,), s.
        x: poses at these times (N, samples, nx); NaN from where a robot's state was not finite.
        v: twists (N, samples, n).
        final: the last finite states [c; v] (N, 2 n), and behind these angles that count turns.
        completed: steps to the last finite state (N,).
        status: 0 all steps were completed, 2 a state was not finite (N,).
    """

    robot: Robot
    t: Array
    x: Any
    v: Any
    final: Any
    completed: Any
    status: Any


def simulate_many(
    plant: Plant | Robot,
    x0: Any,
    v0: Any = None,
    tau: Any = None,
    *,
    until: float,
    integration: Integration | None = None,
    parameters: Any = None,
    groups: str | Sequence[str] = "input",
    samples: int = 1,
    target: str | CudaOptions = "jit",
) -> Motions:
    """Simulate many robots from their poses, under constant forces.

    Args:
        plant: a robot, or a `rigid_plant` of it with its choice of friction: the structure, and the numbers
            of all robots that have no others.
        x0: poses (N, nx), or one for all.
        v0: twists (N, n), or one for all; zero if None.
        tau: forces of the actuators (N, actuators), N or N m, or one for all; zero if None.
        until: end of the motion, s; it begins at 0.
        integration: by "rk4", of which the step counts alone; `Integration("rk4")` if None: steps of 0.001 s.
        parameters: the robots' own numbers (N, parameters), `robot.numbers.vector(*groups)` each; those
            of the description if None.
        groups: which numbers `parameters` has: "input" for all that are free, or names of groups.
        samples: how many states are kept, evenly over time, the last one among them.
        target: "jit"; or "cuda", or `nacelle.compile.CudaOptions` where numbers are floats: arrays are then
            CuPy's, or anything with DLPack, and stay on the device.

    Raises:
        KinematicsError: if an argument cannot be used, or legs of the robot have no closed form.
        DeviceError: if the target is "cuda" and there is no device, or arrays are not on it.
    """
    driven = rigid_plant(plant) if isinstance(plant, Robot) else plant
    if driven.model != RIGID_MODEL:
        raise KinematicsError(f"many motions are those of a rigid_plant, got another plant of {driven.name}")
    step = _step_of(Integration("rk4") if integration is None else integration)
    robot = driven.robot
    mechanism = _require_closed_forms(robot)
    steps = round(until / step)
    if not (until > 0.0 and step > 0.0 and steps >= 1 and abs(steps * step - until) < 1e-9 * until):
        raise KinematicsError(f"until = {until:g} s must be a whole number of steps of {step:g} s")
    if samples < 1 or steps % samples:
        raise KinematicsError(f"samples = {samples} must be a divisor of the {steps} steps")
    n, quat_0 = robot.motion.n, reference_orientation(mechanism)
    arrays = _Arrays(target)
    arguments = [
        arrays.rows("x0", x0, mechanism.layout.nx),
        arrays.rows("v0", v0, n, optional=True),
        arrays.rows("tau", tau, len(robot.actuators), optional=True),
    ]
    numbers = "constant" if parameters is None else groups
    if parameters is not None:
        names = () if groups == "input" else (groups,) if isinstance(groups, str) else tuple(groups)
        arguments.append(arrays.rows("parameters", parameters, len(robot.numbers.names(*names))))
    count = arrays.count(arguments)
    x, v, u, *rest = arguments
    numbers = numbers if isinstance(numbers, str) else tuple(numbers)
    q = arrays.asarray(quat_0)
    x = arrays.whole(x, count)
    parts = [_compiled_program(coordinates_of_pose, robot, target)(x, q), arrays.whole(v, count)]
    if mechanism.counted:
        parts.append(_compiled_program(counted_turns, robot, target)(x))
    s, every = arrays.join(parts), steps // samples
    motion = _driver(robot, numbers, driven.options, target).integrate(
        s, arrays.whole(u, count), (quat_0,), rest[0] if rest else None, h=step, steps=steps, every=every
    )
    t = step * every * np.arange(1, samples + 1)
    pose = _compiled_program(poses_of_states, robot, target)(motion.x, q)
    v = motion.x[..., n : 2 * n]
    return Motions(robot, t, pose, v, motion.final, motion.completed, motion.status)


def _require_closed_forms(robot: Robot) -> Mechanism:
    mechanism = mechanism_of(robot)
    if not mechanism.has_closed_form:
        raise KinematicsError(
            f"legs of {robot.name} are solved by iteration, whose start each robot would need: simulate them "
            "one by one (nacelle.simulate)"
        )
    return mechanism


@lru_cache(maxsize=64)
def _compiled_program(function: Callable[..., Any], robot: Robot, target: str | CudaOptions) -> Compiled:
    return compile_function(function, robot, target=target)


@lru_cache(maxsize=16)
def _driver(
    robot: Robot,
    numbers: str | tuple[str, ...],
    options: tuple[tuple[str, Any], ...],
    target: str | CudaOptions,
) -> BatchRk4:
    settings = dict(options)
    if "geometry" in parameter_groups(numbers):
        _require_closed_forms(robot.at_sample(*parameter_groups(numbers)))
    return BatchRk4(flow, robot, parameters=numbers, settings=settings, target=target)


def _step_of(integration: Integration) -> float:
    """The step, s.

    Raises:
        KinematicsError: if the method is another one than "rk4", or a step is made of several.
    """
    if integration.method != "rk4" or integration.substeps != 1:
        raise KinematicsError(
            "many robots move in explicit fixed steps: integration=Integration('rk4', step=...), without "
            f"substeps, got {integration.method!r} with {integration.substeps} substeps"
        )
    return integration.fixed_step


class _Arrays:
    """Arrays of the target: NumPy's, or those of a device."""

    def __init__(self, target: str | CudaOptions) -> None:
        device = CudaOptions() if target == "cuda" else target
        self.real = device.real if isinstance(device, CudaOptions) else "double"
        self.module: Any = np
        if isinstance(device, CudaOptions):
            from nacelle.emit.cuda.device import cupy

            self.module = cupy()
        self.kind = np.float32 if self.real == "float" else np.float64

    def asarray(self, value: Any) -> Any:
        """Small arrays of the function's own."""
        return self.module.asarray(value, dtype=self.kind)

    def rows(self, name: str, value: Any, size: int, *, optional: bool = False) -> Any:
        """An argument (N, size) or (size,); zeros for None where it is optional."""
        missing = optional and value is None
        if self.module is np or missing:
            array = self.asarray(np.zeros(size) if missing else value)
        else:
            from nacelle.emit.cuda.device import device_array

            array = device_array(value, name, self.real)
        if array.ndim not in (1, 2) or array.shape[-1] != size:
            raise KinematicsError(f"{name} has the shape {tuple(array.shape)}, not (N, {size}) or ({size},)")
        return array

    def count(self, arrays: Sequence[Any]) -> int:
        """Number of robots."""
        counts = {len(array) for array in arrays if array.ndim == 2 and len(array) != 1} or {1}
        if len(counts) > 1:
            raise KinematicsError(f"arguments are for different numbers of robots: {sorted(counts)}")
        return int(counts.pop())

    def whole(self, array: Any, count: int) -> Any:
        """An argument for every robot (N, size)."""
        return self.module.broadcast_to(array, (count, array.shape[-1]))

    def join(self, arrays: Sequence[Any]) -> Any:
        """Arguments (N, ...) side by side."""
        return self.module.concatenate(arrays, axis=1)

"""A rigid robot that is not its model, stepped sample by sample from Python.

Its state is that of `nacelle.simulation.flow`, s = [c; v; y]; its numbers g(t) (`deviation`) are inputs of
the compiled flow, so that one program is that of every deviation and of drifting anchors. A period is some
steps of the classical Runge-Kutta method in native code, forces and g held. Between steps the state follows
by the cubic through both ends and their slopes, whose error is of the fourth order as the method's.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.compile import compile_rk4
from nacelle.control.vision.deviation import Deviation, deviating_robot, numbers_size, sample, sample_numbers
from nacelle.errors import KinematicsError
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.iteration.newton_steps import closing_step
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import native
from nacelle.kinematics.shapes import of_actuators, of_pose
from nacelle.model.robot import Robot
from nacelle.program.identities.samples import PreciseInputs
from nacelle.simulation.flow import (
    bound,
    coordinates_of,
    flow,
    pose_from_coordinates,
    reference_orientation,
    state_samples,
    state_size,
)
from nacelle.spatial.physics import checked_at, physics
from nacelle.spatial.scalar import Array

# Newton's steps from the sample robot to the true one: the way, and what is left at its end.
_WAY, _CLOSED = 8, 1e-12


def _state(robot: Robot) -> tuple[int]:
    return state_size(sample(robot))


def _constants(robot: Robot) -> tuple[int]:
    return (4 + numbers_size(robot),)


def _unknowns(robot: Robot) -> tuple[int]:
    return (mechanism_of(sample(robot)).ny,)


def _states(
    robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: tuple[str, ...] = ()
) -> PreciseInputs | None:
    """States at which programs are checked: of the sample robot, whose numbers g come last."""
    own = {
        "quat_0" if name == "constants" else name: (4,) if name == "constants" else shape
        for name, shape in shapes.items()
        if name != "g"
    }
    found = state_samples(sample(robot), own, groups)
    if found is None:
        return None
    g = tuple(map(Decimal, sample_numbers(robot).tolist()))
    proof, check = (tuple((*row, *g) for row in rows) for rows in (found.proof, found.check))
    return PreciseInputs(proof, check, (*found.sizes, *(robot.size for _ in g)))


@checked_at(_states)
@physics(s=_state, tau=of_actuators, constants=_constants)
def true_flow(robot: Robot, s: Array, tau: Array, constants: Array, *, smooth: float = 1e-3) -> Array:
    """Derivative of the state of the true robot; the constants are [quat_0; g]."""
    return flow(deviating_robot(robot, constants[4:]), s, tau, constants[:4], smooth=smooth)


@checked_at(_states)
@physics(s=_state, constants=_constants)
def true_signals(robot: Robot, s: Array, constants: Array) -> dict[str, Array]:
    """Pose x (nx,), twist v (n,), and the actuators' coordinates q (actuators,) of the true robot."""
    x, y, v, true = _split(robot, s, constants)
    return {"x": x, "v": v, "q": np.asarray(kinematic_model.actuator_positions(true, x, y)["q"])}


@checked_at(_states)
@physics(s=_state, constants=_constants)
def true_bodies(robot: Robot, s: Array, constants: Array) -> dict[str, Array]:
    """Poses R (bodies, 3, 3), p (bodies, 3) of all bodies of the true robot in the base."""
    x, y, _, true = _split(robot, s, constants)
    return kinematic_model.body_poses(true, x, y)


@checked_at(_states)
@physics(y=_unknowns, x=of_pose, g=lambda robot: (numbers_size(robot),))
def true_closing(robot: Robot, y: Array, x: Array, g: Array) -> Array:
    """Newton's step towards closed loops of the true robot (ny,)."""
    return np.asarray(closing_step(deviating_robot(robot, g), y, x)["dy"])


def _split(robot: Robot, s: Array, constants: Array) -> tuple[Array, Array, Array, Robot]:
    true = deviating_robot(robot, constants[4:])
    mechanism, n = mechanism_of(true), robot.motion.n
    x, v, y = pose_from_coordinates(mechanism, s[:n], constants[:4]), s[n : 2 * n], s[2 * n :]
    if mechanism.ny:
        y = y + closing_step(true, y, x)["dy"]
    return x, y, v, true


@lru_cache(maxsize=32)
def _stepper(robot: Robot) -> Any:
    return compile_rk4(true_flow, robot)


class TruePlant:
    """The true robot in motion.

    Args:
        model: the robot that controllers and observers take it for.
        deviation: how it differs.
        step: the longest step of the integration, s.

    Attributes:
        time: s.
        state: s (size,).
    """

    def __init__(self, model: Robot, deviation: Deviation, *, step: float = 5e-4) -> None:
        self.model, self.deviation, self.step = model, deviation, step
        self.quat_0 = reference_orientation(mechanism_of(sample(model)))
        self._flow = bound(native(true_flow, model), self._constants(0.0))
        self._signals = native(true_signals, model)
        self._bodies = native(true_bodies, model)
        self._driver = _stepper(model)
        self.time = 0.0
        self.state = np.zeros(0)
        self._times: list[float] = []
        self._states: list[Array] = []
        self._slopes: list[tuple[Array, Array]] = []

    def _constants(self, time: float) -> Array:
        return np.concatenate([self.quat_0, self.deviation.numbers(self.model, time)])

    def start(self, x: Any, v: Any, time: float) -> None:
        """Put the true platform at a pose x (nx,) with a twist v (n,).

        Raises:
            UnreachableError: if the true robot does not reach it.
        """
        pose = np.asarray(x, dtype=float)
        y = self._closed(pose, time)
        c = coordinates_of(mechanism_of(sample(self.model)), pose, self.quat_0)
        self.time, self.state = time, np.concatenate([c, np.asarray(v, dtype=float), y])
        self._times, self._states, self._slopes = [time], [self.state], []

    def _closed(self, x: Array, time: float) -> Array:
        """What iteration finds at a pose (ny,), followed from the sample robot to the true one."""
        near = sample(self.model)
        y = np.asarray(inverse_kinematics(near, x, limits=False).y)
        if not y.size:
            return y
        closing = native(true_closing, self.model)
        last = self.deviation.numbers(self.model, time)
        first = sample_numbers(self.model)
        for part in np.linspace(0.0, 1.0, _WAY + 1)[1:]:
            g = first + part * (last - first)
            for _ in range(3):
                dy = np.asarray(closing(y, x, g))
                y = y + dy
        if not np.max(np.abs(dy)) < _CLOSED:
            raise KinematicsError(f"the loops of the true {self.model.name} do not close at its first pose")
        return y

    def advance(self, force: Array, until: float) -> None:
        """Move on under forces that are held (actuators,), to a later time, s."""
        span = until - self.time
        if span <= 0.0:
            return
        steps = max(1, int(np.ceil(span / self.step * (1.0 - 1e-9))))
        h = span / steps
        constants = self._constants(self.time + 0.5 * span)
        u = np.asarray(force, dtype=float)[None]
        states = np.asarray(
            self._driver.integrate(self.state, u, constants, h=h, steps=steps, every=1, held=steps).x[0]
        )
        if not np.isfinite(states).all():
            raise KinematicsError(
                f"the true {self.model.name} left what it can do at {self.time:.4g} s: a singularity, or "
                "a loop that does not close"
            )
        ends = np.concatenate([self.state[None], states])
        slopes = [np.array(self._flow(state, u[0])) for state in ends]
        for k in range(steps):
            self._times.append(self.time + (k + 1) * h)
            self._states.append(ends[k + 1])
            self._slopes.append((slopes[k], slopes[k + 1]))
        self.time, self.state = until, states[-1]

    @property
    def oldest(self) -> float:
        """The first time that is kept, s."""
        return self._times[0]

    def forget(self, before: float) -> None:
        """Drop the states that are older than a time, s."""
        place = max(0, int(np.searchsorted(self._times, before)) - 1)
        if place:
            del self._times[:place], self._states[:place], self._slopes[:place]

    def state_at(self, time: float) -> Array:
        """The state (size,) at a time that is kept, s: by the cubic of its step."""
        place = int(np.searchsorted(self._times, time)) - 1
        place = min(max(place, 0), len(self._slopes) - 1)
        if place < 0 or time <= self._times[0]:
            return self._states[0]
        begin, end = self._times[place], self._times[place + 1]
        h = end - begin
        u = min(max((time - begin) / h, 0.0), 1.0)
        a, b = self._states[place], self._states[place + 1]
        f, g = self._slopes[place]
        return np.asarray(
            (1.0 - u) * a
            + u * b
            + u * (u - 1.0) * ((1.0 - 2.0 * u) * (b - a) + (u - 1.0) * h * f + u * h * g)
        )

    def split(self, state: Array) -> tuple[Array, Array]:
        """Reduced pose (nx,) and twist (n,) of a state (size,)."""
        n = self.model.motion.n
        return np.asarray(pose_from_coordinates(mechanism_of(self.model), state[:n], self.quat_0)), state[
            n : 2 * n
        ]

    def signals(self, state: Array | None = None, time: float | None = None) -> dict[str, Array]:
        """Pose "x", twist "v" and the actuators' coordinates "q" at a state and time; now if None."""
        at = self.time if time is None else time
        result: dict[str, Array] = self._signals(self.state if state is None else state, self._constants(at))
        return result

    def bodies(self, state: Array, time: float) -> tuple[Array, Array]:
        """Poses of all bodies, R (..., bodies, 3, 3) and p (..., bodies, 3), at states (..., size)."""
        poses = self._bodies(state, self._constants(time))
        return np.asarray(poses["R"]), np.asarray(poses["p"])

    def bodies_of(self, x: Array, y: Array, g: Array) -> tuple[Array, Array]:
        """Poses of all bodies at a pose x (nx,) of a robot with other numbers g, from a nearby y (ny,)."""
        mechanism = mechanism_of(sample(self.model))
        if mechanism.ny != len(y):
            # The model has more in closed form than a robot with unequal legs.
            y = self.state[2 * self.model.motion.n :]
        c = coordinates_of(mechanism, x, self.quat_0)
        state = np.concatenate([c, np.zeros(self.model.motion.n), y])
        poses = self._bodies(state, np.concatenate([self.quat_0, g]))
        return np.asarray(poses["R"]), np.asarray(poses["p"])

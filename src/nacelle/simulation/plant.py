"""Plants: what an integrator drives.

A plant has a state of `size` numbers and `inputs` inputs, and gives the state's derivative; it knows
nothing of integrators, nor they of robots.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from nacelle.dynamics import functions
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.mechanism import mechanism
from nacelle.kinematics.native import native
from nacelle.kinematics.pose_input import checked_poses, checked_rates
from nacelle.model.robot import Robot
from nacelle.simulation.flow import flow, pose_of
from nacelle.spatial.lane import from_lanes, lanes
from nacelle.spatial.scalar import Array


class Plant(Protocol):
    """Something that moves: ds/dt = f(s, u)."""

    @property
    def size(self) -> int:
        """Number of states."""

    @property
    def inputs(self) -> int:
        """Number of inputs."""

    def state(self, x: Any, v: Any) -> Array:
        """The state (size,) at a reduced pose and twist."""

    def split(self, s: Array) -> tuple[Array, Array]:
        """Reduced poses (..., nx) and twists (..., n) of states (..., size)."""

    def derivative(self) -> Callable[[Array, Array], Array]:
        """A function of a state (size,) and inputs (inputs,) that gives the state's derivative."""


class RigidPlant:
    """A rigid robot under its actuators' forces.

    Args:
        robot: the robot.
        friction: whether friction counts.
        smooth: rate over which Coulomb friction changes its sign; needed by implicit methods.
    """

    def __init__(self, robot: Robot, *, friction: bool = True, smooth: float | None = None) -> None:
        self.robot = robot
        self.known = mechanism(robot)
        self.options: tuple[tuple[str, Any], ...] = (("friction", bool(friction)),)
        if smooth is not None:
            self.options += (("smooth", float(smooth)),)
        self.friction = bool(friction)
        self.smooth = smooth
        place = self.known.layout.quaternion
        x0 = self.known.reference[0]
        self.quat_0 = np.array([0.0, 0.0, 0.0, 1.0]) if place is None else x0[place].copy()

    @property
    def size(self) -> int:
        """Number of states."""
        return 2 * self.robot.motion.n + self.known.ny

    @property
    def inputs(self) -> int:
        """Number of actuators."""
        return len(self.robot.actuators)

    def state(self, x: Any, v: Any) -> Array:
        """The state at a reduced pose and twist; orientations are counted from this pose on."""
        pose = checked_poses(self.robot, x)[0]
        twist = checked_rates(self.robot, "the twist v", v)
        found = inverse_kinematics(self.robot, pose, limits=False)
        layout = self.known.layout
        if layout.quaternion is None or layout.angular is None:
            c = pose
        else:
            self.quat_0 = pose[layout.quaternion].copy()
            c = np.concatenate([pose[: layout.quaternion.start], np.zeros(3), pose[layout.quaternion.stop :]])
        return np.concatenate([c, twist, found.y])

    def split(self, s: Array) -> tuple[Array, Array]:
        """Reduced poses and twists of states (..., size)."""
        n = self.robot.motion.n
        c = s[..., :n]
        if self.known.layout.quaternion is None:
            return c, s[..., n : 2 * n]
        x = from_lanes(pose_of(self.known, lanes(c, 1), self.quat_0))
        return np.asarray(x), s[..., n : 2 * n]

    def unknowns(self, s: Array) -> Array:
        """What iteration found, in states (..., size)."""
        return np.asarray(s[..., 2 * self.robot.motion.n :])

    @cached_property
    def compiled(self) -> Any:
        """The flow as native code."""
        return native(flow, self.robot, self.options)

    def derivative(self) -> Callable[[Array, Array], Array]:
        """The flow on fixed buffers: about a microsecond beside the evaluation."""
        bound = self.compiled.bind(quat_0=self.quat_0)
        s, tau, (name,) = bound["s"], bound["tau"], self.compiled.outputs
        out = bound[name]

        def evaluate(state: Array, inputs: Array) -> Array:
            s[:], tau[:] = state, inputs
            bound.call()
            result: Array = out.copy()
            return result

        return evaluate

    def energies(self, s: Array) -> dict[str, Array]:
        """Kinetic and potential energy (J) and friction's power (W) of states (..., size)."""
        x, v = self.split(s)
        options = () if self.smooth is None else (("smooth", self.smooth),)
        found: dict[str, Array] = native(functions.energies, self.robot, options)(x, self.unknowns(s), v)
        return found

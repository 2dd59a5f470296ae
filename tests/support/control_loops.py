"""Control laws in a loop with a rigid robot, and what is measured there: poles, disturbances, stiffness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nacelle.control.blocks.pose import displace_pose, pose_difference
from nacelle.control.controller import Controller
from nacelle.dynamics.evaluation import external_load
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.simulation.integration import Integration
from nacelle.simulation.protocol import PlantLike
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.simulate import Simulation, simulate

Array = np.ndarray
AXES = ("x", "y", "z", "rx", "ry", "rz")


class Poles(NamedTuple):
    """Of s^2 + 2 zeta w s + w^2: w / (2 pi) in Hz, and zeta."""

    frequency: float
    damping: float


def identify_poles(e: Array, period: float) -> Poles:
    """The poles of errors (N,) by least squares, e_k = c_1 e_k-1 + c_2 e_k-2."""
    c, *_ = np.linalg.lstsq(np.column_stack([e[1:-1], e[:-2]]), e[2:], rcond=None)
    s = np.log(np.roots([1.0, -c[0], -c[1]]).astype(complex)) / period
    w = np.sqrt((s[0] * s[1]).real)
    return Poles(w / (2.0 * np.pi), -(s[0] + s[1]).real / (2.0 * w))


@dataclass(frozen=True)
class Loop:
    """A controller around a robot that is its model, at the reference pose or swinging around it.

    Attributes:
        controller: the controller.
        delay: from a sample to the time at which its forces act, s.
        swing_amplitude: how far the desired pose swings along the twist (n,), as sin^3; at rest if None.
        rate: of that, rad/s.
    """

    controller: Controller
    delay: float = 0.0
    swing_amplitude: Array | None = None
    rate: float = 20.0

    @property
    def robot(self) -> Robot:
        return self.controller.robot

    @property
    def reference(self) -> tuple[Array, Array]:
        x, y = mechanism_of(self.robot).reference
        return np.asarray(x, dtype=float), np.asarray(y, dtype=float)

    def displaced_pose(self, w: Array) -> Array:
        """The pose that is a displacement w (n,) away."""
        return np.asarray(displace_pose(self.robot, *self.reference, np.asarray(w)), dtype=float)

    def rows(self, seconds: float) -> Array:
        """The desired motion, a row for each sample."""
        t = self.controller.period * np.arange(round(seconds / self.controller.period))
        n = self.robot.motion.n
        if self.swing_amplitude is None:
            return np.tile(np.concatenate([self.reference[0], np.zeros(2 * n)]), (len(t), 1))
        s, c, r = np.sin(self.rate * t), np.cos(self.rate * t), self.rate
        x = [self.displaced_pose(self.swing_amplitude * value) for value in s**3]
        v = np.multiply.outer(3.0 * r * s**2 * c, self.swing_amplitude)
        a = np.multiply.outer(3.0 * r**2 * (2.0 * s * c**2 - s**3), self.swing_amplitude)
        return np.column_stack([x, v, a])

    def run(self, seconds: float, *, w: Any = None, plant: PlantLike | None = None) -> Simulation:
        """A run from rest, a displacement w (n,) away from the reference pose."""
        plant = rigid_plant(self.robot, friction=False) if plant is None else plant
        x = self.displaced_pose(np.zeros(self.robot.motion.n) if w is None else w)
        zero = np.zeros(self.robot.motion.n)
        held = inverse_dynamics(self.robot, x, zero, zero, friction=False).tau
        rows = self.rows(seconds)
        law = self.controller.digital(
            self.reference[0],
            rows[0] if self.swing_amplitude is None else rows,
            delay=self.delay,
            tau0=held,
        )
        T = self.controller.period
        return simulate(
            plant, x, None, law, until=len(rows) * T, integration=Integration("rk4", step=T / 2.0)
        )

    def every(self, run: Simulation) -> int:
        """Steps of a run in a sample."""
        return round(self.controller.period / (run.t[1] - run.t[0]))

    def errors(self, run: Simulation, rows: Array) -> Array:
        """Desired less true pose of the platform at every sample (N, n)."""
        x = run.x[:: self.every(run)][: len(rows)]
        y = inverse_kinematics(self.robot, x, limits=False).y
        nx = x.shape[1]
        return np.array(
            [pose_difference(self.robot, row[:nx], own, at) for row, own, at in zip(rows, x, y, strict=True)]
        )

    def actuator_errors(self, run: Simulation, rows: Array) -> Array:
        """Desired less true coordinates of the actuators at every sample (N, actuators)."""
        x = run.x[:: self.every(run)][: len(rows)]
        wanted = inverse_kinematics(self.robot, rows[:, : x.shape[1]], limits=False).q
        return np.asarray(wanted - inverse_kinematics(self.robot, x, limits=False).q)

    def poles(self, w: Array, seconds: float = 0.15, *, actuators: bool = False) -> list[Poles]:
        """Poles of each error after a start w (n,) away, by identification.

        What a moving reference leaves is taken off by a run that starts without an error.
        """
        rows = self.rows(seconds)
        measure = self.actuator_errors if actuators else self.errors
        e = measure(self.run(seconds, w=w), rows)
        if self.swing_amplitude is not None:
            e = e - measure(self.run(seconds), rows)
        # The first samples find the pose.
        return [identify_poles(own, self.controller.period) for own in e[5:].T]


def platform_wrench(robot: Robot, coordinate: str, size: float) -> dict[str, Array]:
    """A wrench on the platform along one of its coordinates, N or N m."""
    return {robot.bodies[1].name: size * np.eye(6)[AXES.index(coordinate)]}


def generalised_load(robot: Robot, x: Array, wrench: dict[str, Array]) -> Array:
    """A wrench as a force along the twist (n,) at a pose (nx,)."""
    y = inverse_kinematics(robot, x, limits=False).y
    return np.asarray(external_load(robot, x[None], y[None], wrench))[0]


def observed_disturbance(
    loop: Loop, wrench: dict[str, Array], *, rest: float, seconds: float
) -> tuple[Array, Array, Array]:
    """Times after a step of force (N,), what the observer says (N, n), the step along the twist (n,)."""
    plant = rigid_plant(loop.robot, friction=False, external=wrench)
    run = loop.run(rest).resume(rest + seconds, plant=plant)
    assert run.ok, run.message
    fields = loop.controller.kind.memory(loop.robot)
    assert run.memory is not None
    every = loop.every(run)
    d = run.memory[1::every, fields.slice_of("disturbance")]
    t = run.t[:-1:every] - rest
    return t[t >= 0.0], d[t >= 0.0], generalised_load(loop.robot, loop.reference[0], wrench)


def stiffness(loop: Loop, coordinates: dict[str, float], seconds: float) -> Array:
    """The stiffness that is measured (n, n): loads along each coordinate at rest, over displacements."""
    F, E = [], []
    for coordinate, size in coordinates.items():
        wrench = platform_wrench(loop.robot, coordinate, size)
        run = loop.run(seconds, plant=rigid_plant(loop.robot, friction=False, external=wrench))
        assert run.ok, run.message
        E.append(-loop.errors(run, loop.rows(seconds))[-1])
        F.append(generalised_load(loop.robot, run.x[-1], wrench))
    return np.asarray(np.linalg.solve(np.array(E), np.array(F)).T)

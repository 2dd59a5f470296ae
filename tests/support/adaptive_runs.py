"""Runs of adaptive control: periodic motions, models with wrong parameters, a payload taken up in flight."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.control.controller import Controller
from nacelle.control.laws.adaptive import Adaptive, adapted_parameters
from nacelle.control.named import controller
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.linear_parameters import linear_parameters, with_linear_parameters
from nacelle.model.numbers import INERTIA_NAMES
from nacelle.model.payload import with_payload
from nacelle.model.robot import Robot
from nacelle.simulation.digital_controller import DigitalController
from nacelle.simulation.integration import Integration
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.simulate import Simulation, simulate
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import floor, pack
from nacelle.trajectory.paths import Fourier

Array = np.ndarray
PERIOD = 5e-4
# Rates over which friction of the plant and of the law change their signs: near rest no model is exact.
SMOOTH, LAW_SMOOTH = 1e-3, 1e-2
# Size (m), turn (rad), frequency (Hz) of the path, payload (kg), cycles before and after it, encoders' count.
CASES = {
    "delta": (0.1, 0.0, 1.0, 0.5, 6, 6e-6),
    "delta-codourey": (0.1, 0.0, 1.0, 0.5, 6, 6e-6),
    "hexaglide": (0.06, 0.15, 0.5, 2.0, 6, 1e-6),
    "3rrr": (0.05, 0.2, 1.0, 0.5, 6, 6e-6),
    "fivebar": (0.04, 0.0, 1.0, 0.2, 8, 6e-6),
    "quattro": (0.1, 0.3, 1.0, 0.5, 6, 6e-6),
    "3rps": (0.03, 0.08, 1.0, 1.0, 6, 1e-6),
}


def lissajous(robot: Robot, size: float, turn: float, frequency: float) -> Fourier:
    """A closed path around the reference pose that starts at rest: size in m, turn in rad."""
    mechanism, n = mechanism_of(robot), robot.motion.n
    a, b = np.zeros((2, 3, n))
    for i, (rate, unit) in enumerate(zip(mechanism.independent, _units(robot), strict=True)):
        amount = {"m": size, "rad": turn}[unit]
        if rate % 3 == 0:
            b[0, i] = amount
        elif rate % 3 == 1:
            a[0, i], a[1, i] = amount, -0.5 * amount
        else:
            b[1, i], b[2, i] = 0.5 * amount, (0.3 if rate < 3 else -0.3) * amount
    return Fourier(mechanism.reference[0], a, b, motion=robot.motion, frequency=frequency)


def _units(robot: Robot) -> list[str]:
    from nacelle.model.reduced import layout_of

    return ["rad" if "rad" in unit else "m" for unit in layout_of(robot.motion).v_units]


def desired_rows(trajectory: Fourier, cycles: int, frequency: float) -> Array:
    """The desired motion [x; v; a] of some cycles, a row for every sample and one more."""
    t = PERIOD * np.arange(round(cycles / frequency / PERIOD) + 1)
    motion = trajectory(np.mod(t, 1.0 / frequency))
    return np.concatenate([motion.x, motion.v, motion.a], axis=1)


def perturbed_model(robot: Robot, seed: int | None) -> Robot:
    """A model whose base parameters are half or one and a half times the true ones, at random; half if None.

    At random a mass matrix need not be positive definite all over the workspace, and gains are refused then.
    """
    base = adapted_parameters(robot)
    factors = np.full(len(base), 0.5)
    if seed is not None:
        factors = np.random.default_rng(seed).choice([0.5, 1.5], size=len(base))
    z = base.choice.values.copy()
    z[list(base.kept)] += base.values * (factors - 1.0)
    values = linear_parameters(robot).values.copy()
    part = np.any(base.choice.E != 0.0, axis=1)
    values[part] = (base.choice.E @ z)[part]
    return with_linear_parameters(robot, values)


def parameters_with_payload(robot: Robot, loaded: Robot) -> Array:
    """The base parameters of a robot with its payload counted to the platform's bodies."""
    base, own = adapted_parameters(robot), linear_parameters(robot)
    values, column = own.values.copy(), {name: k for k, name in enumerate(own.names)}
    for load in loaded.payload[len(robot.payload) :]:
        for part, value in zip(INERTIA_NAMES, load.inertia, strict=True):
            values[column[f"{robot.bodies[load.body].name}.{part}"]] += value
    return np.asarray(base.K @ [values[group[0]] for group in base.choice.groups()])


def with_sensor_noise(law: DigitalController, resolution: float, noise: Array | None) -> DigitalController:
    """A law whose readings are counted, and have noise (N, actuators) added before."""
    inner, robot = law.function, law.robot
    assert robot is not None
    shapes = {
        name: shape(robot) if callable(shape) else shape
        for name, shape in vars(inner)["physics_inputs"].items()
    }
    rows = np.asarray(law.reference)
    m, k = len(robot.actuators), rows.shape[1]
    added = np.zeros((len(rows), m)) if noise is None else noise

    @physics(**(shapes | {"r": (k + m,)}))
    def with_sensors(robot: Robot, z: Array, q: Array, r: Array, gains: Array) -> dict[str, Array]:
        seen = [
            resolution * floor((own + more) / resolution + 0.5) for own, more in zip(q, r[k:], strict=True)
        ]
        return inner(robot, z, pack(seen), r[:k], gains)

    vars(with_sensors)["made_from"] = (inner, resolution, m)
    return dataclasses.replace(law, function=with_sensors, reference=np.column_stack([rows, added]))


@dataclass(frozen=True, eq=False)
class Experiment:
    """A robot on a closed path, a payload from half of the time on.

    Attributes:
        robot: the robot that moves.
        size: of the path, m.
        turn: of the path, rad.
        frequency: of the path, Hz.
        payload: mass, kg, on a platform its centre is beside the origin, by a twentieth of the robot's size.
        cycles: before the payload is taken up, and after it.
        resolution: of the encoders, rad or m; ideal ones if zero.
        delay: of the forces, s.
        options: of the kind.
    """

    robot: Robot
    size: float
    turn: float
    frequency: float
    payload: float
    cycles: int
    resolution: float = 0.0
    delay: float = 0.0
    options: dict[str, Any] = dataclasses.field(default_factory=lambda: {"smooth": LAW_SMOOTH})

    @cached_property
    def rows(self) -> Array:
        """The desired motion."""
        path = lissajous(self.robot, self.size, self.turn, self.frequency)
        return desired_rows(path, 2 * self.cycles, self.frequency)

    @property
    def x0(self) -> Array:
        """The first pose."""
        return self.rows[0, : mechanism_of(self.robot).layout.nx]

    @cached_property
    def loaded(self) -> Robot:
        """The robot with its payload."""
        off = 0.05 * self.robot.size if self.robot.platform_nv == 6 else 0.0
        return with_payload(self.robot, self.payload, com=(off, 0.0, -off))

    def controller(self, model: Robot) -> Controller:
        """A controller with a model, tuned for the motion."""
        kind = Adaptive(resolution=self.resolution, **self.options)
        return controller(model, kind, period=PERIOD, delay=self.delay).for_motion(self.rows)

    def run(self, controller: Controller, parameters: tuple[Array, Array] | None = None) -> Simulation:
        """A run; with parameters given, before and after the payload is taken up, nothing is adapted."""
        fields = controller.kind.memory(controller.robot)
        if parameters is not None:
            controller = controller.with_gains(adaptation=0.0)
        law = controller.digital(self.x0, self.rows, delay=self.delay)
        if self.resolution:
            law = with_sensor_noise(law, self.resolution, None)
        if parameters is not None:
            memory = fields.split(law.memory) | {"parameters": parameters[0]}
            law = dataclasses.replace(law, memory=fields.join(memory))
        half = self.cycles / self.frequency
        plant, loaded = (rigid_plant(robot, smooth=SMOOTH) for robot in (self.robot, self.loaded))
        settings: dict[str, Any] = {"integration": Integration("rk4", step=0.5 * PERIOD), "events": []}
        first = simulate(plant, self.x0, tau=law, until=half, **settings)
        if parameters is not None and first.ok:
            assert first.end.memory is not None
            memory = first.end.memory.copy()
            memory[fields.slice_of("parameters")] = parameters[1]
            first = dataclasses.replace(first, end=dataclasses.replace(first.end, memory=memory))
        return first.resume(until=2.0 * half, plant=loaded)

    def exact(self, controller: Controller) -> Simulation:
        """The run of the same law with the true parameters, not adapted."""
        base = adapted_parameters(self.robot)
        return self.run(controller, (base.values, parameters_with_payload(self.robot, self.loaded)))

    def errors(self, run: Simulation) -> Array:
        """The rms error of the actuators, rad or m, over every cycle (2 cycles,)."""
        step = run.t[1] - run.t[0]
        stride = round(PERIOD / step)
        at = np.arange(0, len(run.t), stride)
        nx = mechanism_of(self.robot).layout.nx
        controller = self._plain
        off = controller(self.rows[: len(at), :nx]) - controller(run.x[at])
        off = np.where(self.robot.revolute_actuators, np.mod(off + np.pi, 2.0 * np.pi) - np.pi, off)
        count = round(1.0 / self.frequency / PERIOD)
        parts = off[: count * 2 * self.cycles].reshape(2 * self.cycles, -1)
        return np.sqrt(np.mean(np.square(parts), axis=1))

    def _plain(self, x: Array) -> Array:
        from nacelle.kinematics.solve.inverse import inverse_kinematics

        return np.asarray(inverse_kinematics(self.robot, x, limits=False).q)

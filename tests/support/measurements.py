"""Measurements made by computation, and faults put into them.

A Fourier motion about the reference pose, small enough that the robot stays on its branch and away from
singularities; forces by inverse dynamics of a robot whose parameters all differ from the description's, with
friction that the description does not have (viscous, Coulomb, Stribeck, cogging, a constant), noise on the
forces and quantised encoders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

import nacelle
from nacelle.identification.data.measurement import Measurement, MeasurementSource
from nacelle.kinematics.jacobian import NEAR_CONDITIONING
from nacelle.kinematics.shapes import twist_scales
from nacelle.model.robot import Robot
from nacelle.trajectory import Fourier, Sample
from nacelle.trajectory.sampling import sample_trajectory
from nacelle.tree.actuation import unwrap_angles

Array = np.ndarray


@dataclass(frozen=True)
class Truth:
    """What a measurement is made with.

    Attributes:
        rate: samples a second.
        duration: s.
        frequency: of the first harmonic, Hz.
        wrong: how much the true parameters differ from the description's, at most, as a part.
        friction: size of the friction beyond the model over the rms of the forces.
        noise: standard deviation of the forces' noise over their rms.
        resolution: of the encoders, in parts of the range of each coordinate.
        size: of the motion at most, in robot sizes and rad.
    """

    rate: float = 500.0
    duration: float = 6.0
    frequency: float = 0.5
    wrong: float = 0.5
    friction: float = 0.3
    noise: float = 0.02
    resolution: float = 2e-5
    size: float = 0.15


def fourier_motion(robot: Robot, rng: np.random.Generator, truth: Truth) -> tuple[Array, Sample, Array]:
    """Times, the motion of the platform and the coordinates of the actuators."""
    t = np.arange(int(truth.duration * truth.rate)) / truth.rate
    x0 = nacelle.reference_pose(robot)
    a, b = rng.normal(size=(2, 5, robot.motion.n)) / np.arange(1, 6)[None, :, None]
    start = nacelle.jacobian(robot, x0).conditioning
    for size in truth.size * 0.7 ** np.arange(12):
        scale = size / np.sqrt(5) * twist_scales(robot)
        path = Fourier(
            x0, a * scale, b * scale, motion=robot.motion, frequency=truth.frequency, duration=truth.duration
        )
        motion = sample_trajectory(robot, path, t)
        sparse = motion.x[::25]
        solution = nacelle.inverse_kinematics(robot, sparse)
        if not np.all(solution.ok):
            continue
        conditioning = nacelle.jacobian(robot, sparse).conditioning
        if np.min(conditioning) < max(0.4 * start, 3 * NEAR_CONDITIONING):
            continue
        if np.all(nacelle.forward_kinematics(robot, solution.q, follow=True).ok):
            q = nacelle.inverse_kinematics(robot, motion.x).q
            return t, motion, unwrap_angles(q, robot.revolute_actuators)
    raise ValueError(f"{robot.name}: no motion about the reference pose")


def simulated_measurement(robot: Robot, seed: int = 0, truth: Truth | None = None) -> Measurement:
    """A measurement without faults."""
    truth = truth or Truth()
    rng = np.random.default_rng(seed)
    t, motion, q = fourier_motion(robot, rng, truth)
    form = nacelle.regressor(robot, motion.x, motion.v, motion.a)
    values = form.parameters.values
    force = form.Y @ (values * (1.0 + truth.wrong * rng.uniform(-1, 1, len(values))))
    rates = nacelle.kinematics.joint_motion(robot, motion.x, motion.v).actuators[1]
    m = len(robot.actuators)
    rms = np.std(force, axis=0) + 0.1 * np.sqrt(np.mean(force**2))
    speed = np.sqrt(np.mean(rates**2, axis=0))
    coulomb = rng.uniform(0.3, 1, m) * np.sign(rates) * (1.0 + 0.5 * np.exp(-((rates / (0.1 * speed)) ** 2)))
    beyond = coulomb + rng.uniform(0.3, 1, m) * rates / speed + rng.uniform(-0.3, 0.3, m)
    beyond = beyond + 0.1 * np.sin(40 * q / np.ptp(q, axis=0))
    force = force + truth.friction * rms * beyond + truth.noise * rms * rng.normal(size=force.shape)
    step = truth.resolution * np.ptp(q, axis=0)
    if truth.resolution:
        q = np.round(q / step) * step
    names = [actuator.name for actuator in robot.actuators]
    columns = {"time": "t"}
    columns |= {f"q.{name}": f"enc{k}" for k, name in enumerate(names)}
    columns |= {f"force.{name}": f"i{k}" for k, name in enumerate(names)}
    return Measurement(robot, t, q, force, source=MeasurementSource("run.csv", 2, columns))


def with_other_effects(clean: Measurement, seed: int) -> Measurement:
    """Forces with effects that no model of the checks has, about a third of the forces.

    Friction that falls by 15 % over the run, grows with the load and with the power 0.7 of the rate, has a
    memory (Dahl's model, over 3 % of the range), and cogging of three periods that are no multiples.
    """
    rng = np.random.default_rng(1000 + seed)
    q, force, t = clean.q, clean.tau, clean.time
    m = q.shape[1]
    rates = np.gradient(_mean(q, 11), t, axis=0)
    u = rates / np.sqrt(np.mean(rates**2, axis=0))
    rms = np.std(force, axis=0) + 0.1 * np.sqrt(np.mean(force**2))
    side = np.tanh(u / 0.02)
    dry = rng.uniform(0.3, 1.0, m) * side * (1.0 + 0.5 * np.exp(-np.abs(u / 0.2)))
    effects = (
        0.3 * (1.0 - 0.15 * t[:, None] / t[-1]) * (dry + rng.uniform(0.3, 1.0, m) * side * np.abs(u) ** 0.7)
    )
    effects = effects + 0.05 * np.abs(force) / rms * side
    part = q / np.ptp(q, axis=0)
    cycles = rng.uniform(15.0, 90.0, m)
    for factor, size in ((1.0, 0.02), (2.0, 0.012), (3.3, 0.01)):
        effects = effects + size * np.sin(factor * cycles * part + rng.uniform(0.0, 6.0, m))
    memory = np.zeros_like(part)
    steps = np.diff(part, axis=0, prepend=part[:1]) / 0.03
    for k in range(1, len(part)):
        memory[k] = memory[k - 1] + steps[k] * (1.0 - memory[k - 1] * np.sign(steps[k]))
    return replace(clean, tau=force + rms * (effects + 0.03 * memory))


def _mean(columns: Array, width: int) -> Array:
    """Moving means of columns (N, k)."""
    kernel = np.ones(width) / width
    padded = np.pad(columns, ((width // 2, width // 2), (0, 0)), mode="edge")
    return np.stack([np.convolve(column, kernel, "valid") for column in padded.T], axis=1)


@dataclass(frozen=True)
class Fault:
    """A fault of columns: its name, the kind that must be reported, a column that must be named, the data."""

    name: str
    kind: str
    column: str
    measurement: Measurement


def swap_columns(columns: Array, i: int, j: int) -> Array:
    """Columns with two of them in each other's place."""
    columns = columns.copy()
    columns[:, [i, j]] = columns[:, [j, i]]
    return columns


def scale_column(columns: Array, i: int, factor: float) -> Array:
    """Columns with one of them times a factor."""
    columns = columns.copy()
    columns[:, i] *= factor
    return columns


def column_faults(clean: Measurement, seed: int = 0) -> Iterator[Fault]:
    """Swapped columns, wrong signs and wrong units, of columns chosen at random."""
    robot, q, force = clean.robot, clean.q, clean.tau
    rng = np.random.default_rng(seed)
    m = len(robot.actuators)
    i, j = (int(k) for k in rng.permutation(m)[:2])
    turns = robot.revolute_actuators
    unit = 180 / np.pi if turns[i] else 1000.0
    yield Fault("encoders", "swapped", f"enc{i}", replace(clean, q=swap_columns(q, i, j)))
    yield Fault("currents", "swapped", f"i{i}", replace(clean, tau=swap_columns(force, i, j)))
    both = q.copy(), force.copy()
    both[0][:, i], both[1][:, i] = force[:, i], q[:, i]
    yield Fault("encoder and current", "swapped", f"enc{i}", replace(clean, q=both[0], tau=both[1]))
    yield Fault("sign of an encoder", "sign", f"enc{i}", replace(clean, q=scale_column(q, i, -1)))
    yield Fault("sign of a current", "sign", f"i{i}", replace(clean, tau=scale_column(force, i, -1)))
    yield Fault("sign of all currents", "sign", "i0", replace(clean, tau=-force))
    yield Fault("unit of an encoder, large", "unit", f"enc{i}", replace(clean, q=scale_column(q, i, unit)))
    yield Fault(
        "unit of an encoder, small", "unit", f"enc{i}", replace(clean, q=scale_column(q, i, 1 / unit))
    )
    yield Fault("unit of a current, large", "unit", f"i{i}", replace(clean, tau=scale_column(force, i, 1e3)))
    yield Fault("unit of a current, small", "unit", f"i{i}", replace(clean, tau=scale_column(force, i, 1e-3)))
    if len(set(turns)) == 1:
        yield Fault("unit of all encoders, large", "unit", "enc0", replace(clean, q=q * unit))
        yield Fault("unit of all encoders, small", "unit", "enc0", replace(clean, q=q / unit))
    yield Fault("unit of all currents, large", "unit", "i0", replace(clean, tau=force * 1e3))
    yield Fault("unit of all currents, small", "unit", "i0", replace(clean, tau=force * 1e-3))

"""Logs of the plants: a motion in closed loop in MuJoCo, and what encoders and currents show of it.

A run is simulated once and kept in `.cache/bench` under the hash of what it depends on. The controller is a
PD law at 1 kHz that reads quantised encoders and knows no model. Logs are drawn from a run with a seed:
a window in time, phases of the encoders, noise.

A log is what a file holds, on the motors' side: positions in rad, currents in A, with its column map. `read`
writes the file and reads it by `read_measurement`. Held commands act from t_k to t_k+1, so that a current
sensor, which averages over the sample about t_k, shows the mean of two commands.
"""

from __future__ import annotations

import hashlib
import inspect
import tempfile
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import nacelle
from bench.plants import PLANTS, STEP, Plant
from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
from nacelle.identification.data.measurement import Measurement
from nacelle.model.robot import Robot
from support.identification import truth_of

Array = np.ndarray

RATE = 1000.0
# Simulated machines of every robot: those of even seeds, and those of odd ones.
VARIANTS = 6
_FOLDER = Path(__file__).parents[2] / ".cache" / "bench"
_FREQUENCY, _HARMONICS = 0.5, 5
_SETTLE, _DURATION, _SPARE = 1.5, 6.0, 1.0
_BANDWIDTH, _COUNTS = 12.0, 8192


@dataclass(frozen=True, eq=False)
class Run:
    """One simulated motion of N samples at `RATE`.

    Attributes:
        q: coordinates of the actuators (N, actuators).
        rate: their rates.
        command: forces from each sample to the next.
        reference: what the controller followed.
    """

    q: Array
    rate: Array
    command: Array
    reference: Array


@dataclass(frozen=True, eq=False)
class Model:
    """A compiled plant with its state, and where its actuators are."""

    model: Any
    data: Any
    dofs: Array
    coordinates: Array


def compiled(plant: Plant, numbers: dict[str, float]) -> Model:
    """The plant, assembled at rest at its centre."""
    model = mujoco.MjModel.from_xml_string(plant.mjcf(numbers))
    data = mujoco.MjData(model)
    data.qpos[:] = plant.qpos(plant.centre, numbers)
    joints = [model.joint(name) for name in plant.actuators]
    index = (np.array([int(getattr(joint, key)[0]) for joint in joints]) for key in ("dofadr", "qposadr"))
    return Model(model, data, *index)


def excitation(plant: Plant, seed: int, times: Array) -> Array:
    """Poses (N, n): five harmonics about the centre, which grow from rest within a second."""
    rng = np.random.default_rng([seed, 3])
    harmonics = np.arange(1, _HARMONICS + 1)
    phases = 2.0 * np.pi * _FREQUENCY * np.multiply.outer(times, harmonics)
    a, b = rng.normal(size=(2, _HARMONICS, len(plant.centre))) / harmonics[:, None]
    growth = np.clip(times, 0.0, 1.0)
    growth = growth**3 * (10.0 - 15.0 * growth + 6.0 * growth**2)
    waves = (np.sin(phases) @ a + np.cos(phases) @ b) * 0.5
    return plant.centre + plant.size * growth[:, None] * waves


def simulate(plant: Plant, numbers: dict[str, float], seed: int) -> Run:
    """Follow an excitation in closed loop."""
    machine = compiled(plant, numbers)
    model, data, dofs = machine.model, machine.data, machine.dofs
    count = round((_SETTLE + _DURATION + _SPARE) * RATE)
    x = excitation(plant, seed, np.arange(count) / RATE)
    reference = np.unwrap(plant.qpos(x, numbers)[:, machine.coordinates], axis=0)
    rng = np.random.default_rng([seed, 5])
    step = 2.0 * np.pi / (_COUNTS * plant.gear)
    w = 2.0 * np.pi * _BANDWIDTH
    k_p, k_d, blend = plant.inertia * w**2, 2.0 * plant.inertia * w, 0.3
    q, rate, command = (np.zeros_like(reference) for _ in range(3))
    before, slope = np.zeros(len(dofs)), np.zeros(len(dofs))
    for k in range(count):
        q[k], rate[k] = data.qpos[machine.coordinates], data.qvel[dofs]
        seen = step * np.round(q[k] / step + 0.5 * rng.normal(size=len(dofs)))
        error = reference[k] - seen
        slope += blend * ((error - before) * RATE * (k > 0) - slope)
        before = error
        command[k] = k_p * error + k_d * slope
        data.qfrc_applied[dofs] = command[k]
        mujoco.mj_step(model, data, nstep=round(1.0 / RATE / STEP))
    assert np.max(np.abs(q - reference)) < 0.1, f"{plant.name}: the plant leaves its reference"
    first = round(_SETTLE * RATE)
    return Run(q[first:], rate[first:], command[first:], reference[first:])


@cache
def run_of(name: str, variant: int, changes: tuple[tuple[str, float], ...] = ()) -> Run:
    """The run of a machine, from the cache where it is there.

    Args:
        name: of the plant.
        variant: seed of its numbers and of its motion.
        changes: numbers of the plant with the factor, or for the tilt the angle, by which they change.
    """
    plant, numbers = PLANTS[name], machine_numbers(name, variant, changes)
    code = "".join(inspect.getsource(part) for part in (simulate, excitation, Plant))
    settings = (variant, plant.size, plant.inertia, _BANDWIDTH, _FREQUENCY, _DURATION, _COUNTS)
    text = f"{plant.mjcf(numbers)} {settings} {code}"
    file = _FOLDER / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.npz"
    if not file.exists():
        run = simulate(plant, numbers, variant)
        _FOLDER.mkdir(parents=True, exist_ok=True)
        np.savez(file, q=run.q, rate=run.rate, command=run.command, reference=run.reference)
    with np.load(file) as kept:
        return Run(kept["q"], kept["rate"], kept["command"], kept["reference"])


def machine_numbers(name: str, variant: int, changes: tuple[tuple[str, float], ...] = ()) -> dict[str, float]:
    """Numbers of a machine: perturbed, then changed."""
    numbers = PLANTS[name].perturbed(variant)
    for key, change in changes:
        numbers[key] = change if key == "tilt" else numbers[key] * change
    return numbers


@dataclass(frozen=True, eq=False)
class Log:
    """What one file holds, and the truth behind it.

    Attributes:
        plant: the robot.
        seed: of the log.
        columns: numbers by name: "t", and "enc.LEG", "i.LEG", "ref.LEG" of every leg.
        map: the column map.
        description: numbers of the description.
        truth: numbers of the machine.
        rate: true rates of the joints (N, actuators), for effects that depend on them.
        held: commands held before and after each sample (2, N, actuators), A.
        concerned: legs that a fault concerns; empty if it concerns all.
    """

    plant: Plant
    seed: int
    columns: dict[str, Array]
    map: dict[str, Any]
    description: dict[str, float]
    truth: dict[str, float]
    rate: Array
    held: Array
    concerned: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.columns["t"])

    @cached_property
    def robot(self) -> Robot:
        """The robot as described."""
        return built(self.plant.name, tuple(sorted(self.description.items())))

    @property
    def base(self) -> BaseParameters:
        """Its base parameters."""
        return base_of(self.plant.name, tuple(sorted(self.description.items())))

    @property
    def true_values(self) -> dict[str, float]:
        """The base parameters of the machine by name, grouped by the geometry that is true."""
        base = base_of(self.plant.name, tuple(sorted(self.plant.numbers.items())))
        machine = built(self.plant.name, tuple(sorted(self.truth.items())))
        return dict(zip(base.names, truth_of(base, machine).tolist(), strict=True))

    def signals(self, kind: str) -> Array:
        """Columns of a kind, "enc", "i" or "ref" (N, actuators)."""
        return np.column_stack([self.columns[f"{kind}.{leg}"] for leg in self.plant.legs])

    def with_signals(self, kind: str, values: Array) -> Log:
        """The log with other columns of a kind."""
        new = {f"{kind}.{leg}": values[:, k] for k, leg in enumerate(self.plant.legs)}
        return replace(self, columns={**self.columns, **new})

    def with_map(self, leg: str, key: str, **entries: Any) -> Log:
        """The log with other entries of the map for a signal of a leg."""
        changed = deepcopy(self.map)
        spec = changed["actuators"][f"{leg}.motor"]
        for kind in [key] if key != "position" else [key, "reference"]:
            spec[kind] |= entries
        return replace(self, map=changed)

    def rows(self, kept: Array) -> Log:
        """The log with some of its rows, by index."""
        columns = {name: values[kept] for name, values in self.columns.items()}
        return replace(self, columns=columns, rate=self.rate[kept], held=self.held[:, kept])

    def read(self) -> Measurement:
        """Write the file and read it again."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.npz"
            np.savez(path, **self.columns)
            return nacelle.identification.read_measurement(self.robot, path, self.map)


@cache
def built(name: str, numbers: tuple[tuple[str, float], ...]) -> Robot:
    """The robot of a description."""
    return nacelle.loads(PLANTS[name].description(dict(numbers)))


@cache
def base_of(name: str, numbers: tuple[tuple[str, float], ...]) -> BaseParameters:
    """Base parameters of the robot of a description."""
    return base_parameters(built(name, numbers))


def clean_log(
    name: str, seed: int, changes: tuple[tuple[str, float], ...] = (), *, ideal: bool = False
) -> Log:
    """The log of a seed without faults; from an ideal one noise and quantisation are left out."""
    plant, variant = PLANTS[name], seed % VARIANTS
    run = run_of(name, variant, changes)
    rng = np.random.default_rng([seed, 7])
    start = 2 + int(rng.integers(round(_SPARE * RATE) - 4))
    window = slice(start, start + round(_DURATION * RATE))
    gain = 1.0 / (plant.torque_constant * plant.gear)
    held = gain * np.stack([run.command[window.start + k : window.stop + k] for k in (-1, 0)])
    current = 0.5 * (held[0] + held[1])
    noise = (0.0 if ideal else plant.force_noise) * np.sqrt(np.mean(current**2, axis=0))
    current = current + noise * rng.normal(size=current.shape)
    held = held + noise * rng.normal(size=current.shape)
    counted, phase = 2.0 * np.pi / _COUNTS, rng.uniform(size=len(plant.legs))
    angle = plant.gear * run.q[window] / counted + 0.3 * rng.normal(size=current.shape)
    encoder = plant.gear * run.q[window] if ideal else counted * (np.floor(angle + phase) + 0.5 - phase)
    columns = {"t": np.arange(len(current)) / RATE}
    for k, leg in enumerate(plant.legs):
        columns |= {f"enc.{leg}": encoder[:, k], f"i.{leg}": current[:, k]}
        columns |= {f"ref.{leg}": plant.gear * run.reference[window][:, k]}
    position = {"unit": "rad", "side": "motor"}
    actuators = {
        f"{leg}.motor": {
            "position": {"column": f"enc.{leg}", **position},
            "current": {"column": f"i.{leg}", "unit": "A"},
            "reference": {"column": f"ref.{leg}", **position},
        }
        for leg in plant.legs
    }
    column_map = {"time": {"column": "t", "unit": "s"}, "actuators": actuators}
    nominal = dict(plant.numbers)
    truth = machine_numbers(name, variant, changes)
    return Log(plant, seed, columns, column_map, nominal, truth, run.rate[window], held)

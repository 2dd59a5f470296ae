"""Kinds of faults of logs: each changes a clean log, with a size that its seed draws.

A fault says which causes are right to name, as kinds of findings or causes of suspects. Faults of the
description change its numbers, those of the machine its simulated plant; effects that only add a force along
the motion (Stribeck, cogging) are added to the currents, since a controller would have had to add them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bench.logs import RATE, Array, Log, clean_log

Rng = np.random.Generator
Change = Callable[[Log, Rng], Log]


@dataclass(frozen=True)
class Fault:
    """A kind of fault.

    Attributes:
        name: what is wrong.
        causes: that are right to name.
        change: gives the faulty log.
        robots: that can have it.
    """

    name: str
    causes: frozenset[str]
    change: Change
    robots: tuple[str, ...] = ("fivebar", "delta", "hexapod")

    def log(self, robot: str, seed: int) -> Log:
        """The faulty log of a seed."""
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        return self.change(clean_log(robot, seed), rng)


FAULTS: dict[str, Fault] = {}


def fault(name: str, *causes: str, robots: tuple[str, ...] = Fault.robots) -> Callable[[Change], Change]:
    """Register a function as a kind of fault."""

    def register(change: Change) -> Change:
        FAULTS[name] = Fault(name, frozenset(causes), change, robots)
        return change

    return register


def _leg(log: Log, rng: Rng) -> int:
    return int(rng.integers(len(log.plant.legs)))


def _at(log: Log, *legs: int) -> Log:
    """The log, with the legs that the fault concerns."""
    return replace(log, concerned=tuple(log.plant.legs[k] for k in legs))


def _delayed(values: Array, delay: float) -> Array:
    """Signals (N, k) recorded later by `delay`, s; their ends are held."""
    t = np.arange(len(values)) / RATE
    return np.column_stack([np.interp(t - delay, t, column) for column in values.T])


def _either(rng: Rng, *bounds: float) -> float:
    """A number between two bounds, of either sign."""
    return float(rng.choice([-1.0, 1.0]) * rng.uniform(*bounds))


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))


def _on_leg(log: Log, kind: str, leg: int, change: Callable[[Array], Array]) -> Log:
    """Change the column of one kind of one leg."""
    values = log.signals(kind)
    values[:, leg] = change(values[:, leg])
    return _at(log.with_signals(kind, values), leg)


def _permuted(log: Log, kind: str, order: list[int]) -> Log:
    return log.with_signals(kind, log.signals(kind)[:, order])


# ---- Time between positions and forces


@fault("forces late by 0.5 to 5 ms", "delay")
def _(log: Log, rng: Rng) -> Log:
    return log.with_signals("i", _delayed(log.signals("i"), rng.uniform(0.5e-3, 5e-3)))


@fault("positions late by 0.5 to 5 ms", "delay")
def _(log: Log, rng: Rng) -> Log:
    return log.with_signals("enc", _delayed(log.signals("enc"), rng.uniform(0.5e-3, 5e-3)))


@fault("command of the next sample logged", "delay")
def _(log: Log, rng: Rng) -> Log:
    return log.with_signals("i", log.held[1])


@fault("command of the sample before logged", "delay")
def _(log: Log, rng: Rng) -> Log:
    return log.with_signals("i", log.held[0])


@fault("currents filtered, first order of 5 to 20 ms", "delay", "lag", "filter")
def _(log: Log, rng: Rng) -> Log:
    decay, values = np.exp(-1.0 / (RATE * rng.uniform(5e-3, 20e-3))), log.signals("i")
    for k in range(1, len(values)):
        values[k] = decay * values[k - 1] + (1.0 - decay) * values[k]
    return log.with_signals("i", values)


# ---- Scales, offsets, units, signs, columns


@fault("offset of one current", "offset")
def _(log: Log, rng: Rng) -> Log:
    leg = _leg(log, rng)
    return _on_leg(log, "i", leg, lambda i: i + _either(rng, 0.05, 0.5) * np.std(i))


@fault("offset of all currents", "offset")
def _(log: Log, rng: Rng) -> Log:
    i = log.signals("i")
    return log.with_signals("i", i + np.std(i, axis=0) * [_either(rng, 0.05, 0.5) for _ in log.plant.legs])


@fault("torque constant of one axis, 0.8 or 1.25 times", "scale", "torque constant")
def _(log: Log, rng: Rng) -> Log:
    leg, constant = _leg(log, rng), log.plant.torque_constant * rng.choice([0.8, 1.25])
    axis = log.plant.legs[leg]
    return _at(log.with_map(axis, "current", torque_constant=f"{constant:.6g} N*m/A"), leg)


@fault("gear ratio of one axis, 9 for 12", "scale", "gear", "unit")
def _(log: Log, rng: Rng) -> Log:
    leg, ratio = _leg(log, rng), 0.75 * log.plant.gear
    axis = log.plant.legs[leg]
    for key in ("position", "current"):
        log = log.with_map(axis, key, gear_ratio=f"{ratio:.9g} {log.plant.ratio_unit}".strip())
    return _at(log, leg)


@fault("torques of motors read as those of joints", "scale", "gear", "unit")
def _(log: Log, rng: Rng) -> Log:
    for leg in log.plant.legs:
        log.map["actuators"][f"{leg}.motor"]["force"] = {"column": f"i.{leg}"}
        del log.map["actuators"][f"{leg}.motor"]["current"]
    return log.with_signals("i", log.plant.torque_constant * log.signals("i"))


@fault("currents in mA read as A", "unit", "scale")
def _(log: Log, rng: Rng) -> Log:
    return log.with_signals("i", 1e3 * log.signals("i"))


@fault("positions in degrees read as rad, or the reverse", "unit", "scale")
def _(log: Log, rng: Rng) -> Log:
    factor = float(rng.choice([np.pi / 180.0, 180.0 / np.pi]))
    return log.with_signals("enc", factor * log.signals("enc")).with_signals(
        "ref", factor * log.signals("ref")
    )


@fault("positions in mm read as m", "unit", "scale", robots=("hexapod",))
def _(log: Log, rng: Rng) -> Log:
    for leg in log.plant.legs:
        log = log.with_map(leg, "position", unit="m", side="joint")
    factor = 1e3 / log.plant.gear
    return log.with_signals("enc", factor * log.signals("enc")).with_signals(
        "ref", factor * log.signals("ref")
    )


@fault("time in ms read as s", "unit", "time", "time unit")
def _(log: Log, rng: Rng) -> Log:
    return replace(log, columns={**log.columns, "t": 1e3 * log.columns["t"]})


@fault("time in s read as ms", "unit", "time", "time unit")
def _(log: Log, rng: Rng) -> Log:
    return replace(log, map={**log.map, "time": {"column": "t", "unit": "ms"}})


@fault("sign of one current", "sign")
def _(log: Log, rng: Rng) -> Log:
    return _on_leg(log, "i", _leg(log, rng), np.negative)


@fault("sign of one encoder", "sign")
def _(log: Log, rng: Rng) -> Log:
    return _on_leg(log, "enc", _leg(log, rng), np.negative)


def _pair(log: Log, rng: Rng) -> tuple[int, int, list[int]]:
    first, second = sorted(int(k) for k in rng.choice(len(log.plant.legs), 2, replace=False))
    order = list(range(len(log.plant.legs)))
    order[first], order[second] = second, first
    return first, second, order


@fault("two currents swapped", "swapped")
def _(log: Log, rng: Rng) -> Log:
    first, second, order = _pair(log, rng)
    return _at(_permuted(log, "i", order), first, second)


@fault("two encoders swapped", "swapped")
def _(log: Log, rng: Rng) -> Log:
    first, second, order = _pair(log, rng)
    return _at(_permuted(log, "enc", order), first, second)


@fault("an encoder and a current swapped", "swapped")
def _(log: Log, rng: Rng) -> Log:
    leg = _leg(log, rng)
    axis = log.plant.legs[leg]
    columns = {
        **log.columns,
        f"enc.{axis}": log.columns[f"i.{axis}"],
        f"i.{axis}": log.columns[f"enc.{axis}"],
    }
    return _at(replace(log, columns=columns), leg)


# ---- Zeros and geometry


def _shifted(log: Log, shifts: Array) -> Log:
    """Encoders and references homed elsewhere, by rad or robot sizes at the joints."""
    motor = log.plant.gear * log.plant.length * shifts
    return log.with_signals("enc", log.signals("enc") + motor).with_signals("ref", log.signals("ref") + motor)


def _one_shift(log: Log, rng: Rng, low: float, high: float) -> Log:
    leg = _leg(log, rng)
    return _at(_shifted(log, np.eye(len(log.plant.legs))[leg] * _either(rng, low, high)), leg)


@fault("zero of one encoder, 0.002 to 0.02", "zero")
def _(log: Log, rng: Rng) -> Log:
    return _one_shift(log, rng, 0.002, 0.02)


@fault("zero of one encoder, 0.1 to 0.3", "zero")
def _(log: Log, rng: Rng) -> Log:
    return _one_shift(log, rng, 0.1, 0.3)


@fault("zeros of all encoders, 0.005 to 0.1", "zero")
def _(log: Log, rng: Rng) -> Log:
    return _shifted(log, np.array([_either(rng, 0.005, 0.1) for _ in log.plant.legs]))


def _misdescribed(log: Log, keys: dict[str, str], shift: float, leg: int) -> Log:
    """A length of the description that is off; keys by robot, LEG in them."""
    key = keys[log.plant.name].replace("LEG", log.plant.legs[leg])
    numbers = {**log.description}
    numbers[key] = numbers.get(key, numbers.get(key.rpartition(".")[2], 0.0)) + shift
    return _at(replace(log, description=numbers), *([leg] if "." in key else []))


@fault("a link described 1 to 10 mm off", "geometry")
def _(log: Log, rng: Rng) -> Log:
    keys = {"fivebar": "LEG.proximal", "delta": "LEG.arm", "hexapod": "LEG.px"}
    return _misdescribed(log, keys, _either(rng, 1e-3, 1e-2), _leg(log, rng))


@fault("an anchor on the base described 1 to 10 mm off", "geometry")
def _(log: Log, rng: Rng) -> Log:
    keys = {"fivebar": "half_base", "delta": "LEG.base", "hexapod": "LEG.bx"}
    return _misdescribed(log, keys, _either(rng, 1e-3, 1e-2), _leg(log, rng))


@fault("a joint axis tilted by 2 degrees", "geometry", robots=("delta", "hexapod"))
def _(log: Log, rng: Rng) -> Log:
    return _at(clean_log(log.plant.name, log.seed, (("tilt", 0.035),)), 0)


@fault("gravity described 3 to 20 degrees off", "gravity")
def _(log: Log, rng: Rng) -> Log:
    angle = _either(rng, 0.05, 0.35)
    down, side = ("gy", "gx") if log.plant.name == "fivebar" else ("gz", "gx")
    tilted = {down: -9.81 * np.cos(angle), side: 9.81 * np.sin(angle)}
    return replace(log, description={**log.description, **tilted})


# ---- Samples


def _bursts(log: Log, rng: Rng, longest: int) -> Array:
    """Whether a sample is in one of 3 to 20 bursts (N,)."""
    hit = np.zeros(len(log), dtype=bool)
    for start in rng.integers(10, len(log) - longest - 10, int(rng.integers(3, 21))):
        hit[start : start + int(rng.integers(1, longest + 1))] = True
    return hit


def _restamped(log: Log) -> Log:
    """The log with a counter's time in the place of its stamps."""
    return replace(log, columns={**log.columns, "t": np.arange(len(log)) / RATE})


@fault("samples dropped, without stamps", "drops", "gap")
def _(log: Log, rng: Rng) -> Log:
    return _restamped(log.rows(np.flatnonzero(~_bursts(log, rng, 15))))


@fault("samples dropped, with stamps", "drops", "gap", "sampling")
def _(log: Log, rng: Rng) -> Log:
    return log.rows(np.flatnonzero(~_bursts(log, rng, 15)))


@fault("samples twice, with stamps", "time", "duplicates")
def _(log: Log, rng: Rng) -> Log:
    return log.rows(np.sort(np.concatenate([np.arange(len(log)), np.flatnonzero(_bursts(log, rng, 3))])))


@fault("samples twice, without stamps", "drops", "duplicates", "time")
def _(log: Log, rng: Rng) -> Log:
    hit = np.flatnonzero(_bursts(log, rng, 15))
    return _restamped(log.rows(np.sort(np.concatenate([np.arange(len(log)), hit]))))


@fault("jitter of the stamps, 0.1 to 0.4 samples", "sampling", "jitter")
def _(log: Log, rng: Rng) -> Log:
    jitter = rng.uniform(0.1, 0.4) / RATE * rng.uniform(-1.0, 1.0, len(log))
    return replace(log, columns={**log.columns, "t": log.columns["t"] + jitter})


@fault("outliers in currents, 0.1 to 1 %", "outliers")
def _(log: Log, rng: Rng) -> Log:
    i = log.signals("i")
    hit = rng.uniform(size=i.shape) < rng.uniform(1e-3, 1e-2)
    return log.with_signals(
        "i", i + hit * _rms(i) * rng.choice([-1.0, 1.0], i.shape) * rng.uniform(5.0, 20.0, i.shape)
    )


@fault("outliers in one encoder", "jump", "outliers")
def _(log: Log, rng: Rng) -> Log:
    leg, rows = _leg(log, rng), rng.integers(100, len(log) - 100, int(rng.integers(1, 4)))
    size = log.plant.gear * log.plant.length * _either(rng, 0.02, 0.3)
    return _on_leg(log, "enc", leg, lambda q: q + size * np.isin(np.arange(len(q)), rows))


@fault("overflow of one encoder", "jump")
def _(log: Log, rng: Rng) -> Log:
    leg = _leg(log, rng)
    return _on_leg(log, "enc", leg, lambda q: q - 8.0 * np.pi * (q > np.quantile(q, rng.uniform(0.6, 0.9))))


@fault("currents clipped at half of the largest", "clipped")
def _(log: Log, rng: Rng) -> Log:
    i = log.signals("i")
    bound = rng.uniform(0.4, 0.7) * np.max(np.abs(i))
    return log.with_signals("i", np.clip(i, -bound, bound))


@fault("currents counted in steps of 5 to 20 % of their rms", "resolution", "noise")
def _(log: Log, rng: Rng) -> Log:
    i = log.signals("i")
    step = rng.uniform(0.05, 0.2) * _rms(i)
    return log.with_signals("i", step * np.round(i / step))


@fault("entries without a number", "missing", "gap")
def _(log: Log, rng: Rng) -> Log:
    hit = _bursts(log, rng, 30)
    return _on_leg(log, str(rng.choice(["enc", "i"])), _leg(log, rng), lambda c: np.where(hit, np.nan, c))


@fault("a signal that never changes", "constant")
def _(log: Log, rng: Rng) -> Log:
    return _on_leg(log, str(rng.choice(["enc", "i"])), _leg(log, rng), lambda c: np.full_like(c, c[0]))


@fault("resampled from 100 to 250 Hz by interpolation", "resampled", "sampling", "noise")
def _(log: Log, rng: Rng) -> Log:
    t = log.columns["t"]
    coarse = np.arange(0.0, t[-1], 1.0 / rng.uniform(100.0, 250.0))
    columns = {
        name: np.interp(t, coarse, np.interp(coarse, t, values)) for name, values in log.columns.items()
    }
    return replace(log, columns={**columns, "t": t})


# ---- Effects that the description lacks, and other machines


def _with_force(log: Log, force: Array) -> Log:
    """Currents that overcome an additional force at the joints."""
    return log.with_signals("i", log.signals("i") + force / (log.plant.gear * log.plant.torque_constant))


@fault("Stribeck friction", "stribeck", "friction")
def _(log: Log, rng: Rng) -> Log:
    slow = rng.uniform(0.02, 0.1) * np.std(log.rate, axis=0) * 3.0
    dry = [log.truth.get(f"{leg}.coulomb", log.truth.get("coulomb", 0.0)) for leg in log.plant.legs]
    shape = np.exp(-((log.rate / slow) ** 2)) * np.tanh(log.rate / (0.05 * slow))
    return _with_force(log, rng.uniform(0.5, 1.5) * np.array(dry) * shape)


@fault("dry friction missing in the description", "friction", "coulomb", "stribeck")
def _(log: Log, rng: Rng) -> Log:
    return replace(log, description={k: v for k, v in log.description.items() if not k.endswith("coulomb")})


@fault("cogging of 5 to 20 % of the force", "cogging", "ripple")
def _(log: Log, rng: Rng) -> Log:
    i, phase = log.signals("i"), rng.uniform(0.0, 2.0 * np.pi, len(log.plant.legs))
    amplitude = rng.uniform(0.05, 0.2) * np.std(i, axis=0)
    return log.with_signals("i", i + amplitude * np.sin(4.0 * log.signals("enc") + phase))


@fault("backlash between encoder and joint", "backlash", "hysteresis")
def _(log: Log, rng: Rng) -> Log:
    play = log.plant.gear * log.plant.length * rng.uniform(0.001, 0.01)

    def lag(q: Array) -> Array:
        centre = np.empty_like(q)
        centre[0] = q[0]
        for k in range(1, len(q)):
            # The encoder's side leads the joint by half of the play.
            centre[k] = np.clip(centre[k - 1], q[k] - 0.5 * play, q[k] + 0.5 * play)
        return 2.0 * q - centre

    return _on_leg(log, "enc", _leg(log, rng), lag)


@fault("a payload that the description lacks", "payload", "mass")
def _(log: Log, rng: Rng) -> Log:
    key = "tip" if log.plant.name == "fivebar" else "mass"
    return clean_log(log.plant.name, log.seed, ((key, 1.8),))


@fault("description of another size, masses doubled", "mass", "payload", "scale")
def _(log: Log, rng: Rng) -> Log:
    heavy = ("mass", "inertia", "tip")
    numbers = {k: 2.0 * v if k.rpartition(".")[2] in heavy else v for k, v in log.description.items()}
    return replace(log, description=numbers)

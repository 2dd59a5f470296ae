"""Exported controllers in C against the plants of the bench: tracking, hostile setpoints, glitches.

    python -m bench.loops [--robots NAME ...] [--laws NAME ...] [--seeds a:b]

The controller has the nominal description; the machine is 5 to 15 % off it. Its encoders have 8192 counts a
revolution of the motor, it is sampled at 1 kHz, and starts from its encoders alone. The desired motion is a
trajectory of the same package. "PD" is the law of `logs.py`, which knows no model.

What counts is measured without the code under test: the tool by MuJoCo, forces by their limits, and
singularities by the sign of the determinant of the actuators' Jacobian, from differences of the plant's
inverse kinematics at the true pose.
"""

from __future__ import annotations

import argparse
import ctypes
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

import nacelle
from bench.logs import compiled
from bench.plants import PLANTS, STEP, Plant
from nacelle.control.controller import Controller
from nacelle.control.kind import DesiredMotion
from nacelle.control.named import controller
from support.controllers import CController, address_of, compile_package

Array = np.ndarray

T = 1e-3
LAWS = ("cf-rb-friction", "ct-observer")
_COUNTS, _DURATION, _POINTS = 8192, 3.0, 9
# Largest forces (N m, N) and speeds (rad/s, m/s) of the drives.
LIMITS = {"fivebar": (6.0, 25.0), "delta": (25.0, 15.0), "hexapod": (600.0, 1.5)}
# Samples from one determinant to the next.
_EVERY = 5
# How far readings may be from the desired motion, rad or m; five times as far for a law without a model.
FOLLOWING = {"fivebar": 0.05, "delta": 0.05, "hexapod": 0.01}
# From here on something is wrong, and how long it is watched, s.
EVENT, _WATCHED = 0.6, 0.5
# A straight way (m; rad for a hexapod) a second that leads through a singularity within reach, and the time
# in which it gets as fast, s.
_WAYS = {"fivebar": (0.0, -0.4), "delta": (1.4, -0.05, 0.91), "hexapod": (0.0, 0.0, 0.0, 0.0, 0.0, 4.0)}
_RAMP = 0.1


def description(name: str, numbers: dict[str, float]) -> str:
    """The description of a plant, whose drives have limits."""
    force, speed = LIMITS[name]
    limits = rf"torque_constant: \1, limits: {{force: {force}, speed: {speed}}}}}"
    return re.sub(r"torque_constant: ([^}]*)}", limits, PLANTS[name].description(numbers))


class Package(NamedTuple):
    """A compiled controller with its trajectory."""

    robot: nacelle.Robot
    library: ctypes.CDLL
    controller: Controller

    def desired(self, t: float) -> DesiredMotion:
        """The desired motion at a time, by the sampler in C."""
        function = self.library.bench_trajectory
        function.argtypes = [ctypes.c_double, *[ctypes.c_void_p] * 3]
        n = self.robot.motion.n
        parts = [np.full(size, np.nan) for size in (len(nacelle.reference_pose(self.robot)), n, n)]
        function(t, *map(address_of, parts))
        return DesiredMotion(*parts)


def reduced(plant: Plant, x: Array) -> Array:
    """Poses of nacelle from those of the plant, whose orientation is a rotation vector."""
    if plant.name != "hexapod":
        return x
    return np.concatenate([x[..., :3], Rotation.from_rotvec(x[..., 3:]).as_quat()], axis=-1)


@cache
def package(name: str, law: str, seed: int, on_stop: str = "hold", on_glitch: str = "bridge") -> Package:
    """The controller of a plant's nominal description, exported and compiled."""
    plant, rng = PLANTS[name], np.random.default_rng([seed, 11])
    robot = nacelle.loads(description(name, dict(plant.numbers)))
    x = plant.centre + plant.size * rng.uniform(-0.8, 0.8, (_POINTS, len(plant.centre)))
    x[0] = plant.centre
    path = nacelle.trajectory.BSpline(reduced(plant, x), motion=robot.motion, duration=_DURATION)
    resolution = 2.0 * np.pi / (_COUNTS * plant.gear)
    law_in_python = controller(
        *(robot, law),
        period=T,
        resolution=resolution,
        on_stop=on_stop,
        on_glitch=on_glitch,
        singularity=0.3,
        following=(5.0 if law == "sj" else 1.0) * FOLLOWING[name],
    )
    target = nacelle.io.CTarget(
        controller=law_in_python, trajectory=path, precision="double", self_test=False
    )
    with tempfile.TemporaryDirectory() as folder:
        done = nacelle.export(robot, "kinematics", out=Path(folder) / "p", target=target, name="bench")
        return Package(robot, compile_package(done.out), law_in_python)


class Sample(NamedTuple):
    """What goes into a sample, which a scenario may change: time, readings, desired motion."""

    t: float
    q: Array
    motion: DesiredMotion


Scenario = Callable[[Plant, Sample], Sample]


class Course(NamedTuple):
    """What came of a loop, at N samples.

    Attributes:
        status: what each sample returned.
        reason: why it stopped at last, as a text.
        force: forces (N, actuators).
        error: distance of the tool from the desired motion, m.
        tool: position of the tool (N, 3), m.
        determinant: of the actuators' Jacobian (rows of length 1), over that at the start; below zero beyond
            a singularity, NaN where the pose is out of the legs' reach.
    """

    status: Array
    reason: str
    force: Array
    error: Array
    tool: Array
    determinant: Array


@dataclass(frozen=True)
class PD:
    """The law of the logs: no model, forces within the limits."""

    plant: Plant

    def run(self, count: int) -> Callable[[Array, Array], Array]:
        w = 2.0 * np.pi * 12.0
        k_p, k_d = self.plant.inertia * w**2, 2.0 * self.plant.inertia * w
        limit, state = LIMITS[self.plant.name][0], [np.zeros(count), np.zeros(count), False]

        def step(q: Array, goal: Array) -> Array:
            error = np.mod(goal - q + np.pi, 2.0 * np.pi) - np.pi if self.plant.gear < 100.0 else goal - q
            state[1] = state[1] + 0.3 * ((error - state[0]) / T * state[2] - state[1])
            state[0], state[2] = error, True
            return np.clip(k_p * error + k_d * state[1], -limit, limit)

        return step


def _tool(plant: Plant, machine: Any) -> tuple[Array, Array]:
    """Position of the tool, and the pose of the platform as the plant's inverse kinematics takes it."""
    data = machine.data
    if plant.name == "fivebar":
        point = np.array(data.site("left.tip").xpos)
        return point, point[:2]
    body = data.body("platform")
    if plant.name == "delta":
        return np.array(body.xpos), np.array(body.xpos)
    rotation = Rotation.from_matrix(body.xmat.reshape(3, 3)).as_rotvec()
    return np.array(body.xpos), np.concatenate([body.xpos, rotation])


def _determinant(plant: Plant, numbers: dict[str, float], coordinates: Array, x: Array) -> float:
    """Of the actuators' Jacobian (rows of length 1) at a pose, by differences; NaN out of reach."""
    steps = 1e-5 * np.eye(len(x))
    with np.errstate(all="ignore"):
        q = plant.qpos(np.concatenate([x + steps, x - steps]), numbers)[:, coordinates]
    change = np.mod(q[: len(x)] - q[len(x) :] + np.pi, 2.0 * np.pi) - np.pi
    return float(np.linalg.det(change / np.linalg.norm(change, axis=0)))


def run(name: str, law: str, seed: int = 0, scenario: Scenario | None = None, **choices: str) -> Course:
    """A loop; with a scenario until `_WATCHED` after its event, else along the whole trajectory."""
    plant = PLANTS[name]
    numbers = plant.perturbed(seed)
    built = package(name, LAWS[0] if law == "PD" else law, seed, **choices)
    machine = compiled(plant, numbers)
    model, data, dofs, at = machine.model, machine.data, machine.dofs, machine.coordinates
    mujoco.mj_forward(model, data)
    step = 2.0 * np.pi / (_COUNTS * plant.gear)
    c = CController(built.library, "bench", built.controller)
    status, _ = c.reset_encoders(step * np.round(data.qpos[at] / step))
    assert status == 0, (name, law, status)
    pd = PD(plant).run(len(at))
    first = _determinant(plant, numbers, at, plant.centre)
    count = round((_DURATION if scenario is None else EVENT + _WATCHED) / T)
    columns: list[list[Any]] = [[], [], [], [], []]
    determinant = 1.0
    for k in range(count):
        # At rest at first: the law finds the platform.
        motion = built.desired(k * T - 0.1)
        sample = Sample(k * T, step * np.round(data.qpos[at] / step), motion)
        sample = scenario(plant, sample) if scenario is not None and k * T >= EVENT else sample
        if law == "PD":
            pose = (
                motion.x
                if name != "hexapod"
                else np.concatenate([motion.x[:3], Rotation.from_quat(motion.x[3:]).as_rotvec()])
            )
            code, force = 0, pd(sample.q, plant.qpos(pose, dict(plant.numbers))[at])
        else:
            code, force = c.step(sample.q, sample.motion)
        tool, pose = _tool(plant, machine)
        if k % _EVERY == 0:
            determinant = _determinant(plant, numbers, at, pose) / first
        axes = min(3, built.robot.motion.n)
        off = np.linalg.norm(tool[:axes] - sample.motion.x[:axes])
        for column, value in zip(columns, (code, np.array(force), off, tool, determinant), strict=True):
            column.append(value)
        data.qfrc_applied[dofs] = force
        mujoco.mj_step(model, data, nstep=round(T / STEP))
    status, force, error, tool, determinant = (np.array(column) for column in columns)
    return Course(status, c.reason_text, force, error, tool, determinant)


# ---- what is wrong from EVENT on


def _moved(sample: Sample, **parts: Array) -> Sample:
    return sample._replace(motion=sample.motion._replace(**parts))


def out_of_reach(plant: Plant, sample: Sample) -> Sample:
    """A pose that nothing reaches."""
    return _moved(sample, x=sample.motion.x + 3.0)


def jump(plant: Plant, sample: Sample) -> Sample:
    """A step within reach."""
    x = np.array(sample.motion.x)
    x[0] += 0.05
    return _moved(sample, x=x)


def not_a_number(plant: Plant, sample: Sample) -> Sample:
    """NaN in the acceleration alone."""
    return _moved(sample, a=sample.motion.a * np.nan)


def infinite(plant: Plant, sample: Sample) -> Sample:
    """An infinite twist."""
    return _moved(sample, v=sample.motion.v + np.inf)


def through_singularity(plant: Plant, sample: Sample) -> Sample:
    """A straight way from where the motion is, slow enough at first to be followed."""
    way, (x, v, a), dt = np.array(_WAYS[plant.name]), sample.motion, sample.t - EVENT
    ramp = min(dt, _RAMP)
    gone = way * (0.5 * ramp**2 / _RAMP + dt - ramp)
    if plant.name != "hexapod":
        x = x + gone
    else:
        turned = Rotation.from_rotvec(gone[3:]) * Rotation.from_quat(x[3:])
        x = np.concatenate([x[:3] + gone[:3], turned.as_quat()])
    return _moved(sample, x=x, v=v + way * ramp / _RAMP, a=a + way / _RAMP * (dt < _RAMP))


def _reading(sample: Sample, change: Callable[[Array], None]) -> Sample:
    q = np.array(sample.q)
    change(q)
    return sample._replace(q=q)


def _is_first(sample: Sample, count: int = 1) -> bool:
    return sample.t < EVENT + (count - 0.5) * T


def wild(plant: Plant, sample: Sample) -> Sample:
    """One wild reading of one encoder."""
    return _reading(sample, lambda q: q.__setitem__(0, q[0] + 0.7)) if _is_first(sample) else sample


def wild_often(plant: Plant, sample: Sample) -> Sample:
    """A wild reading in every seventh sample."""
    return _reading(sample, lambda q: q.__setitem__(1, -50.0)) if round(sample.t / T) % 7 == 0 else sample


def offset(plant: Plant, sample: Sample) -> Sample:
    """An encoder that has lost its zero."""
    return _reading(sample, lambda q: q.__setitem__(0, q[0] + 0.7))


def lost_shortly(plant: Plant, sample: Sample) -> Sample:
    """No readings for six samples."""
    return sample._replace(q=sample.q * np.nan) if _is_first(sample, 6) else sample


def lost(plant: Plant, sample: Sample) -> Sample:
    """No reading of one encoder any more."""
    return _reading(sample, lambda q: q.__setitem__(0, np.nan))


class Stuck:
    """An encoder that stands still."""

    def __init__(self) -> None:
        self.value: float | None = None

    def __call__(self, plant: Plant, sample: Sample) -> Sample:
        if self.value is None:
            self.value = sample.q[0]
        return _reading(sample, lambda q: q.__setitem__(0, self.value))


SETPOINTS: dict[str, Callable[[], Scenario]] = {
    "pose out of reach": lambda: out_of_reach,
    "jump of 50 mm": lambda: jump,
    "NaN": lambda: not_a_number,
    "infinity": lambda: infinite,
    "through a singularity": lambda: through_singularity,
}
GLITCHES: dict[str, Callable[[], Scenario]] = {
    "one wild reading": lambda: wild,
    "a wild reading in seven": lambda: wild_often,
    "encoder off by 0.7": lambda: offset,
    "6 samples lost": lambda: lost_shortly,
    "one encoder lost": lambda: lost,
    "one encoder stuck": Stuck,
}
HARMLESS = ("one wild reading", "a wild reading in seven", "6 samples lost")
"""Glitches that are bridged: the motion goes on."""


class Verdict(NamedTuple):
    """What a scenario did.

    Attributes:
        stopped: samples from the event to the stop, None if there was none.
        reason: of the stop.
        force: largest force over the limit.
        determinant: the smallest over that at the start; below zero is beyond a singularity.
        error: largest distance of the tool from where it was to be, until the stop, m.
        speed: of the tool at the end, m/s.
    """

    stopped: int | None
    reason: str
    force: float
    determinant: float
    error: float
    speed: float


def verdict(course: Course, name: str) -> Verdict:
    """What a loop with a scenario did."""
    first = round(EVENT / T)
    stops = np.flatnonzero(course.status[first:] > 1)
    until = first + int(stops[0]) if len(stops) else len(course.status)
    return Verdict(
        int(stops[0]) if len(stops) else None,
        course.reason if len(stops) else "",
        float(np.max(np.abs(course.force)) / LIMITS[name][0]),
        float(np.min(course.determinant)),
        float(np.max(course.error[first:until], initial=0.0)),
        float(np.linalg.norm(course.tool[-1] - course.tool[-21]) / (20 * T)),
    )


def tracking_rows(names: list[str], laws: list[str], seeds: list[int]) -> Iterator[str]:
    """The table of tracking errors of the tool, rms over the machines, mm."""
    yield f"{'rms error of the tool, mm':28}" + "".join(f"{law:>18}" for law in ("PD", *laws))
    for name in names:
        cells = []
        for law in ("PD", *laws):
            errors = [run(name, law, seed) for seed in seeds]
            rms = np.sqrt(np.mean([np.mean(course.error[200:] ** 2) for course in errors]))
            done = all(np.all(course.status == 0) for course in errors)
            cells.append(f"{1e3 * rms:18.3f}" if done else f"{'stopped':>18}")
        yield f"{name:28}" + "".join(cells)


def scenario_rows(names: list[str], laws: list[str], seeds: list[int]) -> Iterator[str]:
    """The table of hostile setpoints and glitches."""
    head = f"{'robot':9}{'law':16}{'what is wrong':26}{'samples':>8}{'force':>7}{'det':>7}"
    yield head + f"{'mm':>8}{'mm/s':>7}  reason"
    for name in names:
        for law in laws:
            for label, make in {**SETPOINTS, **GLITCHES}.items():
                for seed in seeds:
                    v = verdict(run(name, law, seed, make()), name)
                    numbers = f"{v.force:7.2f}{v.determinant:7.2f}{1e3 * v.error:8.2f}{1e3 * v.speed:7.1f}"
                    stopped = "-" if v.stopped is None else v.stopped
                    yield f"{name:9}{law:16}{label:26}{stopped:>8}{numbers}  {v.reason}"


def stop_rows(names: list[str], law: str, seed: int) -> Iterator[str]:
    """The table of what a stop does: way of the tool after NaN in the setpoint, mm, and its last speed."""
    kinds = ("zero", "hold", "brake")
    yield f"{'way after a stop, mm (mm/s)':28}" + "".join(f"{kind:>18}" for kind in kinds)
    for name in names:
        cells = []
        for kind in kinds:
            course = run(name, law, seed, not_a_number, on_stop=kind)
            way = np.linalg.norm(course.tool[-1] - course.tool[round(EVENT / T)])
            speed = verdict(course, name).speed
            cells.append(f"{1e3 * way:9.1f} ({1e3 * speed:6.1f})")
        yield f"{name:28}" + "".join(f"{cell:>18}" for cell in cells)


def main() -> None:
    """Run the loops as the options say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--robots", nargs="+", choices=list(PLANTS), default=list(PLANTS))
    parser.add_argument("--laws", nargs="+", default=list(LAWS))
    parser.add_argument("--seeds", default="0:1", help="a:b, machines and motions")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    seeds = list(range(first, last))
    for rows in (
        tracking_rows(options.robots, options.laws, seeds),
        scenario_rows(options.robots, options.laws, seeds),
        stop_rows(options.robots, options.laws[0], seeds[0]),
    ):
        for row in rows:
            print(row, flush=True)
        print()


if __name__ == "__main__":
    main()

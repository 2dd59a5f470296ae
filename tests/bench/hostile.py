"""Random episodes of hostile setpoints and faulty readings: exported controllers in C against plants in C.

    python -m bench.hostile ROBOT [--law NAME] [--episodes N] [--first N] [--following D]

ROBOT is a name of the library, a file, or one of `support.stress_robots`. The plant is exported, too, with
masses up to 15 % off those of the controller's model. In each episode the machine follows a spline; from a
random instant on setpoints, readings or both are wrong. Whatever happens, no force is beyond the limit of its
drive, a stop is kept, and its status is that of its reason. While no reading lies, the determinant of the
Jacobian at the machine's true pose keeps its sign, and a machine that is stopped comes to rest. With an
encoder that stays lost this counts until the stop: nothing brakes its drive from then on.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import nacelle
from nacelle.control.blocks.signals import StopReason
from nacelle.control.controller import Controller
from nacelle.control.kind import DesiredMotion
from nacelle.control.named import controller
from nacelle.dynamics.jacobian import sample_poses
from nacelle.kinematics.shapes import twist_scales
from nacelle.model.robot import Robot
from nacelle.trajectory import BSpline, sample_trajectory
from support.controllers import CController, address_of, compile_package, macro_value
from support.stress_robots import STRESS

Array = np.ndarray
Change = Callable[[float, int, Array], Array]

T, SUBSTEPS = 1e-3, 4
# At rest, then the first and the last sample at which something goes wrong, and the samples of an episode.
_REST, _FIRST, _LAST, COUNT = 40, 60, 400, 1000
# Samples from one true pose that is kept to the next, and those after a stop until rest.
_EVERY, _SETTLING = 5, 400
# At rest is less than this many sizes or rad a second, or this part of what was at the stop.
_RESTING, _BRAKED = 0.02, 0.1
_POINTS = 8
SETPOINTS = (
    *("as desired", "jump", "twist", "acceleration", "not finite", "straight way", "way without twist"),
    *("frozen", "accelerated way", "oscillation", "noise", "rotation"),
)
TRUE_READINGS = ("true", "wild once", "wild often", "lost for a while", "dropouts")
READINGS = (*TRUE_READINGS, "one lost", "offset", "drift", "noise", "scaled", "stuck")
_WEIRD = (np.nan, np.inf, -np.inf, 1e300, -1e155)


# ---- The machine and its controller, both in C


class Machine(NamedTuple):
    """A robot with a compiled controller and a compiled plant.

    Attributes:
        robot: the model of the controller.
        controller: as it was tuned.
        library: of the controller.
        plant: library of the plant.
        state_size: numbers of the plant's state.
        motions: the desired motion of all samples, from rest.
        resolution: a count of the encoders, rad or m.
    """

    robot: Robot
    controller: Controller
    library: ctypes.CDLL
    plant: ctypes.CDLL
    state_size: int
    motions: DesiredMotion
    resolution: float


def robot_of(name: str) -> Robot:
    """A robot of the library, of a file, or one with random numbers; its drives have limits."""
    robot = STRESS[name](3) if name in STRESS else nacelle.load(name)
    if all(math.isfinite(actuator.force) for actuator in robot.actuators):
        return robot
    # Three times what 10 m/s^2 and 10 rad/s^2 take.
    a = np.concatenate([10.0 * np.eye(robot.motion.n), -10.0 * np.eye(robot.motion.n)])
    force = nacelle.inverse_dynamics(robot, nacelle.reference_pose(robot), 0.0 * a, a, friction=False).tau
    largest = 3.0 * np.max(np.abs(force), axis=0)
    drives = [
        replace(actuator, force=float(value), speed=min(actuator.speed, 10.0))
        for actuator, value in zip(robot.actuators, largest, strict=True)
    ]
    return replace(robot, actuators=tuple(drives))


def _off(robot: Robot) -> Robot:
    """The robot with other masses."""
    rng, values = np.random.default_rng(5), robot.parameter_vector("inertia").reshape(-1, 10)
    return robot.with_parameters((values * rng.uniform(0.85, 1.15, (len(values), 1))).ravel(), "inertia")


def _determinants(robot: Robot, x: Array) -> Array:
    """Determinants of the Jacobian J with rows of length 1 at poses (N, nx), over the first of them.

    Redundant drives have the root of det(J^T J), which has no sign.
    """
    J = nacelle.jacobian(robot, x).scaled
    J = J / np.linalg.norm(J, axis=-1, keepdims=True)
    square = J.shape[-1] == J.shape[-2]
    values = np.linalg.det(J) if square else np.sqrt(np.linalg.det(np.swapaxes(J, -1, -2) @ J))
    return np.asarray(values / values[0])


def _motions(robot: Robot) -> DesiredMotion:
    """From rest along a spline far from singularities that leaves half of what the drives have."""
    limit, speed = (
        np.array([getattr(actuator, key) for actuator in robot.actuators]) for key in ("force", "speed")
    )
    reach, duration = 0.1, 0.5
    for _ in range(40):
        poses = sample_poses(robot, _POINTS, seed=7, reach=reach)
        poses[0] = nacelle.reference_pose(robot)
        path = BSpline(poses, motion=robot.motion, duration=duration)
        x, v, a = sample_trajectory(robot, path, T * (np.arange(COUNT) - _REST))[:3]
        force = np.abs(nacelle.inverse_dynamics(robot, x, v, a).tau)
        rate = np.abs(np.einsum("kij,kj->ki", nacelle.jacobian(robot, x).inverse, v))
        if not np.all(_determinants(robot, x) > 0.6):
            reach *= 0.5
        elif np.all(rate < 0.5 * speed) and np.all(force < 0.5 * limit):
            return DesiredMotion(x, v, a)
        else:
            duration *= 1.2
    raise AssertionError(f"{robot.name} has no motion within half of what its drives have")


@cache
def machine(name: str, law: str, following: float, resolution: float) -> Machine:
    """A robot's controller and plant, exported and compiled."""
    robot = robot_of(name)
    made = controller(
        *(robot, law, T),
        resolution=resolution,
        on_stop="hold",
        on_glitch="bridge",
        singularity=0.3,
        following=following,
    )
    with tempfile.TemporaryDirectory() as folder:
        target = nacelle.io.CTarget(controller=made, precision="double", self_test=False)
        control = nacelle.export(robot, "kinematics", out=Path(folder) / "c", target=target, name="bench")
        target = nacelle.io.CTarget(plant=True, precision="double", self_test=False)
        plant = nacelle.export(_off(robot), out=Path(folder) / "p", target=target, smooth=0.02, name="bench")
        size = macro_value(plant.out, "BENCH_PLANT_STATE_SIZE")
        libraries = [compile_package(package.out) for package in (control, plant)]
    libraries[1].bench_plant_rk4.argtypes = [
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_double),
        *(ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p),
    ]
    return Machine(robot, made, *libraries, size, _motions(robot), resolution)


# ---- What goes wrong


def hostile_motion(built: Machine, rng: np.random.Generator, kind: str, event: int) -> DesiredMotion:
    """The desired motion of all samples, of which those from an event on are wrong."""
    robot, n = built.robot, built.robot.motion.n
    x, v, a = (np.array(part) for part in built.motions)
    t, late = T * np.arange(COUNT - event)[:, None], slice(event, None)
    units = twist_scales(robot)
    direction = rng.normal(size=n) * (rng.uniform(size=n) < 0.7)
    direction *= units / max(np.linalg.norm(direction), 1e-9)
    amount, rate, w = (10.0 ** rng.uniform(*bounds) for bounds in ((-4.0, 0.7), (-1.0, 1.0), (0.5, 3.0)))
    zero = np.zeros_like(t * direction)
    e, twist, acceleration, shown = zero, zero, zero, np.ones(len(t), dtype=bool)
    if rng.uniform() < 0.5:
        shown = np.arange(len(t)) < rng.integers(1, 16)
    if kind == "jump":
        e = amount * direction + zero
    elif kind == "twist":
        twist = 100.0 * amount * direction + zero
    elif kind == "acceleration":
        acceleration = 1e4 * amount * direction + zero
    elif kind in ("straight way", "way without twist"):
        e, twist = rate * t * direction, (kind == "straight way") * rate * direction + zero
    elif kind == "accelerated way":
        e, twist, acceleration = (10.0 * rate * f * direction for f in (0.5 * t * t, t, 1.0 + 0.0 * t))
    elif kind == "oscillation":
        e, twist = (0.1 * rate / w * f * direction for f in (np.sin(w * t), w * np.cos(w * t)))
        acceleration = -w * w * e
    elif kind == "noise":
        e = 0.01 * amount * units * rng.normal(size=(len(t), n))
    elif kind == "rotation":
        turned = np.array([name.startswith("r") for name in robot.motion.coordinates])
        e, twist = rate * t * units * turned, rate * units * turned + zero
    elif kind == "frozen":
        x[late], v[late], a[late] = x[event], rng.integers(2) * v[event], 0.0
    if kind in ("straight way", "way without twist", "accelerated way", "oscillation", "rotation", "frozen"):
        shown[:] = True
    x[late][shown] = nacelle.kinematics.integrate_pose(robot, x[late][shown], e[shown])
    v[late][shown] += twist[shown]
    a[late][shown] += acceleration[shown]
    if kind == "not finite":
        part = (x, v, a)[rng.integers(3)]
        rows = np.flatnonzero(shown) + event
        part[rows, rng.integers(part.shape[1])] = rng.choice(_WEIRD)
    return DesiredMotion(x, v, a)


def faulty_readings(built: Machine, rng: np.random.Generator, kind: str) -> Callable[[int, Array], Array]:
    """What becomes of the readings (actuators,) of the samples from an event on, which is the sample 0."""
    m = len(built.robot.actuators)
    one, sign = np.arange(m) == rng.integers(m), rng.choice([-1.0, 1.0])
    struck = one if rng.uniform() < 0.5 else np.ones(m, dtype=bool)
    size, small = sign * 10.0 ** rng.uniform(-4.0, 4.0), sign * 10.0 ** rng.uniform(-3.0, 1.0)
    every, lasting, share = rng.integers(2, 14), rng.integers(1, 16), 10.0 ** rng.uniform(-2.0, -0.1)
    factor, weird, kept = rng.choice([-1.0, 0.0, 2.0]), rng.choice(_WEIRD), []

    def change(k: int, q: Array) -> Array:
        kept.append(q)
        changed = {
            "wild once": lambda: q + size * one * (k == 0),
            "wild often": lambda: q + size * one * (k % every == 0),
            "lost for a while": lambda: np.where(struck & (k < lasting), np.nan, q),
            "dropouts": lambda: np.where(rng.uniform(size=m) < share, weird, q),
            "one lost": lambda: np.where(one, weird, q),
            "offset": lambda: q + small * one,
            "drift": lambda: q + small * one * 10.0 * T * k,
            "noise": lambda: q + 0.1 * small * rng.uniform(-1.0, 1.0, m),
            "scaled": lambda: np.where(one, factor * q, q),
            "stuck": lambda: np.where(struck, kept[0], q),
        }
        return np.asarray(changed[kind]()) if kind in changed else q

    return change


# ---- An episode


@dataclass(frozen=True)
class Episode:
    """What an episode did.

    Attributes:
        setpoint, readings: what went wrong, of `SETPOINTS` and `READINGS`.
        reason: of the stop; 0 if there was none.
        stop: sample of the stop, -1 if there was none.
        wrong: what may not be, empty if nothing.
        force: largest force over the limit of its drive.
        determinant: the smallest of the Jacobian at true poses while no reading lies, over that at the start.
        speed: of the machine at the stop and at the end, in its sizes or rad a second.
    """

    setpoint: str
    readings: str
    reason: int
    stop: int
    wrong: str
    force: float
    determinant: float
    speed: tuple[float, float]


def run_episode(built: Machine, seed: int) -> Episode:
    """One episode; equal seeds give equal episodes."""
    rng, robot, plant = np.random.default_rng([seed, 23]), built.robot, built.plant
    m, n = len(robot.actuators), robot.motion.n
    event = int(rng.integers(_FIRST, _LAST))
    setpoint, readings = SETPOINTS[0], READINGS[0]
    if rng.uniform() < 0.75:
        setpoint = rng.choice(SETPOINTS[1:])
    if setpoint == SETPOINTS[0] or rng.uniform() < 0.35:
        readings = rng.choice(READINGS[1:])
    motion = hostile_motion(built, rng, setpoint, event)
    change = faulty_readings(built, rng, readings)
    limit = np.array([actuator.force for actuator in robot.actuators])
    state, q, x, v = (np.full(size, np.nan) for size in (built.state_size, m, motion.x.shape[1], n))
    assert plant.bench_plant_start(address_of(motion.x[0].copy()), address_of(state)) == 0
    plant.bench_plant_encoders(address_of(state), address_of(q))
    c = CController(built.library, "bench", built.controller)
    assert c.reset_encoders(q)[0] == 0
    stop, reason, share, wrong, poses, speeds = -1, 0, 0.0, "", [], []
    for k in range(COUNT):
        plant.bench_plant_encoders(address_of(state), address_of(q))
        seen = built.resolution * np.floor(q / built.resolution + 0.5)
        seen = change(k - event, seen) if k >= event else seen
        code, force = c.step(seen, DesiredMotion(*(part[k] for part in motion)))
        share = max(share, float(np.max(np.abs(force) / limit)))
        if stop >= 0 and (code, c.reason) != (2, reason):
            wrong = "a stop that is not kept"
        if stop < 0 and code > 1:
            stop, reason = k, c.reason
            wrong = "" if code == _status(reason) else "a status that is not that of its reason"
        lost = plant.bench_plant_rk4(
            *(address_of(state), address_of(force), 0, T / SUBSTEPS, SUBSTEPS, 0, None, None)
        )
        if lost:
            break
        if k % _EVERY == 0:
            plant.bench_plant_pose(address_of(state), address_of(x), address_of(v))
            poses.append(x.copy())
            speeds.append(float(np.linalg.norm(v / twist_scales(robot))))
    determinants = _determinants(robot, np.array(poses))
    if readings not in TRUE_READINGS:
        until = stop // _EVERY + 1 if readings == "one lost" and stop >= 0 else 1
        determinants = determinants[:until]
    if not share <= 1.0 + 1e-12:
        wrong = "a force beyond the limit"
    elif not np.all(determinants > 0.0):
        first = _EVERY * int(np.argmin(determinants > 0.0))
        wrong = f"through a singularity, {'after the stop' if 0 <= stop < first else 'running'}"
    elif readings in TRUE_READINGS and (lost or 0 <= stop < COUNT - _SETTLING):
        at_rest = speeds[-1] < _RESTING + _BRAKED * speeds[stop // _EVERY]
        wrong = wrong if at_rest and not lost else "no rest after the stop"
    speed = (speeds[stop // _EVERY], speeds[-1])
    smallest = float(np.min(determinants))
    return Episode(str(setpoint), str(readings), reason, stop, wrong, share, smallest, speed)


def _status(reason: int) -> int:
    """What a step returns at a stop with a reason."""
    if reason == StopReason.READINGS_MISSING:
        return 2
    return 4 if reason >= StopReason.MEASURED_OUT_OF_REACH else 3


def main() -> None:
    """Run episodes as the options say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("robot")
    parser.add_argument("--law", default="cf-rb-friction")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed of the first episode")
    parser.add_argument("--following", type=float, default=0.05, help="rad or m")
    parser.add_argument("--resolution", type=float, default=5e-5, help="of the encoders, rad or m")
    options = parser.parse_args()
    begun = time.process_time()
    built = machine(options.robot, options.law, options.following, options.resolution)
    print(f"{built.robot.name}, {options.law}: exported in {time.process_time() - begun:.0f} s", flush=True)
    begun, made = time.process_time(), []
    for seed in range(options.first, options.first + options.episodes):
        made.append(run_episode(built, seed))
        if made[-1].wrong:
            print(f"  {seed}: {made[-1]}", flush=True)
    stops = Counter(StopReason(episode.reason).name for episode in made)
    print(", ".join(f"{count} {name}" for name, count in stops.most_common()))
    wrong = sum(bool(episode.wrong) for episode in made)
    largest, smallest = max(one.force for one in made), min(one.determinant for one in made)
    print(
        f"{len(made)} episodes, {wrong} wrong; largest force {largest:.4g} of the limit, smallest "
        f"determinant while no reading lies {smallest:.3g} of the first; {time.process_time() - begun:.0f} s"
    )


if __name__ == "__main__":
    main()

"""Hostile samples of controllers: what is out of reach by independent means, and inputs that must stop a law.

What is admissible is decided by `inverse_kinematics` with its flags and by central differences of the
actuators' coordinates, not by the Jacobian and the margins that laws check.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import nacelle
from nacelle.control.controller import Controller
from nacelle.control.kind import DesiredMotion
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.shapes import twist_scales
from nacelle.model.robot import Robot
from nacelle.tree.actuation import unwrap_angles
from support.stress_robots import STRESS

Array = np.ndarray
PERIOD = 0.01
HOSTILE = {
    "closed form": ("fivebar", "delta", "palida"),
    "articulated, redundant or iterated": ("quattro", "redundant planar 4-RRR", "hexa"),
}
"""Robots whose laws meet hostile samples, by how their legs are solved."""
_NUDGE = 1e-6


def hostile_robot(name: str) -> Robot:
    """A robot of the library, or one with random numbers."""
    return STRESS[name](3) if name in STRESS else nacelle.load(name)


def translations(robot: Robot) -> list[tuple[int, int]]:
    """Places in x and in v of the coordinates of a pose that are displacements along the base axes."""
    names, layout = robot.motion.coordinates, mechanism_of(robot).layout
    return [(layout.x_names.index(name), names.index(name)) for name in ("x", "y", "z") if name in names]


def path_out_of_reach(robot: Robot, seed: int, count: int = 1500) -> list[DesiredMotion]:
    """A straight line from rest at the reference pose at a constant rate, further than any robot reaches."""
    rng, n = np.random.default_rng(seed), robot.motion.n
    x = np.asarray(mechanism_of(robot).reference[0], dtype=float)
    along, v = np.zeros(len(x)), np.zeros(n)
    for (i, j), share in zip(translations(robot), rng.normal(size=3), strict=False):
        along[i] = v[j] = share
    rate = 0.2 * robot.size / np.linalg.norm(v)
    return [DesiredMotion(x + PERIOD * rate * k * along, rate * v, np.zeros(n)) for k in range(count)]


def admissible(robot: Robot, motions: list[DesiredMotion]) -> Array:
    """Whether each motion of a path is within reach, limits and speeds, and no singularity lies before it."""
    x = np.array([motion.x for motion in motions])
    joints = nacelle.inverse_kinematics(robot, x, follow=True)
    good = joints.ok & ((joints.flags & int(nacelle.Flag.NEAR_SINGULAR)) == 0)
    reached = int(np.argmin(good)) if not good.all() else len(good)
    J = np.full((len(x), len(robot.actuators), robot.motion.n), np.nan)
    for k in range(reached):
        J[k] = _by_differences(robot, x[k], joints.y[k])
    v = np.array([motion.v for motion in motions])
    rate = np.abs(np.einsum("kij,kj->ki", J, v))
    good &= np.all(rate <= 1.01 * np.array([actuator.speed for actuator in robot.actuators]), axis=1)
    if len(robot.actuators) == robot.motion.n:
        scaled = J * twist_scales(robot)
        with np.errstate(invalid="ignore"):
            p = np.linalg.det(scaled / np.linalg.norm(scaled, axis=2, keepdims=True))
        good &= p * np.sign(p[0]) > np.sqrt(1e-7)
    return good


def _by_differences(robot: Robot, x: Array, y: Array) -> Array:
    """Rates of the actuators from the twist (actuators, n), by poses displaced along it."""
    from nacelle.simulation.flow import pose_from_coordinates

    mechanism, columns = mechanism_of(robot), []
    layout = mechanism.layout
    for j, unit in enumerate(twist_scales(robot)):
        both = []
        for side in (1.0, -1.0):
            c = np.array(x)
            if layout.quaternion is not None:
                c = np.concatenate([x[: layout.quaternion.start], np.zeros(3), x[layout.quaternion.stop :]])
            c[j] += side * _NUDGE * unit
            quat = x[layout.quaternion] if layout.quaternion is not None else np.array([0.0, 0.0, 0.0, 1.0])
            both.append(np.asarray(pose_from_coordinates(mechanism, c, quat), dtype=float))
        q = nacelle.inverse_kinematics(robot, np.array(both), guess=y, limits=False).q
        columns.append(
            np.diff(unwrap_angles(q, robot.revolute_actuators)[::-1], axis=0)[0] / (2.0 * _NUDGE * unit)
        )
    return np.array(columns).T


def hostile_samples(made: Controller) -> Iterator[tuple[str, Array, DesiredMotion, int]]:
    """What is wrong, readings, desired motion and the status, each after samples at rest at the reference."""
    robot, n = made.robot, made.robot.motion.n
    x = np.asarray(mechanism_of(robot).reference[0], dtype=float)
    q, rest = made.coordinates(x), DesiredMotion(x, np.zeros(n), np.zeros(n))
    for part, value in rest._asdict().items():
        for k in range(len(value)):
            for bad in (np.nan, np.inf, -np.inf):
                changed = np.array(value)
                changed[k] = bad
                yield f"{part}[{k}] {bad}", q, rest._replace(**{part: changed}), 3
    for i, j in translations(robot):
        far = np.array(x)
        far[i] += 20.0 * robot.size
        yield f"{robot.motion.coordinates[j]} out of reach", q, rest._replace(x=far), 3
    quaternion = mechanism_of(robot).layout.quaternion
    if quaternion is not None:
        for factor in (0.0, 0.5, 1.01):
            scaled = np.array(x)
            scaled[quaternion] *= factor
            yield f"quaternion of length {factor}", q, rest._replace(x=scaled), 3
    if all(np.isfinite(actuator.speed) for actuator in robot.actuators):
        for j in range(n):
            fast = np.zeros(n)
            fast[j] = 1e4 * twist_scales(robot)[j]
            yield f"v[{j}] beyond the drives", q, rest._replace(v=fast), 3
        jump = np.array(x)
        jump[translations(robot)[0][0]] += 0.02 * robot.size
        yield "a jump within reach", q, rest._replace(x=jump), 3 if _is_jump(made, x, jump) else 0
        moved = q + 3.0 * PERIOD * np.array([actuator.speed for actuator in robot.actuators])
        yield "readings that jump", moved, rest, -1
    for k, actuator in enumerate(robot.actuators):
        low, high = actuator.position
        if np.isfinite(high - low) and (high - low < 5.0 or not robot.revolute_actuators[k]):
            beyond = np.array(q)
            beyond[k] = high + 0.05 * (high - low)
            yield f"{actuator.name} beyond its limit", beyond, rest, 4


def _is_jump(made: Controller, x: Array, other: Array) -> bool:
    """Whether a drive would be too fast from a pose to another within a sample."""
    step = np.abs(np.diff(made.coordinates(np.array([x, other])), axis=0)[0])
    speeds = np.array([actuator.speed for actuator in made.robot.actuators])
    return bool(np.any(step > 1.01 * made.period * speeds))

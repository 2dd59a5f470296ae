"""Bounds of the pose within tolerances, against closed forms, distances and machines solved in floats."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.calibration.loops import Axis, Loops, States, states_at
from nacelle.calibration.parameters import Geometry, encoders_of
from nacelle.calibration.tolerances import PoseErrorBounds, bound_pose_errors
from nacelle.errors import CalibrationError
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_conjugate, quat_log, quat_multiply
from nacelle.spatial.scalar import Array
from support.library import library_robot
from support.random_robots import random_robot


def deviations(found: PoseErrorBounds, count: int, seed: int = 0) -> Array:
    """Random deviations (count, P) within tolerances, half of them with all numbers at their ends."""
    rng = np.random.default_rng(seed)
    low, high = np.array(
        [
            item.bounds if np.isfinite(item.bounds.lower) else (-item.tolerance, item.tolerance)
            for item in found.parameters
        ]
    ).T
    part = rng.uniform(0.0, 1.0, (count, len(low)))
    part[::2] = np.round(part[::2])
    return np.asarray(low + (high - low) * part)


def errors_of_machines(found: PoseErrorBounds, values: Array, k: int = 0) -> Array:
    """Errors (S, 3 or 6) of machines with deviations (S, P), by Newton's method in floats."""
    robot = found.robot
    encoders = encoders_of(robot)
    own = states_at(nacelle.inverse_kinematics(robot, found.x[[k]], limits=False))
    readings = nacelle.inverse_kinematics(robot, found.x[[k]], limits=False).q
    geometry = Geometry(robot, found.parameters, encoders)
    states = States(*(np.repeat(part, len(values), axis=0) for part in (own.platform, own.q)))
    q = np.concatenate([geometry.coordinates(readings, value)[0] for value in values])
    axes = [Axis(actuator.joint) for actuator in robot.actuators]
    numbers = np.array([geometry.vector(value) for value in values])
    states, reached = Loops(robot).hold(numbers, axes, q, states)
    assert reached.all()
    error = states.platform[:, :3] - own.platform[:, :3]
    if states.platform.shape[1] == 3:
        return np.asarray(error)
    turned = quat_log(quat_multiply(states.platform[:, 3:], quat_conjugate(own.platform[:, 3:])))
    return np.concatenate([error, turned], axis=1)


def require_within(found: PoseErrorBounds, errors: Array, k: int = 0) -> None:
    """All errors are within the bounds, but for what Newton's method leaves open."""
    slack = 1e-10 * found.robot.size
    assert found.proved[k]
    assert np.all(errors >= found.bounds[k, :, 0] - slack)
    assert np.all(errors <= found.bounds[k, :, 1] + slack)
    for kind in range(errors.shape[1] // 3):
        part = np.linalg.norm(errors[:, 3 * kind : 3 * kind + 3], axis=1)
        assert part.max() <= found.lengths[k, kind] + slack


def fivebar_tip(half_base: Array, proximal: Array, distal: Array, q: Array) -> Array:
    """The upper crossing (S, 2) of the circles about both elbows; cranks at q (S, 2)."""
    left = np.stack([-half_base + proximal * np.cos(q[:, 0]), proximal * np.sin(q[:, 0])], axis=1)
    right = np.stack([half_base + proximal * np.cos(q[:, 1]), proximal * np.sin(q[:, 1])], axis=1)
    way = right - left
    half = 0.5 * np.linalg.norm(way, axis=1)
    height = np.sqrt(distal**2 - half**2)
    across = np.stack([-way[:, 1], way[:, 0]], axis=1) / (2.0 * half[:, None])
    return np.asarray(0.5 * (left + right) + height[:, None] * across)


def test_fivebar_by_circles() -> None:
    robot = nacelle.load("fivebar")
    found = bound_pose_errors(robot, ["number.*=0.1 mm", "zero.*=-0.02 deg..0.05 deg"], [0.05, 0.28])
    p = deviations(found, 100_000)
    by_name = {item.name: p[:, k] for k, item in enumerate(found.parameters)}
    q = nacelle.inverse_kinematics(robot, found.x[0]).q + np.stack(
        [by_name["zero.left.motor"], by_name["zero.right.motor"]], axis=1
    )
    lengths = {"half_base": 0.1, "proximal": 0.2, "distal": 0.25}
    numbers = [value + by_name[f"number.{name}"] for name, value in lengths.items()]
    errors = fivebar_tip(*numbers, q) - found.x[0]
    assert np.all(errors >= found.bounds[0, :2, 0] - 1e-15)
    assert np.all(errors <= found.bounds[0, :2, 1] + 1e-15)
    # Every corner is among the samples: what is attained is there, and the bounds are close to it.
    assert errors.max(axis=0) == pytest.approx(found.attained[0, :2, 1], rel=1e-9)
    assert errors.min(axis=0) == pytest.approx(found.attained[0, :2, 0], rel=1e-9)
    assert np.all(np.abs(found.bounds[0, :2]) < 1.2 * np.abs(found.attained[0, :2]))
    longest = np.linalg.norm(errors, axis=1).max()
    assert found.attained_lengths[0, 0] <= longest * (1.0 + 1e-9) <= found.lengths[0, 0]
    assert found.lengths[0, 0] < 1.2 * longest


def hexapod_errors(robot: Robot, machines: list[Robot], x: Array) -> Array:
    """Errors (S, 6) of hexapods with struts held, by Newton's method on |p + R b - a|^2 = l^2."""

    def anchors(of: Robot) -> tuple[Array, Array]:
        own = [of.joints[leg.joints[0]].frame_predecessor.p for leg in of.legs]
        plate = [joint.frame_successor.p for joint in of.closures]
        return np.array(own), np.array(plate)

    p, quat = x[:3], x[3:]
    R0 = nacelle.spatial.rotation.rotation_quat(quat)
    a0, b0 = anchors(robot)
    square = np.sum((p + b0 @ R0.T - a0) ** 2, axis=1)
    a, b = (np.array(part) for part in zip(*(anchors(machine) for machine in machines), strict=True))
    b = b @ R0.T
    w = np.zeros((len(machines), 6))
    for _ in range(12):
        turned = np.array([nacelle.spatial.rotation.rotation_vector(part) for part in w[:, 3:]])
        end = np.einsum("sij,skj->ski", turned, b)
        way = p + w[:, None, :3] + end - a
        J = 2.0 * np.concatenate([way, np.cross(end, way)], axis=2)
        gap = np.sum(way**2, axis=2) - square
        step = -np.linalg.solve(J, gap[..., None])[..., 0]
        # Turns follow those that are there: exp(w + J^-1 step) to first order, which Newton repeats.
        w += step
    assert np.abs(gap).max() < 1e-12
    return w


@pytest.mark.slow
def test_hexapod_by_distances() -> None:
    robot = nacelle.load("palida")
    found = bound_pose_errors(robot, ["number.strut*=0.1 mm"])
    values = deviations(found, 120)
    vector = robot.numbers.vector("geometry")
    index = [item.target[0] for item in found.parameters]
    machines = []
    for value in values:
        numbers = vector.copy()
        numbers[index] += value
        machines.append(robot.with_numbers(numbers, "geometry"))
    errors = hexapod_errors(robot, machines, found.x[0])
    require_within(found, errors)
    assert np.all(found.lengths < 1.2 * found.attained_lengths)
    assert np.all(np.abs(found.bounds[..., :3]) < 1.2 * np.abs(found.attained[..., :3]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tolerances"),
    [
        ("delta", ["*.predecessor.[xyz]=0.02 mm", "*shoulder.predecessor.r?=0.01 deg"]),
        ("delta", ["number.*=0.1 mm", "zero.*=0.01 deg"]),
        ("3rrr", ["number.*=0.1 mm", "zero.*=0.01 deg"]),
        ("orthoglide", ["number.*=0.1 mm", "zero.*=0.02 mm"]),
        ("h4", ["number.*=0.02 mm", "zero.*=0.004 deg"]),
        ("gough-stewart", ["number.*.P.*=0.1 mm", "zero.*=0.02 mm"]),
    ],
)
def test_machines_of_the_library(name: str, tolerances: list[str]) -> None:
    found = bound_pose_errors(library_robot(name), tolerances)
    require_within(found, errors_of_machines(found, deviations(found, 400)))
    assert np.all(found.attained_lengths <= found.lengths)


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["6 RRPS", "planar RRR + PRR + RPR", "3 RPS"])
def test_random_robots(profile: str) -> None:
    frames = [] if profile.startswith("planar") else ["*.predecessor.[xy]=1e-5"]
    for seed in range(2):
        robot = random_robot(profile, seed)
        found = bound_pose_errors(robot, ["zero.*=1e-5", *frames])
        if found.proved[0]:
            require_within(found, errors_of_machines(found, deviations(found, 100)))


def test_what_is_refused() -> None:
    robot = nacelle.load("fivebar")
    with pytest.raises(CalibrationError, match=r"no tolerance: write for example 'number\.\*=0\.1 mm'"):
        bound_pose_errors(robot, ["number.*"])
    with pytest.raises(CalibrationError, match="no parameter matches"):
        bound_pose_errors(robot, ["nummer.*=0.1 mm"])
    with pytest.raises(CalibrationError, match="rad, above"):
        bound_pose_errors(robot, ["*.predecessor.rz=1 rad"])
    # A plane of revolute joints jams where an axis tilts.
    with pytest.raises(CalibrationError, match="rigid bodies would jam"):
        bound_pose_errors(nacelle.load("3rrr"), ["leg1.*.predecessor.rx=0.01 deg"])


def test_where_nothing_is_proved() -> None:
    robot = nacelle.load("fivebar")
    x = np.array([[0.0, 0.28], [0.0, 9.0], [np.nan, 0.2]])
    found = bound_pose_errors(robot, ["number.*=0.1 mm"], x)
    assert found.proved.tolist() == [True, False, False]
    # So wide that the distal bars may lie in one line.
    wide = bound_pose_errors(robot, ["number.distal=120 mm"])
    assert not wide.proved.any()
    assert "not proved at 1 of 1" in wide.describe()[0]

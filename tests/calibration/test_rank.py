"""What is not identified: against the null space of plain equations at eighty digits."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import mpmath
import numpy as np
import pytest

import nacelle
from calibration.campaigns import Array
from calibration.linear_delta import linear_delta
from nacelle.calibration.calibration import information_of
from nacelle.calibration.checks import locate_devices
from nacelle.calibration.devices import Tracker
from nacelle.calibration.fit import Campaign, System, fit
from nacelle.calibration.identifiability import Information
from nacelle.calibration.parameters import AXES, Parameter, encoders_of, known_parameters
from nacelle.calibration.poses import blank_campaign, default_parameters, drawn_poses, opening_parameters
from nacelle.calibration.simulated import simulate_campaign
from nacelle.model.joint import Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_quat
from nacelle.tree.closure import closure_residual
from nacelle.tree.spanning_tree import tree_kinematics
from support.forty_digits import orthonormal, precise
from support.random_robots import random_robot

DIGITS = 80
# Forward differences are right to forty digits. The numbers of a description have sixteen, so that axes that
# meet or are parallel do so to 1e-16: what is smaller than the second number is zero, and no more than the
# third, far from it, is left then.
STEP, ZERO, ROUNDING = mpmath.mpf("1e-40"), mpmath.mpf("1e-13"), mpmath.mpf("1e-15")

# What has a smaller part in all that nothing shows, in tolerances, is determined to a ten-thousandth of them.
PART = 1e-4


class Machine(NamedTuple):
    """A robot with deviations, and what is read of it: drives, a tracker of positions or poses."""

    robot: Robot
    frames: Array
    parameters: tuple[Parameter, ...]
    readings: Array
    forces: Array
    turns: bool


def turned(vector: Array, R: Array) -> Array:
    """exp(vector) R by Rodrigues' formula."""
    angle = mpmath.sqrt(vector @ vector)
    if not angle:
        return R
    K = np.array([[0, -vector[2], vector[1]], [vector[2], 0, -vector[0]], [-vector[1], vector[0], 0]])
    once = K @ R
    return R + mpmath.sin(angle) / angle * once + 2 * (mpmath.sin(angle / 2) / angle) ** 2 * (K @ once)


def equations(machine: Machine, sample: int, state: Array, values: Array) -> tuple[Array, Array]:
    """What is zero at closed loops: closures, unit quaternions; and what is read, of one sample."""
    robot = machine.robot
    frames = machine.frames.copy()
    offsets: dict[int, Array] = {}
    zeros, seen = precise(np.zeros(len(robot.actuators))), precise(np.zeros(6))
    for one, value in zip(machine.parameters, values, strict=True):
        k = one.target[0]
        if one.kind == "frame":
            offsets.setdefault(k, precise(np.zeros(6)))[one.target[1]] += value
        elif one.kind == "device":
            seen[k] += value
        else:
            factor = {
                "zero": 1,
                "gear": machine.readings[sample, k],
                "compliance": -machine.forces[sample, k],
            }
            zeros[k] += value * factor[one.kind]
    places = [
        2 * j + side for j, joint in enumerate(robot.joints) if not joint.is_coupling for side in (0, 1)
    ]
    for frame, place in zip(frames, places, strict=True):
        if place in offsets:
            frame[:9] = turned(offsets[place][3:], frame[:9].reshape(3, 3)).ravel()
            frame[9:] += offsets[place][:3]
    displaced = robot.with_symbols(frames.ravel(), "geometry")
    size = 3 if robot.platform_nv == 3 else 7
    R = precise(np.eye(3)) if size == 3 else rotation_quat(state[3:7])
    motion = tree_kinematics(displaced, Pose(R, state[:3]), state[size:])
    quaternions = [] if size == 3 else [state[3:7]]
    at = size
    for primitive in (one for joint in robot.tree_joints for one in joint.primitives):
        if primitive is Primitive.SPHERICAL:
            quaternions.append(state[at : at + 4])
        at += primitive.nq
    drives = [
        state[size + robot.q_slices[a.joint].start] - zero
        for a, zero in zip(robot.actuators, zeros, strict=True)
    ]
    frame = turned(seen[3:], precise(np.eye(3))).T
    read = [*drives, *(frame @ (state[:3] - seen[:3]))]
    if machine.turns:
        read += [*(frame @ R).ravel()]
    closed = [*closure_residual(displaced, motion), *(q @ q - 1 for q in quaternions)]
    return np.array(closed, dtype=object), np.array(read, dtype=object)


def jacobian(machine: Machine, sample: int, state: Array, values: Array) -> Array:
    """Of all equations (rows, state and parameters), at a state whose loops are closed to all digits."""
    start = np.concatenate([state, values])

    def all_rows(point: Array) -> Array:
        return np.concatenate(equations(machine, sample, point[: len(state)], point[len(state) :]))

    def columns(point: Array, count: int) -> Array:
        here = all_rows(point)
        every = []
        for k in range(count):
            moved = point.copy()
            moved[k] += STEP
            every.append((all_rows(moved) - here) / STEP)
        return np.array(every, dtype=object).T

    # Closed to sixteen digits: with a Jacobian of sixteen digits every step gains as many.
    rows = len(equations(machine, sample, state, values)[0])
    inverse = np.linalg.pinv(columns(start, len(state))[:rows].astype(float), rcond=1e-9)
    for _ in range(5):
        open_by, _ = equations(machine, sample, start[: len(state)], values)
        scale = max(abs(value) for value in open_by) or mpmath.mpf(1)
        start[: len(state)] -= precise(inverse @ (open_by / scale).astype(float)) * scale
    # Overconstrained loops close to the digits of the description.
    assert max(abs(value) for value in precise(inverse @ (open_by / scale).astype(float)) * scale) < 1e-30
    assert max(abs(value) for value in open_by) < ROUNDING
    return columns(start, len(start))


def eliminate(rows: Array, count: int) -> tuple[Array, list[int]]:
    """Rows reduced with full pivots among the first `count` columns, and the pivots' columns."""
    A, pivots = rows.copy(), []
    largest = np.max(np.abs(A[:, :count]))
    while len(pivots) < min(len(A), count):
        done = len(pivots)
        block = np.abs(A[done:, :count])
        i, j = np.unravel_index(np.argmax(block), block.shape)
        if block[i, j] < ZERO * largest:
            assert block[i, j] < ROUNDING * largest
            break
        A[[done, done + i]] = A[[done + i, done]]
        A[done] = A[done] / A[done, j]
        for k in np.flatnonzero(A[:, j]):
            if k != done:
                A[k] = A[k] - A[k, j] * A[done]
        pivots.append(int(j))
    return A, pivots


def unidentified(machine: Machine, states: Array, values: Array) -> set[str]:
    """Names of parameters in the null space of all rows, states eliminated sample by sample."""
    seen = []
    for sample, state in enumerate(states):
        J = jacobian(machine, sample, precise(state), precise(values))
        reduced, pivots = eliminate(J, len(state))
        seen.append(reduced[len(pivots) :, len(state) :])
    tolerance = np.array([one.tolerance for one in machine.parameters])
    reduced, pivots = eliminate(np.concatenate(seen) * precise(tolerance), len(values))
    free = [k for k in range(len(values)) if k not in pivots]
    null = np.zeros((len(values), len(free)))
    null[pivots] = -reduced[: len(pivots)][:, free].astype(float)
    null[free] = np.eye(len(free))
    parts = np.linalg.norm(np.linalg.qr(null)[0], axis=1)
    return {one.name for one, part in zip(machine.parameters, parts, strict=True) if part > PART}


def check(
    robot: Robot,
    parameters: tuple[Parameter, ...],
    *,
    frame_known: bool = False,
    turns: bool = False,
    poses: int = 12,
) -> None:
    axes = AXES if turns else AXES[:3]
    noise = np.array([1e-5] * 3 + [2e-5] * 3)[: len(axes)]
    tracker = Tracker(np.zeros((0, len(axes))), noise, axes)
    tracker = (
        dataclasses.replace(tracker, tolerance=(0.0,) * 6) if frame_known else tracker.within(robot.size)
    )
    encoders = encoders_of(robot)
    blank = blank_campaign(
        Campaign(robot, np.zeros((0, len(encoders))), encoders, (tracker,)), drawn_poses(robot, poses)
    )
    rng = np.random.default_rng(3)
    values = rng.normal(size=len(parameters)) * [one.tolerance for one in parameters]
    system = System(locate_devices(simulate_campaign(blank, parameters, values, rng)), parameters)
    optimum = fit(system, robust=False)
    information = information_of(system, optimum)
    assert information.is_clear
    reported = {*information.unidentified_names(system.parameters)}
    campaign, states = system.campaign, optimum.point.states
    forces = np.zeros(campaign.readings.shape) if campaign.forces is None else campaign.forces
    with mpmath.workdps(DIGITS):
        frames = precise(robot.parameter_vector("geometry")).reshape(-1, 12)
        for frame in frames:
            frame[:9] = orthonormal(frame[:9].reshape(3, 3)).ravel()
        machine = Machine(robot, frames, system.parameters, campaign.readings, forces, turns)
        every = np.concatenate([states.platform, states.q], axis=1)
        expected = unidentified(machine, every, optimum.point.values)
    assert reported == expected


def possible(robot: Robot, *kinds: str) -> tuple[Parameter, ...]:
    """All parameters of some kinds but those that open loops."""
    known = [one for one in known_parameters(robot) if one.kind in kinds]
    opening = opening_parameters(robot, known)
    return tuple(one for one in known if one.name not in opening)


def some_parameters(robot: Robot, *more: str) -> tuple[Parameter, ...]:
    """The default parameters, others of some kinds, and those of frames of some joints."""
    chosen = {one.name for one in default_parameters(robot)}
    return tuple(
        one
        for one in possible(robot, "frame", "zero", "gear", "compliance")
        if one.name in chosen or one.kind in more or one.name.rpartition(".")[0] in more
    )


@pytest.mark.slow
@pytest.mark.parametrize("frame_known", [False, True])
def test_five_bar(frame_known: bool) -> None:
    robot = nacelle.load("fivebar")
    chosen = some_parameters(robot, "gear", "compliance", "left.distal-input.predecessor")
    check(robot, chosen, frame_known=frame_known)


def test_information_ends_at_the_largest_step() -> None:
    def information(*values: float) -> Information:
        return Information(np.array(values), np.eye(len(values)))

    assert information(1e6, 1.0).rank == 2
    assert information(1e6, 1.0, 1e-2, 1e-10, 1e-11).rank == 3
    assert information(1e6, 5e-6, 1e-10, 0.0).rank == 2
    assert information(1e6, 1e-5, 5e-7).rank == 3
    assert information(0.0, 0.0).rank == 0
    assert information(1e6, 5e-6, 1e-10, 0.0).is_clear
    assert not information(1e6, 3e-7).is_clear


@pytest.mark.soak
@pytest.mark.parametrize("frame_known", [False, True])
@pytest.mark.parametrize(
    ("profile", "seed"),
    [
        *(("point PRR", 2), ("point PRR", 5), ("planar RRR", 1), ("planar RRR", 4)),
        *(("6 UPS", 1), ("6 RUS", 2), ("6 RRRS", 3), ("3 URU", 1), ("3 RPS", 1)),
    ],
)
def test_random_robots(profile: str, seed: int, frame_known: bool) -> None:
    robot = random_robot(profile, seed)
    check(
        robot,
        some_parameters(robot, "gear", robot.joints[0].name + ".successor"),
        frame_known=frame_known,
        turns=robot.platform_nv == 6,
    )


@pytest.mark.soak
@pytest.mark.parametrize("frame_known", [False, True])
@pytest.mark.parametrize("name", ["linear-delta", "delta", "gough-stewart"])
def test_spatial_robots(name: str, frame_known: bool) -> None:
    """The default parameters, the compliance of drives, and all axes of one joint."""
    robot = linear_delta() if name == "linear-delta" else nacelle.load(name)
    frame = {"linear-delta": "leg1.slide.predecessor", "delta": "leg1.shoulder.successor"}
    chosen = some_parameters(robot, "compliance", frame.get(name, "leg1.1.successor"))
    check(robot, chosen, frame_known=frame_known, turns=True)

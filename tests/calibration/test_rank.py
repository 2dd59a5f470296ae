"""What is not identified: against the rank of plain equations at fifty digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import nacelle
from calibration.campaigns import Array, bench
from nacelle.calibration.calibration import calibrate
from nacelle.calibration.parameters import Parameter, known_parameters
from nacelle.calibration.poses import opening_parameters
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_quat
from nacelle.tree.closure import closure_residual
from nacelle.tree.spanning_tree import tree_kinematics
from support.forty_digits import precise
from support.random_robots import random_robot

DIGITS = 50


def rank(rows: list[list[mpmath.mpf]]) -> int:
    """By elimination with full pivots; what is below 1e-15 of the largest entry is rounding of frames."""
    A = [row[:] for row in rows]
    count, done = len(A[0]), 0
    largest = max(abs(value) for row in A for value in row)
    while done < min(len(A), count):
        best = max(
            ((abs(A[i][j]), i, j) for i in range(done, len(A)) for j in range(done, count)), default=None
        )
        if best is None or best[0] < largest * mpmath.mpf("1e-12"):
            break
        _, i, j = best
        A[done], A[i] = A[i], A[done]
        for row in A:
            row[done], row[j] = row[j], row[done]
        pivot = A[done]
        for row in A[done + 1 :]:
            factor = row[done] / pivot[done]
            if factor:
                for k in range(done, count):
                    row[k] -= factor * pivot[k]
        done += 1
    return done


def equations(robot: Robot, state: Array, geometry: Array, zeros: Array, device: Array) -> list[mpmath.mpf]:
    """Closures, drives less their zeros, and what a tracker sees at a shift and a small turn, of one pose."""
    machine = robot.with_symbols(geometry, "geometry")
    size = 3 if robot.platform_nv == 3 else 7
    R = precise(np.eye(3)) if size == 3 else rotation_quat(state[3:7])
    motion = tree_kinematics(machine, Pose(R, state[:3]), state[size:])
    drives = [
        state[size:][robot.q_slices[a.joint].start] - zero
        for a, zero in zip(robot.actuators, zeros, strict=True)
    ]
    p = state[:3] - device[:3]
    turned = [
        p[i] - (device[3 + (i + 1) % 3] * p[(i + 2) % 3] - device[3 + (i + 2) % 3] * p[(i + 1) % 3])
        for i in range(3)
    ]
    units = [] if size == 3 else [sum(value * value for value in state[3:7])]
    return [*closure_residual(machine, motion), *drives, *turned, *units]


def unidentified(robot: Robot, parameters: tuple[Parameter, ...], x: Array, *, device: bool) -> set[str]:
    """Names of parameters whose column lies in the span of the others, all states unknown."""
    inverse = inverse_kinematics(robot, x, limits=False)
    from nacelle.calibration.loops import states_at

    states = states_at(inverse)
    rows: list[list[mpmath.mpf]] = []
    names = [one.name for one in parameters] + (
        [f"tracker.{k}" for k in ("x", "y", "z", "rx", "ry", "rz")] if device else []
    )
    size = states.platform.shape[1] + states.q.shape[1]
    geometry_names = robot.parameter_names("geometry")
    h = mpmath.mpf(10) ** -20
    for k in range(len(x)):
        state = precise(np.concatenate([states.platform[k], states.q[k]]))
        geometry, zeros = precise(robot.parameter_vector("geometry")), precise(np.zeros(len(robot.actuators)))
        seen = precise(np.zeros(6))
        columns = []
        for n in range(size + len(names)):
            ends = []
            for sign in (1, -1):
                s, g, z, d = state.copy(), geometry.copy(), zeros.copy(), seen.copy()
                if n < size:
                    s[n] += sign * h
                elif n - size < len(parameters):
                    one = parameters[n - size]
                    if one.kind == "zero":
                        z[one.target[0]] += sign * h
                    else:
                        joint, side = divmod(one.target[0], 2)
                        at = geometry_names.index(
                            f"{robot.joints[joint].name}.{('predecessor', 'successor')[side]}.Rxx"
                        )
                        displace(g, at, one.target[1], sign * h)
                else:
                    d[n - size - len(parameters)] += sign * h
                ends.append(equations(robot, s, g, z, d))
            columns.append([(a - b) / (2 * h) for a, b in zip(*ends, strict=True)])
        for i in range(len(columns[0])):
            row = [mpmath.mpf(0)] * (size * len(x) + len(names))
            for n, column in enumerate(columns):
                row[size * k + n if n < size else size * len(x) + n - size] = column[i]
            rows.append(row)
    whole = rank(rows)
    first = size * len(x)
    return {
        name
        for n, name in enumerate(names)
        if rank([row[: first + n] + row[first + n + 1 :] for row in rows]) == whole
    }


def displace(geometry: Array, at: int, axis: int, value: mpmath.mpf) -> None:
    """Move a frame (twelve numbers from `at`) along or about an axis of its body."""
    if axis < 3:
        geometry[at + 9 + axis] += value
        return
    i, j = (axis - 3 + 1) % 3, (axis - 3 + 2) % 3
    c, s = mpmath.cos(value), mpmath.sin(value)
    for k in range(3):
        first, second = geometry[at + 3 * i + k], geometry[at + 3 * j + k]
        geometry[at + 3 * i + k], geometry[at + 3 * j + k] = c * first - s * second, s * first + c * second


def check(robot: Robot, parameters: tuple[Parameter, ...], *, device: bool) -> None:
    made = bench(robot, 12, parameters=parameters, coordinates=("x", "y", "z"), seed=3)
    campaign = made.campaign
    if not device:
        from calibration.campaigns import FRAME

        campaign = made.with_tracker(made.seen, frame=FRAME, tolerance=(0.0,) * 6)
    result = calibrate(campaign, parameters, validate=False)
    with mpmath.workdps(DIGITS):
        expected = unidentified(robot, parameters, made.x[:6], device=device)
    assert {*result.unidentified} == expected


@pytest.mark.slow
@pytest.mark.parametrize("device", [True, False])
def test_five_bar(device: bool) -> None:
    robot = nacelle.load("fivebar")
    known = [one for one in known_parameters(robot) if one.kind in ("frame", "zero")]
    opening = opening_parameters(robot, known)
    chosen = tuple(one for one in known if one.name not in opening)
    check(robot, chosen, device=device)


@pytest.mark.slow
def test_a_random_planar_robot() -> None:
    robot = random_robot("point PRR", 2)
    known = [one for one in known_parameters(robot) if one.kind in ("frame", "zero")]
    opening = opening_parameters(robot, known)
    chosen = tuple(one for one in known if one.name not in opening)[:24]
    check(robot, chosen, device=True)

"""Derivatives of the dynamics against exact differences."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from itertools import cycle
from typing import Any

import mpmath
import numpy as np
import pytest

from nacelle.dynamics import reference
from nacelle.dynamics.derivatives.derivatives import dynamics_derivatives
from nacelle.dynamics.external import stack_wrenches
from nacelle.dynamics.physics import Physics
from nacelle.kinematics.configuration import configuration
from nacelle.kinematics.kinematic_model import pose_tangent
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import solve_loops
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.model.joint import Spring
from nacelle.model.numbers import GROUPS
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_exp, quat_multiply
from nacelle.tree.closure import closure_residual
from support.compare import relative_error
from support.random_robots.legs import CASES
from support.random_robots.loads import with_random_friction, with_random_inertias
from support.uncompiled import mark_slow_names, named_robot, poses_around, solve_uncompiled

# ---- derivatives
#
# Derivatives of inverse and forward dynamics against differences over mpmath, by everything that there is.
#
# Differences with step 1e-18 and 50 digits are exact to far more than rounding; loops of iteration are
# closed to as many digits. Each is taken along a random direction, in which every number has its part.

Array = np.ndarray

FEW = ("fivebar", "3rps", "redundant", "point RRR + PRR")

MORE = (
    "3rrr",
    "delta-codourey",
    "planar RPR",
    "c5",
    "gough-stewart",
    "quattro",
    "orthoglide",
    "everything",
    "6 P-C5",
    "6 RSS",
    "6 UPS cut at the slide",
)

MORE += ("3 R[SS|SS]", "3 PRPaR", "3 RPS")

NAMES = mark_slow_names([*FEW, *MORE], long=MORE)

STEP = "1e-18"


@dataclasses.dataclass(frozen=True)
class State:
    """A robot in a motion, under actuator forces and a load."""

    robot: Robot
    x: Array
    v: Array
    a: Array
    tau: Array
    external: dict[str, Array]


@cache
def state(name: str) -> State:
    """A robot with random inertias, friction of all kinds, rotors, springs and a load, off its reference."""
    plain = CASES[name](1).robot if name in CASES else named_robot(name)
    robot = with_random_friction(with_random_inertias(plain, 3), 4)
    active = {actuator.joint for actuator in robot.actuators}
    joints = []
    for k, joint in enumerate(robot.joints):
        if k in active:
            joint = dataclasses.replace(
                joint, rotor_inertia=0.02, gear_ratio=3.0, springs=(Spring(3.0, 0.2),)
            )
        joints.append(joint)
    robot = dataclasses.replace(robot, joints=tuple(joints))
    rng = np.random.default_rng(9)
    n = robot.motion.n
    wrench = rng.normal(size=6)
    if robot.platform.kind == "point":
        wrench[3:] = 0.0
    return State(
        robot,
        poses_around(robot, 1, seed=2)[0],
        rng.uniform(0.2, 0.8, n) * rng.choice([-1.0, 1.0], n),
        rng.normal(size=n),
        rng.normal(size=len(robot.actuators)),
        {robot.bodies[1].name: wrench},
    )


def high(values: Any) -> Array:
    """Numbers with 50 digits."""
    array = np.asarray(values)
    flat = [mpmath.mpf(value) for value in array.ravel().tolist()]
    return np.array(flat, dtype=object).reshape(array.shape)


class Exact:
    """The dynamics of a state over mpmath, as a function of small changes of everything."""

    def __init__(self, case: State, kind: str, physics: Physics) -> None:
        self.case, self.kind, self.physics = case, kind, physics
        self.x = high(case.x)
        place = mechanism_of(case.robot).layout.quaternion
        if place is not None:
            self.x[place] = self.x[place] / mpmath.sqrt(sum(c * c for c in self.x[place]))
        self.y = self.closed(case.robot, self.x, high(solve_loops(case.robot, case.x)[1]))
        self.X = pose_tangent(case.robot, self.x, self.y)["x"]
        self.p = high(case.robot.parameter_vector())

    def closed(self, robot: Robot, x: Array, y: Array) -> Array:
        for _ in range(4 if y.size else 0):
            y = y + loop_closing_step(robot, y, x)["dy"]
        return y

    def value(self, e: Any = None, dv: Any = None, dw: Any = None, dp: Any = None) -> Array:
        case = self.case
        robot = case.robot if dp is None else case.robot.with_symbols(self.p + dp)
        x = self.x if e is None else self.x + self.X @ e
        place = mechanism_of(case.robot).layout.quaternion
        if e is not None and place is not None:
            x[place] = x[place] / mpmath.sqrt(sum(c * c for c in x[place]))
        y = self.y if e is None and dp is None else self.closed(robot, x, self.y)
        v = high(case.v) if dv is None else high(case.v) + dv
        w = high(case.a if self.kind == "inverse" else case.tau)
        w = w if dw is None else w + dw
        load = reference.project_external_wrenches(
            robot, x, y, high(stack_wrenches(case.robot, case.external))
        )
        model = reference.inverse if self.kind == "inverse" else reference.forward
        found = model(robot, x, y, v, w, load, physics=self.physics)
        return np.asarray(found["force" if self.kind == "inverse" else "acceleration"])

    def slope(self, name: str, direction: Array) -> Array:
        """Derivative along a direction of one of the arguments of `value`."""
        h = mpmath.mpf(STEP)
        ends = [self.value(**{name: high(direction) * s}) for s in (h, -h)]
        return np.asarray((ends[0] - ends[1]) / (2 * h)).astype(float)


def closable(case: State) -> Array:
    """Which numbers (numbers,) the loops can follow, to first order: the others open them for good.

    With r what the closures leave open and Q across the range of its derivative by y: Q^T dr/dp = 0. Beyond
    such loops (a planar one out of its plane) formulations need not agree, and nothing can be assembled.
    """
    robot, p = case.robot, high(case.robot.parameter_vector())
    x, y = high(case.x), high(solve_loops(robot, case.x)[1])

    def gaps(p: Array, y: Array) -> Array:
        own = robot.with_symbols(p)
        return np.asarray(closure_residual(own, configuration(own, x, y).motion))

    def slopes(function: Callable[[Array], Array], size: int) -> Array:
        h = mpmath.mpf(STEP)
        rows = [(function(h * unit) - function(-h * unit)) / (2 * h) for unit in high(np.eye(size))]
        return np.array(rows).reshape(size, len(gaps(p, y))).astype(float)

    by_y = slopes(lambda step: gaps(p, y + step), len(y))
    U, s, _ = np.linalg.svd(by_y.T)
    across = U[:, int(np.sum(s > 1e-9)) :]
    opened = slopes(lambda step: gaps(p + step, y), len(p)) @ across
    return np.asarray(np.max(np.abs(opened), axis=1, initial=0.0) < 1e-9)


def exact_cases() -> list:
    """Both kinds in turn: those of some families are slow, the others soak."""
    pairs = zip((*FEW, *MORE), cycle(["inverse", "forward"]), strict=False)
    first = (*FEW, "c5")
    return [pytest.param(*p, marks=pytest.mark.slow if p[0] in first else pytest.mark.soak) for p in pairs]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("name", "kind"), exact_cases())
def test_derivatives_are_those_of_exact_differences(name: str, kind: str) -> None:
    case = state(name)
    robot, rng = case.robot, np.random.default_rng(11)
    smooth = 0.3
    w = case.a if kind == "inverse" else case.tau
    found = dynamics_derivatives(
        robot, case.x, case.v, w, kind=kind, parameters=GROUPS, external=case.external, smooth=smooth
    )
    given = found.a if kind == "inverse" else found.tau
    assert found.parameters is not None
    assert given is not None
    assert found.parameter_names == robot.parameter_names()
    matrices = {"e": found.x, "dv": found.v, "dw": given}
    with mpmath.workdps(50):
        exact = Exact(case, kind, Physics(smooth=smooth))
        assert relative_error(found.value, exact.value().astype(float)) < 1e-9
        for argument, matrix in matrices.items():
            direction = rng.normal(size=matrix.shape[-1])
            assert relative_error(matrix @ direction, exact.slope(argument, direction)) < 1e-9, argument
        # Group by group, so that none hides behind another.
        p, kept = robot.parameter_vector(), closable(case)
        assert np.count_nonzero(kept) > len(p) // 3
        start = 0
        for group in GROUPS:
            size = len(robot.parameter_names(group))
            direction = np.zeros(len(p))
            direction[start : start + size] = 0.1 * rng.normal(size=size) * kept[start : start + size]
            start += size
            if size:
                slope = exact.slope("dp", direction)
                assert relative_error(found.parameters @ direction, slope) < 1e-9, group


@pytest.mark.parametrize("name", mark_slow_names(("3rps", "gough-stewart"), long=("gough-stewart",)))
def test_smooth_friction_has_its_slope_at_rest(name: str) -> None:
    """Also in balls, where friction acts along a direction that rest does not have."""
    case = dataclasses.replace(state(name), v=np.zeros(state(name).robot.motion.n))
    direction = np.random.default_rng(12).normal(size=case.v.size)
    for smooth in (0.3, 1e-2):
        found = dynamics_derivatives(
            case.robot, case.x, None, case.tau, kind="forward", external=case.external, smooth=smooth
        )
        with mpmath.workdps(50):
            slope = Exact(case, "forward", Physics(smooth=smooth)).slope("dv", direction)
        assert relative_error(found.v @ direction, slope) < 1e-9


# ---- The tangent of the pose against differences of what iteration finds along a twist


@pytest.mark.parametrize("name", ["3rps", "dymo", "everything"])
def test_unknowns_move_with_the_pose(name: str) -> None:
    robot = named_robot(name)
    mechanism, layout, n = mechanism_of(robot), mechanism_of(robot).layout, robot.motion.n
    x = mechanism.reference[0] + 0.01 * np.random.default_rng(1).uniform(-1.0, 1.0, layout.nx)
    if layout.quaternion is not None:
        x[layout.quaternion] /= np.linalg.norm(x[layout.quaternion])
    found = pose_tangent(robot, x, solve_uncompiled(robot, x[None])[0])
    X, Y = np.asarray(found["x"], dtype=float), np.asarray(found["y"], dtype=float)
    # The pose moved by small translations and rotations about the base's axes, one entry at a time.
    step, parts = 1e-4, np.array([-2.0, -1.0, 1.0, 2.0])
    e = step * parts[:, None, None] * np.eye(n)
    poses = x + e @ X.T
    if layout.quaternion is not None:
        turned = quat_multiply(quat_exp(e[..., layout.angular]), x[layout.quaternion])
        poses[..., layout.quaternion] = turned
    y = solve_uncompiled(robot, poses.reshape(-1, layout.nx)).reshape(4, n, -1)
    for values, expected in ((poses, X), (y, Y)):
        slope = np.tensordot([1.0, -8.0, 8.0, -1.0], values, 1) / (12.0 * step)
        np.testing.assert_allclose(slope.T, expected, rtol=0, atol=1e-9)

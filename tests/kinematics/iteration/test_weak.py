"""States at which a fixed pivot vanishes, and the leg is not singular: the tree takes over."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.formulations import reference as tree
from nacelle.dynamics.general import models as general
from nacelle.kinematics.iteration import weak
from nacelle.kinematics.jacobian import conditioning, scaled_inverse
from nacelle.kinematics.kinematic_model import dense_margins, inverse_jacobian
from nacelle.kinematics.motion import solved
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, pack
from nacelle.verify.states import random_states
from support.leg_robots import CASES
from support.random_inertia import with_random_inertias
from support.stress_robots import STRESS
from support.uncompiled import run_uncompiled

TOLERANCE = 1e-9
# Parts of the way between two states on either side of the zero by which it is missed.
APART = (1e-3, 1e-6, 1e-9, 1e-12)
# How much farther from the reference than usual states are sought, too.
WIDE = 2.5


def pivots(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """All pivots of the legs, and how independent the legs' rates are."""
    legs = general.legs_at(robot, x, y)
    values = [value for factors in legs.factors for value in factors.pivots.values()]
    return {"pivots": pack(values), "margins": dense_margins(robot, x, y)["margins"]}


def zeros(robot: Robot, count: int) -> Array:
    """Poses around zeros of pivots, between states at which their signs differ."""
    near, centre = random_states(robot, count, 5).x, nacelle.reference_pose(robot)
    far = _between(robot, np.broadcast_to(centre, near.shape), near, np.full(count, WIDE))
    x = np.concatenate([near, far])
    x = x[nacelle.inverse_kinematics(robot, x, limits=False).flags == 0]
    signs = np.sign(run_uncompiled(pivots, robot, x, solved(robot, x)[1])["pivots"])
    found = []
    for k in range(signs.shape[1]):
        below, above = np.flatnonzero(signs[:, k] < 0), np.flatnonzero(signs[:, k] > 0)
        pairs = list(zip(below[:3], above[:3], strict=False))
        if pairs:
            first, second = (x[[pair[side] for pair in pairs]] for side in (0, 1))
            part = _bisected(robot, k, first, second)
            found += [_between(robot, first, second, part + apart) for apart in APART]
    return np.concatenate(found) if found else np.zeros((0, x.shape[1]))


def _bisected(robot: Robot, k: int, first: Array, second: Array) -> Array:
    """Where a pivot vanishes between poses: parts of the way."""
    low, high = np.zeros(len(first)), np.ones(len(first))
    for _ in range(50):
        middle = 0.5 * (low + high)
        x = _between(robot, first, second, middle)
        negative = run_uncompiled(pivots, robot, x, solved(robot, x)[1])["pivots"][:, k] < 0.0
        low, high = np.where(negative, middle, low), np.where(negative, high, middle)
    return low


def _between(robot: Robot, first: Array, second: Array, part: Array) -> Array:
    x = first + part[:, None] * (second - first)
    if x.shape[1] == 7:
        x[:, 3:] /= np.linalg.norm(x[:, 3:], axis=1, keepdims=True)
    return x


def ordinary(robot: Robot, x: Array) -> Array:
    """Poses that are reached, on the branch, near no singularity."""
    joints = nacelle.inverse_kinematics(robot, x, limits=False)
    x = x[joints.flags == 0]
    exact = run_uncompiled(tree.inertia, robot, x, solved(robot, x)[1])
    good = (conditioning(scaled_inverse(robot, exact["A"])) > 1e-3) & np.all(exact["margins"] > 1e-6, axis=1)
    return np.asarray(x[good])


def compare(robot: Robot, x: Array) -> Array:
    """All functions against the tree; the worst difference at every pose."""
    rng = np.random.default_rng(3)
    v, a, tau = (rng.normal(size=(len(x), n)) for n in (robot.motion.n, robot.motion.n, len(robot.actuators)))
    y, none = solved(robot, x)[1], np.zeros_like(v)
    inverse, forward = (
        run_uncompiled(f, robot, x, y, v, u, none) for f, u in ((tree.inverse, a), (tree.forward, tau))
    )
    inertia, bias = run_uncompiled(tree.inertia, robot, x, y), run_uncompiled(tree.bias, robot, x, y, v)
    pairs = {
        "force": (nacelle.inverse_dynamics(robot, x, v, a).force, inverse["force"]),
        "acceleration": (nacelle.forward_dynamics(robot, x, v, tau).acceleration, forward["acceleration"]),
        "Jacobian": (nacelle.jacobian(robot, x).inverse, inertia["A"]),
        "mass matrix": (nacelle.mass_matrix(robot, x), inertia["M"]),
        "bias": (nacelle.bias_forces(robot, x, v), bias["h"]),
        "gravity": (nacelle.gravity_forces(robot, x), run_uncompiled(tree.gravity, robot, x, y)["g"]),
    }
    worst = np.zeros(len(x))
    for name, (found, exact) in pairs.items():
        axes = tuple(range(1, exact.ndim))
        error = np.max(np.abs(found - exact), axis=axes) / np.max(np.abs(exact), axis=axes)
        assert np.all(error < TOLERANCE), f"{name}: {np.max(error):.2g}"
        worst = np.maximum(worst, error)
    return worst


ROBOTS: dict[str, Callable[[], Robot]] = {
    "fixed joints": lambda: STRESS["fixed joints"](1),
    "6 RRPS": lambda: with_random_inertias(CASES["6 RRPS"](1).robot, 1),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_zeros_of_pivots(name: str) -> None:
    robot = ROBOTS[name]()
    x = ordinary(robot, zeros(robot, 150))
    figures = run_uncompiled(inverse_jacobian, robot, x, solved(robot, x)[1])["pivot"]
    assert np.sum(figures < 1e-8) >= 4, "no pivot vanishes: another robot is needed here"
    assert np.all(compare(robot, x) < TOLERANCE)


@pytest.mark.parametrize("name", STRESS)
def test_ordinary_states_are_not_weak(name: str) -> None:
    """The figure does not depend on the size of pivots, only on what they do to others."""
    robot = STRESS[name](1)
    x = random_states(robot, 20, 5).x
    figure = run_uncompiled(inverse_jacobian, robot, x, solved(robot, x)[1])["pivot"]
    assert np.mean(figure < 3.0 * weak.WEAK_PIVOT) <= 0.1

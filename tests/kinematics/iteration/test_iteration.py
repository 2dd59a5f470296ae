"""Iteration: closing, precise states, unknowns, weak."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.formulations import reference as tree
from nacelle.dynamics.general import models as general
from nacelle.export.states import seeded_states
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.general.plan import plan_of
from nacelle.kinematics.iteration import weak
from nacelle.kinematics.iteration.closing import closing_of
from nacelle.kinematics.iteration.precise_states import PreciseStates, open_loops
from nacelle.kinematics.jacobian import conditioning, scaled_inverse
from nacelle.kinematics.kinematic_model import dense_margins, inverse_jacobian
from nacelle.kinematics.motion import solved
from nacelle.model.robot import Robot
from nacelle.program.precise import exact
from nacelle.spatial.scalar import Array, pack
from nacelle.verify.states import random_states
from support.library import library_robot
from support.random_robots import inner_loops
from support.random_robots.legs import CASES
from support.random_robots.loads import with_random_inertias
from support.stress_robots import STRESS
from support.uncompiled import run_uncompiled

# ---- closing
#
# What is done with a pose before a differentiated program: the robot's own quaternion, step and search.


@pytest.mark.slow
def test_unknowns_are_those_of_the_robot() -> None:
    robot = library_robot("3rps")
    closing, states = closing_of(robot), seeded_states(robot, 3)
    assert closing.step is not None
    np.testing.assert_array_equal(closing.find(states.x, None), states.y)
    np.testing.assert_allclose(closing.find(states.x, states.y), states.y, atol=1e-12)


def test_robots_in_closed_form_have_none() -> None:
    closing = closing_of(library_robot("palida"))
    assert closing.step is None
    assert closing.quaternion == slice(3, 7)
    assert closing.find(np.asarray(closing.reference[0])[None], None).shape == (1, 0)


# ---- States with many digits: near those in double, loops closed to the digits that are asked for


@pytest.mark.parametrize("digits", [30, 50])
def test_loops_are_closed_to_so_many_digits(digits: int) -> None:
    robot = library_robot("3rps").alike
    states = PreciseStates(robot, digits=digits)
    for x, y in plan_of(robot).samples[:2]:
        state = states.at(x, y)
        assert state is not None
        assert max(abs(gap) for gap in exact(states.program(open_loops), [*state[1], *state[0]])) < Decimal(
            10
        ) ** -(digits - 4)
        np.testing.assert_array_equal([float(value) for value in state[0]], x)
        np.testing.assert_allclose([float(value) for value in state[1]], y, rtol=0.0, atol=1e-12)


def test_quaternions_have_unit_length() -> None:
    robot = library_robot("hexaglide").alike
    states = PreciseStates(robot)
    place = states.mechanism.layout.quaternion
    assert place is not None
    state = states.at(*plan_of(robot).samples[3])
    assert state is not None
    assert abs(sum(value * value for value in state[0][place]) - 1) < Decimal("1e-26")


def test_loops_that_do_not_close_give_none() -> None:
    robot = library_robot("3rps").alike
    x, y = plan_of(robot).samples[1]
    assert PreciseStates(robot).at(x + np.array([10.0, 0.0, 0.0]), y) is None


# ---- What iteration finds at poses: along a path, and from guesses


def test_following_a_path() -> None:
    """A path in order: the same as each pose for itself; gaps and poses out of reach keep their place."""
    leg = inner_loops.draw(0)
    robot = leg.robot
    hip = np.linspace(0.0, 0.5, 301) + 1.0
    knee = leg.knee + 0.3 * np.sin(np.linspace(0.0, 7.0, 301))
    x = leg.foot(hip, knee)
    x[100] = np.nan
    x[150] = 10.0
    path = nacelle.inverse_kinematics(robot, x, follow=True, limits=False)
    each = nacelle.inverse_kinematics(robot, x, limits=False)
    assert path.flags[100] == Flag.INVALID
    assert path.flags[150] == Flag.UNREACHABLE
    np.testing.assert_array_equal(path.flags, each.flags)
    good = path.flags == 0
    assert np.sum(good) > 250
    # A path may go round; angles are the same up to whole turns.
    assert np.max(np.abs(np.sin(0.5 * (path.y[good] - each.y[good])))) < 1e-12


def test_guesses() -> None:
    """Rows of a guess that have no solution count as none; what is no solution gets a clear error."""
    leg = inner_loops.draw(0)
    robot = leg.robot
    x = leg.foot(np.full(4, 1.0), leg.knee + np.linspace(-0.1, 0.1, 4))
    plain = nacelle.inverse_kinematics(robot, x, limits=False)
    holes = x.copy()
    holes[[0, 2]] = np.nan
    guess = nacelle.inverse_kinematics(robot, holes, limits=False)
    for follow in (False, True):
        again = nacelle.inverse_kinematics(robot, x, guess=guess, follow=follow, limits=False)
        assert np.all(again.flags == 0)
        np.testing.assert_allclose(again.actuators, plain.actuators, atol=1e-12)
    with pytest.raises(nacelle.KinematicsError, match="the guess is a solution of leg"):
        nacelle.inverse_kinematics(robot, x, **{"guess": x})
    fivebar = nacelle.load("fivebar")  # without unknowns
    other = nacelle.inverse_kinematics(fivebar, nacelle.reference_pose(fivebar))
    with pytest.raises(nacelle.KinematicsError, match="with 2 coordinates and 4 unknowns"):
        nacelle.inverse_kinematics(robot, x, guess=other)


# ---- States at which a fixed pivot vanishes, and the leg is not singular: the tree takes over

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
    for name, (found, right) in pairs.items():
        axes = tuple(range(1, right.ndim))
        error = np.max(np.abs(found - right), axis=axes) / np.max(np.abs(right), axis=axes)
        assert np.all(error < TOLERANCE), f"{name}: {np.max(error):.2g}"
        worst = np.maximum(worst, error)
    return worst


ROBOTS: dict[str, Callable[[], Robot]] = {
    "fixed joints": lambda: STRESS["fixed joints"](1),
    "6 RRPS": lambda: with_random_inertias(CASES["6 RRPS"](1).robot, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_zeros_of_pivots(name: str) -> None:
    robot = ROBOTS[name]()
    x = ordinary(robot, zeros(robot, 150))
    figures = run_uncompiled(inverse_jacobian, robot, x, solved(robot, x)[1])["pivot"]
    assert np.sum(figures < 1e-8) >= 4, "no pivot vanishes: another robot is needed here"
    assert np.all(compare(robot, x) < TOLERANCE)


@pytest.mark.costly
@pytest.mark.parametrize("name", STRESS)
def test_ordinary_states_are_not_weak(name: str) -> None:
    """The figure does not depend on the size of pivots, only on what they do to others."""
    robot = STRESS[name](1)
    x = random_states(robot, 20, 5).x
    figure = run_uncompiled(inverse_jacobian, robot, x, solved(robot, x)[1])["pivot"]
    assert np.mean(figure < 3.0 * weak.WEAK_PIVOT) <= 0.1

"""Iteration: closing, continuation, precise states, samples, unknowns, ill-conditioned states."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
import pytest

import nacelle
from nacelle.compact import models as general
from nacelle.compile import make_program
from nacelle.compile.native import numpy_kernel
from nacelle.dynamics import reference as dynamics
from nacelle.dynamics import reference as tree
from nacelle.emit.newton import NumpyNewton
from nacelle.emit.track import BLOCKED, FOLLOWED, NumpyTrack
from nacelle.export.states import random_states as seeded_states
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.jacobian import conditioning, scaled_inverse
from nacelle.kinematics.kinematic_model import branch_signs, dense_margins, inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import solve_loops
from nacelle.kinematics.sample_states import closed_sample_states
from nacelle.kinematics.samples import PreciseStates, input_samples, iterated_residual
from nacelle.kinematics.solve import ill_conditioned
from nacelle.kinematics.solve.continuation import (
    Equations,
    SearchedSamples,
    build_roadmap,
    polish_solutions,
)
from nacelle.kinematics.solve.unknowns import _UnknownSearch, closing_driver
from nacelle.model.read import read_text
from nacelle.model.robot import Robot
from nacelle.program.identities.values import PreciseInputs
from nacelle.program.precise import decimal_context, evaluate_decimal
from nacelle.sketch.sketch import sketch
from nacelle.spatial.physics import input_shapes
from nacelle.spatial.scalar import Array, absolute, divide, pack
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
    closing, states = closing_driver(robot), seeded_states(robot, 3)
    assert closing.step is not None
    np.testing.assert_array_equal(closing.find(states.x, None), states.y)
    np.testing.assert_allclose(closing.find(states.x, states.y), states.y, atol=1e-12)


def test_robots_in_closed_form_have_none() -> None:
    closing = closing_driver(library_robot("palida"))
    assert closing.step is None
    assert closing.quaternion == slice(3, 7)
    assert closing.find(np.asarray(closing.reference[0])[None], None).shape == (1, 0)


# ---- States with many digits: near those in double, loops closed to the digits that are asked for


def test_loops_that_do_not_close_give_none() -> None:
    robot = library_robot("3rps").without_rounding_differences
    x, y = closed_sample_states(robot)[1]
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
        np.testing.assert_allclose(again.q, plain.q, atol=1e-12)
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
    legs = general.eliminated_legs(robot, x, y)
    values = [value for factors in legs.factors for value in factors.pivots.values()]
    return {"pivots": pack(values), "margins": dense_margins(robot, x, y)["margins"]}


def zeros(robot: Robot, count: int) -> Array:
    """Poses around zeros of pivots, between states at which their signs differ."""
    near, centre = random_states(robot, count, 5).x, nacelle.reference_pose(robot)
    far = _between(robot, np.broadcast_to(centre, near.shape), near, np.full(count, WIDE))
    x = np.concatenate([near, far])
    x = x[nacelle.inverse_kinematics(robot, x, limits=False).flags == 0]
    signs = np.sign(run_uncompiled(pivots, robot, x, solve_loops(robot, x)[1])["pivots"])
    found = []
    for k in range(signs.shape[1]):
        below, above = np.flatnonzero(signs[:, k] < 0), np.flatnonzero(signs[:, k] > 0)
        pairs = list(zip(below[:3], above[:3], strict=False))
        if pairs:
            first, second = (x[[pair[side] for pair in pairs]] for side in (0, 1))
            part = _bisect(robot, k, first, second)
            found += [_between(robot, first, second, part + apart) for apart in APART]
    return np.concatenate(found) if found else np.zeros((0, x.shape[1]))


def _bisect(robot: Robot, k: int, first: Array, second: Array) -> Array:
    """Where a pivot vanishes between poses: parts of the way."""
    low, high = np.zeros(len(first)), np.ones(len(first))
    for _ in range(50):
        middle = 0.5 * (low + high)
        x = _between(robot, first, second, middle)
        negative = run_uncompiled(pivots, robot, x, solve_loops(robot, x)[1])["pivots"][:, k] < 0.0
        low, high = np.where(negative, middle, low), np.where(negative, high, middle)
    return low


def _between(robot: Robot, first: Array, second: Array, part: Array) -> Array:
    x = first + part[:, None] * (second - first)
    if x.shape[1] == 7:
        x[:, 3:] /= np.linalg.norm(x[:, 3:], axis=1, keepdims=True)
    return x


def regular_states(robot: Robot, x: Array) -> Array:
    """Poses that are reached, on the branch, near no singularity."""
    joints = nacelle.inverse_kinematics(robot, x, limits=False)
    x = x[joints.flags == 0]
    exact = run_uncompiled(tree.inertia, robot, x, solve_loops(robot, x)[1])
    good = (conditioning(scaled_inverse(robot, exact["A"])) > 1e-3) & np.all(exact["margins"] > 1e-6, axis=1)
    return np.asarray(x[good])


def compare(robot: Robot, x: Array) -> Array:
    """All functions against the tree; the worst difference at every pose."""
    rng = np.random.default_rng(3)
    v, a, tau = (rng.normal(size=(len(x), n)) for n in (robot.motion.n, robot.motion.n, len(robot.actuators)))
    y, none = solve_loops(robot, x)[1], np.zeros_like(v)
    inverse, forward = (
        run_uncompiled(f, robot, x, y, v, u, none) for f, u in ((tree.inverse, a), (tree.forward, tau))
    )
    inertia, bias = run_uncompiled(tree.inertia, robot, x, y), run_uncompiled(tree.bias, robot, x, y, v)
    pairs = {
        "force": (nacelle.inverse_dynamics(robot, x, v, a).tau, inverse["force"]),
        "acceleration": (nacelle.forward_dynamics(robot, x, v, tau).a, forward["acceleration"]),
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
    x = regular_states(robot, zeros(robot, 150))
    figures = run_uncompiled(inverse_jacobian, robot, x, solve_loops(robot, x)[1])["pivot"]
    assert np.sum(figures < 1e-8) >= 4, "no pivot vanishes: another robot is needed here"
    assert np.all(compare(robot, x) < TOLERANCE)


@pytest.mark.costly
@pytest.mark.parametrize("name", STRESS)
def test_ordinary_states_are_not_weak(name: str) -> None:
    """The figure does not depend on the size of pivots, only on what they do to others."""
    robot = STRESS[name](1)
    x = random_states(robot, 20, 5).x
    figure = run_uncompiled(inverse_jacobian, robot, x, solve_loops(robot, x)[1])["pivot"]
    assert np.mean(figure < 3.0 * ill_conditioned.ILL_CONDITIONED_PIVOT) <= 0.1


# ---- Samples of a robot's inputs with 50 digits: loops closed, quaternions of unit length

# What is left of 50 digits.
DIGITS = Decimal("1e-45")
# What is left open where closures contradict one another by their rounding.
ROUNDING = Decimal("1e-15")


def draw_states(name: str, shapes: dict[str, tuple[int, ...]] | None = None) -> PreciseInputs:
    robot = library_robot(name)
    found = input_samples(robot, shapes or input_shapes(dynamics.inverse, robot) or {})
    assert found is not None
    return found


def parts(row: tuple[Decimal, ...], shapes: dict[str, tuple[int, ...]]) -> dict[str, list[Decimal]]:
    found, start = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        found[name] = list(row[start : start + size])
        start += size
    return found


@pytest.mark.parametrize(
    ("name", "bound"), [("3rps", DIGITS), ("delta4", ROUNDING), ("h4", ROUNDING), ("quattro", ROUNDING)]
)
def test_loops_are_closed(name: str, bound: Decimal) -> None:
    robot = library_robot(name)
    shapes = input_shapes(dynamics.inverse, robot)
    assert shapes is not None
    found = draw_states(name)
    program = make_program(
        iterated_residual, robot, input_shapes(iterated_residual, robot) or {}, minimise=False
    )
    reference = mechanism_of(robot).reference[0]
    for row in (*found.proof, *found.check):
        given = parts(row, shapes)
        gaps = evaluate_decimal(program, [*given["y"], *given["x"]])
        assert max(abs(gap) for gap in gaps) < bound
        x, y = (np.array([float(value) for value in given[key]]) for key in "xy")
        assert np.all(branch_signs(robot.without_rounding_differences, x, y)["branch"] > 0.0)
        assert np.max(np.abs(x - reference)) > 1e-3


def test_quaternions_have_unit_length_to_all_digits() -> None:
    robot = library_robot("palida")
    shapes = input_shapes(dynamics.inverse, robot)
    place = mechanism_of(robot).layout.quaternion
    assert shapes is not None
    assert place is not None
    for row in draw_states("palida").proof:
        with localcontext(decimal_context()):
            length = sum(value * value for value in parts(row, shapes)["x"][place])
            assert abs(length - 1) < DIGITS


# ---- Continuation of y^2 = p and of its like: certain up to a singularity, and no further


def root_step(y: Array, p: Array) -> dict[str, Array]:
    """Newton's step of y^2 = p: two branches that meet at p = 0."""
    gap = y[0] * y[0] - p[0]
    return {"dy": pack([-divide(gap, 2.0 * y[0])]), "error": absolute(gap)}


def root_path_step(y: Array, p: Array) -> dict[str, Array]:
    """The same with the distance from where they meet."""
    return {**root_step(y, p), "distances": pack([absolute(2.0 * y[0])])}


def root_equations() -> Equations:
    step, path = (make_program(f, None, {"y": (1,), "p": (1,)}) for f in (root_step, root_path_step))
    solver, tracker = NumpyNewton(step, numpy_kernel(step)), NumpyTrack(path, numpy_kernel(path))
    return Equations(solver, tracker, np.ones(1), np.full(1, np.inf))


ROOT = root_equations()


def between(p0: np.ndarray, p1: np.ndarray, t: np.ndarray) -> np.ndarray:
    return p0 + t[:, None] * (p1 - p0)


def test_ways_follow_their_branch() -> None:
    start, goal = np.ones((3, 1)), np.array([[9.0], [9.0], [1e-4]])
    way = ROOT.track(np.array([[1.0], [-1.0], [1.0]]), start, goal)
    assert np.all(way.status == FOLLOWED)
    np.testing.assert_allclose(way.y[:, 0], [3.0, -3.0, 1e-2], rtol=1e-9)


def test_a_way_ends_at_a_singularity() -> None:
    """From p = 1 to p = -1 the root ends at half of the way; to p = 0 it comes there all the same."""
    way = ROOT.track(np.ones((1, 1)), np.ones((1, 1)), -np.ones((1, 1)))
    assert way.status[0] == BLOCKED
    assert 0.4 < way.part[0] <= 0.5
    np.testing.assert_allclose(way.y[0] ** 2, 1.0 - 2.0 * way.part, atol=1e-10)


def test_paths_end_before_what_is_not_certain() -> None:
    p = np.array([[1.1], [1.2], [1.3], [-1.0], [1.4]])
    run = ROOT.track(np.ones((1, 1)), np.ones((1, 1)), p, follow=True)
    assert list(run.status == FOLLOWED) == [True, True, True, False, False]
    np.testing.assert_allclose(run.y[:3, 0], np.sqrt([1.1, 1.2, 1.3]), rtol=1e-12)


def test_a_roadmap_reaches_as_far_as_its_branch() -> None:
    road = build_roadmap(ROOT, np.ones(1), -np.ones(1), np.array([[4.0], [-3.0]]), between)
    np.testing.assert_allclose(road.y[:, 0], -np.sqrt(road.p[:, 0]), rtol=1e-12)
    assert road.p[1, 0] == 4.0
    assert 0.0 < road.p[2, 0] < 1.0
    (near,) = road.nearest(np.array([[3.9], [0.9]]), np.ones(1), 1)
    np.testing.assert_array_equal(near.p, road.p[[1, 0]])


def test_one_more_step_where_it_is_short() -> None:
    y = np.array([[2.0 + 1e-6], [1e-3]])
    stepped = polish_solutions(ROOT, y, np.array([[4.0], [4.0]]))
    assert abs(stepped[0, 0] - 2.0) < 1e-12
    assert stepped[1, 0] == 1e-3


@pytest.mark.slow
def test_work_along_a_path_with_jumps() -> None:
    """Samples that are no path cost each a few evaluations, not one for each sample behind them."""
    leg = inner_loops.draw(0)
    rng = np.random.default_rng(0)
    x = leg.foot(rng.uniform(-1.5, 1.5, 400), leg.knee + rng.uniform(-0.4, 0.4, 400))
    search = _UnknownSearch(mechanism_of(leg.robot))
    samples = SearchedSamples.at(x, search.mechanism.unknown_count)
    x0, y0 = search.mechanism.reference
    search.follow(samples, samples._replace(p=x0[None], y=y0[None]))
    assert 400 <= np.sum(samples.steps) < 100 * 400


@pytest.mark.slow
@pytest.mark.parametrize("legs", ["3-RSR", "3-SRR"])
def test_legs_with_more_rows_than_unknowns(legs: str) -> None:
    """Spherical mechanisms: five rows a leg for four unknowns, consistent up to rounding; they move."""
    robot = read_text(sketch("robot", legs, motion="rx+ry+rz").text)[0]
    vectors = 0.02 * np.random.default_rng(3).normal(size=(8, 3))
    x = np.array([nacelle.pose(robot, rotation_vector=vector) for vector in vectors])
    joints = nacelle.inverse_kinematics(robot, x, limits=False)
    assert not joints.flags.any()
    R, p = joints.bodies
    for joint in robot.joints[robot.tree :]:
        ends = [
            p[:, b] + R[:, b] @ frame.p
            for b, frame in (
                (joint.predecessor, joint.frame_predecessor),
                (joint.successor, joint.frame_successor),
            )
        ]
        assert np.max(np.abs(ends[0] - ends[1])) < 1e-12 * robot.size

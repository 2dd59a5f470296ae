"""Flags and numbers around singularities and branch boundaries of loops inside legs, against 77 digits.

No leg below a condition of 1e3 is flagged, none above 1e8 is missed, what is not flagged is right to its
condition and on the branch of the reference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import nacelle
from nacelle.compile import make_program
from nacelle.dynamics import reference as dynamics
from nacelle.elastic.dynamics.models import elastic_flow
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.configuration import closure_equations_at, configuration
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.mechanism.assembly import rate_scale
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import pose_sampler
from nacelle.kinematics.solve import newton_steps
from nacelle.model.joint import Joint, JointKind
from nacelle.model.robot import Robot
from nacelle.program.program import Program
from nacelle.spatial.physics import check_sampler_of, input_shapes
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from support import wide
from support.library import library_robot
from support.random_robots import inner_loops

EPS = np.finfo(float).eps
SINGULAR = int(Flag.SINGULAR | Flag.NEAR_SINGULAR)
NEWTON_STEPS = 6


def precise(robot: Robot, x: Array, y: Array, v: Array, a: Array, load: Array) -> dict[str, Array]:
    """Joints, the leg's Jacobian and forces from a pose, y improved by Newton's steps, over any scalar."""
    for _ in range(NEWTON_STEPS):
        y = y + newton_steps.loop_closing_step(robot, y, x)["dy"]
    mechanism = mechanism_of(robot)
    now = configuration(robot, x, y)
    system = closure_equations_at(now)
    (plan,) = mechanism.legs
    M = system.closures.jacobian[list(plan.rows)][:, list(plan.rates)]
    M = M / mechanism.row_scale[list(plan.rows)].reshape(-1, 1) * rate_scale(robot)[list(plan.rates)]
    found = dynamics.inverse(robot, x, y, v, a, load)
    A = kinematic_model.inverse_jacobian(robot, x, y)["J"]
    return {"force": found["force"], "q": y, "M": M, "A": A}


@dataclass(frozen=True)
class Truth:
    """Exact results, rounded to double once."""

    force: Array
    q: Array
    condition: Array
    parallel: Array


def truth(robot: Robot, x: Array, y: Array, v: Array, a: Array) -> Truth:
    shapes = input_shapes(dynamics.inverse, robot)
    assert shapes is not None
    program: Program = make_program(precise, robot, shapes, minimise=False)
    inputs = np.concatenate([x, y, v, a, np.zeros_like(v)], axis=1)
    values = wide.evaluate(program, inputs)[..., 0]
    parts, start = {}, 0
    for variable in program.outputs:
        parts[variable.name] = values[:, start : start + variable.size].reshape(-1, *variable.shape)
        start += variable.size
    with np.errstate(all="ignore"):
        condition = _condition(parts["M"])
        parallel = _condition(nacelle.kinematics.jacobian.scaled_inverse(robot, parts["A"]))
    return Truth(parts["force"], parts["q"], condition, parallel)


def _condition(matrices: Array) -> Array:
    finite = np.all(np.isfinite(matrices), axis=(-1, -2))
    s = np.linalg.svd(np.where(finite[..., None, None], matrices, 0.0), compute_uv=False)
    return np.where(finite & (s[:, -1] > 0.0), s[:, 0] / np.maximum(s[:, -1], 1e-300), np.inf)


def states(leg: inner_loops.Leg, count: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Angles of hip and knee, spread and around the singularities, and the driven joint's coordinate."""
    grid = np.linspace(-np.pi, np.pi, 20001)
    _, sine = leg.driven(grid)
    good = np.isfinite(sine)
    # Dead points: where the loop ends to close, or its sine changes its sign.
    change = np.flatnonzero((good[1:] != good[:-1]) | (good[1:] & good[:-1] & (sine[1:] * sine[:-1] < 0.0)))
    special = np.array([0.0, np.pi, *(_refined(leg, grid[k], grid[k + 1]) for k in change)])
    knee = np.where(
        rng.uniform(size=count) < 0.4,
        rng.uniform(-np.pi, np.pi, count),
        rng.choice(special, count)
        + 10.0 ** rng.uniform(-12, -0.5, count) * rng.choice([-1.0, 0.0, 1.0], count, p=[0.48, 0.04, 0.48]),
    )
    hip = rng.uniform(-np.pi, np.pi, count)
    q, _ = leg.driven(knee)
    return hip, knee, q


def _refined(leg: inner_loops.Leg, low: float, high: float) -> float:
    """A dead point between two angles of the knee, by bisection."""

    def kind(knee: float) -> float:
        value = float(leg.driven(np.array(knee))[1])
        return np.sign(value) if np.isfinite(value) else 2.0

    first = kind(low)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if kind(middle) == first else (low, middle)
    return 0.5 * (low + high)


def check(seed: int, count: int) -> tuple[int, int]:
    """Check a random leg at random states; how many were unflagged, and how many singular."""
    leg = inner_loops.draw(seed)
    robot = leg.robot
    rng = np.random.default_rng([seed, 5])
    hip, knee, q = states(leg, count, rng)
    x = leg.foot(hip, knee)
    v, a = rng.normal(size=(2, count, 2))
    found = nacelle.inverse_dynamics(robot, x, v, a)
    joints = nacelle.inverse_kinematics(robot, x, limits=False)
    # Forces may meet a parallel singularity beside what joints meet.
    assert np.array_equal(joints.flags & ~SINGULAR, found.flags & ~SINGULAR)
    assert np.all((joints.flags & ~found.flags) == 0)
    free = (joints.flags & ~int(Flag.NEAR_SINGULAR)) == 0
    flagged = (joints.flags & SINGULAR) != 0
    # Where y is known exactly enough, the truth is next to it; singular and unreached states have none.
    solved = np.flatnonzero(np.all(np.isfinite(found.y), axis=1))
    exact = truth(robot, x[solved], found.y[solved], v[solved], a[solved])
    condition = np.full(count, np.inf)
    condition[solved] = exact.condition
    parallel = np.full(count, np.inf)
    parallel[solved] = exact.parallel

    # On the border of two branches y is that of neither: its condition says nothing of the singularity there.
    elsewhere = (joints.flags & int(Flag.OTHER_BRANCH)) != 0
    assert not np.any(flagged & ~elsewhere & (condition < 1e3)), "flagged below a condition of 1e3"
    reached = (joints.flags & int(Flag.UNREACHABLE)) == 0
    assert not np.any(reached & ~flagged & (condition > 1e8)), "missed above a condition of 1e8"

    unflagged = found.flags == 0
    force = np.full((count, 2), np.nan)
    force[solved] = exact.force
    error = np.max(np.abs(found.tau - force), axis=1) / np.max(np.abs(force), axis=1)
    bound = 1000.0 * EPS * np.maximum(condition**2, parallel)
    worst = np.max(error[unflagged] / bound[unflagged], initial=0.0)
    assert worst < 1.0, f"wrong without a flag: {worst:.3g} of the bound"

    # Without a flag the joints are those that the state was made from, where it was made on the branch of
    # the reference: the knee bent to its side, the loop closed on its side of the dead point.
    same = np.sign(np.sin(knee)) == np.sign(np.sin(leg.knee))
    made = same & np.isfinite(q)
    placed = np.full(count, np.nan)
    placed[solved] = exact.q[:, 1]
    off = np.abs(np.angle(np.exp(1j * (placed - knee))))
    wrong = free & made & (off > 1e-6 * np.maximum(1.0, condition**2 * EPS))
    assert not np.any(wrong & (condition < 1e5)), "on another branch without a flag"
    knee_found = joints.joint("leg.knee")[..., 0]
    assert np.all(np.sign(np.sin(knee_found[free])) == np.sign(np.sin(leg.knee)))
    drive = joints.q[:, 1]
    apart = drive - q
    if leg.kind == "bars":
        apart = np.angle(np.exp(1j * apart))
    sure = free & made & (condition < 1e5)
    assert np.all(np.abs(apart[sure]) < 1e-7), "the loop is on another branch without a flag"
    return int(np.sum(unflagged)), int(np.sum(condition > 1e8))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_inner_loops(seed: int) -> None:
    unflagged, singular = check(seed, 2000)
    assert unflagged > 100
    assert singular > 10


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3, 23))
def test_inner_loops_of_many(seed: int) -> None:
    """1e5 states altogether."""
    unflagged, _ = check(seed, 5000)
    assert unflagged > 100


HIP = 0.3


def flat(seed: int = 1) -> tuple[inner_loops.Leg, Array, float]:
    """A leg driven by a parallelogram, and a pose and an angle of the knee at which it is flat."""
    leg = inner_loops.draw(seed)
    lean = np.arctan2(leg.lever[1], leg.lever[0])
    # Crank and lever lie along the thigh; the knee is bent to the side of the reference.
    knee = np.angle(np.exp(1j * np.array([-lean, np.pi - lean])))
    bent = float(knee[np.sign(knee) == np.sign(leg.knee)][0])
    return leg, leg.foot(np.array(HIP), np.array(bent)), bent


@pytest.mark.slow
def test_every_function_sees_a_flat_loop() -> None:
    leg, x, _ = flat()
    robot, v = leg.robot, np.array([0.1, -0.2])
    calls = {
        "kinematics": lambda x: nacelle.inverse_kinematics(robot, x, limits=False),
        "motion": lambda x: nacelle.kinematics.joint_motion(robot, x, v, v),
        "inverse": lambda x: nacelle.inverse_dynamics(robot, x, v, v),
        "forward": lambda x: nacelle.forward_dynamics(robot, x, v, v),
    }
    for name, call in calls.items():
        with pytest.raises(nacelle.SingularError, match="leg 'leg' is at a serial singularity"):
            call(x)
        found = call(x + np.array([[0.0, 0.0], [1e-10, 0.0], [0.0, 1e-6], [1e-5, 0.0]]))
        assert np.all(found.flags & SINGULAR), name
        assert found.flags[0] & Flag.SINGULAR, name
    assert np.all(np.isnan(nacelle.inverse_dynamics(robot, x[None], v, v).tau))
    assert np.isnan(nacelle.mass_matrix(robot, x[None])).all()
    assert "serial" in nacelle.singularities(robot, x).kinds()


def test_a_run_ends_before_a_flat_loop() -> None:
    """A leg that swings through the flat loop under no force is stopped before it, and says so."""
    leg, _, bent = flat()
    robot = leg.robot
    start = leg.foot(np.array(HIP), np.array(leg.knee))
    # The knee alone turns, fast, towards where the loop is flat.
    angle = HIP + leg.knee
    across = leg.shank * np.array([-np.sin(angle), np.cos(angle)]) * np.sign(bent - leg.knee)
    free = nacelle.simulation.rigid_plant(robot, friction=False)
    run = nacelle.simulate(
        free,
        start,
        20.0 * across,
        np.zeros(2),
        until=2.0,
        integration=nacelle.simulation.Integration("dop853"),
    )
    assert run.status == "event"
    assert "singularity" in run.message
    assert abs(run.joints.joint("leg.knee")[-1, 0] - bent) < 0.05
    assert np.all(np.isfinite(run.x))


@pytest.mark.slow
def test_the_size_of_a_robot_does_not_matter() -> None:
    """A leg with a motor and a cylinder, and a thousandth of it: the same margins, flags and forces."""
    leg = inner_loops.draw(2)
    x = leg.foot(np.full(20, 1.0), leg.knee + np.linspace(-0.1, 0.1, 20))
    large = nacelle.inverse_dynamics(leg.robot, x)
    small = nacelle.inverse_dynamics(shrunk(leg.robot, 1e-3), 1e-3 * x)
    assert np.all(large.flags == 0)
    assert np.all(small.flags == 0)
    np.testing.assert_allclose(small.margins, large.margins, rtol=1e-9)
    np.testing.assert_allclose(small.parallel_margin, large.parallel_margin, rtol=1e-9)
    # The torque of the motor falls with lengths, the force of the cylinder stays.
    np.testing.assert_allclose(small.tau / [1e-3, 1.0], large.tau, rtol=1e-10)


def shrunk(robot: Robot, factor: float) -> Robot:
    """A robot with all lengths times a factor, and the same masses."""

    def moved(pose: Pose) -> Pose:
        return Pose(pose.R, factor * pose.p)

    def smaller(joint: Joint) -> Joint:
        guess = joint.guess
        if guess is not None and joint.kind is JointKind.PRISMATIC:
            guess = tuple(factor * value for value in guess)
        frames = moved(joint.frame_predecessor), moved(joint.frame_successor)
        return replace(joint, frame_predecessor=frames[0], frame_successor=frames[1], guess=guess)

    lengths = factor ** np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
    bodies = tuple(replace(body, inertia=tuple(body.inertia * lengths)) for body in robot.bodies)
    return replace(
        robot,
        bodies=bodies,
        joints=tuple(smaller(joint) for joint in robot.joints),
        reference=moved(robot.reference),
    )


def test_the_error_of_a_step_is_the_largest_gap() -> None:
    """In the compact form and by the tree; all gaps vanish at closed loops alone."""
    for name in ("3rps", "quattro"):
        robot = library_robot(name)
        x, y = mechanism_of(robot).reference
        for off in (0.0, 0.01):
            gaps = newton_steps.loop_gaps(robot, y + off, x)["gaps"].astype(float)
            error = float(newton_steps.loop_closing_step(robot, y + off, x)["error"])
            assert np.max(np.abs(gaps)) == error
            assert (error < 1e-12) is (off == 0.0)


def test_steps_of_poses_are_checked_where_loops_are_closed() -> None:
    """Their u is a pose with its unknowns; that of a flow are commands, and its states are no pose."""
    robot = library_robot("3rps")
    mechanism, shapes = mechanism_of(robot), input_shapes(newton_steps.pose_path_step, robot)
    assert shapes is not None
    sampler = check_sampler_of(newton_steps.pose_path_step)
    assert sampler is not None
    for row in sampler(robot, shapes).check:
        u = np.array([float(value) for value in row[: shapes["u"][0]]])
        x, y = np.split(u, [mechanism.layout.nx])
        assert y.size
        assert np.max(np.abs(kinematic_model.closure_residuals(robot, x, y))) < 1e-14 * robot.size
    assert pose_sampler(elastic_flow) is None

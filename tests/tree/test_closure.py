"""Closures: their Jacobian by differences, their residual after assembly, and every kind of scalar."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from nacelle.kinematics.mechanism.assembly import (
    assemble,
    guess_coordinates,
    independent_rate_mask,
    integrate_tree,
    rate_scale,
)
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.robot import Robot
from nacelle.program.trace import Symbol
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import is_zero
from nacelle.tree.closure import (
    ClosureState,
    closure_bias,
    closure_residual,
    closure_state,
    closure_transform,
    has_reversed_axis,
)
from nacelle.tree.spanning_tree import TreeKinematics, tree_kinematics, tree_velocity
from support.compare import assert_same
from support.forty_digits import precise
from support.library import NAMES, library_robot
from support.pairwise import FAMILIES, pairwise
from support.random_robots.described import RandomRobot, any_tree, any_trees, closed_robot, closed_robots
from support.random_robots.numbers import random_coordinates, random_pose, relative_pose
from support.snakes import snake_robot
from support.symbol import symbols, values

seeds = st.integers(0, 2**32 - 1)


def states(robot: Robot, seed: int, count: int = 1) -> Iterator[tuple[Pose, np.ndarray]]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield random_pose(rng), random_coordinates(robot, rng)


def evaluate(robot: Robot, platform: Pose, q: np.ndarray) -> ClosureState:
    return closure_state(robot, tree_kinematics(robot, platform, q))


@pytest.mark.parametrize("primitive", [Primitive.RX, Primitive.RY, Primitive.RZ])
def test_the_angle_of_an_axis_that_closes_a_loop(primitive: Primitive) -> None:
    """Frames in any places whose relative pose is a turn about the axis alone."""
    rng = np.random.default_rng(7)
    for angle in (-2.5, -0.4, 0.0, 1.1, 3.0):
        turn = Rotation.from_euler("xyz"[primitive.axis], angle).as_matrix()
        first, near, far = (random_pose(rng) for _ in range(3))
        second = first @ near @ Pose(turn, np.zeros(3)) @ far.inverse()
        joint = SimpleNamespace(
            predecessor=0,
            successor=1,
            frame_predecessor=near,
            frame_successor=far,
            primitives=(primitive,),
            kind=JointKind.UNIVERSAL,
        )
        step = closure_transform(joint, SimpleNamespace(poses=[first, second]), 0)
        np.testing.assert_allclose([step.c, step.s], [np.cos(angle), np.sin(angle)], atol=1e-14)


# ------------------------------------------------------------------------------- finite differences


def difference_jacobian(robot: Robot, platform: Pose, q: np.ndarray) -> np.ndarray:
    """Derivative of the residual along `advance`, column by column.

    Central differences with steps h, h/2, h/4, h/8, extrapolated three times (Richardson): the error is
    of the order h^8 and stays at rounding over h.
    """
    h, levels = 0.08, 4
    count = robot.platform_nv + robot.nv
    columns = []
    for k in range(count):
        unit = np.eye(count)[k]
        table = []
        for level in range(levels):
            step = h / 2**level
            ends = [
                evaluate(robot, *integrate_tree(robot, platform, q, s * step * unit)).residual
                for s in (1, -1)
            ]
            table.append((ends[0] - ends[1]) / (2 * step))
        for order in range(1, levels):
            table = [(4**order * b - a) / (4**order - 1) for a, b in itertools.pairwise(table)]
        columns.append(table[0])
    return np.array(columns).T


def check_jacobian_by_differences(robot: Robot, seed: int) -> None:
    for platform, q in states(robot, seed):
        state = evaluate(robot, platform, q)
        # Rounding is 1e-16 over the smallest step, 0.01, times the weights of the extrapolation.
        assert_same(state.jacobian, difference_jacobian(robot, platform, q), 1e-12)


@pytest.mark.costly
@pytest.mark.parametrize("name", NAMES)
def test_jacobian_by_differences(name: str) -> None:
    check_jacobian_by_differences(library_robot(name), 0)


@pytest.mark.slow
@settings(max_examples=6)
@given(any_trees(), seeds)
def test_jacobian_by_differences_random(made: RandomRobot, seed: int) -> None:
    check_jacobian_by_differences(made.robot, seed)


@settings(max_examples=8)
@given(any_trees(), seeds)
def test_second_derivatives_by_differences(made: RandomRobot, seed: int) -> None:
    """At constant rates u what closures leave open has the second derivative d(J u)/dt, open loops too."""
    robot, rng = made.robot, np.random.default_rng(seed)
    u, h = rng.normal(size=robot.platform_nv + robot.nv), 1e-4
    for platform, q in states(robot, seed):
        motion = tree_kinematics(robot, platform, q)
        bias = closure_bias(robot, motion, tree_velocity(robot, motion, u))
        ahead, behind = (
            evaluate(robot, *integrate_tree(robot, platform, q, s * h * u)).jacobian @ u for s in (1.0, -1.0)
        )
        assert_same(bias, (ahead - behind) / (2.0 * h), 1e-6)


# -------------------------------------------------------------------------------------- mpmath


def round_frames(array: np.ndarray) -> np.ndarray:
    return np.array(np.vectorize(float)(array), dtype=float) if np.size(array) else np.zeros(np.shape(array))


def robot_of(case: str | int) -> Robot:
    """A robot of the library by its name, a random tree by its seed."""
    return library_robot(case) if isinstance(case, str) else any_tree(case).robot


@pytest.mark.parametrize("case", [*range(100, 106), *NAMES])
def test_mpmath(case: str | int) -> None:
    robot = robot_of(case)
    platform, q = next(states(robot, 5))
    ours = tree_kinematics(robot, platform, q)
    with mpmath.workdps(40):
        theirs = tree_kinematics(robot, Pose(precise(platform.R), precise(platform.p)), precise(q))
        closed = closure_state(robot, theirs)
        compare_motion(
            ours, [(round_frames(p.R), round_frames(p.p)) for p in theirs.poses], round_frames(theirs.columns)
        )
        state = closure_state(robot, ours)
        assert_same(state.residual, round_frames(closed.residual), 1e-14)
        assert_same(state.jacobian, round_frames(closed.jacobian), 1e-14)
        assert state.rows == closed.rows
        moving = [v for v in np.ravel(theirs.columns) if isinstance(v, mpmath.mpf)]
        assert moving, "nothing was computed in many digits"


def compare_motion(
    ours: TreeKinematics, poses: list[tuple[np.ndarray, np.ndarray]], columns: np.ndarray
) -> None:
    assert_same([pose.R for pose in ours.poses], [R for R, _ in poses], 1e-14, "rotations")
    assert_same([pose.p for pose in ours.poses], [p for _, p in poses], 1e-14, "positions")
    assert_same(ours.columns, columns, 1e-14, "columns")


# -------------------------------------------------------------------------------------- symbols


@pytest.mark.parametrize("case", [*range(200, 206), *NAMES])
def test_symbols(case: str | int) -> None:
    """A scalar that cannot be compared, converted or written in place gives the same numbers."""
    robot = robot_of(case)
    platform, q = next(states(robot, 7))
    ours = tree_kinematics(robot, platform, q)
    motion = tree_kinematics(robot, Pose(symbols(platform.R), symbols(platform.p)), symbols(q))
    state = closure_state(robot, motion)
    compare_motion(ours, [(values(p.R), values(p.p)) for p in motion.poses], values(motion.columns))
    expected = closure_state(robot, ours)
    assert_same(values(state.residual), expected.residual, 1e-14)
    assert_same(values(state.jacobian), expected.jacobian, 1e-14)
    assert any(isinstance(v, Symbol) for v in np.ravel(state.residual)) or not robot.closures


# -------------------------------------------------------------------------------------- batches


def check_batches(robot: Robot, seed: int, count: int, one_pose: bool = False) -> None:
    """All samples at once against one after the other."""
    samples = list(states(robot, seed, count))
    if one_pose:
        samples = [(samples[0][0], q) for _, q in samples]
        platform = samples[0][0]
    else:
        platform = Pose(
            from_samples([pose.R for pose, _ in samples], 2), from_samples([pose.p for pose, _ in samples], 1)
        )
    q = from_samples([q for _, q in samples], 1)
    motion = tree_kinematics(robot, platform, q)
    state = closure_state(robot, motion)
    assert motion.columns.shape == (6, robot.platform_nv + robot.nv)
    singles = [tree_kinematics(robot, pose, q_sample) for pose, q_sample in samples]
    expected = [closure_state(robot, single) for single in singles]
    for body in range(len(robot.bodies)):
        assert_same(over(motion.poses[body].R, count), [single.poses[body].R for single in singles], 1e-14)
        assert_same(over(motion.poses[body].p, count), [single.poses[body].p for single in singles], 1e-14)
        assert_same(over(motion.jacobian(body), count), [single.jacobian(body) for single in singles], 1e-14)
    assert_same(over(state.residual, count), [e.residual for e in expected], 1e-14)
    assert_same(over(state.jacobian, count), [e.jacobian for e in expected], 1e-14)


def over(array: np.ndarray, count: int) -> np.ndarray:
    """An array of batches with the samples first; numbers stand for all samples."""
    return np.broadcast_to(to_samples(array), (count, *np.shape(array)))


@pytest.mark.parametrize(("name", "count"), pairwise(name=FAMILIES, count=[1, 3]))
def test_batches_library(name: str, count: int) -> None:
    check_batches(library_robot(name), count, count)


@settings(max_examples=10)
@given(any_trees(), seeds, st.integers(1, 4))
def test_batches_random(made: RandomRobot, seed: int, count: int) -> None:
    check_batches(made.robot, seed, count)


@pytest.mark.parametrize("name", NAMES)
def test_batches_of_joints_alone(name: str) -> None:
    """The platform stands still for all samples: its pose is one of floats."""
    check_batches(library_robot(name), 11, 2, one_pose=True)


# -------------------------------------------------------------------------------------- assembly


def closed_state(robot: Robot, state: ClosureState, tolerance: float) -> bool:
    return float(np.max(np.abs(state.residual), initial=0.0)) <= tolerance * max(robot.size, 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_library_assembles(name: str) -> None:
    found = assemble(library_robot(name))
    assert found.open == {}
    assert found.unreached_legs == ()
    assert found.missed == ()
    assert closed_state(library_robot(name), found.closures, 1e-14)


@pytest.mark.slow
@settings(max_examples=25)
@given(closed_robots())
def test_reference_is_closed(made: RandomRobot) -> None:
    """The closure equations hold where the frames were put onto each other, and nothing is flipped."""
    robot = made.robot
    motion = tree_kinematics(robot, robot.reference, guess_coordinates(robot))
    state = closure_state(robot, motion)
    assert closed_state(robot, state, 1e-14)
    assert not any(has_reversed_axis(joint, motion) for joint in robot.closures)


def check_assembly_of_a_disturbed_robot(robot: Robot, seed: int, size: float = 0.03) -> None:
    """From joints that are a few degrees and millimetres off the loops close again."""
    rng = np.random.default_rng(seed)
    kick = size * rng.uniform(-1, 1, robot.platform_nv + robot.nv) * rate_scale(robot)
    kick[: robot.platform_nv] = 0.0
    kick[independent_rate_mask(robot)] = 0.0
    pose, q = integrate_tree(robot, robot.reference, guess_coordinates(robot), kick)
    found = assemble(robot, pose, q)
    assert found.open == {}
    assert closed_state(robot, found.closures, 1e-10)
    assert not any(has_reversed_axis(joint, found.motion) for joint in robot.closures)
    again = evaluate(robot, found.platform, found.q_tree)
    np.testing.assert_array_equal(again.residual, found.closures.residual)
    # Quaternions keep their length.
    for place, joint in zip(robot.q_slices, robot.tree_joints, strict=True):
        ball = {"spherical": slice(0, 4), "spherical-planar": slice(0, 4), "planar-spherical": slice(2, 6)}
        if str(joint.kind) in ball:
            quat = found.q_tree[place][ball[str(joint.kind)]]
            assert abs(np.linalg.norm(quat) - 1.0) < 1e-14
    # The independent coordinates are held.
    translations = [axis for axis in robot.motion.twist_axes if axis < 3]
    np.testing.assert_array_equal(found.platform.p[translations], robot.reference.p[translations])
    for name in robot.motion.joint_names:
        place = robot.q_slices[robot.joint(name)]
        np.testing.assert_array_equal(found.q_tree[place], guess_coordinates(robot)[place])


@pytest.mark.slow
@settings(max_examples=25)
@given(closed_robots(), seeds)
def test_assembly_closes_a_disturbed_robot(made: RandomRobot, seed: int) -> None:
    check_assembly_of_a_disturbed_robot(made.robot, seed)


@pytest.mark.parametrize(("seed", "size"), [(1105, 0.03), (1118, 0.01), (1391, 0.03), (1583, 0.03)])
def test_assembly_with_a_loose_platform(seed: int, size: float) -> None:
    """Platforms with more joints than the motion declares: legs cannot be closed one by one.

    The platform's joints are passive here, so a leg reaches only after they have moved; a solution over
    all loops at once from the same start exists.
    """
    check_assembly_of_a_disturbed_robot(closed_robot(seed).robot, seed, size)


@settings(max_examples=15)
@given(closed_robots(), seeds)
def test_broken_closure_is_seen(made: RandomRobot, seed: int) -> None:
    """Every lock is a demand: a step along a motion that a closure forbids opens it at first order.

    Take any rates u: the residual moves by jacobian @ u, and vanishes to first order exactly for the
    rates in the null space of the Jacobian.
    """
    robot = made.robot
    q = guess_coordinates(robot)
    state = evaluate(robot, robot.reference, q)
    if not state.residual.size:
        return
    rng = np.random.default_rng(seed)
    u = rng.normal(size=state.jacobian.shape[1])
    h = 1e-6
    moved = evaluate(robot, *integrate_tree(robot, robot.reference, q, h * u)).residual
    # Second order: h^2 |u|^2 times a few.
    np.testing.assert_allclose(moved, h * state.jacobian @ u, rtol=0.0, atol=200 * h * h)


@pytest.mark.parametrize("kind", [k for k in JointKind if k not in ("point", "spherical-planar", "coupling")])
def test_locks_allow_the_joint_and_nothing_else(kind: JointKind) -> None:
    """For one closure between base and platform: zero for the joint's own motion, and no more solutions.

    The number of locks is 6 minus the freedoms of the joint, and they are independent.
    """
    robot = one_closure(kind)
    rng = np.random.default_rng(4)
    freedoms = {"revolute": 1, "prismatic": 1, "cylindrical": 2, "universal": 2, "spherical": 3, "fixed": 0}
    freedoms["planar-spherical"] = 5
    for _ in range(5):
        q = random_coordinates_of(kind, rng)
        joint = robot.closures[0]
        platform = joint.frame_predecessor @ relative_pose(str(kind), q) @ joint.frame_successor.inverse()
        state = evaluate(robot, platform, np.zeros(robot.nq))
        assert closed_state(robot, state, 1e-15)
        assert np.linalg.matrix_rank(state.jacobian[:, :6], 1e-9) == 6 - freedoms[str(kind)]
        assert len(state.residual) == 6 - freedoms[str(kind)]


def random_coordinates_of(kind: JointKind, rng: np.random.Generator) -> list[float]:
    angle, translation = rng.uniform(-3, 3, 2), rng.uniform(-0.3, 0.3, 2)
    quat = rng.normal(size=4)
    quat /= np.linalg.norm(quat)
    return {
        "revolute": [angle[0]],
        "prismatic": [translation[0]],
        "cylindrical": [translation[0], angle[0]],
        "universal": [*angle],
        "spherical": [*quat],
        "planar-spherical": [*translation, *quat],
        "fixed": [],
    }[str(kind)]


def one_closure(kind: JointKind) -> Robot:
    """A slider that is fixed to the platform by the closure under test.

    The tree joint is needed for an actuator; its body is held at zero.
    """
    from nacelle.model.read import read_data

    rng = np.random.default_rng(9)
    rotations = [list(map(float, rng.normal(size=3))) for _ in range(2)]
    robot, _ = read_data(
        {
            "name": "one",
            "motion": "se3",
            "platform": {"name": "plate", "mass": 1.0},
            "legs": [
                {
                    "name": "leg",
                    "bodies": {"slider": {}},
                    "joints": {
                        "slide": {"type": "prismatic", "parent": "base", "child": "slider", "active": True}
                    },
                    "closures": {
                        "end": {
                            "type": str(kind),
                            "parent": "slider",
                            "child": "plate",
                            "at": {"translation": [0.1, 0.2, 0.3], "rotation": {"rpy": rotations[0]}},
                            "child_at": {"translation": [-0.2, 0.1, 0.1], "rotation": {"rpy": rotations[1]}},
                        }
                    },
                }
            ],
        }
    )
    return robot


OVER = [1.0, -1.0, -1.0]


@pytest.mark.parametrize(
    ("kind", "turn"),
    [
        (JointKind.REVOLUTE, OVER),
        *itertools.product((JointKind.PRISMATIC, JointKind.FIXED), (OVER, OVER[::-1], [-1.0, 1.0, -1.0])),
    ],
)
def test_half_turns_satisfy_the_equations_but_are_flipped(kind: JointKind, turn: list[float]) -> None:
    robot = one_closure(kind)
    joint = robot.closures[0]
    for turned in (turn, [1.0, 1.0, 1.0]):
        over = Pose(np.diag(turned), np.zeros(3))
        platform = joint.frame_predecessor @ over @ joint.frame_successor.inverse()
        motion = tree_kinematics(robot, platform, np.zeros(1))
        assert closed_state(robot, closure_state(robot, motion), 1e-15)
        assert has_reversed_axis(joint, motion) == (turned is turn)


@pytest.mark.parametrize("name", NAMES)
def test_gaps_alone(name: str) -> None:
    """The residual without the Jacobian has the same bits."""
    robot = library_robot(name)
    q = guess_coordinates(robot) + 0.1
    motion = tree_kinematics(robot, robot.reference, q)
    np.testing.assert_array_equal(closure_residual(robot, motion), closure_state(robot, motion).residual)


def test_rates_that_move_both_bodies_of_a_closure_open_nothing() -> None:
    """Of a traced Jacobian these entries are the number 0, of a plain one they are rounding."""
    robot = snake_robot(3, free=3)
    q = guess_coordinates(robot) + 0.1
    plain = closure_state(robot, tree_kinematics(robot, robot.reference, q))
    loose = tree_kinematics(robot, robot.reference, symbols(q))
    assert not loose.is_numeric
    traced = closure_state(robot, loose).jacobian
    np.testing.assert_allclose(values(traced), plain.jacobian, rtol=0, atol=1e-14)
    carried = []
    for joint, rows in zip(robot.closures, plain.rows, strict=True):
        if not joint.is_coupling:
            both = loose.movers[joint.predecessor] & loose.movers[joint.successor]
            assert all(is_zero(entry) for entry in traced[rows][:, both].ravel())
            carried.append(int(np.sum(both)) - robot.platform_nv)
    # The joints q and s of the cells before carry a loop as one; the first closure holds the base itself.
    assert sorted(carried)[1:] == [0, 2, 4]

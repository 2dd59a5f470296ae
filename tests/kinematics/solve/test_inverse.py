"""Inverse kinematics: loops close, on the branch of the reference, in closed form where there is one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.joint import Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.tree.closure import has_reversed_axis
from nacelle.tree.spanning_tree import tree_kinematics
from support.compare import assert_same
from support.random_robots.legs import CASES
from support.uncompiled import (
    ALL,
    closure_error,
    coordinate_steps,
    integrate_poses,
    named_robot,
    poses_around,
    run_uncompiled,
    solve_uncompiled,
    wrap_angles,
)

CLOSED = 1e-12
FORMS = {
    "3rps": {None},
    "3rrr": {"elbow-revolute"},
    "c5": {"prismatic-planar"},
    "delta": {"rods"},
    "delta-codourey": {"elbow-universal"},
    "delta4": {"rods", None},
    "dymo": {"universal-revolute"},
    "dymo/orientational": {"universal-revolute"},
    "dymo/planar": {"universal-revolute"},
    "dymo/mixed": {None},
    "fivebar": {"elbow-revolute"},
    "gough-stewart": {"universal-prismatic"},
    "h4": {None},
    "hexa": {"elbow-universal"},
    "hexaglide": {"elbow-universal"},
    "orthoglide": {"parallelogram"},
    "palida": {"universal-prismatic"},
    "prrrp": {"elbow-revolute"},
    "quattro": {"rods"},
    "space": {"universal-prismatic"},
    "c5-slides": {"three-prismatic"},
    "everything": {"universal-prismatic"},
    "fivebar-mirror": {"elbow-revolute"},
    "redundant": {"elbow-revolute"},
    "shared": {None},
}


def forms(robot: Robot) -> list[str | None]:
    return [None if plan.closed_form is None else plan.closed_form.form for plan in mechanism_of(robot).legs]


def check_closed(robot: Robot, x: Array, R: Array, p: Array, q: Array) -> None:
    """Loops of floats, straight from the tree; the platform is at x; nothing is flipped."""
    mechanism = mechanism_of(robot)
    for k in range(len(x)):
        platform = Pose(R[k, 1], p[k, 1])
        assert closure_error(robot, platform, q[k]) < CLOSED
        again = mechanism.chart.coordinates(platform)[0]
        for name in robot.motion.joint_names:
            again[mechanism.layout.x_index(name)] = q[k][robot.q_slices[robot.joint(name)]][0]
        place = mechanism.layout.quaternion
        if place is not None and again[place] @ x[k][place] < 0.0:
            again[place] *= -1.0
        # An angle comes back within half a turn.
        gap = again - x[k]
        if "rz" in mechanism.layout.x_names:
            place = mechanism.layout.x_index("rz")
            gap[place] = wrap_angles(gap[place])
        assert np.max(np.abs(gap)) < 1e-13 * max(1.0, robot.size)
        motion = tree_kinematics(robot, platform, q[k])
        assert not any(has_reversed_axis(joint, motion) for joint in robot.closures)
        assert_same([body.R for body in motion.poses], R[k], 1e-13)
        assert_same([body.p for body in motion.poses], p[k], 1e-13)


def change(robot: Robot, before: Array, after: Array) -> float:
    """The largest change of a coordinate of the tree: rad, sizes of the robot, entries of quaternions."""
    worst = 0.0
    for joint, place in zip(robot.tree_joints, robot.q_slices, strict=True):
        start = place.start
        for primitive in joint.primitives:
            one, two = (q[..., start : start + primitive.nq] for q in (before, after))
            start += primitive.nq
            if primitive is Primitive.SPHERICAL:
                step = np.minimum(np.abs(two - one).max(axis=-1), np.abs(two + one).max(axis=-1))
            elif primitive.is_rotation:
                step = np.abs(wrap_angles(two - one))[..., 0]
            else:
                step = np.abs(two - one)[..., 0] / robot.size
            worst = max(worst, float(np.max(step)))
    return worst


def way(robot: Robot, seed: int, count: int = 33) -> Array:
    """Poses on the straight way from the reference pose to one beside it."""
    mechanism = mechanism_of(robot)
    rng = np.random.default_rng(seed)
    end = rng.uniform(-1.0, 1.0, robot.motion.n)
    part = np.linspace(0.0, 1.0, count)[:, None]
    start = np.broadcast_to(mechanism.reference[0], (count, mechanism.layout.nx))
    return integrate_poses(mechanism, start, part * end * coordinate_steps(robot, 0.05, 0.12))


# -------------------------------------------------------------------- robots of the library, compiled


@pytest.mark.parametrize("name", ALL)
def test_form_of_every_leg(name: str) -> None:
    assert set(forms(named_robot(name))) == FORMS[name]


@pytest.mark.costly
@pytest.mark.parametrize("name", ALL)
def test_loops_close(name: str) -> None:
    robot = named_robot(name)
    x = poses_around(robot, 12, seed=1)
    found = inverse_kinematics(robot, x)
    assert np.all(found.reachable)
    check_closed(robot, found.x, *found.bodies, found.q_tree)
    assert np.all(found.margins > 0.0)
    for k, actuator in enumerate(robot.actuators):
        assert np.allclose(found.joint(robot.joints[actuator.joint].name)[..., 0], found.q[:, k], atol=1e-12)
    single = inverse_kinematics(robot, x[3])
    assert_same(single.q_tree, found.q_tree[3], 1e-14)


@pytest.mark.parametrize("name", ALL)
def test_branch_of_the_reference(name: str) -> None:
    """At the reference pose the joints are the assembled ones; along a way they change a little at a time."""
    robot = named_robot(name)
    found = inverse_kinematics(robot, way(robot, 5))
    assert np.all(found.reachable)
    assert change(robot, mechanism_of(robot).assembly.q_tree, found.q_tree[0]) < 1e-9
    # The way is 0.12 rad and 0.05 sizes long in 32 steps; near a stretched leg joints move faster.
    assert change(robot, found.q_tree[:-1], found.q_tree[1:]) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3rps", "delta4", "quattro", "shared"])
def test_guess_starts_the_iteration(name: str) -> None:
    robot = named_robot(name)
    x = poses_around(robot, 6, seed=4)
    found = inverse_kinematics(robot, x)
    for guess in (inverse_kinematics(robot, x[0]), found):
        again = inverse_kinematics(robot, x, guess=guess)
        assert np.all(again.reachable)
        assert change(robot, found.q_tree, again.q_tree) < 1e-11


# ----------------------------------------------------------------------------- random legs, over batches


def check_random(name: str, seed: int) -> None:
    case = CASES[name](seed)
    robot = case.robot
    assert tuple(forms(robot)) == case.forms
    x = np.concatenate([poses_around(robot, 4, seed), way(robot, seed, 17)])
    y = solve_uncompiled(robot, x)
    found = run_uncompiled(kinematic_model.joint_positions, robot, x, y)
    bodies = run_uncompiled(kinematic_model.body_poses, robot, x, y)
    assert np.all(found["margins"] > 0.0)
    check_closed(robot, x[:6], bodies["R"][:6], bodies["p"][:6], found["q"][:6])
    assert change(robot, mechanism_of(robot).assembly.q_tree, found["q"][4]) < 1e-9
    assert change(robot, found["q"][4:-1], found["q"][5:]) < 0.05


@pytest.mark.parametrize("seed", [1, 5])
@pytest.mark.parametrize("name", CASES)
def test_random_legs(name: str, seed: int) -> None:
    check_random(name, seed)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.sampled_from(sorted(CASES)), st.integers(100, 100_000))
def test_more_random_legs(name: str, seed: int) -> None:
    check_random(name, seed)


@pytest.mark.parametrize("seed", [0, 2])
def test_mobility_stays_on_the_branch(seed: int) -> None:
    """A DELTA of random numbers is a DELTA: it only translates, however near its other assemblies are.

    The poses at which the mobility is judged are found from shaken joints; they must not jump to an assembly
    in which the platform is turned.
    """
    case = CASES["3 R[SS|SS]"](seed)
    assert mechanism_of(case.robot).mobility.coupled == ()
    assert tuple(forms(case.robot)) == case.forms


@pytest.mark.slow
def test_compiled_random_robot() -> None:
    """A mixed hexapod through the public API, iteration and all: the same as over batches."""
    robot = CASES["6 RSS + PSPP + PSS + RRPS + P-C5 on the platform + RUPU"](1).robot
    x = poses_around(robot, 9, seed=3)
    found = inverse_kinematics(robot, x)
    assert np.all(found.ok)
    expected = run_uncompiled(kinematic_model.joint_positions, robot, x, solve_uncompiled(robot, x))
    assert change(robot, expected["q"], found.q_tree) < 1e-12
    assert_same(found.q, expected["active"], 1e-12)
    check_closed(robot, found.x, *found.bodies, found.q_tree)


# ----------------------------------------------------------------------------------- flags and errors


def test_out_of_reach() -> None:
    robot = named_robot("delta")
    x = np.array([[0.0, 0.0, -0.6], [2.0, 0.0, -0.6], [0.0, np.nan, -0.6], [0.45, 0.0, -0.75]])
    found = inverse_kinematics(robot, x)
    assert found.flags[0] == 0
    assert found.flags[1] == Flag.UNREACHABLE
    assert found.flags[2] == Flag.INVALID
    assert list(found.ok) == [True, False, False, bool(found.ok[3])]
    assert np.all(np.isnan(found.q_tree[1:3]))
    assert np.all(np.isnan(found.q[1:3]))
    with pytest.raises(UnreachableError, match=r"delta: leg.* not reach the pose \[2, 0, -0.6\]") as error:
        inverse_kinematics(robot, x[1])
    assert error.value.legs == tuple(
        leg.name for leg, margin in zip(robot.legs, found.margins[1], strict=True) if not margin >= 0
    )
    assert error.value.legs


@pytest.mark.slow
def test_iteration_out_of_reach() -> None:
    robot = named_robot("h4")
    with pytest.raises(UnreachableError, match="h4: the loops do not close at the pose"):
        inverse_kinematics(robot, reference_pose(robot) + np.array([3.0, 0.0, 0.0, 0.0]))
    found = inverse_kinematics(robot, reference_pose(robot) + np.array([[0.0] * 4, [3.0, 0.0, 0.0, 0.0]]))
    assert list(found.flags != 0) == [False, True]
    assert found.flags[1] == Flag.UNREACHABLE


def test_near_a_stretched_leg() -> None:
    """A margin below 1e-7 is flagged, and the pose is still solved."""
    robot = named_robot("fivebar")
    x = reference_pose(robot)
    low, high = 0.0, 0.3
    for _ in range(60):
        middle = 0.5 * (low + high)
        fine = bool(inverse_kinematics(robot, (x + np.array([middle, 0.0]))[None]).reachable[0])
        low, high = (middle, high) if fine else (low, middle)
    edge = inverse_kinematics(robot, x + np.array([low - 1e-9, 0.0]))
    assert edge.flags & Flag.NEAR_SINGULAR
    assert np.all(np.isfinite(edge.q_tree))
    assert closure_error(robot, Pose(edge.bodies.R[1], edge.bodies.p[1]), edge.q_tree) < CLOSED


def test_limits_are_checked_if_asked() -> None:
    robot = named_robot("gough-stewart")
    x = reference_pose(robot) + np.array([0.0, 0.0, 0.4, 0.0, 0.0, 0.0, 0.0])
    assert inverse_kinematics(robot, x).flags == Flag.OUT_OF_LIMITS
    found = inverse_kinematics(robot, x, limits=False)
    assert found.flags == 0
    assert found.ok
    assert np.max(found.q) > robot.actuators[0].position[1]


def test_shapes_of_batches() -> None:
    robot = named_robot("fivebar")
    x = poses_around(robot, 12).reshape(3, 4, 2)
    found = inverse_kinematics(robot, x)
    assert found.q_tree.shape == (3, 4, robot.nq)
    assert found.q.shape == (3, 4, 2)
    assert found.flags.shape == (3, 4)
    assert found.bodies.R.shape == (3, 4, len(robot.bodies), 3, 3)
    assert set(found.joints) == {joint.name for joint in robot.joints}
    none = inverse_kinematics(robot, np.zeros((0, 2)))
    assert none.q_tree.shape == (0, robot.nq)
    rps = named_robot("3rps")
    assert inverse_kinematics(rps, np.zeros((0, 3))).q_tree.shape == (0, rps.nq)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.zeros(6), r"a pose of palida has 7 numbers \(x, y, z, qx, qy, qz, qw\).*got \(6,\)"),
        (np.zeros((4, 8)), r"the shape \(\.\.\., 7\), got \(4, 8\)"),
        (0.0, r"got \(\)"),
        ([0.0, np.nan, np.inf, 0.0, 0.0, 0.0, 1.0], "this is no pose of palida: y, z not finite"),
        ([0.0] * 7, "its quaternion has no length"),
        ([0.0, 0.0, 0.5, 1e-200, 0.0, 0.0, 1e-200], "its quaternion has no length"),
        ([0.0, 0.0, 0.5, 1e155, 0.0, 0.0, 1e155], "its quaternion has a length beyond all numbers"),
        ([0.0, 0.0, 0.5, 0.0, np.nan, 0.0, 1.0], "qy not finite"),
    ],
)
def test_what_is_no_pose(x: object, words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        inverse_kinematics(named_robot("palida"), x)


def test_guesses_of_another_number() -> None:
    robot = named_robot("3rps")
    x = poses_around(robot, 6)
    guess = inverse_kinematics(robot, x[:3])
    with pytest.raises(KinematicsError, match="guess"):
        inverse_kinematics(robot, x, guess=guess)


def test_robots_that_differ_in_names_keep_their_own() -> None:
    """They are equal and share compiled code, but a coordinate is requested by the name it has."""
    robot = named_robot("quattro")
    swing = robot.joint("swing")
    joints = list(robot.joints)
    joints[swing] = dataclasses.replace(joints[swing], name="twist")
    motion = dataclasses.replace(robot.motion, coordinates=("x", "y", "z", "twist"))
    renamed = dataclasses.replace(robot, joints=tuple(joints), motion=motion)
    assert renamed == robot
    x = reference_pose(robot)
    found = inverse_kinematics(robot, x)
    assert np.array_equal(inverse_kinematics(renamed, x).q_tree, found.q_tree)
    assert mechanism_of(renamed).robot.joints[swing].name == "twist"
    assert mechanism_of(robot).robot.joints[swing].name == "swing"

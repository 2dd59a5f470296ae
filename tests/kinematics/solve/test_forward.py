"""Forward kinematics: there and back, paths, assemblies, spheres, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.forward import PoseSearch, forward_kinematics
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve import newton_steps
from nacelle.kinematics.solve import spheres as sphere
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.solve.spheres import sphere_forward
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import unwind_angles, unwrap_angles
from nacelle.tree.spanning_tree import wrap_angles
from support.compare import assert_same
from support.random_robots.legs import CASES, planar_robot
from support.stress_robots import STRESS
from support.uncompiled import (
    ALL,
    align_quaternions,
    fourier_trajectory,
    mark_slow_names,
    named_robot,
    poses_around,
    run_uncompiled,
    solve_uncompiled,
)

# ---- forward
#
# Forward kinematics: there and back again, along paths, near and far, in closed form and by iteration.

CLOSED_FORM = {"delta", "delta-codourey", "orthoglide", "fivebar", "fivebar-mirror", "prrrp"}

# The iteration on pose and joints of these compiles in 2 to 4 s each.
LONG = {"delta4", "h4", "quattro", "delta", "orthoglide", "hexa", "hexaglide", "everything", "dymo/mixed"}

LONG |= {"dymo/orientational", "c5-slides"}


def assert_poses(robot: Robot, x: Array, expected: Array, tolerance: float) -> None:
    """Equal poses, a quaternion and its negative being the same."""
    mechanism = mechanism_of(robot)
    place = mechanism.layout.quaternion
    if place is not None:
        flip = np.sum(x[..., place] * expected[..., place], axis=-1) < 0.0
        x = x.copy()
        x[..., place] = np.where(flip[..., None], -x[..., place], x[..., place])
    assert_same(x, expected, tolerance)


def tolerance(robot: Robot, x: Array) -> float:
    """Actuators are found to 2e-14; poses then to that over the conditioning of the Jacobian."""
    from nacelle.kinematics.jacobian import conditioning, scaled_inverse

    J = run_uncompiled(kinematic_model.inverse_jacobian, robot, x, solve_uncompiled(robot, x))["J"]
    return 1e-13 / float(np.min(conditioning(scaled_inverse(robot, J))))


@pytest.mark.costly
@pytest.mark.parametrize("name", mark_slow_names(ALL, long=LONG))
@pytest.mark.thinned
def test_there_and_back(name: str) -> None:
    """Forward after inverse from the reference pose, and inverse after forward."""
    robot = named_robot(name)
    x = poses_around(robot, 9, seed=3)
    q = inverse_kinematics(robot, x, limits=False).q
    # Every path to the answer: without a guess, and with one, which is always iterated.
    for guess in (None, reference_pose(robot), x):
        found = forward_kinematics(robot, q, guess)
        assert np.all(found.ok)
        assert_poses(robot, found.x, x, tolerance(robot, x))
        back = found.inverse().q
        turned = (back - q + np.pi) % (2 * np.pi) - np.pi
        assert np.max(np.minimum(np.abs(back - q), np.abs(turned))) < 1e-12
    closed = guess is not None and sphere.has_sphere_solution(mechanism_of(robot))
    assert closed == (name in CLOSED_FORM)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["3rps", "c5", "fivebar", "palida", "shared", "dymo", "redundant"])
def test_few_steps_nearby(name: str) -> None:
    """Quadratic convergence: from a pose nearby few steps do, and at the solution none."""
    robot = named_robot(name)
    x = poses_around(robot, 9, seed=5, length=0.02, angle=0.05)
    q = inverse_kinematics(robot, x, limits=False).q
    found = forward_kinematics(robot, q, reference_pose(robot))
    assert np.all(found.ok)
    assert np.max(found.iterations) <= 6
    nearer = forward_kinematics(robot, q, found.x)
    assert np.max(nearer.iterations) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3rps", "gough-stewart", "3rrr", "dymo/planar"])
def test_follow_a_path(name: str) -> None:
    robot = named_robot(name)
    x = fourier_trajectory(robot, seed=2, length=0.04, angle=0.1)(np.linspace(0.0, 2 * np.pi, 60)).x
    q = inverse_kinematics(robot, x, limits=False).q
    found = forward_kinematics(robot, q, x[0], follow=True)
    assert np.all(found.ok)
    assert_poses(robot, found.x, align_quaternions(mechanism_of(robot), x, x[0]), tolerance(robot, x))
    # Each starts from the one before: a step of a tenth of a radian of the wave. Where a singularity is as
    # near as the step, the middle is looked at, too.
    assert np.median(found.iterations) <= 6
    assert np.max(found.iterations) <= 12
    alone = forward_kinematics(robot, q[30], x[0])
    assert found.iterations[30] <= alone.iterations


def newton_over_batches(robot: Robot, q: Array, x: Array, steps: int = 8) -> tuple[Array, Array]:
    errors = []
    for _ in range(steps):
        step = run_uncompiled(newton_steps.pose_step, robot, x, q)
        errors.append(step["error"].copy())
        x = x + step["dy"]
    return x, np.stack(errors)


def well_conditioned(name: str) -> Robot:
    """The first random robot that is not near a parallel singularity, where iterations rightly wander."""
    for seed in range(3, 30):
        robot = CASES[name](seed).robot
        if tolerance(robot, reference_pose(robot)[None]) < 1e-13 / 0.01:
            return robot
    raise AssertionError(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if None not in CASES[name](3).forms])
@pytest.mark.thinned
def test_random_legs(name: str) -> None:
    """The steps of the pose over batches: convergence is quadratic and ends where the inverse began."""
    robot = well_conditioned(name)
    x = poses_around(robot, 5, seed=2, length=0.01, angle=0.02)
    q = run_uncompiled(kinematic_model.actuator_positions, robot, x, np.zeros((5, 0)))["q"]
    start = np.broadcast_to(reference_pose(robot), x.shape)
    found, errors = newton_over_batches(robot, q, start)
    assert_poses(robot, found, x, 20 * tolerance(robot, x))
    assert np.max(errors[5]) < 1e-10
    # Once near, every step squares the error (times a constant of the robot).
    near = (errors[1:] < 1e-4) & (errors[:-1] < 1e-2) & (errors[:-1] > 1e-6)
    assert np.all(errors[1:][near] < 1e3 * errors[:-1][near] ** 2 + 1e-12)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["3 RPS", "6 RUPU", "6 UPS cut at the slide", "6 RUS cut at the arm"])
def test_random_legs_as_a_whole(name: str) -> None:
    """The step of pose and joints together, actuators held in the tree or where a loop is cut."""
    robot = CASES[name](3).robot
    mechanism = mechanism_of(robot)
    x = poses_around(robot, 3, seed=2, length=0.01, angle=0.02)
    there = run_uncompiled(kinematic_model.joint_positions, robot, x, solve_uncompiled(robot, x))
    poses = run_uncompiled(kinematic_model.body_poses, robot, x, solve_uncompiled(robot, x))
    from nacelle.spatial.rotation import quat_from_matrices

    start = np.concatenate(
        [
            mechanism.assembly.platform.p,
            quat_from_matrices(mechanism.assembly.platform.R),
            mechanism.assembly.q_tree,
        ]
    )
    y = np.broadcast_to(start, (3, start.size))
    for _ in range(8):
        step = run_uncompiled(newton_steps.assembly_step, robot, y, there["active"])
        y = y + step["dy"]
    assert np.max(run_uncompiled(newton_steps.assembly_step, robot, y, there["active"])["error"]) < 1e-13
    assert_same(y[:, :3], poses["p"][:, 1], 1e-11)
    quat = quat_from_matrices(poses["R"][:, 1])
    assert np.max(np.abs(np.abs(np.sum(y[:, 3:7] * quat, axis=1)) - 1.0)) < 1e-12


@pytest.mark.parametrize("name", ["fivebar", "fivebar-mirror", "prrrp", "delta-codourey"])
def test_spheres_equal_iteration(name: str) -> None:
    robot = named_robot(name)
    x = poses_around(robot, 40, seed=8, length=0.08)
    q = inverse_kinematics(robot, x, limits=False).q
    closed, iterated = forward_kinematics(robot, q), forward_kinematics(robot, q, reference_pose(robot))
    assert np.all(closed.ok)
    assert np.all(iterated.ok)
    assert np.all(closed.iterations == 0)
    assert np.all(iterated.iterations > 0)
    assert_same(closed.x, iterated.x, 1e-12)
    assert_same(closed.x, x, 1e-12)


@pytest.mark.costly
@pytest.mark.parametrize(
    "name", ["3 R[SS|SS]", "3 P[US|US]", "3 PRPaR", "3 RRPaR", "3 UPU", "point RRR", "point RPR"]
)
def test_spheres_of_random_legs(name: str) -> None:
    robot = well_conditioned(name)
    assert sphere.has_sphere_solution(mechanism_of(robot))
    x = poses_around(robot, 7, seed=4)
    q = run_uncompiled(kinematic_model.actuator_positions, robot, x, np.zeros((7, 0)))["q"]
    found = run_uncompiled(sphere_forward, robot, q)
    assert np.all(found["margin"] > 0.0)
    assert_same(found["x"], x, tolerance(robot, x))


def test_no_such_pose() -> None:
    robot = named_robot("fivebar")
    q0 = inverse_kinematics(robot, reference_pose(robot)).q
    q = np.array([q0, [np.pi, 0.0], [np.nan, 0.0]])
    found = forward_kinematics(robot, q)
    margin = run_uncompiled(sphere_forward, robot, q)["margin"]
    assert margin[0] > 0.0 > margin[1]
    assert list(found.flags) == [0, Flag.UNREACHABLE, Flag.INVALID]
    assert list(found.ok) == [True, False, False]
    assert np.all(np.isnan(found.x[1:]))
    with pytest.raises(UnreachableError, match="fivebar: no pose was found for the actuators at"):
        forward_kinematics(robot, q[1])
    iterated = forward_kinematics(robot, q, reference_pose(robot))
    assert list(iterated.ok) == [True, False, False]
    assert np.all(np.isnan(iterated.x[1:]))


@pytest.mark.parametrize(
    ("q", "words"),
    [
        (np.zeros(3), r"fivebar has 2 actuators \(.*\), so q has the shape \(\.\.\., 2\), got \(3,\)"),
        ([0.3, np.nan], "fivebar: .* not finite"),
        (1.0, r"got \(\)"),
    ],
)
def test_wrong_coordinates(q: object, words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        forward_kinematics(named_robot("fivebar"), q)


def test_wrong_guess() -> None:
    robot = named_robot("fivebar")
    q = inverse_kinematics(robot, reference_pose(robot)).q
    with pytest.raises(KinematicsError, match="a pose of fivebar has 2 numbers"):
        forward_kinematics(robot, q, np.zeros(3))
    with pytest.raises(KinematicsError, match="not finite"):
        forward_kinematics(robot, q, [np.nan, 0.0])
    with pytest.raises(KinematicsError, match="the guess is for a batch"):
        forward_kinematics(robot, np.stack([q, q]), np.zeros((3, 2)))


def test_shapes() -> None:
    robot = named_robot("3rrr")
    x = poses_around(robot, 6).reshape(2, 3, 3)
    q = inverse_kinematics(robot, x).q
    found = forward_kinematics(robot, q)
    assert found.x.shape == (2, 3, 3)
    assert found.flags.shape == found.iterations.shape == (2, 3)
    assert forward_kinematics(robot, np.zeros((0, 3))).x.shape == (0, 3)
    assert forward_kinematics(named_robot("3rps"), np.zeros((0, 3))).x.shape == (0, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fixed joints", "platform with a loop"])
def test_the_assembly_may_count_whole_turns(name: str) -> None:
    """Poses beside the reference are on its branch, whichever turn the joints of the assembly are in."""
    robot = STRESS[name](0)
    x = reference_pose(robot) + 1e-3
    q = inverse_kinematics(robot, x[None]).q
    for follow in (False, True):
        found = forward_kinematics(robot, q, follow=follow)
        assert np.all(found.ok)
        assert np.allclose(found.x, x, atol=1e-12)


# ---- Paths of actuators: angles without jumps, as NumPy unwraps them; lengths as they are


def test_a_path_has_no_jumps() -> None:
    robot = named_robot("fivebar")
    smooth = np.linspace(0.0, 12.0, 60)[:, None] * [1.0, -0.7] + [0.3, 2.0]
    found = unwrap_angles(wrap_angles(smooth, 0.0), robot.revolute_actuators, smooth[0])
    np.testing.assert_allclose(found, np.unwrap(smooth, axis=0), atol=1e-12)
    np.testing.assert_allclose(
        unwind_angles(robot, wrap_angles(smooth[-1], 0.0), smooth[-1]), smooth[-1], atol=1e-12
    )


# ---- All assemblies at given coordinates of the actuators


@pytest.mark.slow
def test_all_assemblies() -> None:
    """The pose from which coordinates were made is among the assemblies; signs tell which is whose."""
    robot = planar_robot(0, ("RPR",) * 3)
    rng = np.random.default_rng(3)
    x = nacelle.reference_pose(robot) + rng.uniform(-1.0, 1.0, (20, 3)) * [0.3, 0.3, 1.2]
    joints = nacelle.inverse_kinematics(robot, x, limits=False)
    x, q = x[joints.ok], joints.q[joints.ok]
    found = nacelle.forward_kinematics(robot, q, assemblies=True)
    several = 0
    for pose, own, all_of_them in zip(x, q, found.assemblies, strict=True):
        apart = all_of_them.x - pose
        apart[:, 2] = np.angle(np.exp(1j * apart[:, 2]))
        assert np.min(np.max(np.abs(apart), axis=1)) < 1e-8
        assert all_of_them.signs.shape == (len(all_of_them.x), 1)
        several += len(all_of_them.x) > 1
        again = nacelle.inverse_kinematics(robot, all_of_them.x, limits=False)
        assert np.max(np.abs(again.q - own)) < 1e-10
    assert several > 5
    one = nacelle.forward_kinematics(robot, q[0], assemblies=True)
    assert len(one.assemblies.x) >= 1
    assert nacelle.forward_kinematics(robot, q[0]).assemblies is None


# ---- The search for a pose by iteration: unknowns, the way there, and coordinates that no pose has


@pytest.mark.slow
def test_no_such_pose_by_iteration() -> None:
    robot = named_robot("gough-stewart")
    q0 = inverse_kinematics(robot, reference_pose(robot)).q
    impossible = q0 * [0.1, 3.0, 0.1, 3.0, 0.1, 3.0]
    found = forward_kinematics(robot, np.stack([q0, impossible]))
    assert list(found.ok) == [True, False]
    assert found.flags[1] == Flag.UNREACHABLE
    with pytest.raises(UnreachableError, match="give a guess nearer to it, or check the coordinates"):
        forward_kinematics(robot, impossible)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["3rrr", "quattro"])
def test_the_search_finds_the_pose(name: str) -> None:
    """The poses from which the coordinates were made, each alone and along a path."""
    robot = named_robot(name)
    x = poses_around(robot, 5)
    q = inverse_kinematics(robot, x).q
    search = PoseSearch(mechanism_of(robot))
    for follow in (False, True):
        found, steps, flags = search.find(q, None, follow)
        np.testing.assert_allclose(found, x, atol=1e-11)
        assert not np.any(flags)
        assert np.all(steps > 0)
    signs, conditioning = search.signs(*search.poses(search.start(x)))
    np.testing.assert_array_equal(signs[:, 0], 1.0)
    assert np.all(conditioning > 0.0)
    np.testing.assert_allclose(search.poses(search.start(x))[0], x, atol=1e-12)

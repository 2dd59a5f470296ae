"""Kinematics: rates of actuators, samples along paths, poses as input, batches and programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.dynamics.state import state_at
from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.flags import Flag, has_failed
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose import pose
from nacelle.kinematics.pose_input import check_poses, reference_pose
from nacelle.kinematics.underactuated import (
    coordinate_indices,
    free_coordinates_hint,
    require_driven,
    undriven_coordinates,
)
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_from_matrices
from nacelle.trajectory.sampling import motion_samples, solved_mask
from nacelle.tree.actuation import actuator_biases, actuator_rows
from support.compare import assert_same
from support.described import mechanism
from support.library import NAMES
from support.stress_robots import STRESS
from support.uncompiled import mark_slow_names, named_robot, poses_around, run_uncompiled, solve_uncompiled

# ---- actuation
#
# Rates of actuators, in the tree and where they close a loop, against differences of their coordinates.


@pytest.mark.parametrize("name", ["drives, springs and rotors at closures", "sprung five-bar"])
def test_rates_and_accelerations(name: str) -> None:
    """Along x + t v the acceleration is the bias."""
    robot = STRESS[name](1)
    x0 = mechanism_of(robot).reference[0]
    assert len(x0) == robot.motion.n, "no quaternion, so that x moves in a straight line"
    v = np.random.default_rng(2).normal(size=robot.motion.n)

    h = 1e-4
    x = x0 + h * np.arange(-2.0, 3.0)[:, None] * v
    states = [state_at(robot, *row, v) for row in zip(x, solve_uncompiled(robot, x), strict=True)]
    q = [[s.now.coordinate(actuator.joint, 0) for actuator in robot.actuators] for s in states]
    rates = [actuator_rows(robot, s.now.motion) @ s.moving.u for s in states]
    slopes = [
        np.tensordot([1.0, -8.0, 0.0, 8.0, -1.0], np.array(values), 1) / (12.0 * h) for values in (q, rates)
    ]
    np.testing.assert_allclose(rates[2], slopes[0], rtol=0, atol=1e-8)
    now = states[2]
    found = actuator_biases(robot, now.now.motion, now.moving.velocity, now.moving.bias)
    np.testing.assert_allclose(np.array(found, dtype=float), slopes[1], rtol=0, atol=1e-7)


# ---- along
#
# Along a trajectory: times with both ends, samples that were solved, rates of parasitic coordinates.


def test_both_ends_are_sampled() -> None:
    robot = named_robot("delta")
    start = mechanism_of(robot).reference[0]
    way = np.array([0.02, 0.0, 0.01])
    line = nacelle.Line(start, start + way, motion="xyz", duration=0.55)
    times, sample = motion_samples(robot, line, 10.0)
    assert (times[0], times[-1]) == (0.0, 0.55)
    assert np.all(np.diff(times) <= 0.1 + 1e-12)
    np.testing.assert_allclose(sample.x[[0, -1]], [start, start + way], atol=1e-15)
    h = times[1] - times[0]
    np.testing.assert_allclose(np.trapezoid(sample.v, dx=h, axis=0), way, rtol=0.05, atol=1e-12)
    with pytest.raises(KinematicsError, match="above zero"):
        motion_samples(robot, line, 0.0)


def test_some_sample_must_be_solved() -> None:
    robot = named_robot("delta")
    flags = np.array([0, int(Flag.UNREACHABLE), int(Flag.NEAR_SINGULAR)])
    assert solved_mask(robot, flags).tolist() == [True, False, True]
    with pytest.raises(UnreachableError, match="reaches no pose"):
        solved_mask(robot, flags[1:2])


@pytest.mark.slow
def test_rates_of_dependent_orientations() -> None:
    """Where a platform tilts by itself the twist along given coordinates is that of the whole motion."""
    robot = named_robot("3rps")
    start = mechanism_of(robot).reference[0]
    line = nacelle.Line(start, start + np.array([0.02, 0.03, -0.02]), motion=robot.motion, duration=1.0)
    times, sample = motion_samples(robot, line, 2000.0)
    k = len(times) // 2
    q = nacelle.inverse_kinematics(robot, sample.x[k - 1 : k + 2]).q
    rate = nacelle.kinematics.joint_motion(robot, sample.x[k], sample.v[k], sample.a[k]).actuators[1]
    np.testing.assert_allclose(rate, (q[2] - q[0]) / (times[k + 1] - times[k - 1]), rtol=1e-5, atol=1e-8)


# ---- Which coordinates nothing drives, and names of coordinates


def test_a_free_base_is_driven_by_nothing() -> None:
    robot = mechanism("biped")
    assert undriven_coordinates(robot) == ("x", "y", "z", "rx", "ry", "rz")
    assert undriven_coordinates(mechanism("gripper")) == ()
    with pytest.raises(nacelle.errors.UnderactuatedError, match="a test needs an actuator for every motion"):
        require_driven(robot, "a test needs")
    assert "free=('x', 'y', 'z', 'rx', 'ry', 'rz') leaves" in free_coordinates_hint(robot)


def test_coordinates_by_full_names_bare_names_and_named_motions() -> None:
    robot = mechanism("biped")
    assert coordinate_indices(robot, ["left.hip", "se3"]) == (0, 1, 2, 3, 4, 5, 6)
    assert coordinate_indices(mechanism("cart_pole"), "pivot") == (1,)
    with pytest.raises(nacelle.KinematicsError, match="'hip' is not a coordinate"):
        coordinate_indices(robot, "hip")


# ---- The physics functions of kinematics give the same over batches and compiled

OF_POSES = (
    kinematic_model.joint_positions,
    kinematic_model.actuator_positions,
    kinematic_model.body_poses,
    kinematic_model.inverse_jacobian,
    kinematic_model.rate_maps,
    kinematic_model.body_jacobians,
    kinematic_model.closure_equations,
)
OF_MOTIONS = (kinematic_model.body_motions, kinematic_model.joint_motions)
# All functions of a robot take up to 20 s to compile: most robots are for `make test-all`.
QUICK = ("3rps", "c5", "fivebar", "prrrp")


def check_compiled(robot: Robot, function: Callable[..., Any]) -> None:
    """As many samples as fill no whole number of vectors, in the shape of a batch of two dimensions."""
    x = poses_around(robot, 14, seed=6)
    y = solve_uncompiled(robot, x)
    rng = np.random.default_rng(7)
    motions = rng.normal(size=(2, 14, robot.motion.n)) if function in OF_MOTIONS else ()
    expected = run_uncompiled(function, robot, x, y, *motions)
    found = compile_native(function, robot)(*(a.reshape(2, 7, -1) for a in (x, y, *motions)))
    found = found if isinstance(found, dict) else {"": found}
    assert set(found) == set(expected)
    for key, value in expected.items():
        # Open loops are rounding themselves: compared with the size, not with each other.
        floor = robot.size * np.eye(1, value.size).reshape(value.shape) if key == "residual" else 0.0
        assert_same(found[key].reshape(value.shape) + floor, value + floor, 1e-12, key)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", mark_slow_names(NAMES, long=set(NAMES) - set(QUICK)))
def test_compiled_equals_uncompiled(name: str) -> None:
    for function in (*OF_POSES, *OF_MOTIONS):
        check_compiled(named_robot(name), function)


@pytest.mark.parametrize("name", ["dymo", "hexaglide", "palida"])
def test_compiled_jacobian_equals_uncompiled(name: str) -> None:
    check_compiled(named_robot(name), kinematic_model.inverse_jacobian)


# ---- Poses as users write them


def test_quaternions_of_half_turns() -> None:
    """Each of the four components may be the largest, and w may be zero or nearly so."""
    rng = np.random.default_rng(0)
    axes = np.concatenate([np.eye(3), rng.normal(size=(20, 3))])
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    for angle in (0.0, 1e-9, 1.0, np.pi - 1e-9, np.pi):
        R = Rotation.from_rotvec(angle * axes).as_matrix()
        quat = quat_from_matrices(R)
        assert np.all(quat[:, 3] >= 0.0)
        assert_same(Rotation.from_quat(quat).as_matrix(), R, 1e-15)
    assert np.all(np.isnan(quat_from_matrices(np.full((2, 3, 3), np.nan))))


def test_orientations_of_all_kinds() -> None:
    robot = named_robot("gough-stewart")
    r = np.array([0.1, -0.2, 0.3])
    R = Rotation.from_rotvec(r)
    angles = R.as_euler("XYZ")
    p = [0.01, 0.02, 0.5]
    expected = np.concatenate([p, R.as_quat()])
    for given_as in (
        {"quat_xyzw": R.as_quat()},
        {"rotation_matrix": R.as_matrix()},
        {"rotation_vector": r},
        {"cardan": angles},
    ):
        assert_same(pose(robot, p, **given_as), expected, 1e-15)
    assert_same(pose(robot), reference_pose(robot), 1e-16)


def test_coordinates_by_name_and_batches() -> None:
    robot = named_robot("delta")
    x = pose(robot, z=np.linspace(-0.6, -0.5, 4)[:, None], x=[0.0, 0.1, 0.2])
    assert x.shape == (4, 3, 3)
    assert_same(x[2, 1], [0.1, reference_pose(robot)[1], -0.6 + 0.2 / 3], 1e-15)
    quattro = named_robot("quattro")
    assert pose(quattro, [0.0, 0.0, -0.6], swing=0.2)[-1] == 0.2
    # A planar robot takes what it has of a position.
    assert_same(pose(named_robot("prrrp"), [0.1, 9.0, 0.3]), [0.1, 0.3], 1e-16)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("delta", {"xx": 1.0}, r"delta has no coordinate 'xx'"),
        ("delta", {"rz": 1.0}, r"delta has no coordinate 'rz'; did you mean 'z'"),
        ("palida", {"qw": 1.0}, r"palida has no coordinate 'qw'"),
        ("palida", {"position": [0.0, 1.0]}, r"position has shape \(\.\.\., 3\), got \(2,\)"),
        (
            "palida",
            {"rotation_vector": [0.0] * 3, "cardan": [0.0] * 3},
            "the orientation is given twice: rotation_vector and cardan",
        ),
        ("delta", {"quat_xyzw": [0.0, 0.0, 0.0, 1.0]}, "the motion xyz of delta has no free orientation"),
        ("palida", {"quat_xyzw": [0.0, 0.0, 1.0]}, r"quat_xyzw"),
        ("palida", {"rotation_vector": [0.0, 1.0]}, r"rotation_vector"),
        ("palida", {"rotation_matrix": np.eye(2)}, r"rotation_matrix"),
        ("palida", {"cardan": [0.0, 1.0, 2.0, 3.0]}, r"cardan"),
        ("delta", {"x": [0.0, 1.0], "y": [0.0, 1.0, 2.0]}, r"broadcast"),
    ],
)
def test_wrong_words(name: str, arguments: dict[str, object], words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        pose(named_robot(name), **arguments)


def test_checked_poses() -> None:
    robot = named_robot("palida")
    x = np.stack([reference_pose(robot)] * 3) * [1, 1, 1, 2, 2, 2, 2]
    x[1, 3:] = 0.0
    x[2, 0] = np.nan
    poses, valid = check_poses(robot, x)
    assert list(valid) == [True, False, False]
    assert_same(poses[0], reference_pose(robot), 1e-16)
    assert np.all(np.isnan(poses[1:]))
    assert np.array_equal(x[0, 3:], 2 * reference_pose(robot)[3:])


@pytest.mark.parametrize("size", [1e155, 1e200, 1e308, 1e-200, 1e-13, 0.0, np.inf, np.nan])
def test_a_quaternion_without_a_usable_length_is_no_orientation(size: float) -> None:
    """Its square overflows or vanishes: an identity in its place would be an invented pose."""
    robot = named_robot("palida")
    x = np.stack([reference_pose(robot)] * 2)
    with np.errstate(all="ignore"):
        x[1, 3:] = np.array([0.5, -0.5, 0.5, 0.5]) * size
    poses, valid = check_poses(robot, x)
    assert list(valid) == [True, False]
    assert np.all(np.isnan(poses[1]))
    result = nacelle.inverse_dynamics(robot, x)
    assert list(has_failed(result.flags)) == [False, True]
    assert np.all(np.isnan(result.tau[1]))
    with pytest.raises(KinematicsError, match="no pose of palida"):
        nacelle.inverse_dynamics(robot, x[1])


@pytest.mark.parametrize("size", [1e-9, 0.3, 1e100, 1e150])
def test_a_long_quaternion_is_made_unit(size: float) -> None:
    robot = named_robot("palida")
    x = reference_pose(robot)
    quat = np.array([0.1, -0.2, 0.3, 0.9])
    x[3:] = quat * size
    assert_same(check_poses(robot, x)[0][3:], quat / np.linalg.norm(quat), 1e-15)

"""Jacobians: inverse to each other, made of the legs' rows, and consistent with the motions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nacelle.dynamics.jacobian import jacobian
from nacelle.errors import KinematicsError, SingularError, UnreachableError
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.configuration import configuration
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.jacobian import (
    body_jacobian,
    conditioning,
    joint_jacobian,
    leg_jacobians,
    platform_jacobian,
    scaled_inverse,
)
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import body_motion, joint_motion
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.read import read_data
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from support import mechanisms
from support.compare import assert_same
from support.random_robots.legs import CASES
from support.transformed import RobotTransform
from support.uncompiled import (
    central_difference,
    integrate_poses,
    mark_slow_names,
    named_robot,
    poses_around,
    run_uncompiled,
    solve_uncompiled,
    stencil_times,
)

SQUARE = ("3rps", "3rrr", "c5", "dymo", "fivebar", "prrrp", "space", "palida")


@pytest.mark.parametrize("name", SQUARE)
def test_inverse_of_each_other(name: str) -> None:
    robot = named_robot(name)
    found = jacobian(robot, poses_around(robot, 7, seed=2))
    eye = np.broadcast_to(np.eye(robot.motion.n), found.inverse.shape)
    # Rounding grows with the condition of the Jacobian.
    slack = 1e-14 / np.min(found.conditioning)
    assert np.max(np.abs(found.scaled @ np.linalg.inv(found.scaled) - eye)) < slack
    assert_same(found.inverse @ found.direct, eye, 1e2 * slack)
    assert_same(found.direct @ found.inverse, eye, 1e2 * slack)
    single = jacobian(robot, poses_around(robot, 7, seed=2)[4])
    assert_same(single.inverse, found.inverse[4], 1e-14)
    assert_same(single.direct, found.direct[4], 1e-12)


def test_more_actuators_than_motions() -> None:
    """Redundant actuation: J_r is the inverse of least squares."""
    robot = named_robot("redundant")
    found = jacobian(robot, poses_around(robot, 5, seed=2))
    assert found.inverse.shape == (5, len(robot.actuators), 2)
    assert len(robot.actuators) > 2
    assert_same(found.direct, np.linalg.pinv(found.inverse), 1e-12)
    assert_same(found.direct @ found.inverse, np.broadcast_to(np.eye(2), (5, 2, 2)), 1e-12)


# ------------------------------------------------------------------------- from the legs, [KI2007] (80)


def row_from_leg(robot: Robot, J: Array, Jv: Array, actuator: int, rates: tuple[int, ...]) -> Array:
    """The row of J_r^-1 of a leg that ends in a ball: the first three rows of J_i q_i' = J_vi V_p."""
    place = rates.index(robot.v_slices[robot.actuators[actuator].joint].start)
    return np.linalg.solve(J[:3], Jv[:3])[place]


@pytest.mark.parametrize("name", mark_slow_names(["palida", "hexaglide", "hexa"], long=["hexa"]))
def test_rows_of_the_legs(name: str) -> None:
    """UPS, RUS and PUS legs: the rows from J_i and J_vi, beside those of plain statics (power of a rod)."""
    robot = named_robot(name)
    x = poses_around(robot, 1, seed=3)[0]
    inverse = jacobian(robot, x).inverse
    legs = leg_jacobians(robot, x)
    assert [leg.name for leg in legs] == [leg.name for leg in robot.legs]
    rows = [row_from_leg(robot, leg.J, leg.Jv, k, leg.rates) for k, leg in enumerate(legs)]
    assert_same(rows, inverse, 1e-12)


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["UPS", "PUS", "RUS", "UPS with an offset slide", "RRPS", "PRRS"])
def test_rows_of_random_legs(kind: str) -> None:
    """The same with random frames: J_i over the leg's rates, J_vi = [1, -r^]."""
    robot = CASES[f"6 {kind}"](3).robot
    x = poses_around(robot, 1, seed=3)
    inverse = run_uncompiled(kinematic_model.inverse_jacobian, robot, x, np.zeros((1, 0)))["J"][0]
    now = configuration(robot, x[0], np.zeros(0))
    rows = []
    for k, leg in enumerate(robot.legs):
        closure = robot.joints[leg.closures[0]]
        W = (now.motion.poses[closure.predecessor] @ closure.frame_predecessor).p
        own = [6 + r for j in leg.joints for r in range(robot.v_slices[j].start, robot.v_slices[j].stop)]
        J = now.motion.point_jacobian(closure.predecessor, W)[:3, own]
        r = W - now.motion.poses[1].p
        Jv = np.hstack([np.eye(3), -np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])])
        actuator = own.index(6 + robot.v_slices[robot.actuators[k].joint].start)
        rows.append(np.linalg.solve(J, Jv)[actuator])
    assert_same(rows, inverse, 1e-12)


@pytest.mark.slow
def test_strut_row_is_its_line() -> None:
    """Of a telescopic leg the row is the line of the strut: [s, r x s]."""
    robot = named_robot("gough-stewart")
    x = poses_around(robot, 1, seed=4)[0]
    bodies = inverse_kinematics(robot, x).bodies
    rows = []
    for leg in robot.legs:
        foot = robot.joints[leg.joints[0]].frame_predecessor.p
        arm = bodies.R[1] @ robot.joints[leg.closures[0]].frame_successor.p
        s = bodies.p[1] + arm - foot
        s /= np.linalg.norm(s)
        rows.append([*s, *np.cross(arm, s)])
    assert_same(jacobian(robot, x).inverse, rows, 1e-14)


# ------------------------------------------------------------------------------------- other Jacobians


def test_platform_jacobian_of_parasitic_motion() -> None:
    """S(x) of 3-RPS by differences: the platform moves along each entry of v = [vz, wx, wy].

    The path is a chain of poses of the platform, so the twist is read from its poses: v gives three of the
    six entries, the others are the parasitic ones.
    """
    robot = named_robot("3rps")
    rng = np.random.default_rng(0)
    x0 = poses_around(robot, 1, seed=5)[0]
    S = platform_jacobian(robot, x0)
    assert S.shape == (6, 3)
    assert_same(S[[2, 3, 4]], np.eye(3), 1e-13)
    mechanism = mechanism_of(robot)
    t = stencil_times(np.zeros(1)).reshape(-1)
    for _ in range(3):
        rate = rng.normal(size=3) * [0.2, 0.5, 0.5]
        x = integrate_poses(mechanism, np.broadcast_to(x0, (9, 3)), t[:, None] * rate)
        bodies = inverse_kinematics(robot, x, limits=False).bodies
        v = central_difference(bodies.p[None, :, 1])[0]
        R_rate = central_difference(bodies.R[None, :, 1])[0]
        W = R_rate @ bodies.R[4, 1].T
        w = 0.5 * np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])
        twist = np.concatenate([v, w])
        assert_same(S @ twist[[2, 3, 4]], twist, 1e-11)
        assert np.linalg.norm(twist[[0, 1, 5]]) > 1e-4


@pytest.mark.parametrize("name", mark_slow_names(["3rps", "fivebar", "c5", "space"], long=["space"]))
def test_consistent_with_motions(name: str) -> None:
    robot = named_robot(name)
    x = poses_around(robot, 5, seed=6)
    v = np.random.default_rng(1).normal(size=(5, robot.motion.n))
    bodies, joints = body_motion(robot, x, v), joint_motion(robot, x, v)
    assert_same(np.einsum("nbij,nj->nbi", body_jacobian(robot, x), v), bodies.twist, 1e-13)
    assert_same(np.einsum("nij,nj->ni", joint_jacobian(robot, x), v), joints.rate, 1e-12)
    assert_same(np.einsum("nij,nj->ni", jacobian(robot, x).inverse, v), joints.actuators[1], 1e-12)
    S = platform_jacobian(robot, x)
    assert_same(np.einsum("nij,nj->ni", S, v), bodies.twist[:, 1, : robot.platform_nv], 1e-13)


# ----------------------------------------------------------------------------- scale and singularities


@pytest.mark.parametrize("name", ["gough-stewart", "fivebar", "3rps"])
def test_conditioning_without_units(name: str) -> None:
    """Lengths in millimetres: the scaled Jacobian and its condition stay."""
    robot = named_robot(name)
    other = RobotTransform(length=1000.0).robot(robot)
    mechanism = mechanism_of(robot)
    x = poses_around(robot, 3, seed=7)
    lengths = np.array([1000.0 if name in ("x", "y", "z") else 1.0 for name in mechanism.layout.x_names])
    pairs = []
    for which, poses in ((robot, x), (other, x * lengths)):
        J = run_uncompiled(kinematic_model.inverse_jacobian, which, poses, solve_uncompiled(which, poses))[
            "J"
        ]
        pairs.append(scaled_inverse(which, J))
    assert_same(pairs[1], pairs[0], 1e-11)
    assert_same(conditioning(pairs[1]), conditioning(pairs[0]), 1e-10)


def test_parallel_singularity() -> None:
    robot, _ = read_data(mechanisms.five_bar_stretched())
    x0 = reference_pose(robot)
    with pytest.raises(
        SingularError, match="five-bar-stretched: this pose is a parallel singularity"
    ) as error:
        jacobian(robot, x0)
    assert error.value.kind == "parallel"
    x = x0 + np.array([[0.0, 0.0], [0.0, 1e-5], [0.0, -0.05], [0.0, 5.0], [np.nan, 0.0]])
    found = jacobian(robot, x)
    assert list(found.flags) == [Flag.SINGULAR, Flag.NEAR_SINGULAR, 0, Flag.UNREACHABLE, Flag.INVALID]
    assert np.all(np.isnan(found.direct[[0, 3, 4]]))
    assert np.all(np.isfinite(found.direct[[1, 2]]))
    assert np.all(np.isfinite(found.inverse[[0, 1, 2]]))
    assert found.conditioning[0] < 1e-12 < found.conditioning[1] < 1e-3


@pytest.mark.parametrize(
    "function",
    [jacobian, platform_jacobian, joint_jacobian, body_jacobian, leg_jacobians, body_motion, joint_motion],
)
def test_unreachable_names_the_leg(function: Callable[..., object]) -> None:
    robot = named_robot("fivebar")
    with pytest.raises(UnreachableError, match=r"leg '.*' does not reach") as error:
        function(robot, reference_pose(robot) + np.array([0.3, 0.0]))
    assert len(error.value.legs) == 1


def test_leg_jacobians_of_one_pose() -> None:
    robot = named_robot("palida")
    with pytest.raises(KinematicsError, match="one pose"):
        leg_jacobians(robot, poses_around(robot, 2))


@pytest.mark.parametrize(
    ("v", "words"),
    [
        (
            np.zeros(3),
            r"the twist v of fivebar has 2 numbers \(x, y\), so its shape is \(\.\.\., 2\), got \(3,\)",
        ),
        ([np.nan, 0.0], "is not finite"),
        (np.zeros((3, 2)), r"the batch dimensions do not broadcast: \(4, 2\), \(3, 2\)"),
    ],
)
def test_wrong_rates(v: object, words: str) -> None:
    robot = named_robot("fivebar")
    x = poses_around(robot, 4) if np.ndim(v) == 2 else reference_pose(robot)
    with pytest.raises(KinematicsError, match=words):
        body_motion(robot, x, v)
    with pytest.raises(KinematicsError, match="of fivebar has 2 numbers"):
        joint_motion(robot, reference_pose(robot), a=np.zeros(5))


def test_bad_rows_of_motions() -> None:
    """One sample of a batch with a rate that is not finite, one out of reach: NaN there, and only there."""
    robot = named_robot("fivebar")
    x = poses_around(robot, 4)
    x[1] += 5.0
    v = np.ones((4, 2))
    v[2, 0] = np.inf
    found = body_motion(robot, x, v)
    assert list(found.flags) == [0, Flag.UNREACHABLE, Flag.INVALID, 0]
    assert np.all(np.isnan(found.twist[1:3]))
    assert np.all(np.isfinite(found.twist[[0, 3]]))
    assert np.all(np.isfinite(found.acceleration[[0, 3]]))


def test_broadcast_one_pose_and_many_rates() -> None:
    robot = named_robot("fivebar")
    v = np.random.default_rng(0).normal(size=(5, 2))
    many = body_motion(robot, reference_pose(robot), v)
    assert many.twist.shape == (5, len(robot.bodies), 6)
    for k in range(5):
        assert_same(many.twist[k], body_motion(robot, reference_pose(robot), v[k]).twist, 1e-14)

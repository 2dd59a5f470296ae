"""Velocities and accelerations: against differences along a path, forty digits, and Pinocchio."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import mpmath
import numpy as np
import pytest

from nacelle.kinematics import kinematic_model
from nacelle.kinematics.configuration import configuration
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.motion import body_motion, joint_motion
from nacelle.kinematics.solve import newton_steps
from nacelle.model.joint import Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.trajectory.sampling import sample_trajectory
from support.compare import assert_same
from support.forty_digits import precise
from support.pinocchio_tree import pinocchio_snapshot
from support.random_robots.legs import CASES
from support.uncompiled import (
    ALL,
    central_difference,
    fourier_trajectory,
    mark_slow_names,
    named_robot,
    poses_around,
    run_uncompiled,
    solve_uncompiled,
    stencil_times,
    unwrap_coordinates,
)

TIMES = np.array([0.3, 4.1])
# Nine-point differences of numbers known to 2e-16 over a step of 0.02 s: 1e-14 of the position over the
# largest rate, which is some hundredths of the size a second; solved by Newton somewhat more.
BY_DIFFERENCES = 2e-11


@lru_cache(maxsize=2)
def sampled_states(robot: Robot) -> tuple[Array, Array, Array, Array]:
    """x, y, v and a along a wave, nine times around each of the times."""
    x, v, a = fourier_trajectory(robot)(stencil_times(TIMES).reshape(-1))
    y = solve_uncompiled(robot, x)
    mechanism = mechanism_of(robot)
    if mechanism.parasitic and 0 < len(mechanism.chart.rotations) < 3:
        found = run_uncompiled(kinematic_model.coordinate_motions, robot, x, y, v, a)
        v, a = found["v"], found["a"]
    return x, y, v, a


def spins(mechanism: Mechanism) -> dict[int, tuple[Array, Array]]:
    """Bodies that spin idly: axis and a point of it, in the body."""
    return {s.body: (np.array(s.axis), np.array(s.point)) for s in mechanism.mobility.internal_freedoms}


def material_points(mechanism: Mechanism) -> list[list[Array]]:
    """Points of each body by which its motion is seen: of one that spins idly, points of the axis."""
    size, idle = mechanism.robot.size, spins(mechanism)
    return [
        [idle[k][1], idle[k][1] + size * idle[k][0]]
        if k in idle
        else [np.zeros(3), *(size * np.eye(3)[i] for i in range(3))]
        for k in range(len(mechanism.robot.bodies))
    ]


def point_motions(
    points: Sequence[Sequence[Array]], R: Array, p: Array, twist: Array, acceleration: Array
) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of material points, from poses, twists and accelerations."""
    places, speeds, rates = [], [], []
    for k, listed in enumerate(points):
        v, w = twist[..., k, :3], twist[..., k, 3:]
        a, dw = acceleration[..., k, :3], acceleration[..., k, 3:]
        for point in listed:
            r = R[..., k, :, :] @ point
            places.append(p[..., k, :] + r)
            speeds.append(v + np.cross(w, r))
            rates.append(a + np.cross(dw, r) + np.cross(w, np.cross(w, r)))
    return tuple(np.stack(part, axis=-2) for part in (places, speeds, rates))


def check_bodies(robot: Robot) -> None:
    mechanism = mechanism_of(robot)
    x, y, v, a = sampled_states(robot)
    poses = run_uncompiled(kinematic_model.body_poses, robot, x, y)
    motion = run_uncompiled(kinematic_model.body_motions, robot, x, y, v, a)
    places, speeds, rates = point_motions(
        material_points(mechanism), poses["R"], poses["p"], motion["twist"], motion["acceleration"]
    )
    shape = (len(TIMES), 9, *places.shape[1:])
    places, speeds, rates = (part.reshape(shape) for part in (places, speeds, rates))
    assert_same(speeds[:, 4], central_difference(places), BY_DIFFERENCES, "velocities of points")
    assert_same(rates[:, 4], central_difference(speeds), BY_DIFFERENCES, "accelerations of points")
    # Bodies that spin idly: the spin and its derivative are zero.
    for plan in mechanism.legs:
        for spin in plan.spins:
            axis = poses["R"][:, spin.body] @ np.array(spin.axis)
            for part in (motion["twist"], motion["acceleration"]):
                along_axis = np.einsum("ni,ni->n", axis, part[:, spin.body, 3:])
                assert np.max(np.abs(along_axis)) < 1e-12 * max(1.0, float(np.max(np.abs(part))))


def plain_places(robot: Robot) -> tuple[list[int], list[int]]:
    """Places in q and in the rates of what is no ball."""
    in_q, in_v = [], []
    for joint, q, v in zip(robot.tree_joints, robot.q_slices, robot.v_slices, strict=True):
        a, b = q.start, v.start
        for primitive in joint.primitives:
            if primitive is not Primitive.SPHERICAL:
                in_q.append(a)
                in_v.append(b)
            a, b = a + primitive.nq, b + primitive.nv
    return in_q, in_v


def check_joints(robot: Robot) -> None:
    x, y, v, a = sampled_states(robot)
    found = run_uncompiled(kinematic_model.joint_motions, robot, x, y, v, a)
    found = {name: value.reshape(len(TIMES), 9, -1) for name, value in found.items()}
    in_q, in_v = plain_places(robot)
    q = unwrap_coordinates(robot, found["q"])[..., in_q]
    rate, acceleration = found["rate"][..., in_v], found["acceleration"][..., in_v]
    assert_same(rate[:, 4], central_difference(q), BY_DIFFERENCES, "rates of joints")
    assert_same(acceleration[:, 4], central_difference(rate), BY_DIFFERENCES, "accelerations of joints")
    active = np.unwrap(found["active"], axis=1)
    assert_same(found["active_rate"][:, 4], central_difference(active), BY_DIFFERENCES, "rates of actuators")
    assert_same(
        found["active_acceleration"][:, 4],
        central_difference(found["active_rate"]),
        BY_DIFFERENCES,
        "accelerations of actuators",
    )


def check_balls(robot: Robot) -> None:
    """Rates of balls from the motions of the bodies: r = R2^T (w2 - w1), and their derivatives."""
    x, y, v, a = (part[4::9] for part in sampled_states(robot))
    poses = run_uncompiled(kinematic_model.body_poses, robot, x, y)
    motion = run_uncompiled(kinematic_model.body_motions, robot, x, y, v, a)
    found = run_uncompiled(kinematic_model.joint_motions, robot, x, y, v, a)
    for joint, place in zip(robot.tree_joints, robot.v_slices, strict=True):
        if joint.kind != "spherical":
            continue
        R = poses["R"][:, joint.successor] @ joint.frame_successor.R
        w1, w2 = (motion["twist"][:, k, 3:] for k in (joint.predecessor, joint.successor))
        dw1, dw2 = (motion["acceleration"][:, k, 3:] for k in (joint.predecessor, joint.successor))
        rate = np.einsum("nji,nj->ni", R, w2 - w1)
        assert np.allclose(found["rate"][:, place], rate, rtol=0, atol=1e-12)
        derivative = np.einsum("nji,nj->ni", R, dw2 - dw1 - np.cross(w2, w2 - w1))
        assert np.allclose(found["acceleration"][:, place], derivative, rtol=0, atol=1e-12)


# --------------------------------------------------------------------------------------- Pinocchio


def check_against_pinocchio(robot: Robot) -> None:
    """The same tree at the same (q, u, du/dt): twists and classical accelerations of all bodies."""
    x, y, v, a = (part[4::9] for part in sampled_states(robot))
    poses = run_uncompiled(kinematic_model.body_poses, robot, x, y)
    motion = run_uncompiled(kinematic_model.body_motions, robot, x, y, v, a)
    joints = run_uncompiled(kinematic_model.joint_motions, robot, x, y, v, a)
    m = robot.platform_nv
    for k in range(len(TIMES)):
        platform = Pose(poses["R"][k, 1], poses["p"][k, 1])
        twist, rate = motion["twist"][k, 1], motion["acceleration"][k, 1]
        u = np.concatenate([twist[:m], joints["rate"][k]])
        u_dot = np.concatenate([rate[:m], joints["acceleration"][k]])
        theirs = pinocchio_snapshot(robot, platform, joints["q"][k], u, u_dot)
        assert_same(motion["twist"][k], theirs.twist, 1e-12, "twists")
        assert_same(motion["acceleration"][k], theirs.acceleration, 1e-11, "accelerations")


def check(robot: Robot) -> None:
    check_bodies(robot)
    check_joints(robot)
    check_balls(robot)
    check_against_pinocchio(robot)


@pytest.mark.costly
@pytest.mark.parametrize("name", ALL)
def test_all_robots(name: str) -> None:
    check(named_robot(name))


@pytest.mark.costly
@pytest.mark.parametrize("name", CASES)
def test_random_legs(name: str) -> None:
    check(CASES[name](3).robot)


# ------------------------------------------------------------------------------------ forty digits


def exact_path(mechanism: Mechanism, x: Array, v: Array, a: Array, t: object) -> Array:
    """A path over mpmath with the twist v and its derivative a at t = 0: q = exp(w t + dw t^2 / 2) q_0."""
    layout = mechanism.layout
    step = [vk * t + ak * t * t / 2 for vk, ak in zip(precise(v), precise(a), strict=True)]
    result = list(precise(x))
    if layout.quaternion is not None:
        quat = result[layout.quaternion]
        length = mpmath.sqrt(sum(c * c for c in quat))
        quat = [c / length for c in quat]
        r = step[layout.angular]
        angle = mpmath.sqrt(sum(c * c for c in r))
        s = mpmath.sin(angle / 2) / angle if angle else mpmath.mpf(0.5)
        e = [*(s * c for c in r), mpmath.cos(angle / 2)]
        result[layout.quaternion] = [
            e[3] * quat[0] + e[0] * quat[3] + e[1] * quat[2] - e[2] * quat[1],
            e[3] * quat[1] - e[0] * quat[2] + e[1] * quat[3] + e[2] * quat[0],
            e[3] * quat[2] + e[0] * quat[1] - e[1] * quat[0] + e[2] * quat[3],
            e[3] * quat[3] - e[0] * quat[0] - e[1] * quat[1] - e[2] * quat[2],
        ]
    for place, k in zip(layout.linear_x, layout.linear_v, strict=True):
        result[place] = result[place] + step[k]
    return np.array(result, dtype=object)


def exact_poses(robot: Robot, x: Array, y: Array) -> tuple[Array, Array]:
    """Poses of all bodies over mpmath; y is iterated to forty digits."""
    y = precise(y)
    for _ in range(4 if mechanism_of(robot).unknown_count else 0):
        y = y + newton_steps.loop_closing_step(robot, y, x)["dy"]
    motion = configuration(robot, x, y).motion
    return np.stack([high_matrix(p.R) for p in motion.poses]), np.stack(
        [high_matrix(p.p) for p in motion.poses]
    )


def high_matrix(M: Array) -> Array:
    return np.array([mpmath.mpf(c) for c in np.ravel(M)], dtype=object).reshape(np.shape(M))


EXACT = ("fivebar", "gough-stewart", "delta-codourey", "dymo", "orthoglide", "c5", "h4", "dymo/orientational")


@pytest.mark.parametrize("name", EXACT)
def test_against_forty_digits(name: str) -> None:
    """Differences of step 1e-14 with 50 digits: an error of 1e-28 for velocities and accelerations."""
    robot = named_robot(name)
    mechanism = mechanism_of(robot)
    rng = np.random.default_rng(8)
    x = poses_around(robot, 1, seed=2)
    y = solve_uncompiled(robot, x)
    v, a = rng.normal(size=(2, 1, robot.motion.n))
    found = run_uncompiled(kinematic_model.body_motions, robot, x, y, v, a)
    points = material_points(mechanism)
    with mpmath.workdps(50):
        h = mpmath.mpf("1e-14")
        paths = [exact_path(mechanism, x[0], v[0], a[0], t) for t in (-h, mpmath.mpf(0), h)]
        states = [exact_poses(robot, path, y[0]) for path in paths]
        # Places of the material points at the three times.
        before, here, after = (
            np.stack(
                [p[k] + R[k] @ high_matrix(point) for k, listed in enumerate(points) for point in listed]
            )
            for R, p in states
        )
        speeds = ((after - before) / (2 * h)).astype(float)
        rates = ((after - 2 * here + before) / (h * h)).astype(float)
        R, p = (part.astype(float)[None] for part in states[1])
    _, v_points, a_points = point_motions(points, R, p, found["twist"], found["acceleration"])
    assert_same(v_points[0], speeds, 1e-12, "velocities")
    assert_same(a_points[0], rates, 1e-12, "accelerations")


# ---------------------------------------------------------------------------- through the public API


@pytest.mark.parametrize(
    "name", mark_slow_names(["3rps", "fivebar", "c5", "3rrr", "space"], long=["3rrr", "space"])
)
def test_front_door(name: str) -> None:
    """The compiled functions with their own solution of what needs iteration, along a trajectory."""
    robot = named_robot(name)
    x, y, v, a = (part[4::9] for part in sampled_states(robot))
    given = sample_trajectory(robot, fourier_trajectory(robot), TIMES)
    assert_same(given.x, x, 1e-15)
    assert_same(given.v, v, 1e-12)
    assert_same(given.a, a, 1e-12)
    bodies, joints = body_motion(robot, x, v, a), joint_motion(robot, x, v, a)
    expected = run_uncompiled(kinematic_model.body_motions, robot, x, y, v, a)
    assert_same(bodies.twist, expected["twist"], 1e-12)
    assert_same(bodies.acceleration, expected["acceleration"], 1e-12)
    expected = run_uncompiled(kinematic_model.joint_motions, robot, x, y, v, a)
    assert_same(joints.q_tree, expected["q"], 1e-12)
    assert_same(joints.rate, expected["rate"], 1e-12)
    assert_same(joints.acceleration, expected["acceleration"], 1e-12)
    for got, key in zip(joints.actuators, ("active", "active_rate", "active_acceleration"), strict=True):
        assert_same(got, expected[key], 1e-12)
    still = body_motion(robot, x)
    assert not np.any(still.twist)
    assert not np.any(still.acceleration)

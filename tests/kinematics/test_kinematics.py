"""Kinematics: rates of actuators, samples along paths, margins, coordinates that nothing drives."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.state import state_at
from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics.actuation import actuator_biases, actuator_rows
from nacelle.kinematics.along import motion_samples, solved_samples
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.underactuated import coordinate_places, free_hint, require_driven, undriven
from support.described import mechanism
from support.stress_robots import STRESS
from support.uncompiled import any_robot, solve_uncompiled

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
    robot = any_robot("delta")
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
    robot = any_robot("delta")
    flags = np.array([0, int(Flag.UNREACHABLE), int(Flag.NEAR_SINGULAR)])
    assert solved_samples(robot, flags).tolist() == [True, False, True]
    with pytest.raises(UnreachableError, match="reaches no pose"):
        solved_samples(robot, flags[1:2])


@pytest.mark.slow
def test_rates_of_dependent_orientations() -> None:
    """Where a platform tilts by itself the twist along given coordinates is that of the whole motion."""
    robot = any_robot("3rps")
    start = mechanism_of(robot).reference[0]
    line = nacelle.Line(start, start + np.array([0.02, 0.03, -0.02]), motion=robot.motion, duration=1.0)
    times, sample = motion_samples(robot, line, 2000.0)
    k = len(times) // 2
    q = nacelle.inverse_kinematics(robot, sample.x[k - 1 : k + 2]).actuators
    rate = nacelle.joint_motion(robot, sample.x[k], sample.v[k], sample.a[k]).actuators[1]
    np.testing.assert_allclose(rate, (q[2] - q[0]) / (times[k + 1] - times[k - 1]), rtol=1e-5, atol=1e-8)


# ---- Margins: squares that vanish where a leg is stretched, one a leg and in their order


def test_a_margin_vanishes_where_its_leg_is_stretched() -> None:
    """Along a ray from the base joint of a leg the margin falls with the distance to its full length."""
    robot = any_robot("fivebar")
    joints = [robot.joints[j] for j in robot.legs[0].joints]
    foot = joints[0].frame_predecessor.p[:2]
    arms = [np.linalg.norm(joints[1].frame_predecessor.p - joints[0].frame_successor.p)]
    end = robot.joints[robot.legs[0].closures[0]]
    local = end.frame_predecessor if end.predecessor == robot.legs[0].bodies[1] else end.frame_successor
    arms.append(np.linalg.norm(local.p - joints[1].frame_successor.p))
    towards = np.array([0.15, 1.0]) / np.hypot(0.15, 1.0)
    x = np.array([foot + towards * (sum(arms) * part) for part in (0.9, 0.99, 0.999)])
    found = nacelle.inverse_kinematics(robot, x).margins[:, 0]
    assert np.all(np.diff(found) < 0.0)
    assert found[2] < 0.02 * found[0]


# ---- Which coordinates nothing drives, and names of coordinates


def test_a_free_base_is_driven_by_nothing() -> None:
    robot = mechanism("biped")
    assert undriven(robot) == ("x", "y", "z", "rx", "ry", "rz")
    assert undriven(mechanism("gripper")) == ()
    with pytest.raises(nacelle.UnderactuatedError, match="a test needs an actuator for every motion"):
        require_driven(robot, "a test needs")
    assert "free=('x', 'y', 'z', 'rx', 'ry', 'rz') leaves" in free_hint(robot)


def test_coordinates_by_full_names_bare_names_and_named_motions() -> None:
    robot = mechanism("biped")
    assert coordinate_places(robot, ["left.hip", "se3"]) == (0, 1, 2, 3, 4, 5, 6)
    assert coordinate_places(mechanism("cart_pole"), "pivot") == (1,)
    with pytest.raises(nacelle.KinematicsError, match="'hip' is not a coordinate"):
        coordinate_places(robot, "hip")

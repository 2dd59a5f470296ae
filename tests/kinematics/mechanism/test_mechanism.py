"""Mechanisms: assembly, chart, closed states, dependent coordinates, snapped, spins, words."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.errors import DescriptionError
from nacelle.kinematics.dependent import dependent_names
from nacelle.kinematics.mechanism.assembly import assemble, guess_coordinates, sample_closed_configuration
from nacelle.kinematics.mechanism.chart import Chart
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.kinematics.mechanism.coupled import coupled_followers, rate_amplification
from nacelle.kinematics.mechanism.internal_freedoms import asymmetry, nearest_axisymmetric
from nacelle.kinematics.mechanism.mechanism import mechanism_of, with_turn_counting
from nacelle.kinematics.mechanism.regularised import (
    _apply_corrections,
    _derivatives_by_corrections,
    regularise_geometry,
)
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.leg import PLATFORM
from nacelle.model.platform import AXES, Motion
from nacelle.model.robot import Robot
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.inertia import (
    inertia_about_com,
    is_axisymmetric,
    parameters_from_com,
    transform_parameters,
)
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import (
    nearest_rotation,
    quat_from_vector,
    rotation_quat,
)
from nacelle.tree.closure import closure_residual
from nacelle.tree.rates import InternalFreedom
from nacelle.tree.spanning_tree import tree_kinematics
from support import described
from support.compare import assert_same
from support.described import mechanism
from support.library import library_robot
from support.random_robots import random_robot
from support.rigid_robots import delta_with_tolerances, spherical_three_rrr
from support.turning_robots import four_bar, pendulum, telescope
from support.uncompiled import ALL, central_difference, named_robot, stencil_times

# ---- Assembly: idle motions stay where the description puts them; the reference is assembled once


@pytest.mark.parametrize("name", ["quattro", "delta"])
def test_rods_do_not_spin(name: str) -> None:
    """Guesses of the elbows tilt the rods about y alone: so do the solutions, to rounding."""
    robot = library_robot(name)
    assembly = assemble(robot)
    assert not assembly.open
    guess = guess_coordinates(robot)
    rods = [
        place
        for joint, place in zip(robot.tree_joints, robot.q_slices, strict=True)
        if joint.primitives == (Primitive.SPHERICAL,)
    ]
    assert rods
    for place in rods:
        x, y, z, w = assembly.q_tree[place]
        assert guess[place][0] == guess[place][2] == 0.0
        assert max(abs(x), abs(z)) < 1e-15
        assert np.hypot(y, w) == pytest.approx(1.0)


def test_the_other_branch_is_found_from_guesses_on_this_one() -> None:
    """Random starts that lead nowhere do not end the search: both branches of an RRR leg exist."""
    robot = library_robot("3rrr")
    leg = robot.legs[0]
    here = assemble(robot)
    assert not here.missed
    other = dataclasses.replace(
        robot, legs=(dataclasses.replace(leg, branch=-leg.branch), *robot.legs[1:]), modes=()
    )
    for seed in range(1, 11):
        there = assemble(other, robot.reference, here.q_tree, seed)
        assert not there.open
        assert not there.missed


# ---- Closed configurations near the reference: loops closed, moved along what is independent


@pytest.mark.parametrize("name", ["fivebar", "3rps", "delta", "quattro", "everything"])
def test_loops_are_closed(name: str) -> None:
    robot = named_robot(name)
    start = mechanism_of(robot).assembly
    found = sample_closed_configuration(robot, start, 0.03, np.random.default_rng(5))
    assert found is not None
    _, _, motion, _ = found
    for joint in robot.closures:
        first, second = (
            motion.poses[body].p + motion.poses[body].R @ frame.p
            for body, frame in (
                (joint.predecessor, joint.frame_predecessor),
                (joint.successor, joint.frame_successor),
            )
        )
        if joint.kind in (JointKind.SPHERICAL, JointKind.REVOLUTE, JointKind.UNIVERSAL):
            np.testing.assert_allclose(first, second, rtol=0, atol=1e-11 * robot.size)
    moved = np.max(np.abs(motion.poses[1].p - start.motion.poses[1].p)) / robot.size
    turned = np.max(np.abs(motion.poses[1].R - start.motion.poses[1].R))
    assert 1e-3 < moved + turned < 0.3
    for pose in motion.poses:
        np.testing.assert_allclose(pose.R @ pose.R.T, np.eye(3), rtol=0, atol=1e-13)


# ---- Dependent coordinates: they are those of the platform as the bodies have it


@pytest.mark.costly
@pytest.mark.parametrize("name", nacelle.robot_names())
def test_coordinates_and_dependent_ones_place_the_platform(name: str) -> None:
    robot = nacelle.load(name)
    names = dependent_names(robot)
    mechanism = mechanism_of(robot)
    assert bool(names) == mechanism.parasitic
    assert not set(names) & set(robot.motion.coordinates)
    if not names:
        assert (
            nacelle.kinematics.dependent_coordinates(
                nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot))
            )
            == {}
        )
        return
    assert {*names, *robot.motion.coordinates} >= set(AXES[: robot.platform_nv])
    rng = np.random.default_rng(5)
    x = nacelle.reference_pose(robot) + rng.uniform(-0.02, 0.02, (5, robot.motion.n))
    found = nacelle.inverse_kinematics(robot, x)
    dependent = nacelle.kinematics.dependent_coordinates(found)
    assert tuple(dependent) == names
    for k in range(len(x)):
        R, p = found.bodies.R[k, 1], found.bodies.p[k, 1]
        expected = mechanism.chart.coordinates(Pose(R, p))[1]
        np.testing.assert_allclose([values[k] for values in dependent.values()], expected, atol=1e-12)
        for axis, letter in enumerate("xyz"):
            if letter in dependent:
                assert dependent[letter][k] == pytest.approx(p[axis], abs=1e-12)


@pytest.mark.slow
def test_the_same_from_the_actuators_and_in_gaps() -> None:
    robot = nacelle.load("3rps")
    x = nacelle.reference_pose(robot) + np.array([[0.01, 0.1, 0.05], [0, 0, 0], [np.nan, 0, 0]])
    found = nacelle.inverse_kinematics(robot, x)
    first = nacelle.kinematics.dependent_coordinates(found)
    second = nacelle.kinematics.dependent_coordinates(nacelle.forward_kinematics(robot, found.q))
    for name, values in first.items():
        assert np.isfinite(values).tolist() == [True, True, False]
        np.testing.assert_allclose(second[name], values, atol=1e-9)
    single = nacelle.kinematics.dependent_coordinates(nacelle.inverse_kinematics(robot, x[0]))
    assert {name: float(value) for name, value in single.items()} == pytest.approx(
        {name: float(values[0]) for name, values in first.items()}, abs=1e-12
    )


@pytest.mark.parametrize("seed", [3, 5])
def test_tolerances_of_a_leg_keep_the_branch_of_the_guess(seed: int) -> None:
    """A leg with rods that differ closes only with a tilted plate; a held one does not choose the branch."""
    robot = delta_with_tolerances(seed)
    found = assemble(robot)
    assert not found.open
    arms = [found.q_tree[robot.q_slices[robot.joint(f"leg{k}.shoulder")]][0] for k in (1, 2, 3)]
    np.testing.assert_allclose(arms, 0.518, atol=0.01)
    # Less than a degree, but not zero.
    tilt = np.linalg.norm(found.platform.R - np.eye(3))
    assert 1e-6 < tilt < 0.02


# ---- Coordinates that nothing drives, and joints that could be coordinates, in words


def test_what_nothing_drives_is_named() -> None:
    m = nacelle.kinematics.mobility(mechanism("carriage"))
    assert m.is_underactuated
    assert m.is_unobserved
    assert m.undriven == ("pendulum.swing",)
    check = nacelle.check("tests/support/described/carriage.yaml")
    assert not check.errors
    assert "nothing drives pendulum.swing: 3 actuators for 4 motions" in check.problems[0].message


def test_a_motion_that_does_not_fit_suggests_one() -> None:
    text = mechanism("arm").to_yaml().replace("arm.turn, ", "", 1)
    with pytest.raises(
        nacelle.DescriptionError, match=r"write motion: \[arm\.shoulder, arm\.motor, arm\.turn"
    ):
        nacelle.loads(text)


# ---- Idle motions: rods between two spherical joints spin about themselves, and nothing else does


@pytest.mark.parametrize(("name", "count"), [("delta", 6), ("h4", 8), ("gough-stewart", 0), ("fivebar", 0)])
def test_spins(name: str, count: int) -> None:
    mechanism = mechanism_of(named_robot(name))
    robot = mechanism.robot
    spins = [spin for plan in mechanism.legs for spin in plan.spins]
    assert len(spins) == count
    for spin in spins:
        # The axis runs through the spherical joints at both ends of the body.
        ends = []
        for joint in robot.joints:
            if spin.body in (joint.predecessor, joint.successor):
                frame = joint.frame_successor if joint.successor == spin.body else joint.frame_predecessor
                ends.append(np.asarray(frame.p, dtype=float))
        line = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
        assert abs(abs(line @ np.array(spin.axis)) - 1.0) < 1e-9
        assert np.linalg.norm(np.cross(line, np.array(spin.point) - ends[0])) < 1e-9


def test_spins_of_a_robot_without_a_platform() -> None:
    known = mechanism_of(mechanism("tied_arm"))
    rod, mobility = known.robot.body("arm.rod"), known.mobility
    assert [spin.body for spin in known.platform_internal_freedoms] == [rod]
    np.testing.assert_allclose(np.abs(known.platform_internal_freedoms[0].axis), [1.0, 0.0, 0.0], atol=1e-9)
    assert (mobility.true, mobility.platform, mobility.internal_count) == (3, 2, 1)
    assert mobility.internal_motions == ("arm.rod spins about its own axis",)


def test_bodies_of_a_cylinder_spin_together_and_one_of_them_is_held() -> None:
    known = mechanism_of(mechanism("digger"))
    names = [known.robot.bodies[spin.body].name for spin in known.mobility.internal_freedoms]
    assert names == ["cylinder.barrel", "cylinder.piston", "bucket.barrel", "bucket.piston"]
    held = [known.robot.bodies[spin.body].name for spin in known.platform_internal_freedoms]
    assert held == ["cylinder.barrel", "bucket.barrel"]
    assert known.mobility.platform == 3


def test_a_rod_that_carries_the_rest_of_the_tree_spins_too() -> None:
    data = YAML(typ="safe").load(mechanism("tied_arm").to_yaml())
    leg = data["legs"][0]
    leg["joints"]["tip"] = leg["closures"].pop("tip")
    leg["closures"]["elbow"] = leg["joints"].pop("elbow")
    del leg["closures"]["elbow"]["guess"]
    known = mechanism_of(nacelle.build(data))
    assert known.mobility.internal_motions == ("arm.rod spins about its own axis",)
    assert [known.robot.bodies[spin.body].name for spin in known.platform_internal_freedoms] == ["arm.rod"]


# ---- The analysis of a robot: places of rates, what depends, what needs iteration; made once


@pytest.mark.parametrize("name", ALL)
def test_rates_of_the_platform_are_independent_dependent_or_zero(name: str) -> None:
    robot = named_robot(name)
    mechanism = mechanism_of(robot)
    assert len(mechanism.independent) == robot.motion.n
    assert set(mechanism.independent) <= set(mechanism.platform_rates)
    assert set(mechanism.dependent) <= set(mechanism.platform_rates)
    assert not set(mechanism.dependent) & set(mechanism.independent)
    assert mechanism.has_closed_form is (mechanism.unknown_count == 0)
    x, y = mechanism.reference
    assert (len(x), len(y)) == (mechanism.layout.nx, mechanism.unknown_count)
    # Rates of legs are those of their joints, each in one leg.
    listed = [rate for plan in mechanism.legs for rate in plan.rates]
    assert len(listed) == len(set(listed))
    assert mechanism.platform_rate_count + len(listed) == robot.platform_nv + robot.nv


def test_angles_that_count_turns() -> None:
    """Of sprung joints that x does not give, that iteration does not find and that limits do not hold."""
    loop = with_turn_counting(four_bar({"foot": (1.0, 0.0), "knee": (1.0, 0.0)}))
    assert mechanism_of(loop).counted == ((loop.joint("bars.foot"), 0),)
    for robot in (four_bar({"crank": (1.0, 0.0), "tip": (1.0, 0.0)}), telescope(), pendulum()):
        assert with_turn_counting(robot) is robot
    held = telescope({"hip": (1.0, 0.0)}, {"hip": (0.0, 5.0)})
    assert with_turn_counting(held) is held
    robot = telescope({"hip": (1.0, 0.4), "wrist": (1.0, 0.0)})
    moved = with_turn_counting(robot)
    mechanism = mechanism_of(moved)
    assert (mechanism.counted, mechanism.unknown_count, mechanism.has_closed_form) == (
        ((0, 0), (2, 0)),
        2,
        True,
    )
    assert mechanism.reference[1].tolist() == [0.4, 0.0]
    assert (moved == robot, moved.as_described == robot, with_turn_counting(moved) is moved) == (
        False,
        True,
        True,
    )
    assert moved.to_yaml() == robot.to_yaml()


# ---- The pose from x and back, and the maps between rates of its numbers and the twist

seeds = st.integers(0, 2**32 - 1)
MOTIONS = (
    ("x", "y", "z"),
    ("x", "y", "z", "rz"),
    ("x", "y", "rz"),
    ("x", "z", "ry"),
    ("z", "rx", "ry"),
    ("z", "rx", "rz"),
    ("y", "ry", "rz"),
    ("rz",),
    ("rx", "ry", "rz"),
    ("x", "y", "z", "rx", "ry", "rz"),
)


def with_motion(motion: tuple[str, ...], seed: int) -> Robot:
    """A robot that only serves for its reference pose and motion."""
    rng = np.random.default_rng(seed)
    reference = Pose(Rotation.random(random_state=rng).as_matrix(), rng.uniform(-1, 1, 3))
    return dataclasses.replace(named_robot("palida"), motion=Motion(motion), reference=reference, modes=())


@pytest.mark.parametrize("motion", MOTIONS, ids=" ".join)
@pytest.mark.parametrize("seed", range(4))
def test_reference_and_round_trip(motion: tuple[str, ...], seed: int) -> None:
    robot = with_motion(motion, seed)
    chart = Chart(robot)
    x0, rest0 = chart.reference
    assert len(rest0) == chart.dependent == 6 - len(motion)
    for given_rest in (None, rest0):
        again = chart.pose(x0, given_rest)
        assert_same(again.R, robot.reference.R, 1e-14)
        assert_same(again.p, robot.reference.p, 1e-15)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        # Any numbers near those of the reference: back to the same.
        x, rest = x0 + rng.uniform(-0.4, 0.4, x0.size), rest0 + rng.uniform(-0.4, 0.4, rest0.size)
        if chart.layout.quaternion is not None:
            x[chart.layout.quaternion] /= np.linalg.norm(x[chart.layout.quaternion])
        placed = chart.pose(x, rest)
        assert_same(placed.R @ placed.R.T, np.eye(3), 1e-14)
        x_again, rest_again = chart.coordinates(placed)
        if (
            chart.layout.quaternion is not None
            and x_again[chart.layout.quaternion] @ x[chart.layout.quaternion] < 0
        ):
            x_again[chart.layout.quaternion] *= -1.0
        turned = chart.pose(x_again, rest_again)
        assert_same(turned.R, placed.R, 1e-13)
        assert_same(turned.p, placed.p, 1e-15)
        if all(abs(value) < np.pi - 0.5 for value in (*x, *rest)):
            assert np.max(np.abs(x_again - x)) < 1e-12
            assert np.max(np.abs(rest_again - rest), initial=0.0) < 1e-12


@pytest.mark.parametrize("motion", [m for m in MOTIONS if len(m) < 6], ids=" ".join)
def test_twists_of_the_numbers(motion: tuple[str, ...]) -> None:
    """The platform's twist V = B x' + D r' and its derivative at constant rates, by differences."""
    if motion == ("rx", "ry", "rz"):
        return
    robot = with_motion(motion, 7)
    chart = Chart(robot)
    rng = np.random.default_rng(1)
    x0, rest0 = chart.reference
    x0, rest0 = x0 + rng.uniform(-0.2, 0.2, x0.size), rest0 + rng.uniform(-0.2, 0.2, rest0.size)
    dx, dr = rng.normal(size=x0.size), rng.normal(size=rest0.size)
    t = stencil_times(np.zeros(1))[0]
    poses = [chart.pose(x0 + s * dx, rest0 + s * dr) for s in t]
    W = central_difference(np.stack([p.R for p in poses])[None])[0] @ poses[4].R.T
    v = central_difference(np.stack([p.p for p in poses])[None])[0]
    twist = chart.twists(x0, rest0) @ dx + chart.dependent_twists(x0, rest0) @ dr
    assert_same(twist, [*v, W[2, 1], W[0, 2], W[1, 0]], 1e-11)
    twists = np.stack(
        [
            chart.twists(x0 + s * dx, rest0 + s * dr) @ dx
            + chart.dependent_twists(x0 + s * dx, rest0 + s * dr) @ dr
            for s in t
        ]
    )
    bias = chart.twist_bias(x0, rest0, dx, dr)
    assert np.max(np.abs(bias - central_difference(twists[None])[0])) < 1e-10


@pytest.mark.parametrize("motion", [("z", "rx", "ry"), ("x", "y", "rz"), ("x", "y", "z")], ids=" ".join)
def test_over_batches(motion: tuple[str, ...]) -> None:
    chart = Chart(with_motion(motion, 2))
    rng = np.random.default_rng(5)
    x0, rest0 = chart.reference
    x, rest = x0 + rng.uniform(-0.3, 0.3, (6, x0.size)), rest0 + rng.uniform(-0.3, 0.3, (6, rest0.size))
    placed = chart.pose(from_samples(x, 1), from_samples(rest, 1))
    R, p = to_samples(placed.R), to_samples(placed.p)
    for k in range(6):
        one = chart.pose(x[k], rest[k])
        assert_same(R[k], one.R, 1e-15)
        assert_same(p[k], one.p, 1e-15)


@given(seeds)
def test_point_platform_has_no_orientation(seed: int) -> None:
    robot = named_robot("fivebar")
    chart = Chart(robot)
    x = np.random.default_rng(seed).normal(size=2)
    placed = chart.pose(x)
    np.testing.assert_array_equal(placed.R, np.eye(3))
    np.testing.assert_array_equal(chart.coordinates(placed)[0], x)
    np.testing.assert_array_equal(chart.coordinates(placed)[1], robot.reference.p[2:])


# ---- Which coupled coordinates follow from the others, and how fast joints count


@pytest.mark.parametrize("seed", range(8))
def test_couplings_hold_for_any_leaders(seed: int) -> None:
    robot = random_robot("coupled", seed)
    followers = coupled_followers(robot)
    rng = np.random.default_rng(seed)
    q = {j: float(rng.normal()) for j in followers.leaders}
    q |= followers.coordinates(q)
    assert len(followers.joints) == len(robot.couplings)
    for k in robot.couplings:
        joint = robot.joints[k]
        left = sum(factor * q[j] for j, factor in joint.terms) - joint.offset
        assert abs(left) < 1e-12 * max(1.0, *(abs(factor * q[j]) for j, factor in joint.terms))


def test_the_fast_joint_follows_and_coordinates_of_the_motion_do_not() -> None:
    screws = mechanism("ball_screws")
    names = [screws.joints[j].name for j in coupled_followers(screws).joints]
    assert names == [f"l{k}.screw" for k in range(1, 7)]
    wrist = mechanism("differential_wrist")
    assert {wrist.joints[j].name for j in coupled_followers(wrist).joints} == {"arm.left", "arm.right"}
    assert mechanism_of(wrist).unknown_count == 0


def test_winding() -> None:
    """A screw of 2 pi / 0.01 rad/m and a bearing that takes its rotation off."""
    ratio = 2.0 * math.pi / 0.01
    J = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, ratio, -1.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    assert rate_amplification(J, [0]) == pytest.approx([1.0, 1.0, ratio, ratio])


@pytest.mark.slow
def test_angles_of_coupled_joints_count_their_turns() -> None:
    robot = mechanism("belt_fivebar")
    x, _ = mechanism_of(robot).reference
    ik = nacelle.inverse_kinematics(robot, x)
    place = {joint.name: robot.q_slices[j].start for j, joint in enumerate(robot.tree_joints)}
    shoulder, motor = ik.q_tree[place["left.shoulder"]], ik.q_tree[place["left.motor"]]
    assert motor == pytest.approx(3.0 * (shoulder - math.radians(10.0)), abs=1e-12)
    assert abs(motor) > math.pi
    assert nacelle.forward_kinematics(robot, ik.q).x == pytest.approx(x, abs=1e-12)


def test_couplings_have_no_bodies() -> None:
    robot = mechanism("belt_fivebar")
    for k in robot.couplings:
        assert all(k not in robot.joints_at(body) for body in range(len(robot.bodies)))
    assert robot.joints_at(PLATFORM)


def test_couplings_that_hold_a_motion_are_named() -> None:
    """Two ratios between the same joints hold both; a third one, elsewhere, is not to blame."""
    text = """
format: nacelle/2
name: contradiction
motion: [a]
legs:
  - name: s
    bodies:
      one: {mass: 1 kg, com: 10 0 0 mm, inertia: 1e-4 1e-4 1e-4 kg*m^2}
      two: {mass: 1 kg, com: 10 0 0 mm, inertia: 1e-4 1e-4 1e-4 kg*m^2}
      wheel: {mass: 1 kg, com: 0 0 0 mm, inertia: 1e-4 1e-4 1e-4 kg*m^2}
    joints:
      a: {type: revolute, parent: base, child: one, axis: z, actuator: {}}
      b: {type: revolute, parent: one, child: two, at: 60 0 0 mm, axis: z}
      c: {type: revolute, parent: base, child: wheel, at: 0 60 0 mm, axis: z}
    couplings:
      k1: {joint: b, follows: a, ratio: 1}
      k2: {joint: b, follows: a, ratio: 2}
      k3: {joint: c, follows: a, ratio: 3}
"""
    with pytest.raises(
        DescriptionError, match=r"check the ratios of s\.k1, s\.k2: without one of them"
    ) as caught:
        nacelle.loads(text)
    assert "k3" not in str(caught.value)


# ---- Loops that close only to the digits of their numbers are closed by the smallest change of joint frames


def _with_random_frames(robot: Robot, seed: int) -> Robot:
    """The same robot with other body frames and points on axes, at random, so that no number is special."""
    rng = np.random.default_rng(seed)
    frames = [identity(), identity()]
    frames += [
        Pose(rotation_quat(quat_from_vector(rng.normal(size=3))), 0.02 * rng.normal(size=3))
        for _ in robot.bodies[2:]
    ]
    bodies = [
        dataclasses.replace(
            body, inertia=tuple(transform_parameters(f.R, f.p, np.array(body.inertia)).tolist())
        )
        for body, f in zip(robot.bodies, frames, strict=True)
    ]
    joints = []
    for joint in robot.joints:
        along = 0.05 * rng.normal() if joint.kind == "revolute" else 0.0
        point = Pose(np.eye(3), np.array([0.0, 0.0, along]))
        first = frames[joint.predecessor] @ joint.frame_predecessor @ point
        second = frames[joint.successor] @ joint.frame_successor @ point
        joints.append(dataclasses.replace(joint, frame_predecessor=first, frame_successor=second))
    return dataclasses.replace(robot, bodies=tuple(bodies), joints=tuple(joints))


def _round_frames(robot: Robot, digits: int) -> Robot:
    """The same robot with so many digits in its joint frames."""

    def shorter(pose: Pose) -> Pose:
        return Pose(nearest_rotation(np.round(pose.R, digits)), np.round(pose.p, digits))

    joints = [
        dataclasses.replace(
            joint,
            frame_predecessor=shorter(joint.frame_predecessor),
            frame_successor=shorter(joint.frame_successor),
        )
        for joint in robot.joints
    ]
    return dataclasses.replace(robot, joints=tuple(joints))


def _robot(name: str) -> Robot:
    return spherical_three_rrr(3) if name == "spherical" else nacelle.load(name)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "digits"), [("fivebar", 5), ("prrrp", 6), ("spherical", 6), ("3rrr", 6), ("orthoglide", 6)]
)
def test_planar_spherical_and_parallelogram_loops_move_again(name: str, digits: int) -> None:
    exact = _robot(name)
    robot = _round_frames(_with_random_frames(exact, 8), digits)
    assert assemble(robot).open
    found = check_robot(robot)
    assert not found.errors
    assert found.mobility is not None
    assert found.mobility.fits
    assert "close only to the digits" in found.problems[0].message
    # The change is of the size of the rounding.
    ours = found.robot
    before, after = (own.parameter_vector("geometry") for own in (robot, ours))
    assert 0.0 < np.max(np.abs(before - after)) < 30.0 * 10.0**-digits
    assert nacelle.loads(ours.to_yaml()).hash == ours.hash


def test_gaps_that_are_no_rounding_stay_an_error() -> None:
    robot = _round_frames(_with_random_frames(nacelle.load("fivebar"), 8), 2)
    assert any(
        "reach" in problem.message or "close" in problem.message for problem in check_robot(robot).errors
    )


def test_a_robot_that_closes_is_left_alone() -> None:
    robot = nacelle.load("fivebar")
    assert regularise_geometry(robot, assemble(robot)) is None
    assert check_robot(robot).robot is robot


def test_derivatives_by_the_frames_are_differences() -> None:
    robot = _with_random_frames(nacelle.load("prrrp"), 1)
    start = assemble(robot)
    places = [(j, "predecessor") for j in range(len(robot.joints))]
    places += [(j, "successor") for j in range(robot.tree, len(robot.joints))]
    D = _derivatives_by_corrections(robot, places, start.motion)

    def gaps(theta: np.ndarray) -> np.ndarray:
        moved = _apply_corrections(robot, places, theta.reshape(-1, 6))
        return closure_residual(moved, tree_kinematics(moved, start.platform, start.q_tree))

    h = 1e-6
    for k, step in enumerate(h * np.eye(6 * len(places))):
        np.testing.assert_allclose((gaps(step) - gaps(-step)) / (2 * h), D[:, k], atol=1e-8)


# ---- Rods between spherical joints that are not quite axisymmetric: neglected with the error stated, or held


def _with_asymmetric_rods(change: float, spin: str = "") -> Robot:
    """A Delta whose rods have an inertia that is not axisymmetric and a centre of mass beside their axis."""
    robot = nacelle.load("delta")
    bodies = list(robot.bodies)
    for k, body in enumerate(bodies):
        if ".rod" in body.name:
            ten = np.array(body.inertia)
            I, com = inertia_about_com(ten), ten[1:4] / ten[0]
            I = I + change * np.max(I) * np.diag([0.5, 0.0, 0.5])
            ten = parameters_from_com(ten[0], com + 0.05 * change * np.array([0.0, 1.0, 0.0]), I)
            bodies[k] = dataclasses.replace(body, inertia=tuple(ten.tolist()), spin=spin)
    return dataclasses.replace(robot, bodies=tuple(bodies))


@pytest.mark.slow
def test_a_small_asymmetry_is_neglected_and_its_error_stated() -> None:
    robot = _with_asymmetric_rods(5e-3)
    found = check_robot(robot)
    (warning,) = found.problems
    assert warning.severity == "warning"
    words = re.search(r"actuator by up to (\S+) of", warning.message)
    assert words is not None
    stated = float(words[1])
    near = found.require().robot
    assert near.bodies[3].inertia != robot.bodies[3].inertia
    assert check_robot(near).problems == ()
    # The whole inertia with the spins held, by the tree, against the axisymmetric one: a second opinion.
    rng = np.random.default_rng(2)
    x = near.reference.p + 0.1 * rng.uniform(-1, 1, (40, 3))
    v, a = np.zeros((40, 3)), 10.0 * near.size * rng.normal(size=(40, 3))
    exact = nacelle.inverse_dynamics(robot, x, v, a, formulation="tree").tau
    ours = nacelle.inverse_dynamics(near, x, v, a).tau
    error = np.max(np.abs(exact - ours), axis=0) / np.max(np.abs(exact), axis=0)
    assert 0.2 * stated < np.max(error) < 5.0 * stated


def test_a_large_asymmetry_is_refused_unless_it_is_chosen() -> None:
    (*errors,) = check_robot(_with_asymmetric_rods(0.2)).errors
    assert len(errors) == 6
    assert "spin: universal" in errors[0].hint
    assert not check_robot(_with_asymmetric_rods(0.2, "neglect")).errors


@pytest.mark.slow
def test_a_universal_joint_holds_the_spin_far_from_its_singularity() -> None:
    found = check_robot(_with_asymmetric_rods(0.2, "universal"))
    assert not found.errors
    assert found.mobility is not None
    assert found.mobility.internal_count == 0
    robot = found.robot
    assert sum(joint.kind == "universal" for joint in robot.joints) == 6
    # In the reference pose both angles are zero: the first axis is perpendicular to the rod.
    q = [value for joint in robot.tree_joints if joint.kind == "universal" for value in joint.guess]
    assert q == [0.0] * 12
    again = nacelle.loads(robot.to_yaml())
    assert again.hash == robot.hash
    state = (robot.reference.p + 0.05, [0.3, -0.2, 0.1], [1.0, 2.0, -1.0])
    tree = nacelle.inverse_dynamics(robot, *state, formulation="tree").tau
    np.testing.assert_allclose(nacelle.inverse_dynamics(robot, *state).tau, tree, rtol=1e-9)


def test_the_nearest_axisymmetric_inertia() -> None:
    rng = np.random.default_rng(4)
    B = rng.normal(size=(3, 3))
    I = B @ B.T
    I = np.eye(3) * np.trace(I) - I
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    spin = InternalFreedom(1, tuple(axis), (0.1, 0.2, 0.3))
    ten = parameters_from_com(2.0, np.array([0.3, 0.1, 0.4]), I)
    near = nearest_axisymmetric(ten, spin)
    about = transform_parameters(np.eye(3), -np.array(spin.point), near)
    assert is_axisymmetric(about, axis, 1.0, 1e-12)
    # No other axisymmetric inertia is nearer.
    best = np.linalg.norm(inertia_about_com(near) - I)
    along = np.outer(axis, axis)
    for A, C in rng.normal(size=(50, 2)) * 0.1:
        other = inertia_about_com(near) + A * (np.eye(3) - along) + C * along
        assert np.linalg.norm(other - I) >= best


def test_a_massless_body_has_no_asymmetry() -> None:
    robot = nacelle.load("fivebar")
    body = next(k for k, own in enumerate(robot.bodies) if own.massless)
    assert asymmetry(robot, InternalFreedom(body, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0))) == 0.0


@pytest.mark.parametrize("choice", ["neglect", "universal"])
def test_the_choice_is_written_in_a_body_of_the_newer_format(choice: str) -> None:
    text = _with_asymmetric_rods(0.2, choice).to_yaml()
    assert text.startswith("format: nacelle/2")
    with pytest.raises(nacelle.DescriptionError, match="write format: nacelle/2"):
        nacelle.loads(text.replace("nacelle/2", "nacelle/1"))
    assert not check_robot(nacelle.loads(text)).problems


def test_what_becomes_of_a_spin_is_told_at_its_body(tmp_path: Path) -> None:
    """A rod that is held, and a choice in a body that does not spin, each with its line."""
    text = (Path(described.__file__).parent / "tied_arm.yaml").read_text()
    text = text.replace("rod: {mass", "rod: {spin: universal, mass").replace(
        "post: {mass", "post: {spin: neglect, mass"
    )
    path = tmp_path / "arm.yaml"
    path.write_text(text)
    idle, held = sorted(nacelle.check(path).problems, key=lambda problem: problem.line)
    lines = text.splitlines()
    assert "does not spin idly" in idle.message
    assert "spin: neglect" in lines[idle.line - 1]
    assert "made universal" in held.message
    assert "spin: universal" in lines[held.line - 1]
    assert {idle.severity, held.severity} == {"warning"}
